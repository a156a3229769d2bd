"""Requests whose sandbox, or what serves them inside, ends before they are
answered."""
import contextlib
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from api import Answer, Api
from execd import Execd
from host import children_of
from waiting import wait_until

REQUESTS = {
    "a command": ("POST", "/command", {"command": "true"}),
    "one in the background": ("POST", "/command", {"command": "true",
                                                   "background": True}),
    "what became of one": ("GET", "/command/status/x", None),
    "a session": ("POST", "/session", {}),
    "a terminal": ("POST", "/pty", {}),
    "a context": ("POST", "/code/context", {"language": "python"}),
    "contexts": ("GET", "/code/contexts?language=python", None),
    "a file": ("GET", "/files/info?path=/etc/passwd", None),
    "a port": ("GET", "/proxy/8080/", None),
}


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api"))
    yield api.start()
    api.stop()
    api.check()


def begin(api, method, path, body, headers):
    """Ask, and wait for no answer; how to have it."""
    connection = api.connection(60)
    connection.request(method, path, body and json.dumps(body), headers)

    def answer():
        response = connection.getresponse()
        got = Answer(response.status, response.headers, response.read())
        connection.close()
        return got
    return answer


def state(api, box):
    return api.call("GET", f"/v1/sandboxes/{box}").json["status"]["state"]


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_when_the_sandbox_ends_they_are_conflicts(api):
    box = api.make(networkPolicy={"egress": [
        {"action": "allow", "target": "example.com"}]})
    execd = Execd(api, box)
    policy, token = api.endpoint(box, 18080)
    with ThreadPoolExecutor(1) as pool:
        with stopped(api.supervisors()[box]):
            asked = {name: begin(api, method, execd.prefix + path, body,
                                 execd.headers)
                     for name, (method, path, body) in REQUESTS.items()}
            asked["what it may reach"] = begin(api, "GET", f"{policy}/policy",
                                               None, token)
            # Its supervisor hears of them before it hears of its end.
            for _ in range(10):
                assert state(api, box) == "Running"
            end = pool.submit(api.call, "DELETE", f"/v1/sandboxes/{box}")
            wait_until(lambda: state(api, box) == "Stopping")
        assert end.result().status == 204
    answers = {name: answer() for name, answer in asked.items()}
    assert {(answer.status, answer.json["code"])
            for answer in answers.values()} == {(409, "INVALID_STATE")}, answers


def test_when_what_serves_files_ends_alone_that_is_a_failure(api):
    box = api.make()
    execd = Execd(api, box)
    process_1 = api.show(box)["pid"]
    before = set(children_of(process_1))
    body = b"--B\r\n"  # whose rest never comes
    with api.socket() as client:
        client.sendall(
            f"POST {execd.prefix}/files/upload HTTP/1.1\r\nHost: x\r\n"
            "Content-Type: multipart/form-data; boundary=B\r\n"
            f"Content-Length: {len(body) + 1}\r\n".encode() + b"".join(
                f"{name}: {value}\r\n".encode()
                for name, value in execd.headers.items()) + b"\r\n" + body)
        agent, = wait_until(lambda: set(children_of(process_1)) - before)
        os.kill(agent, signal.SIGKILL)
        head, _, rest = client.recv(4096).partition(b"\r\n\r\n")
    assert b" 503 " in head and json.loads(rest)["code"] == "UNAVAILABLE"
    assert execd.run("echo still there") == (0, ["still there"], [])
    api.call("DELETE", f"/v1/sandboxes/{box}")
