"""Upstreams that get a credential over HTTP/2, and what they can do with the
one who decodes them: nothing but fail."""
import concurrent.futures
import contextlib
import socket
import ssl
import struct
import subprocess
import threading
import time

import hpack
import pytest
from waiting import wait_until

HOST = "good.example"
TOKEN = "not-a-real-token-0123456789-hostile"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
END, HEAD = 1, 4
DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, MORE = \
    0, 1, 3, 4, 5, 6, 7, 8, 9


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload) << 8 | kind) + bytes([flags]) + \
        struct.pack(">I", stream) + payload


def setting(name, value):
    return frame(SETTINGS, payload=struct.pack(">HI", name, value))


def field(name, value):
    """A literal that is not indexed, each length one byte."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


OK = frame(HEADERS, HEAD, 1, b"\x88")
PADDING = field(b"x-padding", b"x" * 100)
ANSWER = OK + frame(DATA, 0, 1, b"well") + frame(
    HEADERS, HEAD | END, 1, field(b"grpc-status", b"0"))
# Path: what is said once the request came. All of it before a head ends.
ATTACKS = {
    "continuations": frame(HEADERS, 0, 1, b"\x88") +
    frame(MORE, 0, 1) * 100000,
    "continued-fields": frame(HEADERS, 0, 1, b"\x88") +
    frame(MORE, 0, 1, PADDING * 100) * 200,
    "fields": frame(HEADERS, 0, 1, b"\x88" + PADDING * 140) +
    frame(MORE, HEAD | END, 1, PADDING * 140) + frame(
        HEADERS, 0, 1, b"\x88" + PADDING * 140),
    "push": frame(PUSH, HEAD, 1, b"\0\0\0\2\x82\x87\x84") + frame(
        HEADERS, HEAD | END, 2, b"\x88") + frame(RST, 0, 1, b"\0\0\0\2"),
    "bad-window": setting(4, 1 << 31),
    "bad-frame-size": setting(5, 100),
    "cut-settings": frame(SETTINGS, 0, 0, b"12345"),
    "settings-on-a-stream": frame(SETTINGS, 0, 1),
    "window-of-nothing": frame(WINDOW, 0, 0, b"\0\0\0\0"),
    "window-too-large": frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff"),
    "pings": frame(PING, 0, 0, b"12345678") * 5000,
    "settings-flood": frame(SETTINGS) * 5000,
    "resets": frame(RST, 0, 1, b"\0\0\0\7"),
    "goaway": frame(GOAWAY, 0, 0, b"\0" * 8),
    "data-before-a-head": frame(DATA, 0, 1, b"x"),
    "data-of-no-stream": frame(DATA, 0, 3, b"x"),
    "own-stream": frame(HEADERS, HEAD | END, 2, b"\x88"),
    "no-fields": frame(HEADERS, HEAD | END, 1, b"\xff\xff\xff\xff\xff\xff"),
    "no-status": frame(HEADERS, HEAD | END, 1, field(b"x", b"y")),
    "capitals": frame(HEADERS, HEAD | END, 1, b"\x88" + field(b"X", b"y")),
    "line-ends": frame(HEADERS, HEAD | END, 1,
                       b"\x88" + field(b"x", b"y\r\nz: w")),
    "long-frame": b"\xff\xff\xff\0\0\0\0\0\1",
    "http-1.1": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "end": b"",
}
# And those that begin well.
LATER = {
    "reset": OK + frame(DATA, 0, 1, b"we") + frame(RST, 0, 1, b"\0\0\0\2"),
    "cut": OK + frame(DATA, 0, 1, b"we"),
    "too-much": OK + frame(DATA, 0, 1, b"x" * 16000) * 1000,
    "empty-data": OK + frame(DATA, 0, 1) * 5000,
    "head-again": OK + frame(DATA, 0, 1, b"we") + OK,
}


class Server:
    """Speaks HTTP/2 by the byte, and keeps what it gets."""

    def __init__(self, address, pem):
        self.got = {}  # path: bytes
        self.is_overrun = False  # more came than the window of it allows
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self.listener.accept()
                plain.settimeout(60)
                threading.Thread(target=self._serve, args=(plain,),
                                 daemon=True).start()

    def _serve(self, plain):
        with contextlib.suppress(OSError), \
                self.context.wrap_socket(plain, server_side=True) as stream:
            # A window of one byte shows who respects it, as does a table
            # of none.
            stream.sendall(setting(4, 1) + setting(1, 0))
            got = b""
            while b"\x05:path" not in got:
                data = stream.recv(65536)
                if not data:
                    return
                got += data
            rest = got.split(b"\x05:path", 1)[1]
            path = rest[1:1 + rest[0]].decode().strip("/")
            self.got[path] = got
            if path in ("well", "slow"):
                self._answer(stream, path)
            else:
                stream.sendall({**ATTACKS, **LATER}[path])
                if path in ("end", "cut"):
                    return
            while data := stream.recv(65536):
                self.got[path] += data

    def _answer(self, stream, path):
        """Once the body is there, whose window grows a byte at a time."""
        window = 1
        self.is_overrun = False
        while path == "slow" and body_of(self.got[path]) != b"x" * 30:
            stream.sendall(frame(WINDOW, 0, 1, b"\0\0\0\1"))
            window += 1
            self.got[path] += stream.recv(65536)
            self.is_overrun |= len(body_of(self.got[path])) > window
        stream.sendall(ANSWER)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def frames_of(got):
    assert got.startswith(PREFACE)
    at = len(PREFACE)
    while len(got) >= at + 9:
        size = int.from_bytes(got[at:at + 3], "big")
        if len(got) < at + 9 + size:
            return
        yield got[at + 3], got[at + 4], int.from_bytes(
            got[at + 5:at + 9], "big"), got[at + 9:at + 9 + size]
        at += 9 + size


def body_of(got):
    return b"".join(payload for kind, _, _, payload in frames_of(got)
                    if kind == DATA)


@pytest.fixture(scope="module")
def server(origin, pki):
    made = Server(origin.address, pki[0][HOST])
    yield made
    made.close()


@pytest.fixture
def make(make_session, gateway, policies, server):
    """Each session has its own connections."""
    gateway.put_secret("hostile", TOKEN)
    rule = policies.rule(HOST, ports=[server.port], methods=["POST"],
                         credential="c")
    return lambda: make_session(policies.make(
        [rule], credentials=[{"name": "c", "secret": "hostile",
                              "attach": "bearer", "hosts": [HOST]}]))


@pytest.fixture
def session(make):
    return make()


def ask(session, server, path, body="x"):
    answer = session.curl(
        f"https://{HOST}:{server.port}/{path}", "--http2", "-H",
        "TE: trailers", "-H", "Content-Type: application/grpc",
        "--max-time", "60", "--data-binary", body, timeout=90)
    # Trailers look like another head.
    answer.status = int(answer.heads[0].split()[1]) if answer.heads else 0
    return answer


def check_answer(answer):
    assert (answer.exit, answer.status, answer.body) == (0, 200, b"well"), \
        vars(answer)


def check_request(server, path):
    """Of ours there is one request, whose fields are never indexed; it says
    so before it names one."""
    heads = [(stream, payload) for kind, _, stream, payload
             in frames_of(server.got[path]) if kind in (HEADERS, MORE)]
    assert [stream for stream, _ in heads] == [1]
    decoder = hpack.Decoder()
    decoder.max_allowed_table_size = 0
    assert (":method", "POST") in decoder.decode(heads[0][1])
    words = f"Bearer {TOKEN}".encode()
    assert b"\x10\x0dauthorization" + bytes([len(words)]) + words in \
        heads[0][1]
    kinds = [kind for kind, *_ in frames_of(server.got[path])]
    assert set(kinds) <= {DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW}


def test_an_upstream_that_behaves_is_served(session, server):
    """The twin of all others."""
    answer = ask(session, server, "well")
    check_answer(answer)
    check_request(server, "well")


def sends(session, server, path, answer):
    """A client that sends what it is given when it is given it."""
    return subprocess.Popen(
        ["curl", "-vsSN", "-x", session.proxy, "--cacert", session.ca,
         "--http2", "--max-time", "60", "-o", answer, "-X", "POST", "-T",
         "-", "-H", "TE: trailers", "-H", "Content-Type: application/grpc",
         f"https://{HOST}:{server.port}/{path}"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_request_that_ends_after_its_answer_is_whole(session, server):
    """curl 7.88 then reads on only if something comes; 8.14 sends nothing
    before it has something of the body."""
    body = session.dir / "early"
    with sends(session, server, "well", body) as curl:
        curl.stdin.write(b"x")
        curl.stdin.flush()
        session.row("request", path="/well")
        # It reads something each time that it could send; one that has all
        # of the answer may also end.
        with contextlib.suppress(BrokenPipeError):
            for _ in range(20):
                curl.stdin.write(b"x")
                curl.stdin.flush()
                time.sleep(0.02)
        _, error = curl.communicate()
    # Of the rest, which nobody wants, 7.88 says nothing and 8.14 says 55.
    assert curl.returncode in (0, 55), error
    assert body.read_bytes() == b"well"
    assert b"left intact" in error, error


def test_a_body_goes_as_fast_as_upstream_allows(session, server):
    """One byte may go before upstream's SETTINGS came, the rest not."""
    def knows_the_window():
        return [flags for kind, flags, *_ in frames_of(
            server.got.get("slow", PREFACE))
            if kind == SETTINGS and flags & END]

    answer = session.dir / "slow"
    with sends(session, server, "slow", answer) as curl:
        curl.stdin.write(b"x")
        curl.stdin.flush()
        wait_until(knows_the_window)
        _, error = curl.communicate(b"x" * 29)
    assert curl.returncode == 0, error
    assert answer.read_bytes() == b"well"
    assert body_of(server.got["slow"]) == b"x" * 30
    assert not server.is_overrun


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_a_502(session, server, attack):
    answer = ask(session, server, attack)
    assert answer.status == 502, (answer.error, answer.head)
    assert answer.json["constraint"] in ("upstream_closed",
                                         "response_malformed")
    check_request(server, attack)
    # What is left over is nobody's: the next request goes as ever.
    check_answer(ask(session, server, "well"))


def test_what_begins_well_and_breaks_is_cut(session, server):
    with concurrent.futures.ThreadPoolExecutor(len(LATER)) as pool:
        answers = dict(zip(LATER, pool.map(
            lambda attack: ask(session, server, attack), LATER)))
    for attack, answer in answers.items():
        assert answer.exit != 0 or answer.status == 502, (attack, answer.head)
        check_request(server, attack)
    check_answer(ask(session, server, "well"))
