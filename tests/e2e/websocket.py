"""WebSockets by hand, both sides: what a good one says, and what not."""
import base64
import hashlib
import os
import struct

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def accept_of(key):
    return base64.b64encode(
        hashlib.sha1(key.encode() + MAGIC).digest()).decode()


def frame(opcode, payload=b"", mask=True, fin=True, rsv=0):
    size = len(payload)
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    masked = 0x80 if mask else 0
    if size < 126:
        head += bytes([masked | size])
    elif size < 65536:
        head += bytes([masked | 126]) + struct.pack(">H", size)
    else:
        head += bytes([masked | 127]) + struct.pack(">Q", size)
    if not mask:
        return head + payload
    key = os.urandom(4)
    long = (key * (size // 4 + 1))[:size]
    return head + key + (int.from_bytes(payload, "big")
                         ^ int.from_bytes(long, "big")).to_bytes(size, "big")


def read_exactly(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def read_frame(stream):
    """(opcode, fin, payload, whether it was masked)"""
    first, second = read_exactly(stream, 2)
    size = second & 127
    if size == 126:
        size = struct.unpack(">H", read_exactly(stream, 2))[0]
    elif size == 127:
        size = struct.unpack(">Q", read_exactly(stream, 8))[0]
    masked = bool(second & 128)
    key = read_exactly(stream, 4) if masked else b"\0" * 4
    data = read_exactly(stream, size)
    long = (key * (size // 4 + 1))[:size]
    data = (int.from_bytes(data, "big")
            ^ int.from_bytes(long, "big")).to_bytes(size, "big")
    return first & 15, bool(first & 128), data, masked


def read_message(stream):
    """A data message, put together, or a control frame."""
    opcode, fin, data, _ = read_frame(stream)
    while not fin:
        _, fin, more, _ = read_frame(stream)
        data += more
    return opcode, data


class Client:
    """Over a connected stream, after the handshake; self.head is the
    answer to it."""

    def __init__(self, stream, host, path, fields=(), early=b""):
        self.stream = stream
        self.key = base64.b64encode(os.urandom(16)).decode()
        head = [f"GET {path} HTTP/1.1", f"Host: {host}",
                "Connection: Upgrade", "Upgrade: websocket",
                f"Sec-WebSocket-Key: {self.key}",
                "Sec-WebSocket-Version: 13", *fields]
        stream.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + early)
        self.head = b""
        while not self.head.endswith(b"\r\n\r\n"):
            byte = stream.recv(1)
            if not byte:
                break
            self.head += byte
        self.head = self.head.decode()
        self.status = int(self.head.split()[1]) if self.head else 0

    def send(self, opcode, payload=b"", **how):
        if isinstance(payload, str):
            payload = payload.encode()
        self.stream.sendall(frame(opcode, payload, **how))

    def receive(self):
        return read_message(self.stream)

    def code(self):
        """The code of the close frame that must come next."""
        opcode, data = self.receive()
        assert opcode == CLOSE, (opcode, data)
        return struct.unpack(">H", data[:2])[0]


class _Stream:
    """What an http.server handler reads and writes, as a socket."""

    def __init__(self, handler):
        self.recv = handler.rfile.read1
        self.sendall = handler.wfile.write


def serve(handler, kind, log):
    """Answer a handshake as kind says, then give back every message. log
    gets what arrived: the head's fields, then every frame."""
    fields = {k.lower(): v for k, v in handler.headers.items()}
    log.append(fields)
    key = fields.get("sec-websocket-key", "")
    answer = {"Upgrade": "websocket", "Connection": "Upgrade",
              "Sec-WebSocket-Accept": accept_of(key)}
    if kind == "no-accept":
        del answer["Sec-WebSocket-Accept"]
    elif kind == "wrong-accept":
        answer["Sec-WebSocket-Accept"] = accept_of(key + "x")
    elif kind == "extension":
        answer["Sec-WebSocket-Extensions"] = "permessage-deflate"
    elif kind == "protocol":
        answer["Sec-WebSocket-Protocol"] = "second"
    elif kind == "other-protocol":
        answer["Sec-WebSocket-Protocol"] = "unasked"
    elif kind == "h2c":
        answer["Upgrade"] = "h2c"
    handler.close_connection = True
    handler.wfile.write(
        b"HTTP/1.1 101 Switching Protocols\r\n"
        + "".join(f"{k}: {v}\r\n" for k, v in answer.items()).encode()
        + b"\r\n" + (frame(TEXT, b"hello", mask=False)
                     if kind == "early" else b""))
    handler.wfile.flush()
    _talk(_Stream(handler), kind, log)


def _talk(stream, kind, log):
    if kind == "masked":
        stream.sendall(frame(TEXT, b"as if a client", mask=True))
    elif kind == "binary":
        stream.sendall(frame(BINARY, b"\0\1", mask=False))
    elif kind == "reason":
        stream.sendall(frame(CLOSE, struct.pack(">H", 4001) + b"go away",
                             mask=False))
    elif kind == "ping":
        stream.sendall(frame(PING, b"are you there", mask=False))
    while True:
        try:
            opcode, fin, data, masked = read_frame(stream)
        except EOFError:
            return
        log.append((opcode, fin, data, masked))
        if opcode == CLOSE:
            stream.sendall(frame(CLOSE, data, mask=False))
            return
        if opcode not in (PING, PONG):
            stream.sendall(frame(opcode, data, mask=False, fin=fin))
