"""By hand: CONNECTIONS (1000) that ask again and again, for MINUTES (60).

    MINUTES=60 CONNECTIONS=1000 SALLYPORT_BUILD=build/release \\
        python3 -m pytest -q -s tests/e2e/long_soak.py

The memory of the session's edge is told at a twelfth of the time and at the
end, and must not have grown by more than a hundredth; its descriptors must be
as many as before. It wants a soft limit of descriptors of twice as many."""
import os
import resource
import selectors
import socket
import time

from gateway import memory_now, wait_until

MINUTES = float(os.environ.get("MINUTES", 60))
CONNECTIONS = int(os.environ.get("CONNECTIONS", 1000))
PAUSE_S = 5


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def ask_all(streams, request):
    """Ask on each, read an answer from each."""
    with selectors.DefaultSelector() as waiting:
        for stream in streams:
            stream.sendall(request)
            waiting.register(stream, selectors.EVENT_READ, bytearray())
        end = time.monotonic() + 60
        while waiting.get_map():
            assert time.monotonic() < end
            for key, _ in waiting.select(1):
                piece = key.fileobj.recv(65536)
                assert piece
                key.data.extend(piece)
                if key.data.endswith(b"\r\n\r\nok"):
                    assert key.data.startswith(b"HTTP/1.1 200 ")
                    waiting.unregister(key.fileobj)


class Ok:
    """An origin that answers each head with "ok"."""

    def __init__(self, address):
        self.server = socket.create_server((address, 0), backlog=1024)
        self.port = self.server.getsockname()[1]
        if os.fork() == 0:
            self._serve()

    def _serve(self):
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.server, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select():
                    if key.fileobj is self.server:
                        stream, _ = self.server.accept()
                        waiting.register(stream, selectors.EVENT_READ)
                    elif b"\r\n\r\n" in (key.fileobj.recv(65536) or
                                         self._gone(waiting, key)):
                        key.fileobj.sendall(b"HTTP/1.1 200 OK\r\n"
                                            b"Content-Length: 2\r\n\r\nok")

    @staticmethod
    def _gone(waiting, key):
        waiting.unregister(key.fileobj)
        key.fileobj.close()
        if len(waiting.get_map()) == 1:
            os._exit(0)
        return b""


def test_nothing_grows(own_gateway, make_session, policies, origin):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    upstream = Ok(origin.address)
    rule = policies.rule("plain.example", paths=["/**"])
    rule["ports"] = [upstream.port]
    policy = policies.make([rule])
    policy["network"]["limits"] = {"connections": CONNECTIONS + 10}
    session = make_session(policy, on=own_gateway,
                           ttl=int(MINUTES * 60) + 600)
    edge = session.edge()
    before = descriptors(edge)
    host = f"plain.example:{upstream.port}"
    request = f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    streams = [session.connect() for _ in range(CONNECTIONS)]
    began, early, rounds = time.monotonic(), None, 0
    while (past := time.monotonic() - began) < MINUTES * 60:
        ask_all(streams, request)
        rounds += 1
        if early is None and past > MINUTES * 60 / 12:
            early = memory_now(edge)
        time.sleep(min(PAUSE_S, MINUTES))
    late = memory_now(edge)
    for stream in streams:
        stream.close()
    wait_until(lambda: descriptors(edge) <= before + 2, 60)
    print(f"\n{rounds} rounds of {CONNECTIONS}: {early} bytes at a twelfth, "
          f"{late} at the end ({(late - early) * 100 / early:+.2f} %), "
          f"descriptors {before} before, {descriptors(edge)} after")
    assert session.edge() == edge
    assert late <= early * 1.01
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
