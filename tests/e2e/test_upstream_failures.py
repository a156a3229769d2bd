"""Everything that can go wrong with an upstream: each kind has its named
constraint, none hangs past its deadline, and others are served meanwhile."""
import os
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from bad_origin import (Full, Server, close, hold, read_head, reset, says)
from dns_double import NXDOMAIN, SERVFAIL, DnsDouble, addresses, reply
from waiting import at_best

PID = os.getpid()
NET = f"127.{64 + (PID >> 8) % 128}.{PID & 255}"
RESPONSE_S = 2
OK = b"HTTP/1.1 200 OK\r\n"
SLACK_S = 4


def after_hello(end):
    def serve(stream):
        stream.recv(65536)
        end(stream)
    return serve


def noise_for_tls(stream):
    stream.recv(65536)
    stream.sendall(b"HTTP/1.1 400 this is no TLS\r\n\r\n" * 4)
    hold(stream)


def endless_interim(stream):
    read_head(stream)
    while True:
        stream.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")


def endless_head(stream):
    read_head(stream)
    stream.sendall(OK)
    while True:
        stream.sendall(b"X: y\r\n")


def reset_in_request(stream):
    stream.recv(1)
    reset(stream)


# kind: (what the server does, constraint, status, at most so many seconds)
PLAIN = {
    "reset-at-accept": (reset, "upstream_closed", 502, 1),
    "reset-in-request": (reset_in_request, "upstream_closed", 502, 1),
    "close-before-head": (says(end=close), "upstream_closed", 502, 1),
    "reset-before-head": (says(end=reset), "upstream_closed", 502, 1),
    "close-in-head": (says(OK + b"Content-Le", end=close),
                      "upstream_closed", 502, 1),
    "reset-in-head": (says(OK + b"Content-Le", end=reset),
                      "upstream_closed", 502, 1),
    "garbage": (says(b"\0\1\2\3 what\r\n\r\n"), "response_malformed", 502, 1),
    "cl-and-te": (says(OK + b"Content-Length: 3\r\nTransfer-Encoding: "
                       b"chunked\r\n\r\n0\r\n\r\n"),
                  "response_malformed", 502, 1),
    "two-lengths": (says(OK + b"Content-Length: 3\r\nContent-Length: 4\r\n"
                         b"\r\nabcd"), "response_malformed", 502, 1),
    "bare-lf": (says(b"HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
                "response_malformed", 502, 1),
    "two-digits": (says(b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"),
                   "response_malformed", 502, 1),
    "http2": (says(b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
              "response_malformed", 502, 1),
    "folded": (says(OK + b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n"),
               "response_malformed", 502, 1),
    "unasked-101": (says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                         b"Connection: upgrade\r\n\r\n"),
                    "response_malformed", 502, 1),
    "endless-1xx": (endless_interim, "response_malformed", 502, 1),
    "endless-head": (endless_head, "response_malformed", 502, 1),
    "stall-before-head": (says(), "response_timeout", 504, RESPONSE_S),
    "stall-in-head": (says(OK), "response_timeout", 504, RESPONSE_S),
}
# The head is through: the client must not take what came for the whole.
CUT = {
    "truncated-body": (says(OK + b"Content-Length: 30\r\n\r\nabc", end=close),
                       1),
    "reset-in-body": (says(OK + b"Content-Length: 30\r\n\r\nabc", end=reset),
                      1),
    "bad-chunk": (says(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
                       b"zz\r\n"), 1),
    "chunks-without-end": (says(OK + b"Transfer-Encoding: chunked\r\n\r\n"
                                b"3\r\nabc\r\n", end=close), 1),
    "stall-in-body": (says(OK + b"Content-Length: 30\r\n\r\nabc"),
                      RESPONSE_S),
    "stall-in-chunk": (says(OK + b"Transfer-Encoding: chunked\r\n\r\n"
                            b"9\r\nabc"), RESPONSE_S),
}
TLS = {
    "tls-reset-at-accept": (reset, "upstream_closed", 502, 1),
    "tls-garbage": (noise_for_tls, "tls_upstream_invalid", 502, 1),
    "tls-close-after-hello": (after_hello(close), "upstream_closed", 502, 1),
    "tls-reset-after-hello": (after_hello(reset), "upstream_closed", 502, 1),
    "tls-stall": (after_hello(hold), "connect_timeout", 504, 15),
}
# Names of the origin whose certificates are wrong (pki.py).
CERTIFICATES = ["expired", "future", "wrong-host", "self-signed", "untrusted",
                "no-san", "ca-leaf", "no-usage", "weak-key", "sha1"]


def name_of(kind):
    return f"{kind}.bad.example"


@pytest.fixture(scope="module")
def bad(origin, pki):
    """Every failing upstream, and the DNS that knows where each is."""
    names = {"good.example": addresses(origin.address)}
    servers, number = [], 20

    def place(kind, make):
        nonlocal number
        number += 1
        servers.append(make(f"{NET}.{number}"))
        names[name_of(kind)] = addresses(f"{NET}.{number}")
    for kind, (serve, *_) in {**PLAIN, **CUT}.items():
        place(kind, lambda to, serve=serve: Server(to, origin.plain_port,
                                                   serve))
    for kind, (serve, *_) in TLS.items():
        place(kind, lambda to, serve=serve: Server(to, origin.port, serve))
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.load_cert_chain(pki[0]["good.example"])
    place("tls-1-1", lambda to: Server(to, origin.port, hold, old))
    place("full", lambda to: Full(to, origin.plain_port))
    for name in CERTIFICATES:
        names[f"{name}.example"] = addresses(origin.address)
    names[name_of("refused")] = addresses(f"{NET}.19")
    names[name_of("nxdomain")] = lambda q, *_: reply(q, rcode=NXDOMAIN)
    names[name_of("servfail")] = lambda q, *_: reply(q, rcode=SERVFAIL)
    names[name_of("no-answer")] = lambda *_: None
    names[name_of("no-address")] = lambda q, *_: reply(q)
    dns = DnsDouble(f"{NET}.18", 5300)
    dns.names = names
    yield dns
    for server in (*servers, dns):
        server.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, bad):
    gateway = make_gateway("bad", config={"dns": {"servers": [bad.where]}})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def web(make_session, policies):
    policy = policies.make([{"hosts": ["*"], "ports": policies.ports,
                             "action": "allow", "paths": ["/**"]}])
    policy["network"]["addresses"] = {"allow": ["127.0.0.0/8"]}
    policy["network"]["limits"] = {"response": f"{RESPONSE_S}s"}
    return make_session(policy)


@pytest.fixture
def meanwhile(make_session, policies, origin):
    """Another session, whose requests must be answered all the time."""
    other = make_session(policies.make([
        policies.rule("good.example", paths=["/**"])]))
    slow, over = [], threading.Event()

    def ask_directly():
        began = time.monotonic()
        subprocess.run(["curl", "-s", "-o", "/dev/null",
                        f"http://{origin.address}:{origin.plain_port}/echo"],
                       stdin=subprocess.DEVNULL, timeout=60, check=True)
        return time.monotonic() - began

    def ask(pool):
        while not over.is_set():
            # How slow the machine is just then is not the gateway's.
            direct = pool.submit(ask_directly)
            began = time.monotonic()
            answer = other.curl(origin.plain_url("/echo", "good.example"))
            taken = time.monotonic() - began
            if answer.status != 200:
                slow.append(answer.head)
            if taken > SLACK_S + direct.result():
                slow.append(taken)
            over.wait(0.2)
    with ThreadPoolExecutor(2) as pool:
        asking = pool.submit(ask, pool)
        yield
        over.set()
        asking.result()
    assert not slow


def fails(web, url, constraint, status, seconds):
    def attempt():
        began = time.monotonic()
        answer = web.curl(url)
        taken = time.monotonic() - began
        assert answer.status == status, (answer.head, answer.error)
        assert answer.json["constraint"] == constraint, answer.text
        assert answer.json["detail"]
        return taken
    at_best(seconds + SLACK_S, attempt)


@pytest.mark.parametrize("kind", PLAIN)
def test_http_that_fails(web, bad, origin, meanwhile, kind):
    fails(web, origin.plain_url("/", name_of(kind)), *PLAIN[kind][1:])


@pytest.mark.parametrize("kind", CUT)
def test_a_body_that_fails_is_not_whole_for_the_client(web, bad, origin,
                                                       meanwhile, kind):
    def attempt():
        began = time.monotonic()
        answer = web.curl(origin.plain_url("/", name_of(kind)))
        assert answer.status == 200
        # 18: a partial file; 56: the connection failed.
        assert answer.exit in (18, 56), answer.error
        assert answer.body == b"abc"
        return time.monotonic() - began
    at_best(CUT[kind][1] + SLACK_S, attempt)


@pytest.mark.parametrize("kind", TLS)
def test_tls_that_fails(web, bad, origin, meanwhile, kind):
    fails(web, origin.url("/", name_of(kind)), *TLS[kind][1:])


def test_tls_1_1_is_not_spoken(web, bad, origin, meanwhile):
    fails(web, origin.url("/", name_of("tls-1-1")), "tls_upstream_invalid",
          502, 1)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_that_is_wrong(web, bad, origin, meanwhile, name):
    fails(web, origin.url("/", f"{name}.example"), "tls_upstream_invalid",
          502, 1)


@pytest.mark.parametrize("kind,constraint,status,seconds", [
    ("refused", "connect_failed", 502, 1),
    ("full", "connect_timeout", 504, 10),
    ("nxdomain", "dns_failed", 502, 1),
    ("servfail", "dns_failed", 502, 2),
    ("no-address", "dns_failed", 502, 1),
    ("no-answer", "dns_failed", 502, 5)])
def test_no_connection_is_made(web, bad, origin, meanwhile, kind, constraint,
                               status, seconds):
    fails(web, origin.plain_url("/", name_of(kind)), constraint, status,
          seconds)


def test_what_does_not_fail_passes(web, bad, origin):
    """The twin."""
    for url in (origin.url("/echo"), origin.plain_url("/echo",
                                                      "good.example")):
        assert web.curl(url).status == 200


def test_a_slow_upstream_may_take_its_time_as_long_as_it_speaks(web, bad,
                                                                origin):
    """Silence is what is bounded, not the length of an answer."""
    # How much a machine drips in that time is another question.
    for patience in (2, 4, 8):
        answer = web.curl(origin.plain_url("/drip", "good.example"),
                          "--max-time", str(RESPONSE_S * patience))
        assert answer.exit == 28
        if len(answer.body) > 10 * RESPONSE_S:
            break
    assert len(answer.body) > 10 * RESPONSE_S
