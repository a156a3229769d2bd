"""An upstream proxy that does not do as it should."""
import os
import time

import pytest
from upstream_proxy import Double, gateway_behind

PORT = 3803


@pytest.fixture(scope="module")
def address():
    pid = os.getpid()
    return f"127.{64 + (pid >> 8) % 128}.{pid & 255}.6"


@pytest.fixture(scope="module")
def double(address):
    double = Double(address, PORT)
    yield double
    double.stop()


@pytest.fixture(scope="module", params=["http", "socks5"])
def gateway(request, make_gateway, address, double):
    gateway = gateway_behind(make_gateway, "odd",
                       f"{request.param}://{address}:{PORT}",
                       secret=None)
    gateway.scheme = request.param
    yield gateway
    gateway.stop()
    gateway.check()


def says(*parts):
    def answer(stream):
        for part in parts[:-1]:
            stream.sendall(part)
            stream.recv(65536)
        stream.sendall(parts[-1])
        stream.recv(65536)
    return answer


HTTP = {
    "407": (says(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"),
            "credentials"),
    "403": (says(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"),
            "does not allow"),
    "503": (says(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
            "could not reach"),
    "302": (says(b"HTTP/1.1 302 x\r\nLocation: http://x/\r\n"
                 b"Content-Length: 0\r\n\r\n"), "does not connect"),
    "garbage": (says(b"\x00\x01garbage\r\n\r\n"), "answer"),
    "bare LF": (says(b"HTTP/1.1 200 OK\n\n"), "answer"),
    "endless head": (says(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70000),
                     "answer"),
    "more than asked": (says(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n"),
                        "more than"),
    "closed": (lambda stream: None, "closed"),
}
SOCKS = {
    "not allowed": (says(b"\5\0", b"\5\2\0\1\0\0\0\0\0\0"), "does not allow"),
    "refused": (says(b"\5\0", b"\5\5\0\1\0\0\0\0\0\0"), "refused"),
    "odd reply": (says(b"\5\0", b"\5\x63\0\1\0\0\0\0\0\0"), "SOCKS 5"),
    "odd type": (says(b"\5\0", b"\5\0\0\7\0\0\0\0\0\0"), "SOCKS 5"),
    "login": (says(b"\5\2"), "credentials"),
    "no method": (says(b"\5\xff"), "credentials"),
    "GSSAPI": (says(b"\5\1"), "not offered"),
    "SOCKS 4": (says(b"\0\x5a\0\0\0\0\0\0"), "SOCKS 5"),
    "more than asked": (says(b"\5\0\5"), "more than"),
    "closed": (lambda stream: None, "closed"),
}


@pytest.mark.parametrize("what", sorted(set(HTTP) | set(SOCKS)))
def test_a_proxy_that_fails_is_told_in_words(gateway, double, make_session,
                                             policies, origin, what):
    cases = HTTP if gateway.scheme == "http" else SOCKS
    double.answer, words = cases.get(what, cases["closed"])
    session = make_session(policies.make(
        [policies.rule("good.example", paths=["/**"])]))
    answer = session.curl(origin.url("/echo"))
    assert answer.status == 502, answer.error
    assert answer.json["constraint"] == "proxy_failed"
    assert words in answer.json["detail"], answer.json["detail"]


def test_a_silent_proxy_is_given_up(gateway, double, make_session, policies,
                                    origin):
    double.answer = lambda stream: stream.recv(1)
    session = make_session(policies.make(
        [policies.rule("good.example", "other.example", paths=["/**"])]))
    began = time.monotonic()
    answer = session.curl(origin.url("/echo"))
    assert answer.json["constraint"] == "proxy_failed"
    assert "time" in answer.json["detail"]
    assert time.monotonic() - began < 20
    # Past the proxy all is well.
    assert session.curl(origin.url("/echo", "other.example")).status == 200


def test_a_proxy_that_is_not_there_is_told(make_gateway, address, origin,
                                           make_session, policies):
    gateway = gateway_behind(make_gateway, "gone", f"http://{address}:3899")
    try:
        session = make_session(policies.make(
            [policies.rule("good.example", paths=["/**"])]), on=gateway)
        answer = session.curl(origin.url("/echo"))
        assert answer.status == 502
        assert answer.json["constraint"] == "proxy_failed"
        assert f"{address}:3899" in answer.json["detail"]
        session.close()
    finally:
        gateway.stop()
        gateway.check()
