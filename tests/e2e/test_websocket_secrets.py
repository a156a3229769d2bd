"""No message of a WebSocket's client holds a secret where a rule says so: it
ends the connection, and nothing of it reaches the server."""
import base64
import contextlib
import json
import struct
import urllib.parse
import zlib

import pytest
import websocket
from gateway import wait_until
from websocket import BINARY, CLOSE, TEXT

HOST = "good.example"
OWN = "a secret/of one's own: 7f3&kind"


def github_token():
    """Of GitHub's shape, with the checksum that such a token ends with."""
    letters = ("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
               "abcdefghijklmnopqrstuvwxyz")
    body = "kT9mQ2xW5vB8nR4jL7pD1sF6hG3cZ0"
    check, digits = zlib.crc32(body.encode()), ""
    while check:
        check, digit = divmod(check, 62)
        digits = letters[digit] + digits
    return "ghp_" + body + digits.rjust(6, "0")


TOKEN = github_token()
KNOWN = {
    "as it is": TOKEN,
    "in words": f"use {TOKEN} for it",
    "in JSON": json.dumps({"say": [TOKEN]}),
    "in JSON's escapes": '{"say": "' + "".join(
        f"\\u{ord(c):04x}" for c in TOKEN) + '"}',
    "percent": "q=" + "".join(f"%{ord(c):02x}" for c in TOKEN),
}
OWNS = {
    "as it is": OWN,
    "base64": base64.b64encode(b"xy" + OWN.encode()).decode(),
    "hex": OWN.encode().hex(),
    "percent": urllib.parse.quote(OWN, safe=""),
}


@pytest.fixture(scope="module")
def guarded(make_gateway, policies, tmp_path_factory):
    path = tmp_path_factory.mktemp("guardrail") / "guardrail.yaml"
    path.write_text(json.dumps({"version": 1, "network": {
        "rules": [{"name": "no-leaks", "hosts": [HOST],
                   "ports": policies.ports,
                   "websocket": {"secrets": "deny"}, "action": "allow"}],
        "addresses": policies.addresses}}))
    gateway = make_gateway("guarded", config={"guardrail": str(path)})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def web(make_session, policies):
    """A session with a credential of its own, and a rule for WebSockets."""
    def make(on, **websocket):
        on.put_secret("own", OWN)
        policy = policies.make([policies.rule(
            HOST, name="chat", methods=["GET"], paths=["/**"],
            websocket={"binary": True, **websocket})])
        policy["credentials"] = [{"name": "own", "secret": "own",
                                  "attach": "bearer",
                                  "hosts": ["plain.example"]}]
        return make_session(policy, on=on)
    return make


@pytest.fixture
def dial(origin):
    """Open a WebSocket; own secrets are known a moment after the session."""
    with contextlib.ExitStack() as stack:
        def attempt(session, path):
            stream = stack.enter_context(
                session.connect_tls(HOST, origin.port))
            stream.settimeout(30)
            return websocket.Client(stream, HOST + origin.suffix, path)

        def make(session, path="/ws/echo"):
            made = []

            def is_known():
                made.append(attempt(session, path))
                return made[-1].status != 500
            wait_until(is_known, timeout=30, every=0.2)
            return made[-1]
        yield make


def frames(origin, mark):
    return [f for f in origin.tls.frames[mark:] if isinstance(f, tuple)]


def handshakes(origin, mark):
    """Frames of a connection before may still come meanwhile."""
    return [f for f in origin.tls.frames[mark:] if isinstance(f, dict)]


def is_ended(client, session, origin, mark, rule="chat"):
    opcode, data = client.receive()
    assert opcode == CLOSE, data
    assert data == struct.pack(">H", 1008) + b"egress denied: secret_in_body"
    row = session.row("response", constraint="secret_in_body")
    assert row["rule"] == rule and not row["allowed"]
    assert OWN not in json.dumps(row) and TOKEN not in json.dumps(row)
    # The server hears of the end alone.
    assert wait_until(lambda: frames(origin, mark)) == [
        (CLOSE, True, struct.pack(">H", 1008), True)]


@pytest.mark.parametrize("kind", [TEXT, BINARY], ids=["text", "binary"])
@pytest.mark.parametrize("form", KNOWN)
def test_a_token_does_not_leave(gateway, web, dial, origin, form, kind):
    session, twin = web(gateway, secrets="deny"), web(gateway)
    client, other = dial(session), dial(twin)
    client.send(kind, "a message without one")
    assert client.receive() == (kind, b"a message without one")
    mark = len(origin.tls.frames)
    client.send(kind, KNOWN[form])
    is_ended(client, session, origin, mark)
    other.send(kind, KNOWN[form])
    assert other.receive() == (kind, KNOWN[form].encode())


@pytest.mark.parametrize("form", OWNS)
def test_an_own_secret_does_not_leave(gateway, web, dial, origin, form):
    session, twin = web(gateway, secrets="deny"), web(gateway)
    client, other = dial(session), dial(twin)
    mark = len(origin.tls.frames)
    client.send(TEXT, f"look: {OWNS[form]} there")
    is_ended(client, session, origin, mark)
    other.send(TEXT, OWNS[form])
    assert other.receive() == (TEXT, OWNS[form].encode())


@pytest.mark.parametrize("secret", [TOKEN, OWN], ids=["token", "own"])
def test_no_border_of_frames_hides_it(gateway, web, dial, origin, secret):
    session = web(gateway, secrets="deny")
    client = dial(session)
    mark = len(origin.tls.frames)
    client.send(TEXT, "it is " + secret[0], fin=False)
    for byte in secret[1:]:
        client.send(0, byte, fin=False)
    client.send(0, " so")
    is_ended(client, session, origin, mark)


def test_it_is_found_at_the_end_of_a_long_message(gateway, web, dial, origin):
    session = web(gateway, secrets="deny", message="4MiB")
    client = dial(session)
    words = b"nothing of note. " * 200000
    client.send(TEXT, words)
    assert client.receive() == (TEXT, words)
    mark = len(origin.tls.frames)
    client.send(TEXT, words + TOKEN.encode())
    is_ended(client, session, origin, mark)


def test_what_cannot_be_held_whole_is_refused(gateway, web, dial, origin):
    session = web(gateway, secrets="deny", message="1KiB")
    client = dial(session)
    mark = len(origin.tls.frames)
    client.send(TEXT, "x" * 1025)
    assert client.code() == 1009
    assert session.row("response", constraint="websocket_message")
    assert not any(f[2].startswith(b"x") for f in frames(origin, mark))


def test_the_handshakes_query_is_searched(gateway, web, dial, origin):
    path = f"/ws/echo?token={TOKEN}"
    mark = len(origin.tls.frames)
    client = dial(web(gateway, secrets="deny"), path)
    assert client.status == 403 and "secret_in_body" in client.head
    assert not handshakes(origin, mark)
    assert dial(web(gateway), path).status == 101


def test_the_lease_is_no_secret(gateway, web, dial):
    """It is what a placeholder holds, and worthless elsewhere."""
    session = web(gateway, secrets="deny")
    client = dial(session)
    client.send(TEXT, session.lease)
    assert client.receive() == (TEXT, session.lease.encode())


def test_a_placeholder_ends_it(make_session, policies, gateway, dial, origin):
    """By no rule of the policy: it stands where it means nothing."""
    gateway.put_secret("own", OWN)
    policy = policies.make([policies.rule(HOST, methods=["GET"],
                                          paths=["/**"],
                                          websocket={"binary": True})])
    policy["credentials"] = [{"name": "own", "secret": "own",
                              "attach": "bearer", "hosts": ["plain.example"],
                              "placeholder": {"env": ["KEY"]}}]
    session = make_session(policy)
    worthless = session.placeholders["KEY"].encode()
    for kind in (TEXT, BINARY):
        mark, client = len(origin.tls.frames), dial(session)
        client.send(kind, b"key: " + worthless[:-1])
        assert client.receive()[1] == b"key: " + worthless[:-1]
        client.send(kind, b"key: " + worthless)
        opcode, data = client.receive()
        assert opcode == CLOSE
        assert data == struct.pack(">H", 1008) + \
            b"egress denied: placeholder_not_allowed"
        wait_until(lambda: frames(origin, mark)[1:])
        assert worthless not in str(frames(origin, mark)).encode()


def test_what_the_server_says_is_its_own_affair(gateway, web, dial, origin):
    client = dial(web(gateway, secrets="deny"), "/ws/early")
    assert client.receive() == (TEXT, b"hello")


@pytest.mark.parametrize("kind", [TEXT, BINARY], ids=["text", "binary"])
def test_the_guardrail_may_say_so(guarded, web, dial, origin, kind):
    session = web(guarded)
    client = dial(session)
    client.send(kind, "no secret")
    assert client.receive() == (kind, b"no secret")
    mark = len(origin.tls.frames)
    client.send(kind, TOKEN)
    is_ended(client, session, origin, mark, rule="guardrail/no-leaks")
