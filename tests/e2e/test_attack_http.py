"""Bytes that no client sends. Whatever the answer: upstream sees only the
requests that were decided on, and the edge that was there is still there."""
import os
import ssl
import time

import pytest
from gateway import wait_until
from session import Session
from waiting import at_best

ALLOWED = "GET /ok/decided"


@pytest.fixture(scope="module")
def session(gateway, policies, tmp_path_factory):
    session = Session(gateway, tmp_path_factory.mktemp("s"), policies.make(
        [policies.rule("good.example", methods=["GET", "POST"],
                       paths=["/ok/**"])]))
    edge = session.edge()
    yield session
    assert session.edge() == edge, "the edge was killed by an attack"
    session.close()


def talk(stream, data, wait=0.7):
    """Send it all and read what comes."""
    got = b""
    try:
        stream.settimeout(wait)
        stream.sendall(data)
        while True:
            piece = stream.recv(65536)
            if not piece:
                break
            got += piece
    except OSError:
        pass
    finally:
        stream.close()
    return got


HOST = "@HOST@"
GET = f"GET /ok/decided HTTP/1.1\r\nHost: {HOST}\r\n"
POST = f"POST /ok/decided HTTP/1.1\r\nHost: {HOST}\r\n"
BAD = f"GET /bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n"

SMUGGLES = {
    "cl.te": POST + f"Content-Length: {len(BAD) + 5}\r\n"
             f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{BAD}",
    "te.cl": POST + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
             f"{len(BAD):x}\r\n{BAD}\r\n0\r\n\r\n",
    "te.te": POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"
             f"\r\n0\r\n\r\n{BAD}",
    "te xchunked": POST + f"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{BAD}",
    "te identity": POST + "Transfer-Encoding: identity, chunked\r\n\r\n"
                   f"0\r\n\r\n{BAD}",
    "te VT": POST + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + BAD,
    "te_": POST + f"Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n{BAD}",
    "cl_": POST + f"Content_Length: {len(BAD)}\r\n\r\n{BAD}",
    "two lengths": POST + "Content-Length: 0\r\nContent-Length: 3\r\n\r\nabc",
    "same lengths": POST + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "length list": POST + "Content-Length: 3, 3\r\n\r\nabc",
    "length +": POST + "Content-Length: +3\r\n\r\nabc",
    "length -": POST + "Content-Length: -3\r\n\r\nabc",
    "length hex": POST + "Content-Length: 0x3\r\n\r\nabc",
    "length wraps": POST + "Content-Length: 18446744073709551619\r\n\r\nabc",
    "length 03": POST + "Content-Length: 03\r\n\r\nabc",
    "length empty": POST + "Content-Length:\r\n\r\n" + BAD,
    "folded": POST + "Content-Length:\r\n 3\r\n\r\nabc",
    "folded host": f"GET /bad HTTP/1.1\r\nHost:\r\n {HOST}\r\n\r\n",
    "space colon": POST + "Content-Length : 3\r\n\r\nabc",
    "bare lf": GET.replace("\r\n", "\n") + "\n",
    "bare cr": GET + "X: a\rContent-Length: 3\r\n\r\n",
    "cr end": GET + "X: a\r\n\rX" + BAD,
    "nul": GET + "X: a\0b\r\n\r\n",
    "no name": GET + ": x\r\n\r\n",
    "http/0.9": "GET /bad\r\n",
    "http/2.0": f"GET /bad HTTP/2.0\r\nHost: {HOST}\r\n\r\n",
    "h2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "te on 1.0": f"POST /ok/decided HTTP/1.0\r\nHost: {HOST}\r\n"
                 f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{BAD}",
    "two hosts": GET + "Host: other.example\r\n\r\n",
    "no host": "GET /bad HTTP/1.1\r\n\r\n",
    "other host": "GET /bad HTTP/1.1\r\nHost: blocked.example\r\n\r\n",
    "host userinfo": f"GET /bad HTTP/1.1\r\nHost: a@{HOST}\r\n\r\n",
    "host list": f"GET /bad HTTP/1.1\r\nHost: {HOST}, x\r\n\r\n",
    "host slash": f"GET /bad HTTP/1.1\r\nHost: {HOST}/x\r\n\r\n",
    "absolute": f"GET http://other.example/bad HTTP/1.1\r\nHost: {HOST}"
                "\r\n\r\n",
    "absolute https": f"GET https://{HOST}/bad HTTP/1.1\r\nHost: {HOST}"
                      "\r\n\r\n",
    "connect inside": f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n"
                      f"\r\n{BAD}",
    "connection host": GET.replace("decided", "x") +
                       "Connection: Host\r\n\r\n",
    "connection length": POST + "Connection: Content-Length\r\n"
                         "Content-Length: 3\r\n\r\nabc",
    "chunk ext lf": POST + "Transfer-Encoding: chunked\r\n\r\n"
                    f"3;a\nb\r\nabc\r\n0\r\n\r\n{BAD}",
    "chunk 0x": POST + "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n"
                f"0\r\n\r\n{BAD}",
    "chunk space": POST + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n"
                   f"0\r\n\r\n{BAD}",
    "chunk wraps": POST + "Transfer-Encoding: chunked\r\n\r\n"
                   f"10000000000000003\r\nabc\r\n0\r\n\r\n{BAD}",
    "chunk no crlf": POST + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX"
                     f"0\r\n\r\n{BAD}",
    "chunk lf": POST + "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n" + BAD,
    "upgrade": GET + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + BAD,
    "h2c": GET + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
           "HTTP2-Settings: AAA\r\n\r\n" + BAD,
    "trace": f"TRACE /ok/decided HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "expect": POST + "Expect: 200-ok\r\nContent-Length: 3\r\n\r\nabc",
    "method space": f" GET /bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "dots": f"GET /ok/../bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "dots %": f"GET /ok/%2e%2e/bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "dots %%": f"GET /ok/%252e%252e/bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "slash %": f"GET /ok%2f..%2fbad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "backslash": f"GET /ok\\..\\bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "semicolon": f"GET /ok/..;/bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "overlong": f"GET /ok/%c0%ae%c0%ae/bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "fragment": f"GET /ok/#/../../bad HTTP/1.1\r\nHost: {HOST}\r\n\r\n",
    "fields": GET + "".join(f"X{i}: y\r\n" for i in range(5000)) + "\r\n",
    "line": GET + "X: " + "y" * 1_000_000 + "\r\n\r\n",
    "methods": "G" * 100_000,
    "get with body": f"GET /ok/decided HTTP/1.1\r\nHost: {HOST}\r\n"
                     f"Content-Length: {len(BAD)}\r\n\r\n{BAD}",
    "behind close": GET + f"Connection: close\r\n\r\n{BAD}",
    "pipelined": GET + f"\r\n{BAD}" + GET + "\r\n",
    "trailers": POST + "Transfer-Encoding: chunked\r\n\r\n0\r\n"
                f"Host: blocked.example\r\nContent-Length: 5\r\n\r\n{BAD}",
}


@pytest.mark.parametrize("name", SMUGGLES)
@pytest.mark.parametrize("way", ["tls", "plain"])
def test_nothing_undecided_reaches_upstream(session, origin, name, way):
    tls = way == "tls"
    host = "good.example" + (origin.suffix if tls else origin.plain_suffix)
    port = origin.port if tls else origin.plain_port
    server = origin.tls if tls else origin.plain
    data = SMUGGLES[name].replace(HOST, host).encode("latin-1")
    mark = len(server.requests)
    if tls:
        stream = session.connect_tls("good.example", port)
    else:
        stream = session.connect()
        stream.sendall(f"CONNECT good.example:{port} HTTP/1.1\r\n"
                       f"Host: good.example:{port}\r\n\r\n".encode())
        assert b" 200 " in stream.recv(4096)
    answer = talk(stream, data)
    seen = server.requests[mark:]
    assert not [line for line in seen if line.split("?")[0] not in
                (ALLOWED, ALLOWED.replace("GET", "POST"))], (seen, answer)
    assert len(seen) <= 2


FIRST_BYTES = {
    "ssh": b"SSH-2.0-OpenSSH_9\r\n",
    "sslv2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40),
    "tls 0 length": b"\x16\x03\x01\x00\x00" * 100,
    "tls long": b"\x16\x03\x01\xff\xff" + b"\x01" * 70000,
    "tls fragments": b"".join(b"\x16\x03\x01\x00\x01" + bytes([b])
                              for b in b"\x01\x00\xff\xff" + bytes(400)),
    "alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "zeros": bytes(100000),
    "nothing": b"",
    "connect in connect": b"CONNECT good.example:443 HTTP/1.1\r\n"
                          b"Host: good.example:443\r\n\r\n",
    "socks5": b"\x05\x01\x00\x05\x01\x00\x03\x0cgood.example\x01\xbb",
    "socks4": b"\x04\x01\x01\xbb\x7f\x00\x00\x01x\0",
    "dns": b"\x00\x1d\x12\x34\x01\x00\x00\x01" + bytes(20),
}


@pytest.mark.parametrize("name", FIRST_BYTES)
@pytest.mark.parametrize("inside", [False, True])
def test_other_protocols_go_nowhere(session, origin, name, inside):
    counts = origin.tls.connections, origin.plain.connections
    stream = session.connect()
    if inside:
        stream.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                       f"Host: good.example:{origin.port}\r\n\r\n".encode())
        assert b" 200 " in stream.recv(4096)
    talk(stream, FIRST_BYTES[name])
    assert (origin.tls.connections, origin.plain.connections) == counts


CONNECTS = ["good.example", "good.example:", "good.example:0",
            "good.example:65536", "good.example:0443", "good.example:443x",
            "a@good.example:443", "good.example:443/x", "good.example:22",
            "blocked.example:443", "127.0.0.1:443", "[::1]:443",
            "[::ffff:127.0.0.1]:443", "0x7f.1:443", "2130706433:443",
            "0177.0.0.1:443", "127.1:443", "localhost:443",
            "good.example\0.blocked.example:443", "good%2eexample:443",
            "good.example..:443", ".good.example:443", "evilgood.example:443",
            "good.example.evil:443", "x" * 300 + ":443", "169.254.169.254:80",
            "[fe80::1%25lo]:443", "http://good.example:443",
            "good.example:443:443", "*:443", "-:443"]


@pytest.mark.parametrize("target", CONNECTS)
def test_connect_goes_nowhere_else(session, origin, target):
    counts = origin.tls.connections, origin.plain.connections
    stream = session.connect()
    stream.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
                   .encode("latin-1"))
    hello = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(
        ssl.MemoryBIO(), hello, server_hostname="good.example")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    talk(stream, hello.read())
    assert (origin.tls.connections, origin.plain.connections) == counts


def test_the_name_must_be_the_one_that_connect_named(session, origin):
    for name in ("blocked.example", "api.github.com", "x.good.example"):
        with pytest.raises((ssl.SSLError, OSError, AssertionError)):
            stream = session.connect_tls("good.example", origin.port, name)
            host = f"good.example{origin.suffix}"
            stream.sendall(f"{ALLOWED} HTTP/1.1\r\nHost: {host}\r\n\r\n"
                           .encode())
            assert b" 200 " in stream.recv(200)


def test_slow_heads_end_and_do_not_hold_others(session, origin):
    slow = []
    for _ in range(200):
        stream = session.connect()
        stream.sendall(b"GET http://good.example/ok HTTP/1.1\r\nHo")
        slow.append(stream)

    def ask():
        began = time.monotonic()
        assert session.curl(origin.url("/ok/decided")).status == 200
        return time.monotonic() - began
    # Who waited for them would wait for 30 s.
    at_best(10, ask, tries=2)
    for stream in slow:
        stream.close()


def test_descriptors_come_back(session, gateway, origin):
    edge = session.edge()

    def count():
        return len(os.listdir(f"/proc/{edge}/fd"))
    session.curl(origin.url("/ok/decided"))
    wait_until(lambda: count() < 40)
    before = count()
    for _ in range(300):
        stream = session.connect()
        stream.sendall(b"CONNECT good.example:443 HTTP/1.1\r\n")
        stream.close()
    for _ in range(50):
        session.connect_tls("good.example", origin.port).close()
    wait_until(lambda: count() <= before + 2)
