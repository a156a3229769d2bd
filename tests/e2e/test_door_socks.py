"""SOCKS 5 at the door: the lease is the password (RFC 1929), and all else is
as with Proxy-Authorization."""
import os
import signal
import socket
import ssl
import time

import pytest
import socks
from gateway import wait_until
from session import read_head
from test_door import (PORT, SOURCES, WRONG, address, client,  # noqa: F401
                       gateway, seen)
from waiting import at_best

LOGIN_FAILED = 97  # curl: the proxy's handshake did not succeed


def curl(one, url, *args, who=None, scheme="socks5h"):
    """By SOCKS: the last -x counts."""
    who = f"x:{one.lease}" if who is None else who
    return one.curl(one.proxy, url, "-x", f"{scheme}://{who}@{one.proxy}",
                    "--proxy-user", who, *args)


def knock(address):  # noqa: F811
    """From an address that has brought no wrong lease yet."""
    return socket.create_connection((address, PORT), 60, (next(SOURCES), 0))


def ask(address, host, port, lease):  # noqa: F811
    """The stream, once the reply has said yes."""
    stream = knock(address)
    assert socks.greet(stream, "x", lease)
    assert socks.ask(stream, host, port) == 0
    return stream


# ---- allowed, denied ----

@pytest.mark.parametrize("how", ["--socks5-hostname", "--proxy"])
def test_curl_reaches_what_its_session_may(client, origin, how):  # noqa: F811
    one = client()
    where = one.proxy if how == "--socks5-hostname" \
        else f"socks5h://{one.proxy}"
    for url in (origin.url("/echo"),
                origin.plain_url("/echo", "good.example")):
        answer = one.curl(one.proxy, url, how, where)
        assert answer.status == 200, answer.error
        assert answer.json["path"] == "/echo"


def test_the_lease_may_be_the_user(client, origin):  # noqa: F811
    one = client()
    url = origin.plain_url("/echo", "good.example")
    assert curl(one, url, who=f"{one.lease}:").status == 200
    assert curl(one, url, who=f"{WRONG}:").exit == LOGIN_FAILED


def test_what_its_policy_does_not_allow_is_denied_in_words(
        client, origin, gateway):  # noqa: F811
    one, twin = client(), client("other.example")
    url = origin.url("/echo", "other.example")
    answer = curl(one, url)
    assert answer.status == 403, answer.error
    assert answer.json["constraint"] == "host_not_allowed"
    assert answer.json["session"] == one.id
    assert curl(twin, url).status == 200


def test_elsewhere_the_reply_says_no(client, address, gateway,  # noqa: F811
                                     policies, origin, tmp_path):
    one = client()
    with knock(address) as stream:
        assert socks.greet(stream, "x", one.lease)
        assert socks.ask(stream, "good.example", 22) == 2
        assert stream.recv(1) == b""
    row, = wait_until(lambda: gateway.audit(one.id, "connection"))
    assert row["constraint"] == "port_not_allowed" and not row["allowed"]
    with ask(address, "good.example", origin.port, one.lease):
        pass


@pytest.mark.parametrize("command", [2, 3], ids=["BIND", "UDP ASSOCIATE"])
def test_only_connect_is_served(client, address, command):  # noqa: F811
    one = client()
    with knock(address) as stream:
        assert socks.greet(stream, "x", one.lease)
        assert socks.ask(stream, "good.example", 443, command) == 7
        assert stream.recv(1) == b""


def test_all_of_it_may_come_at_once(client, address, origin):  # noqa: F811
    """Before any answer: nothing of it is lost, no answer comes twice."""
    one = client()
    host = f"good.example:{origin.plain_port}"
    lease = one.lease.encode()
    with knock(address) as stream:
        stream.sendall(b"\5\2\0\2" + b"\1\1x" + bytes([len(lease)]) + lease
                       + b"\5\1\0" + socks.address_bytes("good.example")
                       + origin.plain_port.to_bytes(2, "big")
                       + f"GET /echo HTTP/1.1\r\nHost: {host}\r\n\r\n"
                       .encode())
        assert socks.receive(stream, 4) == b"\5\2\1\0"
        assert socks.receive(stream, 10)[:2] == b"\5\0"
        assert b" 200 " in read_head(stream).split(b"\r\n")[0]


def test_it_may_come_byte_by_byte(client, address, origin):  # noqa: F811
    one = client()
    with knock(address) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"\5\1\2":
            stream.sendall(bytes([byte]))
        assert socks.receive(stream, 2) == b"\5\2"
        lease = one.lease.encode()
        for byte in b"\1\1x" + bytes([len(lease)]) + lease:
            stream.sendall(bytes([byte]))
        assert socks.receive(stream, 2) == b"\1\0"
        assert socks.ask(stream, "good.example", origin.port) == 0


# ---- who ----

@pytest.mark.parametrize("greeting", [b"\5\1\0", b"\5\0", b"\5\2\0\1"],
                         ids=["none", "no method", "GSSAPI"])
def test_nobody_goes_without_a_password(client, address, origin,  # noqa: F811
                                        greeting):
    client()
    before = seen(origin)
    with knock(address) as stream:
        stream.sendall(greeting)
        assert socks.receive(stream, 3) == b"\5\xff"
    with knock(address) as stream:
        stream.sendall(greeting + b"\5\1\0"
                       + socks.address_bytes("good.example")
                       + origin.plain_port.to_bytes(2, "big"))
        assert socks.receive(stream, 13) == b"\5\xff"
    assert seen(origin) == before


def test_socks_4_is_refused_in_its_own_words(client, address):  # noqa: F811
    client()
    with knock(address) as stream:
        stream.sendall(b"\4\1\1\xbb\x7f\0\0\1x\0")
        assert socks.receive(stream, 9) == b"\0\x5b" + b"\0" * 6


def test_a_lease_must_be_a_sessions_own(client, gateway, origin,  # noqa: F811
                                        policies, tmp_path, address):
    from test_door import Client
    one, over = client(), client()
    inside = Client(gateway, tmp_path / "in", policies.make(
        [policies.rule("good.example", paths=["/**"])]), proxy=False)
    gateway.end(over.id)
    before = seen(origin)
    for lease in (WRONG, "", over.lease, inside.lease):
        with knock(address) as stream:
            assert not socks.greet(stream, "x" if lease else "", lease)
            assert stream.recv(1) == b""
    assert seen(origin) == before
    # Its twin, from an address that has brought none yet.
    ask(address, "good.example", origin.port, one.lease).close()
    gateway.end(inside.id, "ended")


def test_a_lease_opens_its_own_policy_alone(client, origin):  # noqa: F811
    good, other = client("good.example"), client("other.example")
    url = origin.plain_url("/echo", "good.example")
    assert curl(good, url).status == 200
    answer = curl(good, url, who=f"x:{other.lease}")
    assert answer.status == 403 and answer.json["session"] == other.id


def test_inside_each_request_is_decided(client, origin):  # noqa: F811
    one = client()
    answer = curl(one, origin.plain_url("/echo", "good.example"), "-H",
                  "Host: other.example")
    assert answer.status == 421, answer.error
    assert answer.json["constraint"] == "host_mismatch"


def test_wrong_leases_wait_and_the_right_one_does_not(
        client, address, origin):  # noqa: F811
    one = client()
    waiting = []
    for _ in range(12):
        stream = socket.create_connection((address, PORT), 30,
                                          ("127.0.4.1", 0))
        stream.sendall(b"\5\1\2")
        assert socks.receive(stream, 2) == b"\5\2"
        stream.sendall(b"\1\1x\5wrong")
        waiting.append(stream)
    with socket.create_connection((address, PORT), 20,
                                  ("127.0.4.1", 0)) as stream:
        assert socks.greet(stream, "x", one.lease)
    # The last is held for eight seconds: it has no answer yet.
    waiting[-1].setblocking(False)
    with pytest.raises(BlockingIOError):
        waiting[-1].recv(1)
    for stream in waiting:
        stream.setblocking(True)
        stream.settimeout(30)
        assert socks.receive(stream, 3) == b"\1\1"
        stream.close()


# ---- life ----

def test_revoking_ends_live_streams(client, gateway, address,  # noqa: F811
                                    origin):
    at_best(5, lambda: seconds_of_revoking(client(), gateway, address, origin))


def seconds_of_revoking(one, gateway, address, origin):  # noqa: F811
    plain = ask(address, "good.example", origin.port, one.lease)
    context = ssl.create_default_context(cafile=one.ca)
    stream = context.wrap_socket(plain, server_hostname="good.example")
    stream.sendall(f"GET /drip HTTP/1.1\r\nHost: good.example{origin.suffix}"
                   "\r\n\r\n".encode())
    assert b" 200 " in read_head(stream)
    began = time.monotonic()
    gateway.end(one.id)
    try:
        while stream.recv(65536):
            pass
    except OSError:
        pass
    return time.monotonic() - began


def test_one_edge_serves_all_ways_of_a_session(client, gateway,  # noqa: F811
                                               origin):
    one = client()
    url = origin.plain_url("/echo", "good.example")
    assert one.curl(one.proxy, url).status == 200
    edge = gateway.pid("edge", one.id)
    assert curl(one, url).status == 200
    assert gateway.pid("edge", one.id) == edge
    os.kill(edge, signal.SIGKILL)
    wait_until(lambda: curl(one, url).status == 200, timeout=30)


def test_who_says_no_more_is_closed(client, address):  # noqa: F811
    client()
    with knock(address) as stream:
        stream.sendall(b"\5\1\2")
        assert socks.receive(stream, 3) == b"\5\2"
