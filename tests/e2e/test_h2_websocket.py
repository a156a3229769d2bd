"""WebSockets over HTTP/2 (RFC 8441): an extended CONNECT is decided as the
handshake of HTTP/1.1 is, and becomes one towards the upstream."""
import json
import os
import struct
import subprocess

import h2.settings
import pytest
import websocket
from gateway import wait_until
from test_h2 import Client
from websocket import BINARY, CLOSE, PING, PONG, TEXT

HOST = "good.example"
TOKEN = "not-a-real-token-0123456789-h2-websocket"


@pytest.fixture
def web(make_session, policies):
    """A session with a rule that allows WebSockets as given."""
    def make(allowed=None, **more):
        rule = policies.rule(HOST, methods=["GET"], paths=["/ws/**"], **more)
        if allowed is not None:
            rule["websocket"] = allowed
        return make_session(policies.make([rule]))
    return make


class Stream:
    """One stream of a client as a socket: what websocket.py reads."""

    def __init__(self, client, stream):
        self.client, self.id = client, stream
        self.data = b""

    @property
    def is_over(self):
        return (self.id in self.client.ended or self.id in self.client.resets
                or self.client.is_closed)

    def _bytes(self):
        self.data += self.client.body.pop(self.id, b"")
        return self.data

    def recv(self, size):
        self.client.until(lambda: self._bytes() or self.is_over)
        part, self.data = self.data[:size], self.data[size:]
        return part

    def sendall(self, data):
        while data:
            room = min(self.client.h2.local_flow_control_window(self.id),
                       self.client.h2.max_outbound_frame_size)
            if room <= 0:
                self.client.take()
                continue
            self.client.h2.send_data(self.id, data[:room])
            self.client.send()
            data = data[room:]

    def send(self, opcode, payload=b"", **how):
        if isinstance(payload, str):
            payload = payload.encode()
        self.sendall(websocket.frame(opcode, payload, **how))

    def receive(self):
        return websocket.read_message(self)

    def end(self):
        self.client.h2.end_stream(self.id)
        self.client.send()


def handshake(client, path="/ws/echo", protocol="websocket", fields=(),
              **pseudo):
    head = {":method": "CONNECT", ":protocol": protocol, ":scheme": "https",
            ":path": path, ":authority": client.authority}
    head.update(pseudo)
    return [*head.items(), ("sec-websocket-version", "13"), *fields]


@pytest.fixture
def dial(origin):
    """Ask for a WebSocket on a stream; the stream with its status."""
    clients = {}

    def make(session, path="/ws/echo", early=b"", **more):
        if session not in clients:
            clients[session] = Client(session, origin, HOST)
        client = clients[session]
        number = client.ask(handshake(client, path, **more), end=False)
        stream = Stream(client, number)
        if early:
            stream.sendall(early)
        client.until(lambda: number in client.status or stream.is_over)
        stream.status = client.status.get(number)
        stream.fields = client.fields.get(number, {})
        return stream
    yield make
    for client in clients.values():
        client.close()


def constraint(stream):
    stream.client.answer(stream.id)
    return json.loads(stream._bytes())["constraint"]


def frames(origin, mark):
    return [f for f in origin.tls.frames[mark:] if isinstance(f, tuple)]


# ---- allowed ----

def test_it_is_offered(web, dial):
    stream = dial(web({}))
    settings = stream.client.h2.remote_settings
    assert settings[h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL] == 1


def test_messages_pass_both_ways(web, dial, origin):
    mark = len(origin.tls.frames)
    session = web({"binary": True})
    stream = dial(session, fields=[("x-mine", "yes"),
                                   ("sec-websocket-key", "mine"),
                                   ("sec-websocket-extensions",
                                    "permessage-deflate")])
    assert stream.status == 200
    assert not {"connection", "upgrade", "sec-websocket-accept",
                "content-length"} & set(stream.fields)
    stream.send(TEXT, "hello")
    assert stream.receive() == (TEXT, b"hello")
    stream.send(BINARY, b"\0\xff" * 200000)
    assert stream.receive() == (BINARY, b"\0\xff" * 200000)
    stream.send(PING, b"x")
    assert stream.receive() == (PONG, b"x")
    seen = origin.tls.frames[mark]
    assert seen["upgrade"] == "websocket" and seen["x-mine"] == "yes"
    assert len(seen["sec-websocket-key"]) == 24
    assert "sec-websocket-extensions" not in seen
    assert session.row("request", method="GET", path="/ws/echo")["allowed"]


def test_a_subprotocol_is_agreed_on(web, dial):
    stream = dial(web({}), "/ws/protocol",
                  fields=[("sec-websocket-protocol", "first, second")])
    assert stream.status == 200
    assert stream.fields["sec-websocket-protocol"] == "second"


def test_many_on_one_connection(web, dial):
    session = web({})
    streams = [dial(session) for _ in range(20)]
    for i, stream in enumerate(streams):
        stream.send(TEXT, f"message {i}")
    for i, stream in reversed(list(enumerate(streams))):
        assert stream.receive() == (TEXT, f"message {i}".encode())
    assert len({stream.client for stream in streams}) == 1


def test_a_large_message_passes_to_who_reads_late(web, dial):
    stream = dial(web({"message": "8MiB", "binary": True}))
    data = bytes(range(256)) * 16384
    stream.send(BINARY, data)
    assert stream.receive() == (BINARY, data)


def test_early_words_wait_and_none_are_lost(web, dial):
    stream = dial(web({}), early=websocket.frame(TEXT, b"early"))
    assert stream.status == 200
    assert stream.receive() == (TEXT, b"early")
    assert dial(web({}), "/ws/early").receive() == (TEXT, b"hello")


def test_the_close_handshake_ends_the_stream(web, dial, origin):
    session = web({})
    stream, other = dial(session), dial(session)
    stream.send(CLOSE, struct.pack(">H", 4002))
    assert stream.receive() == (CLOSE, struct.pack(">H", 4002))
    assert stream.recv(1) == b""
    assert stream.id in stream.client.ended
    other.send(TEXT, "x")
    assert other.receive() == (TEXT, b"x")


@pytest.mark.parametrize("how", ["end", "reset"])
def test_a_stream_that_ends_ends_the_websocket(web, dial, origin, how):
    mark = len(origin.tls.frames)
    session = web({})
    stream = dial(session)
    if how == "end":
        stream.end()
        assert stream.receive() == (CLOSE, struct.pack(">H", 1001))
        assert stream.recv(1) == b""
        wait_until(lambda: (CLOSE, True, struct.pack(">H", 1001), True)
                   in frames(origin, mark))
    else:
        stream.client.h2.reset_stream(stream.id, 8)
        stream.client.send()
    assert session.row("response", status=101)
    assert dial(session).status == 200, "the connection serves on"


def test_it_carries_a_credential(make_session, policies, gateway, dial,
                                 origin):
    gateway.put_secret("h2ws", TOKEN)
    policy = policies.make([policies.rule(
        HOST, ports=[origin.port], credential="c", websocket={})])
    policy["credentials"] = [{"name": "c", "secret": "h2ws",
                              "attach": "bearer", "hosts": [HOST]}]
    session = make_session(policy)
    mark = len(origin.tls.frames)
    stream = dial(session, fields=[("authorization", "Bearer mine")])
    assert stream.status == 200
    stream.send(TEXT, "hello")
    assert stream.receive() == (TEXT, b"hello")
    assert origin.tls.frames[mark]["authorization"] == f"Bearer {TOKEN}"
    assert session.row("secret.use", credential="c")["detail"] == "websocket"


# ---- denied ----

def test_no_rule_allows_it(web, dial, origin):
    mark = len(origin.tls.frames)
    stream = dial(web())
    assert stream.status == 403
    assert constraint(stream) == "websocket_not_allowed"
    assert len(origin.tls.frames) == mark


def test_a_path_that_no_rule_allows(web, dial):
    session = web({})
    assert constraint(dial(session, "/other")) == "path_not_allowed"
    assert dial(session, "/ws/echo").status == 200, "the twin"


@pytest.mark.parametrize("protocol", ["connect-udp", "connect-ip", "h2c",
                                      "WebSocket", "websocket,h2c"])
def test_another_protocol_is_refused(web, dial, protocol):
    session = web({})
    stream = dial(session, protocol=protocol)
    assert stream.status == 403
    assert constraint(stream) == "upgrade_not_supported"
    assert session.row("request", constraint="upgrade_not_supported")
    assert dial(session).status == 200, "the twin"


@pytest.mark.parametrize("version", [None, "8"])
def test_another_version_is_refused(web, dial, origin, version):
    session = web({})
    client = dial(session).client
    head = [pair for pair in handshake(client)
            if pair[0] != "sec-websocket-version"]
    if version:
        head.append(("sec-websocket-version", version))
    number = client.ask(head, end=False)
    assert client.answer(number) == 400


def test_a_plain_connect_stays_refused(web, dial):
    stream = dial(web({}))
    client = stream.client
    number = client.ask([(":method", "CONNECT"),
                         (":authority", client.authority)], end=False)
    assert client.answer(number) == 405


@pytest.mark.parametrize("path, status", [
    ("/ws/no-accept", 502), ("/ws/wrong-accept", 502), ("/ws/extension", 502),
    ("/ws/other-protocol", 502), ("/ws/h2c", 502)])
def test_a_false_101_is_none(web, dial, origin, path, status):
    mark = len(origin.tls.frames)
    stream = dial(web({}), path, early=websocket.frame(TEXT, b"early"))
    assert stream.status == status
    assert constraint(stream) == "response_malformed"
    assert not frames(origin, mark)


@pytest.mark.parametrize("given, status", [(200, 502), (204, 502),
                                           (404, 404)])
def test_an_answer_of_200_is_no_websocket(make_session, policies, dial,
                                          given, status):
    """To the client any 2xx would be one."""
    session = make_session(policies.make([
        policies.rule(HOST, paths=["/status/*"], websocket={})]))
    stream = dial(session, f"/status/{given}",
                  early=websocket.frame(TEXT, b"early"))
    assert stream.status == status
    stream.client.answer(stream.id)
    assert stream.id in stream.client.ended


def test_a_message_that_breaks_the_rule_ends_it(web, dial, origin):
    mark = len(origin.tls.frames)
    session = web({"message": "1KiB"})
    stream, other = dial(session), dial(session)
    stream.send(TEXT, "x" * 1025)
    opcode, words = stream.receive()
    assert (opcode, words[:2]) == (CLOSE, struct.pack(">H", 1009))
    assert session.row("response", constraint="websocket_message")
    other.send(TEXT, "x" * 1024)
    assert other.receive() == (TEXT, b"x" * 1024), "the twin"
    assert not any(len(f[2]) == 1025 for f in frames(origin, mark))


def test_the_end_of_the_session_ends_it(web, dial, gateway):
    session = web({})
    stream = dial(session)
    stream.send(TEXT, "x")
    assert stream.receive() == (TEXT, b"x")
    gateway.end(session.id)
    with pytest.raises(EOFError):
        stream.receive()


# ---- a client of somebody else's ----

NODE = """
const [proxy, ca, host, port, path] = process.argv.slice(2);
const fs = require('fs'), net = require('net'), tls = require('tls');
const http2 = require('http2');
const plain = net.connect(proxy, '127.0.0.1');
plain.write(`CONNECT ${host}:${port} HTTP/1.1\\r\\n` +
            `Host: ${host}:${port}\\r\\n\\r\\n`);
plain.once('data', () => {
  const socket = tls.connect({socket: plain, servername: host,
                              ca: fs.readFileSync(ca),
                              ALPNProtocols: ['h2']});
  const suffix = port === '443' ? '' : ':' + port;
  const session = http2.connect(`https://${host}${suffix}`,
                                {createConnection: () => socket});
  session.on('remoteSettings', (settings) => {
    const stream = session.request({
      ':method': 'CONNECT', ':protocol': 'websocket', ':path': path,
      'sec-websocket-version': '13'});
    let got = Buffer.alloc(0);
    stream.on('response', (fields) => {
      if (fields[':status'] === 200)
        stream.write(Buffer.from('8185000000006e6f646531', 'hex'));
      else
        stream.resume();
      stream.on('end', () => {
        console.log(JSON.stringify({
          offered: settings.enableConnectProtocol,
          status: fields[':status'], got: got.toString('latin1')}));
        session.close();
      });
    });
    stream.on('data', (data) => {
      got = Buffer.concat([got, data]);
      if (got.toString('latin1').includes('node1'))
        stream.end();
    });
  });
});
"""


@pytest.mark.parametrize("allowed, status", [({}, 200), (None, 403)])
def test_node_opens_one(web, origin, tmp_path, allowed, status):
    session = web(allowed)
    script = tmp_path / "client.js"
    script.write_text(NODE)
    done = subprocess.run(
        ["node", script, str(session.port), session.ca, HOST,
         str(origin.port), "/ws/echo"],
        capture_output=True, text=True, timeout=60, check=False,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    answer = json.loads(done.stdout)
    assert answer["offered"] is True
    assert answer["status"] == status
    if status == 200:
        assert answer["got"].startswith("\x81\x05node1")
