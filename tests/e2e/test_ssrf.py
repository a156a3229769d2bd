"""No notation of a forbidden address, by no path, makes a connection. The
forbidden addresses have listeners, and they count."""
import fcntl
import ipaddress
import os
import socket
import ssl
import struct
import threading
import time

import pytest
from dns_double import (AAAA, CNAME, A, DnsDouble, addresses, record, reply)
from session import read_head

PID = os.getpid()
MIDDLE = f"{64 + (PID >> 8) % 128}.{PID & 255}"
VICTIM = f"127.{MIDDLE}.7"
PACKED = int(ipaddress.ip_address(VICTIM))
PARTS = VICTIM.split(".")
HEX6 = f"{PACKED >> 16:x}:{PACKED & 0xffff:x}"

NOTATIONS = [
    VICTIM, str(PACKED), hex(PACKED), f"0{PACKED:o}",
    ".".join(f"0{int(p):o}" for p in PARTS),
    ".".join(hex(int(p)) for p in PARTS),
    ".".join(p.zfill(3) for p in PARTS),
    f"127.{PACKED & 0xffffff}", f"127.{PARTS[1]}.{PACKED & 0xffff}",
    f"0x7f.{PACKED & 0xffffff}", f"{VICTIM}.", f"{VICTIM}..", f".{VICTIM}",
    f"{VICTIM}%00", f"{VICTIM}%25lo", f"{VICTIM}%lo", f"{VICTIM} ",
    "".join(f"%{ord(c):02x}" for c in VICTIM),
    VICTIM.translate({ord("0") + i: 0xff10 + i for i in range(10)}),
    VICTIM.replace(".", "\u3002"), VICTIM.replace(".", "\uff0e"),
    VICTIM.replace("1", "\u2460"),
    f"good.example@{VICTIM}", f"{VICTIM}@good.example",
    f"{VICTIM}#good.example", f"{VICTIM}\\good.example",
    f"[::ffff:{VICTIM}]", f"[::ffff:{HEX6}]", f"[::{VICTIM}]",
    f"[0:0:0:0:0:ffff:{HEX6}]", f"[64:ff9b::{HEX6}]", f"[2002:{HEX6}::]",
    f"[::ffff:0:{VICTIM}]", f"::ffff:{VICTIM}",
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::1%lo]", "[::1%25lo]",
    "::1", "[::]", "0.0.0.0", "0", "0x0", "localhost", "LOCALHOST",
    "localhost.", "x.localhost", "ip6-localhost.localhost",
    "127.0.0.1", "127.1", "2130706433", "[fe80::1%lo]", "[fe80::1]",
    "169.254.169.254", "2852039166", "0xa9fea9fe", "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]", "100.100.100.200", "10.0.0.1", "192.168.0.1",
    "172.16.0.1", "100.64.0.1", "224.0.0.1", "255.255.255.255", "[ff02::1]",
]
# What a name may resolve to.
ANSWERS = [VICTIM, "127.0.0.1", "0.0.0.0", "169.254.169.254", "10.0.0.1",
           "192.168.1.1", "172.31.255.255", "100.64.0.1", "224.0.0.1",
           "255.255.255.255", "192.0.0.1", "198.18.0.1", "::1", "::",
           f"::ffff:{VICTIM}", f"64:ff9b::{HEX6}", f"2002:{HEX6}::1",
           f"::{VICTIM}", "fe80::1", "fd00::1", "fec0::1", "ff02::1",
           "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
           "64:ff9b:1::7f00:1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"]


class Listeners:
    """Count every connection to a forbidden address."""

    def __init__(self, places):
        self.count = 0
        self._sockets = []
        for family, host, port in places:
            listener = socket.socket(family)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(50)
            self._sockets.append(listener)
            threading.Thread(target=self._serve, args=(listener,),
                             daemon=True).start()

    def _serve(self, listener):
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            self.count += 1
            stream.close()

    def stop(self):
        # Else accept() would hold it until it returns.
        for listener in self._sockets:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@pytest.fixture(scope="module")
def listeners(origin):
    ports = (origin.port, origin.plain_port)
    places = [(socket.AF_INET, VICTIM, port) for port in ports]
    places += [(socket.AF_INET6, "::1", port) for port in ports]
    # There is one ::1, and another run of these tests may want it.
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listeners = Listeners(places)
        yield listeners
        listeners.stop()


@pytest.fixture(scope="module")
def dns(origin):
    dns = DnsDouble(f"127.{MIDDLE}.8", 5300)
    dns.names = {"good.example": addresses(origin.address)}
    yield dns
    dns.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, dns):
    gateway = make_gateway("ssrf", config={"dns": {"servers": [dns.where]}})
    yield gateway
    gateway.stop()
    gateway.check()


def may_go_anywhere(policies, allow=()):
    """Every name and every literal is allowed; addresses are the defaults
    and nothing else but the origin's."""
    literals = set()
    for text in NOTATIONS:
        try:
            literals.add(str(ipaddress.ip_address(text.strip("[]"))))
        except ValueError:
            pass
    hosts = ["*", "localhost", *sorted(x for x in literals if "%" not in x)]
    policy = policies.make([{"hosts": hosts, "ports": policies.ports,
                             "action": "allow", "paths": ["/**"]}])
    if allow:
        policy["network"]["addresses"] = {
            "allow": [*policy["network"]["addresses"]["allow"], *allow]}
    return policy


@pytest.fixture
def session(make_session, policies):
    return make_session(may_go_anywhere(policies))


def head_of(stream):
    stream.settimeout(15)
    try:
        return read_head(stream)
    except OSError:
        return b""


def by_connect(session, host, port):
    """CONNECT, and then plain HTTP inside; the last status that was read."""
    with session.connect() as stream:
        stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n"
                       f"Host: {host}:{port}\r\n\r\n".encode())
        head = head_of(stream)
        if b" 200 " not in head.split(b"\r\n")[0] + b" ":
            return head
        stream.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return head_of(stream)


def by_connect_tls(session, host, port):
    with session.connect() as stream:
        stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n"
                       f"Host: {host}:{port}\r\n\r\n".encode())
        head = head_of(stream)
        if b" 200 " not in head.split(b"\r\n")[0] + b" ":
            return head
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            inner = context.wrap_socket(stream)
            inner.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return head_of(inner)
        except OSError:
            return b""


def by_absolute_form(session, host, port):
    with session.connect() as stream:
        stream.sendall(f"GET http://{host}:{port}/ HTTP/1.1\r\n"
                       f"Host: {host}:{port}\r\n\r\n".encode())
        return head_of(stream)


def by_host_field(session, host, port):
    """An allowed target, and another Host."""
    with session.connect() as stream:
        stream.sendall(f"GET http://good.example:{port}/ HTTP/1.1\r\n"
                       f"Host: {host}:{port}\r\n\r\n".encode())
        return head_of(stream)


def by_socks_name(session, host, port):
    return _by_socks(session, b"\3", bytes([len(host.encode())])
                     + host.encode(), host, port)


def _by_socks(session, kind, address, host, port):
    with session.connect() as stream:
        stream.settimeout(15)
        stream.sendall(b"\5\1\0")
        if stream.recv(2) != b"\5\0":
            return b""
        stream.sendall(b"\5\1\0" + kind + address + struct.pack(">H", port))
        answer = stream.recv(10)
        if answer[1:2] != b"\0":
            return answer
        stream.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return head_of(stream)


PATHS = [by_connect, by_connect_tls, by_absolute_form, by_host_field,
         by_socks_name]


@pytest.mark.parametrize("path", PATHS)
def test_no_notation_of_a_forbidden_address_connects(session, origin,
                                                     listeners, path):
    before = listeners.count
    port = origin.port if path is by_connect_tls else origin.plain_port
    for notation in NOTATIONS:
        head = path(session, notation, port)
        status = head.split(b" ")[1:2]
        assert not status or not status[0].startswith(b"2"), (notation, head)
    assert listeners.count == before
    # The gateway is as well as it was.
    assert session.curl(origin.url("/echo")).status == 200


def test_no_address_in_socks_connects(session, origin, listeners):
    for text in {VICTIM, "127.0.0.1", "0.0.0.0", "169.254.169.254", "::1",
                 "::", f"::ffff:{VICTIM}", f"64:ff9b::{HEX6}",
                 f"2002:{HEX6}::"}:
        packed = ipaddress.ip_address(text).packed
        answer = _by_socks(session, b"\1" if len(packed) == 4 else b"\4",
                           packed, text, origin.plain_port)
        assert b" 200 " not in answer.split(b"\r\n")[0] + b" ", text
    assert listeners.count == 0


@pytest.mark.parametrize("by_alias", [False, True])
def test_no_answer_of_dns_leads_to_a_forbidden_address(session, origin, dns,
                                                       listeners, by_alias):
    for number, text in enumerate(ANSWERS):
        name = f"a{number}-{int(by_alias)}.evil.example"
        kind = AAAA if ":" in text else A

        def answer(query, asked, _, kind=kind, text=text):
            records = [record(kind, text)] if asked == kind else []
            if by_alias:
                records = [record(CNAME, "inner.evil.example")] + [
                    record(kind, text,
                           owner=b"\5inner\4evil\7example\0")
                    for _ in records]
            return reply(query, records)
        dns.names[name] = answer
        reply_ = session.curl(origin.plain_url("/", name))
        assert reply_.status in (403, 502), (text, reply_.head)
        assert reply_.json["constraint"] in (
            "address_forbidden", "dns_failed"), (text, reply_.text)
        if not by_alias:
            assert reply_.json["constraint"] == "address_forbidden", text
    assert listeners.count == 0


def test_of_a_mixed_answer_the_allowed_address_alone_is_dialled(
        session, origin, dns, listeners):
    dns.names["mixed.example"] = addresses(VICTIM, "::1", origin.address,
                                           "10.0.0.1")
    answer = session.curl(origin.plain_url("/echo", "mixed.example"))
    assert answer.status == 200, answer.text
    assert listeners.count == 0


def test_rebinding_with_ttl_0_leads_nowhere_else(session, origin, dns,
                                                 listeners):
    """Allowed at first, forbidden from then on: asked again and again."""
    seen = []

    def answer(query, kind, _):
        if kind != A:
            return reply(query)
        seen.append(1)
        text = origin.address if len(seen) == 1 else VICTIM
        return reply(query, [record(A, text, ttl=0)])
    dns.names["rebind.example"] = answer
    assert session.curl(
        origin.plain_url("/echo", "rebind.example")).status == 200
    # Each of these is dialled anew: its answer lets no connection be kept.
    url = origin.plain_url("/garbage", "rebind.example")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        answer = session.curl(url)
        if answer.status != 502:
            break
        time.sleep(0.5)
    assert answer.status == 403
    assert answer.json["constraint"] == "address_forbidden"
    assert len(seen) > 1
    assert listeners.count == 0


def test_the_listeners_count(make_session, policies, origin, dns, listeners,
                             gateway):
    """The twin: what these tests forbid is what would connect."""
    session = make_session(may_go_anywhere(policies, [f"{VICTIM}/32",
                                                      "::1/128"]))
    dns.names["twin.example"] = addresses(VICTIM)
    before = listeners.count
    for host in (VICTIM, "[::1]", "twin.example", "localhost"):
        session.curl(f"http://{host}{origin.plain_suffix}/")
    assert listeners.count - before >= 4
    by_socks_name(session, "twin.example", origin.plain_port)
    assert listeners.count - before >= 5
    listeners.count = before
