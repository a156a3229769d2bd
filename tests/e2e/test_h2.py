"""HTTP/2 clients: every stream is decided by the lane that HTTP/1.1 has."""
import hashlib
import os
import socket
import ssl
import subprocess

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import hyperframe.frame as frames
import pytest
from gateway import wait_until
from session import read_head

MIB = 1024 * 1024


@pytest.fixture
def web(make_session, policies):
    def make(*rules, **more):
        rules = rules or (policies.rule("good.example", paths=["/open/**"],
                                        methods=["GET", "POST", "HEAD"]),)
        return make_session(policies.make(rules, **more))
    return make


class Client:
    """A client that may send what a library would not."""

    def __init__(self, session, origin, host="good.example"):
        plain = session.connect()
        plain.sendall(f"CONNECT {host}:{origin.port} HTTP/1.1\r\n"
                      f"Host: {host}:{origin.port}\r\n\r\n".encode())
        read_head(plain)
        context = ssl.create_default_context(cafile=session.ca)
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(plain, server_hostname=host)
        self.socket.settimeout(60)
        self.authority = f"{host}{origin.suffix}"
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            validate_outbound_headers=False,
            normalize_outbound_headers=False))
        self.h2.initiate_connection()
        self.send()
        self.status, self.fields, self.body = {}, {}, {}
        self.ended, self.resets = set(), {}
        self.goaway = None
        self.is_closed = False

    def send(self, raw=b""):
        self.socket.sendall(self.h2.data_to_send() + raw)

    def head(self, method="GET", path="/open/x", **more):
        fields = {":method": method, ":scheme": "https",
                  ":authority": self.authority, ":path": path}
        fields.update(more)
        return list(fields.items())

    def ask(self, fields=None, end=True):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, fields or self.head(), end_stream=end)
        self.send()
        return stream

    def take(self):
        """Read once; False when the gateway closed."""
        try:
            data = self.socket.recv(65536)
        except (ConnectionError, ssl.SSLError):
            data = b""
        if not data:
            self.is_closed = True
            return False
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            events = []
        for event in events:
            self._on(event)
        try:
            self.send()
        except OSError:
            pass
        return True

    def _on(self, event):
        if isinstance(event, h2.events.ResponseReceived):
            fields = {k.decode(): v.decode() for k, v in event.headers}
            self.fields[event.stream_id] = fields
            self.status[event.stream_id] = int(fields[":status"])
        elif isinstance(event, h2.events.DataReceived):
            self.body[event.stream_id] = \
                self.body.get(event.stream_id, b"") + event.data
            self.h2.acknowledge_received_data(
                event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.resets[event.stream_id] = event.error_code
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event.error_code

    def until(self, done):
        while not done():
            if not self.take():
                assert done(), (self.status, self.resets, self.goaway)
                return

    def answer(self, stream):
        self.until(lambda: stream in self.ended or stream in self.resets or
                   self.goaway is not None)
        return self.status.get(stream)

    def close(self):
        self.socket.close()


@pytest.fixture
def client(web, origin):
    made = []

    def make(session=None, **more):
        made.append(Client(session or web(), origin, **more))
        return made[-1]
    yield make
    for one in made:
        one.close()


# ---- requests pass, as they do over HTTP/1.1 ----

def test_a_request_is_written_anew_for_an_http_1_upstream(web, origin):
    session = web()
    answer = session.curl(origin.url("/open/echo?q=1"), "--http2",
                          "-H", "X-Mine: yes", "-H", "Cookie: a=1; b=2")
    assert answer.head.startswith("HTTP/2 200")
    seen = answer.json
    assert (seen["method"], seen["path"]) == ("GET", "/open/echo?q=1")
    assert seen["headers"]["host"] == f"good.example{origin.suffix}"
    assert seen["headers"]["x-mine"] == "yes"
    assert seen["headers"]["cookie"] == "a=1; b=2"
    row = session.row("request", host="good.example")
    assert row["allowed"] and row["path"] == "/open/echo"


@pytest.mark.parametrize("size", [0, 1, 70000, 5 * MIB])
def test_bodies_of_requests_arrive_whole(web, origin, tmp_path, size):
    body = os.urandom(size)
    (tmp_path / "body").write_bytes(body)
    for more in ((), ("-H", "Content-Length:"), ("-H", "Expect: 100-continue")):
        answer = web().curl(origin.url("/open/echo"), "--http2",
                            "--data-binary", f"@{tmp_path}/body", *more)
        assert "HTTP/2 200" in answer.head
        assert answer.json["length"] == size
        assert answer.json["digest"] == hashlib.sha256(body).hexdigest()


def test_large_chunked_and_empty_responses_arrive_whole(web, origin, policies):
    session = web(policies.rule("good.example", paths=["/**"],
                                methods=["GET", "HEAD"]))
    big = session.curl(origin.url(f"/big/{20 * MIB}"), "--http2")
    assert (big.status, len(big.body)) == (200, 20 * MIB)
    assert session.curl(origin.url("/chunked"), "--http2").text == \
        "one two three"
    assert session.curl(origin.url("/big/0"), "--http2").body == b""
    head = session.curl(origin.url("/echo"), "--http2", "-I")
    assert head.status == 200 and "content-length" in head.head
    cut = session.curl(origin.url("/cut-short"), "--http2")
    assert cut.exit == 92, "a stream that breaks off is not whole"


def test_many_streams_share_a_connection(web, origin, client):
    one = client()
    streams = [one.ask(one.head(path=f"/open/{i}")) for i in range(60)]
    for i, stream in enumerate(streams):
        assert one.answer(stream) == 200
        assert f'"/open/{i}"'.encode() in one.body[stream]


def test_node_speaks_http_2_to_the_gateway(web, origin):
    session = web()
    script = """
      const [proxy, host, port, ca] = process.argv.slice(1);
      const net = require('net'), tls = require('tls');
      const http2 = require('http2'), fs = require('fs');
      const plain = net.connect(Number(proxy), '127.0.0.1');
      plain.write(`CONNECT ${host}:${port} HTTP/1.1\\r\\n` +
                  `Host: ${host}:${port}\\r\\n\\r\\n`);
      plain.once('data', () => {
        const socket = tls.connect({socket: plain, servername: host,
          ca: fs.readFileSync(ca), ALPNProtocols: ['h2']});
        const client = http2.connect(`https://${host}:${port}`,
          {createConnection: () => socket});
        const ask = (path) => new Promise((done) => {
          const stream = client.request({':path': path});
          let status; stream.on('response', (h) => status = h[':status']);
          stream.resume(); stream.on('end', () => done(status));
        });
        Promise.all([ask('/open/a'), ask('/shut'), ask('/open/b')]).then(
          (all) => { console.log(all.join(' ')); client.close(); });
      });"""
    done = subprocess.run(
        ["node", "-e", script, str(session.port), "good.example",
         str(origin.port), str(session.ca)], capture_output=True, text=True,
        timeout=60, check=False)
    assert done.stdout == "200 403 200\n", done.stderr


# ---- what is refused, and its twin ----

def test_each_stream_is_decided(web, origin, client):
    session = web()
    one = client(session)
    seen = len(origin.tls.requests)
    good, bad = one.ask(), one.ask(one.head(path="/shut"))
    assert (one.answer(good), one.answer(bad)) == (200, 403)
    assert b"path_not_allowed" in one.body[bad]
    assert one.fields[bad]["content-type"] == "application/problem+json"
    assert len(origin.tls.requests) == seen + 1
    assert session.row("request", constraint="path_not_allowed",
                       path="/shut")


def test_a_denied_host_answers_over_http_2(web, origin):
    answer = web().curl(origin.url("/", "other.example"), "--http2")
    assert answer.head.startswith("HTTP/2 403")
    assert answer.json["constraint"] == "host_not_allowed"


@pytest.mark.parametrize("change, constraint", [
    ({":authority": "other.example"}, "host_mismatch"),
    ({":scheme": "http"}, "request_malformed"),
    ({":path": "/open/../shut"}, "path_ambiguous"),
    ({":path": "/open/%2e%2e/shut"}, "path_ambiguous"),
    ({":method": "BREW"}, "method_unknown"),
    ({"content_length": "5"}, "request_malformed"),
    ({"expect": "200-ok"}, "request_malformed"),
    ({"x-long": "y" * 9000}, "request_too_large"),
    ({f"x-{i}": "y" * 400 for i in range(90)}, "request_too_large"),
    ({f"x-{i}": "y" for i in range(110)}, "request_too_large"),
])
def test_a_request_that_is_not_one_is_refused_by_name(
        web, origin, client, change, constraint):
    session = web()
    one = client(session)
    seen = len(origin.tls.requests)
    stream = one.ask(one.head(**change))
    assert one.answer(stream) >= 400
    assert f'"{constraint}"'.encode() in one.body[stream]
    assert session.row("request", constraint=constraint)
    assert len(origin.tls.requests) == seen
    assert one.answer(one.ask()) == 200, "the twin, on the same connection"


@pytest.mark.parametrize("fields", [
    [("X-Upper", "1")],
    [("connection", "close")],
    [("transfer-encoding", "chunked")],
    [("te", "gzip")],
    [(":path", "/open/twice")],
    [("content-length", "7")],
    [("x", "a\r\nHost: b")],
    [("x", "a\0b")],
    [("x y", "1")],
    [(":method", "GET /x")],
    [(":protocol", "websocket")],
])
def test_a_malformed_section_never_reaches_upstream(web, origin, client,
                                                    fields):
    session = web()
    one = client(session)
    seen = len(origin.tls.requests)
    stream = one.ask(one.head() + fields)
    status = one.answer(stream)
    assert status is None or status >= 400
    assert session.row("request", constraint="request_malformed")
    assert len(origin.tls.requests) == seen
    twin = client(session)
    assert twin.answer(twin.ask()) == 200


def test_connect_inside_is_refused(web, origin, client):
    one = client(web())
    stream = one.ask([(":method", "CONNECT"),
                      (":authority", "good.example:443")], end=False)
    assert one.answer(stream) == 405
    assert one.answer(one.ask()) == 200


def test_data_that_is_not_the_length_that_was_said_is_refused(web, origin,
                                                              client):
    session = web()
    for said, sent in ((5, b"abc"), (3, b"abcdef")):
        one = client(session)
        fields = one.head("POST", **{"content-length": str(said)})
        stream = one.ask(fields, end=False)
        one.h2.send_data(stream, sent, end_stream=True)
        one.send()
        assert one.answer(stream) != 200
    one = client(session)
    stream = one.ask(one.head("POST", **{"content-length": "3"}), end=False)
    one.h2.send_data(stream, b"abc", end_stream=True)
    one.send()
    assert one.answer(stream) == 200


def test_trailers_of_a_request_are_dropped(web, origin, client):
    one = client()
    stream = one.ask(one.head("POST"), end=False)
    one.h2.send_data(stream, b"abc")
    one.h2.send_headers(stream, [("authorization", "smuggled")],
                        end_stream=True)
    one.send()
    assert one.answer(stream) == 200
    assert b"smuggled" not in one.body[stream]
    assert b'"length": 3' in one.body[stream]


@pytest.mark.parametrize("text", [
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /open/x HTTP/1.1\r\nHost: good.example\r\nUpgrade: h2c\r\n"
    b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n"
    b"\r\n",
])
@pytest.mark.parametrize("is_tls", [True, False])
def test_http_2_is_spoken_where_alpn_chose_it_and_nowhere_else(
        web, origin, text, is_tls):
    session = web()
    seen = len(origin.tls.requests) + len(origin.plain.requests)
    if is_tls:
        stream = session.connect_tls("good.example", origin.port)
    else:
        stream = session.connect()
        stream.sendall(b"CONNECT good.example:%d HTTP/1.1\r\n"
                       b"Host: good.example:%d\r\n\r\n" %
                       (origin.plain_port, origin.plain_port))
        read_head(stream)
    stream.settimeout(20)
    stream.sendall(text)
    head = read_head(stream)
    assert head.split(b" ")[1:2][0] in (b"400", b"403"), head
    stream.close()
    assert len(origin.tls.requests) + len(origin.plain.requests) == seen


# ---- floods ----

def calmed(one):
    """Did the gateway end it with ENHANCE_YOUR_CALM?"""
    one.until(lambda: one.goaway is not None or one.is_closed)
    return one.goaway == 0xb


def flood(one, piece, times, block=500):
    try:
        for _ in range(times // block):
            one.send(piece * block)
    except OSError:
        pass


@pytest.mark.parametrize("piece", [
    frames.PingFrame(0, b"12345678").serialize(),
    frames.SettingsFrame(0).serialize(),
    frames.PriorityFrame(1, depends_on=0, stream_weight=3).serialize(),
    frames.WindowUpdateFrame(0, window_increment=1).serialize(),
], ids=["ping", "settings", "priority", "window"])
def test_a_flood_of_frames_without_work_is_ended(web, client, piece):
    session = web()
    one = client(session)
    flood(one, piece, 10000)
    assert calmed(one)
    assert "flood" in session.row("request",
                                  constraint="limit_rate")["detail"]
    other = client(session)
    assert other.answer(other.ask()) == 200
    flood(other, piece, 500)
    assert other.answer(other.ask()) == 200, "some are fine"


def test_empty_data_frames_are_a_flood(client):
    one = client()
    stream = one.ask(one.head("POST"), end=False)
    flood(one, frames.DataFrame(stream, b"").serialize(), 10000)
    assert calmed(one)


def test_rapid_resets_are_a_flood(web, origin, client):
    session = web()
    one = client(session)
    fields = one.head()
    for _ in range(1500):
        stream = one.h2.get_next_available_stream_id()
        one.h2.send_headers(stream, fields, end_stream=True)
        one.h2.reset_stream(stream)
    try:
        # At once: those of a client that is slow are forgiven, by and by.
        one.send()
    except OSError:
        pass
    assert calmed(one)
    assert session.row("request", constraint="limit_rate")
    # Of that one, connections to the origin may still be about to end.
    other = client(web())
    for _ in range(20):
        stream = other.ask()
        other.h2.reset_stream(stream)
    assert other.answer(other.ask()) == 200, "some are fine"


def test_a_field_section_without_end_is_ended(client):
    one = client()
    stream = one.h2.get_next_available_stream_id()
    head = frames.HeadersFrame(stream, one.h2.encoder.encode(one.head()))
    one.send(head.serialize())
    piece = frames.ContinuationFrame(
        stream, b"\x00\x01x\x7f\x81\x7d" + b"y" * 252).serialize()
    flood(one, piece, 4000, block=100)
    one.until(lambda: one.goaway is not None or one.is_closed)
    assert one.is_closed or one.goaway != 0
    other = client()
    assert other.answer(other.ask()) == 200


def test_more_streams_than_allowed_are_refused(web, origin, client, policies):
    session = web(policies.rule("good.example", paths=["/**"]))
    one = client(session)
    one.until(lambda: one.h2.remote_settings.max_concurrent_streams == 100)
    one.h2.remote_settings.update({3: 1000})
    one.h2.remote_settings.acknowledge()
    try:
        for _ in range(130):
            one.ask(one.head(path="/drip"))
    except OSError:
        pass  # it was ended before all was said
    one.until(lambda: len(one.resets) == 30 or one.goaway)
    assert one.goaway == 1 or set(one.resets.values()) == {7}
    # What it was ended for is on record as well.
    rows = session.audit("request")
    assert len([row for row in rows if row["allowed"]]) <= 100
    assert {row["constraint"] for row in rows if not row["allowed"]} <= {
        "request_malformed"}


def test_a_client_that_leaves_ends_what_it_asked_for(web, origin, client,
                                                     policies):
    session = web(policies.rule("good.example", paths=["/**"]))
    one = client(session)
    streams = [one.ask(one.head(path="/drip")) for _ in range(3)]
    wait_until(lambda: origin.tls.dripping == 3)
    one.h2.reset_stream(streams[0])
    one.send()
    wait_until(lambda: origin.tls.dripping == 2)
    one.close()
    wait_until(lambda: origin.tls.dripping == 0)


def test_a_client_that_does_not_read_holds_no_memory(web, origin, client,
                                                     policies):
    """Windows of zero: nothing is sent, and others are served."""
    session = web(policies.rule("good.example", paths=["/**"]))
    one = client(session)
    one.h2.update_settings({4: 0})
    one.send()
    stream = one.ask(one.head(path=f"/big/{50 * MIB}"))
    one.until(lambda: stream in one.status)
    other = client(session)
    assert other.answer(other.ask()) == 200
    assert stream not in one.body


def test_garbage_instead_of_frames_is_ended(web, origin):
    session = web()
    plain = session.connect()
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(cafile=session.ca)
    context.set_alpn_protocols(["h2"])
    stream = context.wrap_socket(plain, server_hostname="good.example")
    stream.settimeout(20)
    stream.sendall(b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n")
    try:
        while stream.recv(4096):
            pass
    except OSError:
        pass
    stream.close()
    assert session.row("request", constraint="request_malformed")
