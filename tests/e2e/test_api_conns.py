"""Connections of the HTTP API: the last free one, and ends of other
protocols."""
import os
import resource
import signal
import socket
import subprocess
import threading

import pytest
from api import Api
from execd import Execd
from host import PROGRAM
from waiting import wait_until

FILES = 256  # descriptors of the API, which has a quarter of it connections
SIZE = 4 << 20
# Answers an upgrade, and reads nothing more before it is told to.
SLOW = """
import base64, hashlib, os, socket, time
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
listener.bind(("127.0.0.1", 8000))
listener.listen()
open("ready", "w").close()
stream, _ = listener.accept()
head = b""
while b"\\r\\n\\r\\n" not in head:
    head += stream.recv(1)
key = head.lower().split(b"sec-websocket-key: ")[1].split(b"\\r\\n")[0]
key = head[head.lower().index(key):][:len(key)]
stream.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket"
               b"\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: "
               + base64.b64encode(hashlib.sha1(key + MAGIC).digest())
               + b"\\r\\n\\r\\n")
while not os.path.exists("go"):
    time.sleep(0.02)
count = 0
while piece := stream.recv(65536):
    count += len(piece)
stream.sendall(str(count).encode())
stream.close()
"""


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("conns")).start()
    yield api
    api.stop()
    api.check()


def begin(api):
    """A connection whose request has a body that is still to come."""
    stream = api.socket()
    stream.sendall(b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\n"
                   b"OPEN-SANDBOX-API-KEY: " + api.key.encode() +
                   b"\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert stream.recv(64).startswith(b"HTTP/1.1 100 ")
    return stream


def test_who_comes_when_all_are_busy_waits_for_room(api):
    old, = api.api_pids()
    resource.prlimit(api.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: old not in api.api_pids() and api.is_healthy())
    busy = [begin(api) for _ in range(FILES // 4)]
    late = api.socket()
    late.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    # Nobody was put out for another.
    for stream in busy:
        stream.sendall(b"[]")
        assert stream.recv(64).startswith(b"HTTP/1.1 4")
        stream.close()
    assert late.recv(64).startswith(b"HTTP/1.1 200")
    late.close()


def test_who_has_one_sandboxs_token_leaves_connections_for_others(api):
    """With one signed route to what never answers, too."""
    one, two = Execd(api, api.make()), Execd(api, api.make())
    old, = api.api_pids()
    resource.prlimit(api.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: old not in api.api_pids() and api.is_healthy())
    tokens = FILES // 4 * 3 // 4
    held = []

    def watch(execd):
        connection, response = execd.open("GET", "/metrics/watch")
        held.append(connection)
        return response.status, response.headers

    for _ in range(tokens // 2):
        assert watch(one)[0] == 200
    status, headers = watch(one)
    assert status == 429 and headers["Retry-After"]
    for _ in range(tokens // 4):
        assert watch(two)[0] == 200
    assert watch(two)[0] == 429
    # Those who have a key are never kept out by them.
    assert api.call("GET", "/v1/sandboxes").status == 200
    for connection in held:
        connection.close()
    wait_until(lambda: one.ask("GET", "/ping")[0] == 200)
    for execd in (one, two):
        api.call("DELETE", "/v1/sandboxes/"
                 + execd.prefix.split("/sandboxes/")[1].split("/")[0])


@pytest.mark.parametrize("fields,status", [
    ("", 200), ("Content-Length: 0\r\n", 200), ("Content-Length: 1\r\n", 413),
    ("Transfer-Encoding: chunked\r\n", 413)])
def test_for_a_body_that_nobody_takes_nobody_waits(api, fields, status):
    """Who has no key may ask this, and would keep a connection for longer."""
    with api.socket() as stream:
        stream.sendall(f"GET /health HTTP/1.1\r\nHost: x\r\n{fields}\r\n"
                       .encode())
        assert stream.recv(64).startswith(b"HTTP/1.1 %d " % status)


def test_all_of_it_arrives_when_a_client_ends_its_side_early(api):
    box = api.make()
    prefix, headers = api.endpoint(box, 8000)
    api.ok("exec", "--detach", box, "--", "python3", "-c", SLOW)
    wait_until(lambda: api.exec(box, "test", "-e", "ready",
                                check=False).returncode == 0)
    fields = "".join(f"{name}: {value}\r\n"
                     for name, value in headers.items())
    stream = api.socket()
    stream.sendall(
        (f"GET {prefix}/ HTTP/1.1\r\nHost: x\r\n{fields}"
         "Upgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += stream.recv(1)
    assert head.startswith(b"HTTP/1.1 101"), stream.recv(1000)

    def send():
        stream.sendall(b"x" * SIZE)
        stream.shutdown(1)
    sender = threading.Thread(target=send)
    sender.start()
    api.exec(box, "touch", "go")
    sender.join()
    assert stream.recv(64) == str(SIZE).encode()
    stream.close()


def test_who_waits_for_a_port_says_so(gateway, tmp_path):
    api = Api(gateway, tmp_path)
    with socket.create_server(("127.0.0.1", api.port)):
        with open(api.dir / "log", "w") as log:
            api.process = subprocess.Popen(
                [PROGRAM, "-c", api.config], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=api.env(), cwd="/")
        wait_until(lambda: f"another process listens on 127.0.0.1:{api.port}"
                   in api.log())
    wait_until(api.is_healthy)
    api.stop()
    api.check()
