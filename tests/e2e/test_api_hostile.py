"""The HTTP API of sallyport-host against clients that mean no good: requests
that can be read in two ways, slow ones, large ones, many of them."""
import os
import re
import resource
import signal
import socket
import threading
import time

import pytest
from api import Api
from waiting import wait_until

MANY = 1000


@pytest.fixture(scope="module", autouse=True)
def descriptors():
    """As many as there may be: for us, and for what we start."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api")).start()
    pids = api.api_pids()
    yield api
    # Nothing of all this ended it.
    assert api.api_pids() == pids
    assert api.is_healthy()
    api.stop()
    api.check()


def read_all(stream):
    data = b""
    while True:
        try:
            part = stream.recv(65536)
        except ConnectionResetError:
            return data
        if not part:
            return data
        data += part


def say(api, text, key=True):
    """Everything that is answered to some bytes, until the end."""
    with api.socket() as stream:
        text = text.replace(b"KEY", b"OPEN-SANDBOX-API-KEY: %s\r\n"
                            % (api.key if key else "wrong").encode())
        stream.sendall(text)
        return read_all(stream)


def statuses(answer):
    return re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", answer)


LIST = b"GET /v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY"
MAKE = b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY"
SMUGGLED = b"GET /v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY\r\n"


@pytest.mark.parametrize("text", [
    MAKE + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    MAKE + b"Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + SMUGGLED,
    MAKE + b"Content-Length: +4\r\n\r\nabcd",
    MAKE + b"Content-Length: 4, 4\r\n\r\nabcd",
    MAKE + b"Transfer-Encoding: identity\r\n\r\n",
    MAKE + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    MAKE + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    MAKE + b"Transfer_Encoding: chunked\r\nContent-Length: 0\r\n\r\n"
    + SMUGGLED,
    MAKE + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
    MAKE + b"Transfer-Encoding: chunked\r\n\r\n1\r\na0\r\n\r\n",
    MAKE + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    MAKE + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 300
    + b"\r\na\r\n0\r\n\r\n",
    LIST + b" folded: x\r\n\r\n", LIST + b"A: b\nC: d\r\n\r\n",
    LIST + b"Host: y\r\n\r\n", LIST + b"A\0: b\r\n\r\n",
    LIST + b": b\r\n\r\n", LIST + b"Upgrade: h2c\r\n\r\n",
    b"GET  /v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"GET /v1/sandboxes\r\n\r\n", b"GET /v1/sandboxes HTTP/2.0\r\nKEY\r\n",
    b"GET /v1/sandboxes HTTP/1.1\r\nKEY\r\n",
    b"get /v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"GET http://x/v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\nKEY\r\n",
    b"GET /v1/../v1/sandboxes HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"GET /v1//sandboxes HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"GET /v1/sandboxes/a%2fb HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"GET /v1/sandboxes/a%00b HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"GET /v1/sandboxes#x HTTP/1.1\r\nHost: x\r\nKEY\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n\r\n", b"\0" * 100])
def test_what_can_be_read_in_two_ways_is_refused(api, text):
    answer = say(api, text)
    assert answer.startswith(b"HTTP/1.1 4"), answer
    assert len(statuses(answer)) == 1, answer
    assert b'"code":' in answer and b'"message":' in answer


def test_a_twin_in_order_is_served(api):
    answer = say(api, LIST + b"\r\n" + MAKE + b"Content-Length: 2\r\n\r\n{}"
                 + LIST + b"Connection: close\r\n\r\n")
    assert statuses(answer) == [b"200", b"422", b"200"]


def test_a_body_that_is_refused_is_not_a_request(api):
    """What follows a head that is answered early is thrown away."""
    for head, status in ((b"POST /nowhere HTTP/1.1\r\nHost: x\r\nKEY", b"404"),
                         (b"PUT /health HTTP/1.1\r\nHost: x\r\n", b"405")):
        answer = say(api, head + b"Content-Length: 200\r\n\r\n" + SMUGGLED)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert len(statuses(answer)) == 1
    answer = say(api, MAKE + b"Content-Length: 200\r\n\r\n" + SMUGGLED,
                 key=False)
    assert answer.startswith(b"HTTP/1.1 401")
    assert len(statuses(answer)) == 1


@pytest.mark.parametrize("text, status", [
    (MAKE + b"Content-Length: 2097153\r\n\r\n", b"413"),
    (MAKE + b"Content-Length: 999999999999999\r\n\r\n", b"413"),
    (LIST + b"Content-Length: 1\r\n\r\n1", b"413"),
    (LIST + b"A: " + b"x" * 9000 + b"\r\n\r\n", b"431"),
    (LIST + b"A: b\r\n" * 101 + b"\r\n", b"431"),
    (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", b"431")])
def test_what_is_too_large_is_refused(api, text, status):
    assert say(api, text).startswith(b"HTTP/1.1 " + status)


def test_a_body_in_pieces_has_the_same_bound(api):
    with api.socket() as stream:
        stream.sendall(MAKE.replace(b"KEY", b"OPEN-SANDBOX-API-KEY: "
                                    + api.key.encode() + b"\r\n")
                       + b"Transfer-Encoding: chunked\r\n\r\n")
        block = b"10000\r\n" + b" " * 65536 + b"\r\n"
        try:
            for _ in range(40):
                stream.sendall(block)
        except OSError:
            pass
        assert read_all(stream).startswith(b"HTTP/1.1 413")


def test_expect_is_answered_only_where_the_body_is_wanted(api):
    assert say(api, MAKE + b"Content-Length: 2\r\nExpect: 100-continue\r\n"
               b"Connection: close\r\n\r\n{}").startswith(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 422 ")
    assert say(api, MAKE + b"Content-Length: 2\r\nExpect: 100-continue\r\n"
               b"\r\n", key=False).startswith(b"HTTP/1.1 401 ")


def test_a_thousand_connections_and_one_that_is_served(api):
    held = []
    try:
        for number in range(MANY):
            stream = api.socket()
            held.append(stream)
            if number % 2:
                stream.sendall(b"GET /v1/sand")
        assert api.call("GET", "/v1/sandboxes").status == 200
        held[0].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert held[0].recv(100).startswith(b"HTTP/1.1 200")
    finally:
        for stream in held:
            stream.close()
    assert api.call("GET", "/v1/sandboxes").status == 200


def test_who_fills_the_table_pushes_out_who_waits(api):
    """More than there is room for: who comes is served all the same."""
    held = [api.socket() for _ in range(2100)]
    try:
        for _ in range(20):
            assert api.call("GET", "/v1/sandboxes").status == 200
    finally:
        for stream in held:
            stream.close()


def test_a_slow_head_ends(api):
    with api.socket() as slow:
        slow.sendall(b"GET /v1/sandboxes HTTP/1.1\r\n")
        begun = time.monotonic()
        stop = threading.Event()

        def drip():
            while not stop.wait(0.5):
                try:
                    slow.sendall(b"A: b\r\n")
                except OSError:
                    return
        thread = threading.Thread(target=drip)
        thread.start()
        answer = read_all(slow)
        stop.set()
        thread.join()
    assert answer.startswith(b"HTTP/1.1 408") or answer == b""
    assert time.monotonic() - begun < 60


def test_who_asks_and_does_not_read_is_not_served_on(api):
    """Answers that nobody reads are held within a bound."""
    box = api.make(entrypoint=["sh", "-c",
                               "yes $(seq 100) | head -c 900000; sleep 1000"])
    path = f"/v1/sandboxes/{box}/diagnostics/logs"
    wait_until(lambda: len(api.call("GET", path).body) == 900000)
    pid, = api.api_pids()

    def resident():
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    before = resident()
    request = (f"GET {path} HTTP/1.1\r\nHost: x\r\n"
               f"OPEN-SANDBOX-API-KEY: {api.key}\r\n\r\n").encode()
    with api.socket() as stream:
        stream.sendall(request * 100)
        for _ in range(20):
            assert api.call("GET", path).status == 200
        # A hundred answers are 90 MB.
        assert resident() - before < 40 << 20
    api.call("DELETE", f"/v1/sandboxes/{box}")


def test_a_killed_daemon_takes_its_api_along_and_the_next_has_another(
        gateway, tmp_path):
    api = Api(gateway, tmp_path).start()
    boxes = {api.make() for _ in range(3)}
    old, = api.api_pids()
    with api.socket() as stream:
        stream.sendall(b"GET /v1/sandboxes HTTP/1.1\r\n")
        api.process.send_signal(signal.SIGSTOP)
        api.kill()
        # It ends with its channel; what was under way ends with it.
        assert read_all(stream) == b""
    wait_until(lambda: not os.path.exists(f"/proc/{old}"))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", api.port)).close()
    api.start()
    items = api.call("GET", "/v1/sandboxes").json["items"]
    assert {item["id"] for item in items
            if item["status"]["state"] == "Running"} == boxes
    for box in boxes:
        assert api.call("DELETE", f"/v1/sandboxes/{box}").status == 204
    api.stop()
    api.check()
