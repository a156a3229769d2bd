"""SOCKS 5 on the proxy port: decided as CONNECT is. And servers that speak
first, whichever way the client came."""
import ipaddress
import socket
import ssl
import struct
import threading

import pytest
import socks
from session import read_head
from test_dns import query
from waiting import wait_until


@pytest.fixture
def web(make_session, policies):
    def make(*rules):
        return make_session(policies.make(list(rules) or [policies.rule(
            "good.example", "plain.example", methods=["GET"],
            paths=["/**"])]))
    return make


def curl(session, url, *args, scheme="socks5h", who=""):
    """By SOCKS instead of HTTP: the last -x counts."""
    return session.curl(url, "-x",
                        f"{scheme}://{who}127.0.0.1:{session.port}", *args)


# ---- allowed, denied ----

def test_tls_and_plain_http_pass(web, origin):
    session = web()
    assert curl(session, origin.url("/echo")).json["path"] == "/echo"
    assert curl(session, origin.plain_url("/echo")).json["path"] == "/echo"
    assert session.row("request", host="good.example")["allowed"]


@pytest.mark.parametrize("plain", [False, True], ids=["tls", "plain"])
def test_a_request_is_decided_inside(web, origin, plain):
    session = web()
    url = origin.plain_url("/echo") if plain else origin.url("/echo")
    answer = curl(session, url, "-X", "DELETE")
    assert answer.status == 403
    assert answer.json["constraint"] == "method_not_allowed"


@pytest.mark.parametrize("plain", [False, True], ids=["tls", "plain"])
def test_a_host_that_no_rule_names_is_refused_inside(web, origin, plain):
    session = web()
    url = origin.plain_url("/", "other.example") if plain \
        else origin.url("/", "other.example")
    answer = curl(session, url)
    assert answer.status == 403
    assert answer.json["constraint"] == "host_not_allowed"


def test_elsewhere_the_reply_says_no(web):
    session = web()
    with session.connect() as stream:
        assert socks.greet(stream)
        assert socks.ask(stream, "good.example", 22) == 2
        assert stream.recv(1) == b""
    row = session.row("connection", host="good.example", port=22)
    assert row["constraint"] == "port_not_allowed" and not row["allowed"]


def test_elsewhere_the_reply_says_yes_with_a_rule(web, policies, origin):
    session = web({"hosts": ["good.example"], "ports": [22],
                   "action": "allow"})
    with session.connect() as stream:
        assert socks.greet(stream)
        assert socks.ask(stream, "good.example", 22) == 0


@pytest.mark.parametrize("way", ["socks", "connect"])
def test_a_person_is_asked_about_a_tunnel(gateway, make_session, policies,
                                          way):
    policy = policies.make([{"hosts": ["good.example"], "ports": [22],
                             "action": "ask", "hold": "30s"}])
    policy["network"]["tls"] = {"tunnel": ["good.example"]}
    session = make_session(policy)
    with session.connect() as stream:
        if way == "socks":
            assert socks.greet(stream)
            assert socks.ask(stream, "good.example", 22) == 0
        else:
            stream.sendall(b"CONNECT good.example:22 HTTP/1.1\r\n"
                           b"Host: good.example:22\r\n\r\n")
            assert b" 200 " in read_head(stream)
        stream.sendall(b"SSH-2.0-x\r\n")
        wanted = wait_until(lambda: gateway.get(
            f"/v1/approvals?session={session.id}&state=pending")["approvals"])
        assert wanted[0]["method"] == "CONNECT"
        assert gateway.cli("approval", "deny",
                           wanted[0]["id"]).returncode == 0
        assert stream.recv(1) == b""
    row = session.row("connection", host="good.example", port=22)
    assert row["constraint"] == "approval_denied"


def test_an_address_of_our_names_is_the_name(web, origin):
    session = web()
    udp_port, _ = session.attach_dns()
    for kind, size in ((1, 4), (28, 16)):
        with socket.socket(type=socket.SOCK_DGRAM) as dns:
            dns.settimeout(10)
            dns.sendto(query("plain.example", kind), ("127.0.0.1", udp_port))
            reply = dns.recv(512)
        at = reply.index(struct.pack(">H", size), 30) + 2
        address = str(ipaddress.ip_address(reply[at:at + size]))
        with session.connect() as stream:
            assert socks.greet(stream)
            assert socks.ask(stream, address, origin.plain_port) == 0
            stream.sendall(f"GET /echo HTTP/1.1\r\nHost: plain.example"
                           f"{origin.plain_suffix}\r\n\r\n".encode())
            assert b" 200 " in read_head(stream)


def test_a_foreign_address_is_not(web, origin):
    """Not the origin's own, and no synthetic one that stands for nothing."""
    session = web()
    for address in (origin.address, "198.18.77.77", "2001:db8::1", "fd00::9"):
        with session.connect() as stream:
            assert socks.greet(stream)
            assert socks.ask(stream, address, origin.plain_port) == 0
            stream.sendall(b"GET /echo HTTP/1.1\r\nHost: plain.example"
                           b"\r\n\r\n")
            assert b"host_not_allowed" in read_head(stream)


def test_a_foreign_address_passes_with_a_rule(web, policies, origin):
    session = web(policies.rule(origin.address))
    answer = curl(session, origin.plain_url("/echo", origin.address))
    assert answer.status == 200


def test_the_sni_must_be_the_wanted_host(web, origin):
    session = web()
    with session.connect() as stream:
        assert socks.greet(stream)
        assert socks.ask(stream, "good.example", origin.port) == 0
        context = ssl.create_default_context(cafile=session.ca)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(stream, server_hostname="other.example")
    assert session.row("connection", constraint="host_mismatch")


# ---- who ----

def test_the_lease_is_the_password(web, origin):
    session = web()
    assert curl(session, origin.plain_url("/echo"),
                who=f"x:{session.lease}@").status == 200
    assert curl(session, origin.plain_url("/echo"),
                who=f"{session.lease}:@").status == 200


def test_a_lease_that_is_given_must_be_right(web, origin, make_session,
                                             policies):
    session = web()
    other = make_session(policies.make([]))
    for who in ("x:wrong@", f"x:{other.lease}@"):
        assert curl(session, origin.plain_url("/echo"), who=who).exit == 97
    assert session.row("connection", constraint="lease_invalid")


# ---- what is not served ----

@pytest.mark.parametrize("command", [2, 3], ids=["BIND", "UDP ASSOCIATE"])
def test_only_connect_is_served(web, command):
    session = web()
    with session.connect() as stream:
        assert socks.greet(stream)
        assert socks.ask(stream, "good.example", 443, command) == 7
        assert stream.recv(1) == b""


@pytest.mark.parametrize("scheme", ["socks4", "socks4a"])
def test_socks_4_is_refused(web, origin, scheme):
    answer = curl(web(), origin.plain_url("/", "127.0.0.1"), scheme=scheme)
    assert answer.exit == 97


# ---- servers that speak first ----

@pytest.fixture
def greeter(origin):
    """Says a word, then gives back what it hears."""
    server = socket.create_server((origin.address, 0))

    def serve(stream):
        with stream:
            stream.sendall(b"220 ready\r\n")
            while data := stream.recv(1000):
                stream.sendall(data)

    def loop():
        while True:
            try:
                stream, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(stream,),
                             daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def tunnel(session, host, port):
    stream = session.connect()
    assert socks.greet(stream)
    code = socks.ask(stream, host, port)
    return stream, code


def test_a_server_may_speak_first(make_session, policies, greeter):
    policy = policies.make([{"hosts": ["plain.example"], "ports": [greeter],
                             "action": "allow"}])
    stream, code = tunnel(make_session(policy), "plain.example", greeter)
    with stream:
        assert code == 0
        assert socks.receive(stream, 11) == b"220 ready\r\n"
        stream.sendall(b"EHLO me\r\n")
        assert socks.receive(stream, 9) == b"EHLO me\r\n"


def test_not_where_a_look_inside_is_needed(make_session, policies, greeter):
    policy = policies.make([{"hosts": ["plain.example"], "ports": [greeter],
                             "paths": ["/**"], "action": "allow"}])
    stream, code = tunnel(make_session(policy), "plain.example", greeter)
    with stream:
        assert code == 0
        stream.settimeout(2)
        with pytest.raises(socket.timeout):
            stream.recv(1)
