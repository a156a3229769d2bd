"""A DNS server whose every answer a test decides: UDP and TCP on one port.
Not a resolver: it knows the names that it is told, and how to answer."""
import ipaddress
import socket
import struct
import threading

A, CNAME, AAAA = 1, 5, 28
NXDOMAIN, SERVFAIL, REFUSED = 3, 2, 5


def name_of(query):
    """The question's name, type and end."""
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels).lower(), struct.unpack_from(
        ">H", query, at + 1)[0], at + 5


def wire(name):
    return b"".join(bytes([len(label)]) + label.encode()
                    for label in name.split(".")) + b"\0"


def record(kind, data, ttl=30, owner=b"\xc0\x0c"):
    if kind in (A, AAAA) and isinstance(data, str):
        data = ipaddress.ip_address(data).packed
    elif kind == CNAME:
        data = wire(data)
    return owner + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def reply(query, records=(), rcode=0, truncated=False, count=None):
    _, _, end = name_of(query)
    flags = 0x8580 | rcode | (0x0200 if truncated else 0)
    return (query[:2] + struct.pack(
        ">HHHHH", flags, 1, len(records) if count is None else count, 0, 0)
        + query[12:end] + b"".join(records))


def addresses(*texts, ttl=30):
    """An answer function: these addresses, each to its own question."""
    def answer(query, kind, is_tcp):
        return reply(query, [record(kind, text, ttl) for text in texts
                             if (":" in text) == (kind == AAAA)])
    return answer


class DnsDouble:
    """names: to a function of (query, type, is_tcp) to bytes, to a list of
    them, or to None: nothing is said. A name below one that is there is
    answered as that one."""

    def __init__(self, address, port):
        self.names = {}
        self.asked = []
        self.where = f"{address}:{port}"
        self._udp = socket.socket(type=socket.SOCK_DGRAM)
        self._udp.bind((address, port))
        self._tcp = socket.create_server((address, port), backlog=50)
        for target in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=target, daemon=True).start()

    def _answers(self, query, is_tcp):
        name, kind, _ = name_of(query)
        self.asked.append((name, kind, is_tcp))
        while name and name not in self.names:
            name = name.partition(".")[2]
        answer = self.names.get(name, lambda q, *_: reply(q, rcode=NXDOMAIN))
        made = answer(query, kind, is_tcp)
        return made if isinstance(made, list) else [made]

    def _serve_udp(self):
        while True:
            try:
                query, peer = self._udp.recvfrom(65536)
                for part in self._answers(query, False):
                    if part is not None:
                        self._udp.sendto(part, peer)
            except OSError:
                if self._udp.fileno() < 0:
                    return

    def _serve_tcp(self):
        while True:
            try:
                stream, _ = self._tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(stream,),
                             daemon=True).start()

    def _one(self, stream):
        with stream:
            stream.settimeout(10)
            try:
                file = stream.makefile("rb")
                while size := file.read(2):
                    query = file.read(struct.unpack(">H", size)[0])
                    for part in self._answers(query, True):
                        if part is None:
                            stream.recv(1)
                            return
                        stream.sendall(struct.pack(">H", len(part)) + part)
            except OSError:
                pass

    def stop(self):
        self._udp.close()
        self._tcp.close()
