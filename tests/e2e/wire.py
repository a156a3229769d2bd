"""attach.sock from Python: common/rpc.h and common/wire.h, as far as
MSG_SESSION_ATTACH needs them."""
import array
import socket
import struct

HEADER = struct.Struct("<HBBI")  # type, kind, zero, id
MSG_SESSION_ATTACH = 24
RPC_REQUEST, RPC_REPLY, RPC_REFUSAL = 1, 2, 3
LISTENER_TCP, LISTENER_DNS_UDP, LISTENER_DNS_TCP = 0, 1, 2


class Refused(Exception):
    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class Attachment:
    """A connection to attach.sock; the session ends when it closes."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self._id = 0

    def close(self):
        self.socket.close()

    def attach(self, session, kind, listener):
        self._id += 1
        name = session.encode()
        body = struct.pack("<I", len(name)) + name + bytes([kind])
        fds = array.array("i", [listener.fileno()])
        self.socket.sendmsg(
            [HEADER.pack(MSG_SESSION_ATTACH, RPC_REQUEST, 0, self._id) + body],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        answer = self.socket.recv(65536)
        if not answer:
            raise Refused(0, "attach.sock was closed")
        _, answered, _, request = HEADER.unpack_from(answer)
        assert request == self._id
        if answered == RPC_REFUSAL:
            code, length = struct.unpack_from("<HI", answer, HEADER.size)
            raise Refused(code, answer[HEADER.size + 6:][:length].decode())
        assert answered == RPC_REPLY
