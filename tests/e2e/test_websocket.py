"""WebSockets: the handshake is made anew on both sides, messages are read
whole and held against the rule."""
import contextlib
import struct

import pytest
import websocket
from gateway import wait_until
from websocket import BINARY, CLOSE, PING, PONG, TEXT

HOST = "good.example"


@pytest.fixture
def web(make_session, policies):
    """A session with a rule that allows WebSockets as given."""
    def make(allowed=None, **more):
        rule = policies.rule(HOST, "plain.example", methods=["GET"],
                             paths=["/**"], **more)
        if allowed is not None:
            rule["websocket"] = allowed
        return make_session(policies.make([rule]))
    return make


@pytest.fixture
def dial(origin):
    """Open a WebSocket through a session."""
    with contextlib.ExitStack() as stack:
        def make(session, kind="echo", fields=(), early=b""):
            stream = stack.enter_context(
                session.connect_tls(HOST, origin.port))
            stream.settimeout(60)
            return websocket.Client(stream, HOST + origin.suffix,
                                    f"/ws/{kind}", fields, early)
        yield make


def seen(origin, mark):
    """The frames that the origin got since mark, with their payloads."""
    return [f for f in origin.tls.frames[mark:] if isinstance(f, tuple)]


# ---- allowed ----

def test_messages_pass_both_ways(web, dial):
    client = dial(web({"binary": True}))
    assert client.status == 101
    assert websocket.accept_of(client.key) in client.head
    client.send(TEXT, "hello")
    assert client.receive() == (TEXT, b"hello")
    client.send(TEXT, "")
    assert client.receive() == (TEXT, b"")
    client.send(BINARY, b"\0\xff" * 30000)
    assert client.receive() == (BINARY, b"\0\xff" * 30000)


def test_in_the_clear_as_well(web, origin):
    session = web({})
    with session.connect() as stream:
        client = websocket.Client(
            stream, f"plain.example{origin.plain_suffix}",
            f"http://plain.example{origin.plain_suffix}/ws/echo")
        assert client.status == 101, client.head
        client.send(TEXT, "hello")
        assert client.receive() == (TEXT, b"hello")


def test_the_handshake_is_our_own(web, dial, origin):
    mark = len(origin.tls.frames)
    client = dial(web({}), "protocol", [
        "Sec-WebSocket-Protocol: first,second",
        "Sec-WebSocket-Extensions: permessage-deflate", "X-Mine: yes"])
    assert client.status == 101
    assert "Sec-WebSocket-Protocol: second" in client.head
    fields = origin.tls.frames[mark]
    assert fields["sec-websocket-key"] != client.key
    assert fields["sec-websocket-protocol"] == "first, second"
    assert "sec-websocket-extensions" not in fields
    assert fields["x-mine"] == "yes"


def test_pieces_are_put_together_and_masked_anew(web, dial, origin):
    mark = len(origin.tls.frames)
    client = dial(web({}))
    client.send(TEXT, "one ", fin=False)
    client.send(0, "two ", fin=False)
    client.send(0, "three")
    assert client.receive() == (TEXT, b"one two three")
    assert seen(origin, mark) == [(TEXT, True, b"one two three", True)]


def test_a_large_message_passes_to_a_slow_reader(web, dial):
    client = dial(web({"message": "8MiB", "binary": True}))
    data = bytes(range(256)) * (6 * 4096)
    client.send(BINARY, data)
    client.send(BINARY, data[::-1])
    assert client.receive() == (BINARY, data)
    assert client.receive() == (BINARY, data[::-1])


def test_the_close_handshake_passes(web, dial, origin):
    mark = len(origin.tls.frames)
    client = dial(web({}))
    client.send(CLOSE, struct.pack(">H", 4002) + b"what no rule sees")
    assert client.code() == 4002
    assert client.stream.recv(1) == b""
    assert wait_until(lambda: seen(origin, mark)) == [
        (CLOSE, True, struct.pack(">H", 4002), True)]


def test_a_server_may_say_why_it_closes(web, dial):
    client = dial(web({}), "reason")
    assert client.receive() == (CLOSE, struct.pack(">H", 4001) + b"go away")


def test_pings_are_answered_here_and_pass_empty(web, dial, origin):
    mark = len(origin.tls.frames)
    client = dial(web({}))
    client.send(PING, b"a secret")
    assert client.receive() == (PONG, b"a secret")
    client.send(TEXT, "x")
    assert client.receive() == (TEXT, b"x")
    assert (PING, True, b"", True) in seen(origin, mark)
    assert not any(b"secret" in f[2] for f in seen(origin, mark))


def test_a_servers_ping_is_answered(web, dial, origin):
    mark = len(origin.tls.frames)
    client = dial(web({}), "ping")
    assert client.receive() == (PING, b"")
    wait_until(lambda: (PONG, True, b"are you there", True)
               in seen(origin, mark))


def test_words_that_come_with_the_101_are_not_lost(web, dial):
    client = dial(web({}), "early")
    assert client.receive() == (TEXT, b"hello")


def test_what_the_client_says_early_waits_for_the_101(web, dial):
    client = dial(web({}), early=websocket.frame(TEXT, b"early"))
    assert client.status == 101
    assert client.receive() == (TEXT, b"early")


# ---- denied ----

def test_no_rule_allows_it(web, dial, origin):
    mark = len(origin.tls.frames)
    client = dial(web())
    assert client.status == 403
    assert "websocket_not_allowed" in client.head
    assert len(origin.tls.frames) == mark


def test_another_upgrade_is_none(web, origin):
    with web({}).connect_tls(HOST, origin.port) as stream:
        stream.sendall(f"GET /ws/echo HTTP/1.1\r\nHost: {HOST}"
                       f"{origin.suffix}\r\nConnection: Upgrade\r\n"
                       "Upgrade: h2c\r\n\r\n".encode())
        assert b"upgrade_not_supported" in stream.recv(1000)


@pytest.mark.parametrize("kind", ["no-accept", "wrong-accept", "extension",
                                  "other-protocol", "h2c"])
def test_an_upstream_that_answers_wrongly_is_none(web, dial, kind):
    """A30: nothing raw passes without a checked 101."""
    session = web({})
    client = dial(session, kind, ["Sec-WebSocket-Protocol: first"],
                  early=b"raw bytes that nobody may see")
    assert client.status == 502, client.head
    assert "response_malformed" in client.head
    assert session.row("response", constraint="response_malformed")


@pytest.mark.parametrize("path", ["/status/200", "/status/404"])
def test_any_other_answer_is_a_response(web, origin, path):
    """A29: what the client said early goes nowhere."""
    with web({}).connect_tls(HOST, origin.port) as stream:
        client = websocket.Client(stream, HOST + origin.suffix, path,
                                  early=b"GET /smuggled HTTP/1.1\r\n\r\n")
        assert client.status == int(path[-3:])
        assert websocket.read_exactly(stream, 9) == b"as asked\n"
        assert stream.recv(1) == b""
    assert "GET /smuggled" not in origin.tls.requests


VIOLATIONS = {
    "binary": (lambda c: c.send(BINARY, b"x"), 1008),
    "too large": (lambda c: c.send(TEXT, b"x" * 1025), 1009),
    "too large in pieces": (lambda c: [c.send(TEXT, b"x" * 600, fin=False),
                                       c.send(0, b"x" * 600)], 1009),
    "not masked": (lambda c: c.send(TEXT, b"x", mask=False), 1002),
    "not UTF-8": (lambda c: c.send(TEXT, b"\xff"), 1007),
    "an extension's bit": (lambda c: c.send(TEXT, b"x", rsv=4), 1002),
    "an unknown kind": (lambda c: c.send(3, b"x"), 1002),
    "a long ping": (lambda c: c.send(PING, b"x" * 126), 1002),
    "a piece of nothing": (lambda c: c.send(0, b"x"), 1002),
    "pieces without end": (
        lambda c: c.stream.sendall(
            websocket.frame(TEXT, fin=False)
            + websocket.frame(0, fin=False) * 1100), 1008),
}


@pytest.mark.parametrize("what", VIOLATIONS)
def test_a_message_that_breaks_the_rule_ends_it(web, dial, origin, what):
    mark = len(origin.tls.frames)
    session = web({"message": "1KiB"})
    client = dial(session)
    say, code = VIOLATIONS[what]
    say(client)
    assert client.code() == code
    assert session.row("response", constraint="websocket_message")
    # Upstream hears of the end alone.
    assert wait_until(lambda: seen(origin, mark)) == [
        (CLOSE, True, struct.pack(">H", code), True)]


def test_a_text_message_must_match_the_rules_pattern(web, dial, origin):
    session = web({"text": r'\{"do":"(read|list)"\}'})
    client = dial(session)
    client.send(TEXT, '{"do":"', fin=False)
    client.send(0, 'read"}')
    assert client.receive() == (TEXT, b'{"do":"read"}')
    mark = len(origin.tls.frames)
    client.send(TEXT, '{"do":"', fin=False)
    client.send(0, 'drop"}')
    assert client.code() == 1008
    assert session.row("response", constraint="websocket_message")
    assert not any(b"drop" in f[2] for f in seen(origin, mark))


def test_a_servers_message_need_not_match_it(web, dial):
    client = dial(web({"text": "x"}), "early")
    assert client.receive() == (TEXT, b"hello")


def test_a_message_within_the_rule_passes(web, dial):
    client = dial(web({"message": "1KiB"}))
    client.send(TEXT, b"x" * 1024)
    assert client.receive() == (TEXT, b"x" * 1024)


def test_a_flood_of_pings_ends_it(web, dial):
    session = web({})
    client = dial(session)
    client.stream.sendall(websocket.frame(PING, b"x") * 150)
    got = [client.receive()[0]]
    while got[-1] == PONG:
        got.append(client.receive()[0])
    assert got[-1] == CLOSE and len(got) == 101
    assert session.row("response", constraint="websocket_message")


def test_a_server_that_breaks_the_rfc_is_cut_off(web, dial):
    session = web({})
    client = dial(session, "masked")
    assert client.code() == 1002
    assert session.row("response", constraint="response_malformed")


def test_a_server_may_send_binary_messages(web, dial):
    assert dial(web({}), "binary").receive() == (BINARY, b"\0\1")


def test_the_end_of_the_session_ends_it(web, dial, gateway):
    session = web({})
    client = dial(session)
    client.send(TEXT, "x")
    client.receive()
    gateway.end(session.id)
    with pytest.raises((EOFError, OSError)):
        client.receive()
