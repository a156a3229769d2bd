"""What one connection may take of its session's edge (security F4)."""
import contextlib
import resource
import socket
import ssl
import time

import pytest
from gateway import is_sanitized, memory_now, wait_until
from session import read_head
from test_h2 import Client as H2Client

KIB = 1024
MIB = 1024 * KIB
IDLE_MAX = 20 * KIB
ACTIVE_MAX = 256 * KIB
CROWD, BUSY = 400, 16
# What they share: code that runs for the first time, blocks that go round,
# the connections to the origin that are kept.
SHARED_MAX = 2 * MIB


@pytest.fixture(scope="module", autouse=True)
def descriptors():
    """As many as a crowd takes at both ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(params=["inspected", "tunnelled"])
def session(request, make_session, policies):
    more = {"methods": ["GET", "POST"], "paths": ["/**"]} \
        if request.param == "inspected" else {}
    return make_session(policies.make(
        [policies.rule("good.example", **more)]))


class Client:
    """TLS to the origin, inspected or not, in steps that never wait."""

    def __init__(self, session, origin, context):
        self.socket = socket.socket()
        # What it does not read is not to wait with the kernel.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", session.port))
        self.host = f"good.example:{origin.port}"
        self.context = context

    def ask_for_tunnel(self):
        self.socket.sendall(f"CONNECT {self.host} HTTP/1.1\r\n"
                            f"Host: {self.host}\r\n\r\n".encode())

    def say_hello(self):
        assert b" 200 " in read_head(self.socket).split(b"\r\n")[0]
        self.socket.setblocking(False)
        self.socket = self.context.wrap_socket(
            self.socket, server_hostname="good.example",
            do_handshake_on_connect=False)
        # In a tunnel the server's part may be there already.
        with contextlib.suppress(ssl.SSLWantReadError):
            self.socket.do_handshake()

    def finish_hello(self):
        self.socket.settimeout(30)
        self.socket.do_handshake()

    def ask(self, method, path, fields="", body=b""):
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n"
                            f"Host: {self.host}\r\n{fields}\r\n".encode()
                            + body)

    def read(self):
        head = read_head(self.socket)
        assert b" 200 " in head.split(b"\r\n")[0], head

    def send_until_full(self):
        """All that anybody on the way takes; it is never read."""
        self.socket.settimeout(0.3)
        with contextlib.suppress(TimeoutError, ssl.SSLWantWriteError):
            while True:
                self.socket.sendall(bytes(16 * KIB))


@contextlib.contextmanager
def crowd(session, origin, count):
    """Everybody does each step before anybody does the next one."""
    context = ssl._create_unverified_context()
    clients = [Client(session, origin, context) for _ in range(count)]
    try:
        for client in clients:
            client.ask_for_tunnel()
        for client in clients:
            client.say_hello()
        for client in clients:
            client.finish_hello()
        yield clients
    finally:
        for client in clients:
            client.socket.close()


def most(edge, count, each):
    """A sanitized one has its own ways with memory: red zones, a quarantine,
    nothing given back."""
    return SHARED_MAX + count * each + is_sanitized(edge) * 64 * MIB


def test_a_connection_at_rest_takes_little(session, origin):
    edge = session.edge()
    # What TLS takes once is made for the first connection.
    assert session.curl(origin.url("/status/200")).status == 200
    before = memory_now(edge)
    with crowd(session, origin, CROWD) as clients:
        for client in clients:
            client.ask("GET", "/status/200")
            client.read()
        wait_until(lambda: memory_now(edge) - before
                   < most(edge, CROWD, IDLE_MAX), 60)


def settled(edge):
    """Its memory when it has not changed for a second."""
    seen = []

    def is_steady():
        seen.append(memory_now(edge))
        return len(seen) > 10 and len(set(seen[-10:])) == 1
    wait_until(is_steady, 60, 0.1)
    return seen[-1]


def test_a_reader_that_stops_takes_no_more_than_its_share(session, origin):
    edge = session.edge()
    before = memory_now(edge)
    with crowd(session, origin, BUSY) as clients:
        for client in clients:
            client.ask("GET", f"/big/{64 * MIB}")
            client.read()
        assert settled(edge) - before < most(edge, BUSY, ACTIVE_MAX)


def test_a_sender_whose_server_stops_takes_no_more_than_its_share(session,
                                                                  origin):
    edge = session.edge()
    before = memory_now(edge)
    with crowd(session, origin, BUSY) as clients:
        for client in clients:
            client.ask("POST", "/deaf", f"Content-Length: {64 * MIB}\r\n")
        for client in clients:
            client.send_until_full()
        assert settled(edge) - before < most(edge, BUSY, ACTIVE_MAX)


# Connections to the origin that are kept after them, and all that TLS and the
# code took for the first time: OpenSSL 3.5 takes more for each, and holds the
# hybrid key that it sent as long as the connection lives.
KEPT_MAX = (3 if ssl.OPENSSL_VERSION_INFO < (3, 5) else 5) * MIB
AT_ONCE = 200  # more new connections to an origin are refused


def test_what_a_crowd_leaves_behind_is_little(make_session, policies, origin):
    """The connections to the origin that are kept do not hold the pages of
    those clients that have gone."""
    session = make_session(policies.make(
        [policies.rule("good.example", methods=["GET", "POST"],
                       paths=["/**"])]))
    edge = session.edge()
    assert session.curl(origin.url("/status/200")).status == 200
    before = settled(edge)
    with crowd(session, origin, CROWD) as clients:
        for first in range(0, CROWD, AT_ONCE):
            for client in clients[first:first + AT_ONCE]:
                client.ask("GET", "/status/200")
            for client in clients[first:first + AT_ONCE]:
                client.read()
    assert settled(edge) - before < KEPT_MAX + is_sanitized(edge) * 64 * MIB


# With all its streams open, none of which moves.
STREAMS = 100
STREAMS_TAKE_MAX = 28 * MIB


def most_in_a_while(edge):
    seen = []
    for _ in range(20):
        seen.append(memory_now(edge))
        time.sleep(0.1)
    return max(seen)


@pytest.fixture
def streams(make_session, policies, origin):
    """A client of HTTP/2 that reads nothing, and its edge's memory before."""
    session = make_session(policies.make(
        [policies.rule("good.example", methods=["GET", "POST"],
                       paths=["/**"])]))
    edge = session.edge()
    before = memory_now(edge)
    client = H2Client(session, origin)
    client.until(lambda: client.h2.remote_settings
                 .max_concurrent_streams == STREAMS)
    yield client, lambda: most_in_a_while(edge) - before, is_sanitized(edge)
    client.close()


def test_a_connection_of_many_streams_takes_no_more_than_its_share(streams):
    client, taken, is_slack = streams
    # Windows of zero: answers wait in the gateway.
    client.h2.update_settings({4: 0})
    client.send()
    for _ in range(STREAMS):
        client.ask(client.head(path=f"/big/{64 * MIB}"))
    client.until(lambda: len(client.status) == STREAMS)
    assert taken() < STREAMS_TAKE_MAX + is_slack * 64 * MIB


def test_few_streams_may_send_much_ahead_of_their_server(streams):
    client, taken, is_slack = streams
    sent = [client.ask(client.head("POST", "/deaf"), end=False)
            for _ in range(STREAMS)]

    def windows():
        return [client.h2._get_stream_by_id(stream)
                .outbound_flow_control_window for stream in sent]
    client.until(lambda: len([size for size in windows()
                              if size > 32 * KIB]) == 8)
    assert sorted(windows()) == 92 * [32 * KIB] + 8 * [128 * KIB]
    for stream in sent:
        client.h2.send_data(stream, bytes(16 * KIB))
        client.h2.send_data(stream, bytes(16 * KIB))
        client.send()
    assert taken() < STREAMS_TAKE_MAX + is_slack * 64 * MIB
