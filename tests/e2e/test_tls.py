"""Upstream certificates are verified, always; names must agree."""
import re
import socket
import ssl

import pytest
from session import read_head

WRONG = {
    "expired.example": "expired",
    "future.example": "not yet valid",
    "wrong-host.example": "hostname mismatch",
    "self-signed.example": "self-signed",
    "untrusted.example": "unable to get local issuer",
    "no-san.example": "hostname mismatch|subjectAltName",
    "ca-leaf.example": "CA",
    "no-usage.example": "purpose|serverAuth|extended key usage",
    "weak-key.example": "key too weak|too small|RSA",
    "sha1.example": "md too weak|SHA-1|digest|signature",
}


@pytest.fixture
def web(make_session, policies):
    def make(*hosts, **more):
        more.setdefault("paths", ["/**"])
        return make_session(policies.make([policies.rule(*hosts, **more)]))
    return make


@pytest.mark.parametrize("host", WRONG)
def test_a_wrong_certificate_is_refused_by_name(web, origin, host):
    session = web(host)
    seen = len(origin.tls.requests)
    answer = session.curl(origin.url("/", host))
    assert answer.status == 502, answer.head + answer.text
    problem = answer.json
    assert problem["constraint"] == "tls_upstream_invalid"
    assert any(word.lower() in problem["detail"].lower()
               for word in WRONG[host].split("|")), problem["detail"]
    assert len(origin.tls.requests) == seen
    assert session.row("response", constraint="tls_upstream_invalid")


@pytest.mark.parametrize("host", ["good.example", "other.example"])
def test_a_right_certificate_passes(web, origin, host):
    assert web(host).curl(origin.url("/", host)).status == 200


def test_a_credential_is_never_sent_over_a_wrong_certificate(
        make_session, policies, gateway, origin):
    gateway.put_secret("other", "not-a-real-token-0123456789")
    policy = policies.make([policies.rule("expired.example", credential="c")])
    policy["credentials"] = [{"name": "c", "secret": "other",
                              "attach": "bearer",
                              "hosts": ["expired.example"]}]
    seen = len(origin.tls.requests)
    answer = make_session(policy).curl(origin.url("/", "expired.example"))
    assert answer.status == 502
    assert answer.json["constraint"] == "tls_upstream_invalid"
    assert len(origin.tls.requests) == seen


def test_the_sni_must_be_the_host_of_connect(web, origin):
    session = web("good.example", "other.example")
    with pytest.raises((ssl.SSLError, ConnectionError)) as caught:
        stream = session.connect_tls("good.example", origin.port,
                                     "other.example")
        stream.sendall(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
        head = read_head(stream)
        assert b"host_mismatch" in head
        raise ConnectionError(head)
    assert caught
    assert session.row("connection", allowed=False)["constraint"] == \
        "host_mismatch"


def test_the_same_sni_passes(web, origin):
    session = web("good.example", "other.example")
    stream = session.connect_tls("good.example", origin.port)
    stream.sendall(f"GET /echo HTTP/1.1\r\nHost: good.example{origin.suffix}"
                   "\r\n\r\n".encode())
    assert b" 200 " in read_head(stream)
    stream.close()


def test_without_sni_the_host_of_connect_stands(web, origin):
    session = web("good.example")
    plain = session.connect()
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(cafile=session.ca)
    context.check_hostname = False
    stream = context.wrap_socket(plain)
    assert stream.getpeercert()["subjectAltName"] == (("DNS", "good.example"),)
    stream.sendall(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n")
    assert b"host_mismatch" in read_head(stream)
    stream.close()


@pytest.mark.parametrize("offered, chosen", [
    (["h2", "http/1.1"], "h2"),
    (["http/1.1", "h2"], "h2"),
    (["h2"], "h2"),
    (["http/1.1"], "http/1.1"),
    (["http/1.0", "http/1.1"], "http/1.1"),
    (["http/1.0"], "http/1.0"),
    ([], None),
])
def test_alpn_chooses_http_2_where_it_is_offered(web, origin, offered, chosen):
    session = web("good.example")
    plain = session.connect()
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(cafile=session.ca)
    if offered:
        context.set_alpn_protocols(offered)
    stream = context.wrap_socket(plain, server_hostname="good.example")
    assert stream.selected_alpn_protocol() == chosen
    stream.close()


def test_alpn_of_other_protocols_alone_is_refused(web, origin):
    session = web("good.example")
    plain = session.connect()
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(cafile=session.ca)
    context.set_alpn_protocols(["spdy/3", "h3"])
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain, server_hostname="good.example")
    plain.close()


def test_the_minted_certificate_is_short_lived_and_for_one_name(web, origin):
    session = web("good.example")
    stream = session.connect_tls("good.example", origin.port)
    leaf = stream.getpeercert()
    assert leaf["subjectAltName"] == (("DNS", "good.example"),)
    start = ssl.cert_time_to_seconds(leaf["notBefore"])
    end = ssl.cert_time_to_seconds(leaf["notAfter"])
    assert end - start <= 2 * 24 * 3600
    stream.close()


def test_old_tls_is_refused(web, origin):
    session = web("good.example")
    plain = session.connect()
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(cafile=session.ca)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError, socket.timeout)):
        context.wrap_socket(plain, server_hostname="good.example")
    plain.close()
    assert session.curl(origin.url("/echo")).status == 200


@pytest.mark.parametrize("pins", [True, False])
def test_a_client_that_takes_no_certificate_of_ours_is_on_record(
        web, origin, pki, tmp_path, pins):
    """It knows its server's own root, as one that pins does."""
    session = web("good.example")
    (tmp_path / "ca.pem").write_text(pki[1])
    plain = session.connect()
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(
        cafile=tmp_path / "ca.pem" if pins else session.ca)
    if pins:
        with pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(plain, server_hostname="good.example")
        row = session.row("connection", allowed=False)
        assert row["constraint"] == "tls_client_failed"
        assert "unknown ca" in row["detail"]
        assert row["host"] == "good.example"
    else:
        context.wrap_socket(plain, server_hostname="good.example").close()
        session.row("connection", allowed=True)
    plain.close()
    assert session.curl(origin.url("/echo")).status == 200
    if not pins:
        assert not [row for row in session.audit("connection")
                    if not row["allowed"]]


ECH = 0xfe0d


def hello(name, extension=None):
    """A ClientHello of TLS 1.2, whose answer is in the clear."""
    context = ssl.create_default_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    sent = ssl.MemoryBIO()
    connection = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    record = sent.read()
    if extension is None:
        return record
    body = record[9:]
    at = 34
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at:at + 2], "big")
    at += 1 + body[at]
    more = extension.to_bytes(2, "big") + b"\0\2xx"
    all_of = body[at + 2:] + more
    body = body[:at] + len(all_of).to_bytes(2, "big") + all_of
    handshake = b"\1" + len(body).to_bytes(3, "big") + body
    return record[:3] + len(handshake).to_bytes(2, "big") + handshake


def certificate_is_of_the_origin(session, origin, pki, first):
    """The first bytes go through CONNECT: whose certificate comes back?"""
    pem = pki[0]["good.example"].read_text()
    wanted = ssl.PEM_cert_to_DER_cert(re.search(
        "-----BEGIN CERT.*?END CERTIFICATE-----\n", pem, re.S)[0])
    with session.connect() as stream:
        stream.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                       f"Host: good.example:{origin.port}\r\n\r\n".encode())
        assert b" 200 " in read_head(stream)
        stream.sendall(first)
        got = b""
        while b"\x0e\0\0\0" not in got:  # ServerHelloDone
            part = stream.recv(65536)
            assert part, got
            got += part
    return wanted in got


def test_a_name_that_may_hide_another_is_no_tunnel(
        make_session, policies, origin, pki):
    rules = [policies.rule("good.example")]
    tunnel = policies.make(rules)
    tunnel["network"]["tls"] = {"tunnel": ["good.example"]}
    ech, other = hello("good.example", ECH), hello("good.example", 0xfe0e)
    session, never = make_session(policies.make(rules)), make_session(tunnel)
    assert not certificate_is_of_the_origin(session, origin, pki, ech)
    # The twins: nothing hides, or nobody may look.
    for who, first in [(session, other), (session, hello("good.example")),
                       (never, ech)]:
        assert certificate_is_of_the_origin(who, origin, pki, first)
