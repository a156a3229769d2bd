"""The lifecycle API of sallyport-host over HTTP, as the unmodified SDK of
OpenSandbox and others use it."""
import datetime
import hashlib
import hmac
import json
import os
import pathlib
import re
import signal
import socket
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import openapi
import pytest
import websocket
from api import Api, install_sdk
from waiting import wait_until

# What a sandbox runs to be reached: it tells what it was sent.
MIRROR = """
import base64, hashlib, http.server, json, socketserver
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            key = self.headers["Sec-WebSocket-Key"].encode() + MAGIC
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", base64.b64encode(
                hashlib.sha1(key).digest()).decode())
            self.end_headers()
            self.wfile.write(b"\\x81\\x02hi")
            self.close_connection = True
            return
        size = self.headers.get("Content-Length")
        body = self.rfile.read(int(size)) if size else b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
        if self.path == "/large":
            answer = b"x" * 3000000
        else:
            answer = json.dumps({
                "method": self.command, "path": self.path, "size": len(body),
                "headers": {k.lower(): v for k, v in self.headers.items()},
            }).encode()
        self.send_response(204 if self.path == "/nothing" else 200)
        self.send_header("X-Inside", "yes")
        self.send_header("Service-Worker-Allowed", "/")
        self.send_header("clear-site-data", '"*"')
        self.send_header("Strict-Transport-Security", "max-age=9")
        self.send_header("Alt-Svc", 'h2=":9"')
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (answer[:5], answer[5:]):
                self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(part), part))
            self.wfile.write(b"0\\r\\n\\r\\n")
        elif self.path != "/nothing":
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)
        else:
            self.end_headers()
    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_GET
    def log_message(self, *words):
        pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", 8124), Handler).serve_forever()
"""
# One that answers what nobody may pass on: by the path's number.
LIAR = """
import socket
answers = [
    b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab",
    b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\nContent-Length: 1\\r\\n"
    b"\\r\\n0\\r\\n\\r\\n",
    b"HTTP/1.1 200 OK\\nX: y\\n\\n", b"SSH-2.0-x\\r\\n", b"",
    b"HTTP/1.1 200 OK\\r\\nX: " + b"x" * 100000 + b"\\r\\n\\r\\n",
    b"HTTP/1.1 100 Continue\\r\\n\\r\\n" * 50,
    b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n"
    b"Connection: Upgrade\\r\\n\\r\\n",
    b"HTTP/1.1 200 OK\\r\\nX\\x00: y\\r\\n\\r\\n",
]
listener = socket.create_server(("127.0.0.1", 8125), backlog=20)
while True:
    stream, _ = listener.accept()
    number = stream.recv(65536).split(b" ")[1].strip(b"/")
    try:
        stream.sendall(answers[int(number)] if number else
                       b"HTTP/1.1 204 Fine\\r\\n\\r\\n")
    except OSError:
        pass
    stream.close()
"""
BOGUS = "sb-" + "a" * 26


class Described(Api):
    """Every answer is one that openapi.json knows."""

    def call(self, method, path, *words, **more):
        answer = super().call(method, path, *words, **more)
        if answer.status != 405 and "/proxy/" not in path and openapi.find(
                method, path.partition("?")[0].removeprefix("/v1")):
            openapi.check(method, path, answer)
        return answer


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    policy = tmp_path_factory.mktemp("policies") / "named.yaml"
    host = tmp_path_factory.mktemp("host")
    host.chmod(0o755)
    (host / "file").write_text("of the host\n")
    policy.write_text("version: 1\nname: named\n"
                      "environment: {set: {FROM_POLICY: named}}\n"
                      f"filesystem: {{read: [{host}]}}\n")
    api = Described(gateway, tmp_path_factory.mktemp("api"),
                    policies={"named": str(policy)}).start()
    api.of_the_host = host
    yield api
    api.stop()
    api.check()


@pytest.fixture
def own_api(gateway, tmp_path):
    """For a test that kills or spoils what it consists of."""
    api = Api(gateway, tmp_path).start()
    yield api
    api.stop()
    api.check()


@pytest.fixture(scope="module")
def box(api):
    """One that tests share which leave it as it was."""
    return api.make(metadata={"shared": "yes"}, env={"GREETING": "hello"})


@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return install_sdk(tmp_path_factory.mktemp("sdk"))


def state(api, box):
    return api.call("GET", f"/v1/sandboxes/{box}").json["status"]["state"]


def in_seconds(seconds):
    return (datetime.datetime.now(datetime.timezone.utc)
            + datetime.timedelta(seconds=seconds)).isoformat()


# ---- create, show, end ----

def test_what_is_made_is_shown_and_ended(api):
    answer = api.call("POST", "/sandboxes", {
        "image": {"uri": "host"}, "entrypoint": ["tail", "-f", "/dev/null"],
        "resourceLimits": {"cpu": "500m", "memory": "256Mi"},
        "metadata": {"team": "a"}, "timeout": 600, "secureAccess": True,
        "extensions": {"mine": "kept"}}, {"X-Request-ID": "of-mine"})
    assert answer.status == 202
    assert answer.headers["X-Request-ID"] == "of-mine"
    box = answer.json["id"]
    assert answer.headers["Location"] == f"/v1/sandboxes/{box}"
    assert answer.json["status"]["state"] == "Running"
    shown = api.call("GET", f"/v1/sandboxes/{box}").json
    assert shown == {**answer.json, "image": {"uri": "host"}}
    assert shown["metadata"] == {"team": "a"}
    assert shown["extensions"] == {"mine": "kept"}
    assert shown["entrypoint"] == ["tail", "-f", "/dev/null"]
    assert shown["expiresAt"].endswith("Z")
    assert api.call("DELETE", f"/v1/sandboxes/{box}").status == 204
    assert state(api, box) == "Terminated"
    again = api.call("DELETE", f"/v1/sandboxes/{box}")
    assert (again.status, again.json["code"]) == (409, "INVALID_STATE")


def test_the_command_line_sees_the_same_sandboxes(api, box):
    assert api.show(box)["state"] == "Running"
    done = api.exec(box, "sh", "-c", "echo $GREETING")
    assert done.stdout == "hello\n"


def test_a_sandbox_ends_with_its_entrypoint(api):
    box = api.make(entrypoint=["sh", "-c", "echo was here; exit 3"])
    wait_until(lambda: state(api, box) == "Terminated")
    status = api.call("GET", f"/v1/sandboxes/{box}").json["status"]
    assert status["reason"] == "exited"
    logs = api.call("GET", f"/v1/sandboxes/{box}/diagnostics/logs"
                    "?scope=container").json
    assert (logs["content"], logs["truncated"], logs["delivery"]) == (
        "was here\n", False, "inline")
    plain = api.call("GET", f"/v1/sandboxes/{box}/diagnostics/logs")
    assert plain.body == b"was here\n"
    assert plain.headers["Content-Type"].startswith("text/plain")
    odd = api.call("GET", f"/v1/sandboxes/{box}/diagnostics/logs?scope=disk")
    assert odd.status == 501 and odd.json["code"] == "NOT_SUPPORTED"


def test_events_tell_what_was_denied(api):
    box = api.make()
    api.exec(box, "touch", "/etc/x")
    wait_until(lambda: b"/etc/x" in api.call(
        "GET", f"/v1/sandboxes/{box}/diagnostics/events?scope=all").body)
    api.call("DELETE", f"/v1/sandboxes/{box}")


@pytest.mark.parametrize("network, allowed", [
    ({"egress": [{"action": "allow", "target": "plain.example"}]},
     [True, False]),
    ({"defaultAction": "deny", "egress": []}, [False, False]),
    ({"defaultAction": "allow", "egress": [
        {"action": "deny", "target": "good.example"}]}, [True, False]),
    ({"egress": [{"action": "deny", "target": "good.example"},
                 {"action": "allow", "target": "*"}]}, [True, False]),
    ({"egress": [{"action": "allow", "target": "good.example"}]},
     [False, True]),
])
def test_a_network_policy_decides(api, network, allowed):
    """What is allowed fails only where the test's own server is: at an
    address that no name may have."""
    box = api.make(networkPolicy=network)
    for name, is_allowed in zip(("plain.example", "good.example"), allowed):
        done = api.exec(box, "curl", "-s", "-o", "/dev/null", "-D", "-",
                        f"http://{name}/")
        assert ("address" in done.stdout.split("\n")[0]) == is_allowed, name
        assert done.stdout.startswith("HTTP/1.1 403 egress denied: ")
    api.call("DELETE", f"/v1/sandboxes/{box}")


def test_a_policy_of_ours_comes_as_text_or_by_name(api):
    text = ("version: 1\nname: given\n"
            "environment: {set: {FROM_POLICY: given}}\n")
    box = api.make(extensions={"sallyport.policy": text})
    done = api.exec(box, "sh", "-c", "echo $FROM_POLICY")
    assert done.stdout == "given\n"
    assert "sallyport.policy" not in api.call(
        "GET", f"/v1/sandboxes/{box}").json.get("extensions", {})
    api.call("DELETE", f"/v1/sandboxes/{box}")
    box = api.make(extensions={"sallyport.policy": "named"})
    done = api.exec(box, "sh", "-c", "echo $FROM_POLICY")
    assert done.stdout == "named\n"
    api.call("DELETE", f"/v1/sandboxes/{box}")


@pytest.mark.parametrize("files", [
    "{read: [HOST]}", "{read: [/usr, HOST]}", "{read: [HOST/file]}",
    "{write: [HOST]}", "{read: [/usr/../HOST]}", "{read: [~/x]}"])
def test_a_policy_of_a_request_brings_in_nothing_of_the_host(api, files):
    files = files.replace("HOST", str(api.of_the_host))
    answer = api.call("POST", "/v1/sandboxes", {
        "image": {"uri": "host"}, "resourceLimits": {},
        "extensions": {"sallyport.policy":
                       f"version: 1\nname: given\nfilesystem: {files}\n"}})
    assert answer.status == 403, answer
    assert "filesystem." in answer.json["message"]


def test_one_of_host_yaml_may_and_what_is_there_anyway_may_be_named(api):
    file = api.of_the_host / "file"
    for policy, is_there in (
            ("named", True),
            ("version: 1\nname: given\n"
             "filesystem: {read: [/usr, /etc, ./x], write: [./y]}\n", False)):
        box = api.make(extensions={"sallyport.policy": policy})
        done = api.exec(box, "cat", file)
        assert (done.stdout == "of the host\n") == is_there, done.stderr
        api.call("DELETE", f"/v1/sandboxes/{box}")


def test_a_sandbox_pushes_the_branch_that_it_was_made_for(
        api, policies, repo):
    box = api.make(extensions={
        "sallyport.policy": json.dumps({**policies.make(repo=repo),
                                        "name": "push"}),
        "sallyport.repo": repo.url, "sallyport.branch": "agent/api"})
    done = api.exec(box, "sh", "-ec", f"""
export HOME=$PWD GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git clone -q {repo.url} work; cd work
echo new > new; git add new; git commit -qm new
git push -q origin HEAD:refs/heads/agent/api
! git push -q origin HEAD:refs/heads/other""")
    assert done.returncode == 0, done.stderr
    assert "refs/heads/agent/api" in repo.refs()
    assert "refs/heads/other" not in repo.refs()
    api.call("DELETE", f"/v1/sandboxes/{box}")


BAD_SPECS = [
    (422, []), (400, "x"), (422, {}),
    (422, {"image": {"uri": "host"}, "snapshotId": "s"}),
    (400, {"image": {"uri": "nobody"}}),
    (422, {"image": "host"}), (422, {"image": {"uri": 7}}),
    (400, {"image": {"uri": ""}}), (400, {"image": {"uri": "x" * 64}}),
    (400, {"image": {"uri": "host", "auth": {"username": "u",
                                             "password": "p"}}}),
    (422, {"entrypoint": []}), (422, {"entrypoint": [1]}),
    (422, {"entrypoint": "sh"}), (400, {"entrypoint": [""]}),
    (422, {"env": {"A": 1}}), (422, {"env": []}), (400, {"env": {"A=": "1"}}),
    (400, {"env": {"": "1"}}),
    (400, {"metadata": {"opensandbox.io/x": "1"}}),
    (400, {"metadata": {"a": "x" * 64}}), (400, {"metadata": {"a b": "x"}}),
    (400, {"metadata": {f"k{i}": "v" for i in range(33)}}),
    (422, {"timeout": "10"}), (400, {"timeout": 0}), (400, {"timeout": -1}),
    (400, {"timeout": 10 ** 15}),
    (400, {"resourceLimits": {"memory": "much"}}),
    (400, {"resourceLimits": {"memory": "1Ki"}}),
    (400, {"resourceLimits": {"memory": "9" * 40}}),
    (400, {"resourceLimits": {"cpu": "0"}}),
    (501, {"resourceLimits": {"gpu": "1"}}),
    (422, {"resourceLimits": {"cpu": 1}}),
    (400, {"platform": {"os": "windows"}}),
    (422, {"networkPolicy": []}), (422, {"networkPolicy": {"egres": []}}),
    (422, {"networkPolicy": {"defaultAction": "maybe"}}),
    (422, {"networkPolicy": {"egress": [{"action": "allow"}]}}),
    (400, {"networkPolicy": {"egress": [
        {"action": "allow", "target": "a b"}]}}),
    (400, {"networkPolicy": {"egress": [
        {"action": "allow", "target": "*.co.uk"}]}}),
    (413, {"networkPolicy": {"egress": [
        {"action": "allow", "target": "a"}] * 4097}}),
    (400, {"credentialProxy": {"enabled": True}}),
    (400, {"networkPolicy": {}, "extensions": {
        "sallyport.policy": "version: 1\n"}}),
    (400, {"extensions": {"sallyport.policy": "nobody"}}),
    (400, {"extensions": {"sallyport.policy": "version: 1\nrules: []\n"}}),
    (501, {"extensions": {"poolRef": "p"}}),
    (501, {"extensions": {"access.renew.extend.seconds": "600"}}),
    (422, {"volumes": {}}), (422, {"volumes": [{}]}),
    (400, {"volumes": [{"mountPath": "x", "host": {"path": "/a"}}]}),
    (501, {"volumes": [{"mountPath": "/x", "pvc": {"claimName": "c"}}]}),
]


def test_what_makes_no_sense_is_refused_with_words(api):
    before = len(api.list())
    for status, spec in BAD_SPECS:
        if isinstance(spec, dict) and spec and "image" not in spec:
            spec = {"image": {"uri": "host"}, **spec}
        answer = api.call("POST", "/v1/sandboxes", spec)
        assert answer.status == status, (spec, answer)
        assert answer.json["code"] and answer.json["message"], spec
        assert (answer.json["code"] == "NOT_SUPPORTED") == (status == 501)
    alive = [box for box in api.list() if box["state"] == "Running"]
    assert len(alive) <= before


@pytest.mark.parametrize("body", [
    b"", b"{", b"nul", b"\xff", b'{"a":1,"a":2}', b"[" * 5000, b'"\\u0000"'])
def test_what_is_no_json_is_refused(api, body):
    answer = api.call("POST", "/v1/sandboxes", body)
    assert answer.status == 400 and answer.json["message"]


# ---- list ----

def test_lists_have_pages_and_filters(api):
    boxes = {api.make(metadata={"kind": "listed", "n": str(n)})
             for n in range(3)}

    def listed(**query):
        answer = api.call("GET", "/v1/sandboxes?" + urllib.parse.urlencode(
            {"metadata": "kind=listed", **query}, doseq=True))
        assert answer.status == 200, answer
        return answer.json
    assert {item["id"] for item in listed()["items"]} == boxes
    pages = [listed(pageSize=2, page=page) for page in (1, 2, 3)]
    assert [len(page["items"]) for page in pages] == [2, 1, 0]
    assert pages[0]["pagination"] == {
        "page": 1, "pageSize": 2, "totalItems": 3, "totalPages": 2,
        "hasNextPage": True}
    assert not pages[1]["pagination"]["hasNextPage"]
    assert {item["id"] for page in pages for item in page["items"]} == boxes
    one = listed(metadata="kind=listed&n=1")["items"]
    assert [item["metadata"]["n"] for item in one] == ["1"]
    assert not listed(metadata="kind=listed&n=9")["items"]
    paused = sorted(boxes)[0]
    for box in boxes - {paused}:
        assert api.call("DELETE", f"/v1/sandboxes/{box}").status == 204
    assert len(listed(state="Running")["items"]) == 1
    assert len(listed(state=["Running", "Terminated"])["items"]) == 3
    assert not listed(state="Sleeping")["items"]
    api.call("DELETE", f"/v1/sandboxes/{paused}")


@pytest.mark.parametrize("query", [
    "page=0", "page=x", "pageSize=0", "pageSize=201", "pageSize=-1",
    "page=99999999999999999999", "metadata=" + "%25zz"])
def test_odd_pages_are_refused(api, query):
    answer = api.call("GET", f"/v1/sandboxes?{query}")
    assert answer.status == 400 and answer.json["message"]


# ---- changes ----

def test_metadata_is_patched(api):
    box = api.make(metadata={"a": "1", "b": "2"})
    path = f"/v1/sandboxes/{box}/metadata"
    answer = api.call("PATCH", path, {"b": None, "c": "3", "a": "9"})
    assert answer.status == 200
    assert answer.json["metadata"] == {"a": "9", "c": "3"}
    for status, patch in ((400, {"opensandbox.io/a": "1"}), (422, []),
                          (422, {"a": 1}), (400, {"a": "x" * 64})):
        assert api.call("PATCH", path, patch).status == status
    assert api.call("GET", f"/v1/sandboxes/{box}").json["metadata"] == {
        "a": "9", "c": "3"}
    api.call("DELETE", f"/v1/sandboxes/{box}")


def test_pause_and_resume_and_their_wrong_states(api):
    box = api.make()
    where = f"/v1/sandboxes/{box}"
    assert api.call("POST", f"{where}/resume").status == 409
    answer = api.call("POST", f"{where}/pause")
    assert (answer.status, answer.body) == (202, b"")
    assert answer.headers["Content-Length"] == "0"
    assert state(api, box) == "Paused"
    assert api.call("POST", f"{where}/pause").status == 409
    assert api.call("POST", f"{where}/resume", b"").status == 202
    assert state(api, box) == "Running"
    assert api.call("DELETE", where).status == 204
    for verb in ("pause", "resume"):
        answer = api.call("POST", f"{where}/{verb}")
        assert (answer.status, answer.json["code"]) == (409, "INVALID_STATE")
    assert api.call("GET", f"{where}/endpoints/80").status == 409


def overtake(api, pool):
    """What is answered to a pause that an end overtakes, unless the sandbox
    rests at once: its supervisor finds both, and many have to come to rest."""
    box = api.make()
    api.ok("exec", "--detach", box, "--", "sh", "-c",
           "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait")
    path, pid = f"/v1/sandboxes/{box}", api.supervisors()[box]
    os.kill(pid, signal.SIGSTOP)
    pausing = pool.submit(api.call, "POST", f"{path}/pause")
    for _ in range(10):
        assert api.call("GET", path).json["status"]["state"] == "Running"
    ending = pool.submit(api.call, "DELETE", path)
    wait_until(lambda: api.call("GET", path).json["status"]["state"] ==
               "Stopping")
    os.kill(pid, signal.SIGCONT)
    assert ending.result(60).status == 204
    return pausing.result(60)


def test_a_pause_that_an_end_overtakes_is_a_conflict(api):
    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            answer = overtake(api, pool)
            assert answer.status in (202, 409), answer
            if b"the sandbox ends" in answer.body:
                break
    assert (answer.status, answer.json["code"]) == (409, "INVALID_STATE")


def test_the_end_is_renewed(api):
    box, lasting = api.make(timeout=600), api.make()

    def renew(box, value):
        return api.call("POST", f"/v1/sandboxes/{box}/renew-expiration",
                        {"expiresAt": value})
    assert renew(box, "2100-01-01T02:30:00.5+02:30").json == {
        "expiresAt": "2100-01-01T00:00:00.500Z"}
    answer = renew(box, in_seconds(7200))
    assert answer.status == 200
    shown = api.call("GET", f"/v1/sandboxes/{box}").json
    assert shown["expiresAt"] == answer.json["expiresAt"]
    for value in (in_seconds(-5), "tomorrow", 7, None,
                  "2100-01-01T02:30:00", "2100-01-01T02:30:00+99:99"):
        assert renew(box, value).status == 400, value
    assert renew(lasting, in_seconds(60)).status == 409
    assert shown["expiresAt"] == api.call(
        "GET", f"/v1/sandboxes/{box}").json["expiresAt"]
    for one in (box, lasting):
        api.call("DELETE", f"/v1/sandboxes/{one}")


@pytest.mark.parametrize("name", [
    BOGUS, "x", "sb-%00", "sb-%2e%2e", "%e4", "a" * 200, "%0a"])
def test_who_is_not_there_is_not_found(api, name):
    where = f"/v1/sandboxes/{name}"
    for method, path, body in (
            ("GET", "", None), ("DELETE", "", None), ("POST", "/pause", None),
            ("POST", "/resume", None), ("PATCH", "/metadata", {"a": "1"}),
            ("POST", "/renew-expiration", {"expiresAt": in_seconds(60)}),
            ("GET", "/endpoints/80", None),
            ("GET", "/diagnostics/logs", None),
            ("GET", "/diagnostics/events", None)):
        answer = api.call(method, where + path, body)
        assert answer.status in (400, 404), (method, path, answer)
        assert answer.json["message"]


# ---- snapshots ----

def test_a_snapshot_is_made_listed_begun_with_and_removed(api):
    box = api.make()
    api.exec(box, "sh", "-c", "echo kept > file")
    made = api.call("POST", f"/v1/sandboxes/{box}/snapshots", {"name": "one"})
    assert made.status == 202 and made.json["sandboxId"] == box
    where = made.headers["Location"]
    assert where == f"/v1/snapshots/{made.json['id']}"
    wait_until(lambda: api.call("GET", where).json["status"]["state"]
               != "Creating")
    shown = api.call("GET", where).json
    assert shown["status"] == {"state": "Ready"} and shown["name"] == "one"

    def listed(query):
        return api.call("GET", f"/snapshots?{query}").json["items"]
    assert listed(f"sandboxId={box}&state=Ready&name=one") == [shown]
    assert not listed(f"sandboxId={BOGUS}") and not listed("state=Failed")
    again = api.make(image=None, snapshotId=shown["id"])
    assert api.exec(again, "cat", "file").stdout == "kept\n"
    assert api.call("GET", f"/v1/sandboxes/{again}").json[
        "snapshotId"] == shown["id"]
    for one in (box, again):
        api.call("DELETE", f"/v1/sandboxes/{one}")
    assert api.call("POST", f"/v1/sandboxes/{box}/snapshots").status == 409
    assert api.call("DELETE", where).status == 204
    wait_until(lambda: api.call("GET", where).status == 404)
    for method, path, body, status in (
            ("POST", f"/v1/sandboxes/{BOGUS}/snapshots", None, 404),
            ("DELETE", where, None, 404),
            ("POST", f"/v1/sandboxes/{box}/snapshots", {"name": 7}, 422),
            ("GET", "/snapshots?page=0", None, 400)):
        assert api.call(method, path, body).status == status, path


# ---- endpoints, and what is behind them ----

@pytest.mark.parametrize("port, status", [
    (0, 400), (65536, 400), ("x", 400), ("8e1", 400), (1, 200)])
def test_ports_are_numbers(api, box, port, status):
    assert api.call(
        "GET", f"/v1/sandboxes/{box}/endpoints/{port}").status == status


@pytest.fixture(scope="module")
def mirror(api, box):
    """The path and the token of a server inside."""
    api.ok("exec", "--detach", box, "--", "python3", "-c", MIRROR)
    path, token = api.endpoint(box, 8124)
    wait_until(lambda: api.call("GET", path, headers=token,
                                key=None).status == 200)
    return path, token


@pytest.mark.parametrize("method, path, body", [
    ("GET", "", None), ("GET", "/a/b%20c?x=%2F&y", None), ("HEAD", "/", None),
    ("POST", "/p", b"z" * 200000), ("PUT", "/p", b""), ("DELETE", "/p", None),
    ("OPTIONS", "/", None), ("PATCH", "/p", b"1"), ("GET", "/chunked", None)])
def test_a_port_inside_is_reached(api, mirror, method, path, body):
    prefix, token = mirror
    answer = api.call(method, prefix + path, body,
                      {**token, "X-Own": "1", "Cookie": "c=1",
                       "OPEN-SANDBOX-CLIENT-IP": "10.0.0.1"})
    assert answer.status == 200 and answer.headers["X-Inside"] == "yes"
    for name in ("Service-Worker-Allowed", "Clear-Site-Data",
                 "Strict-Transport-Security", "Alt-Svc"):
        assert name not in answer.headers
    if method == "HEAD":
        assert answer.body == b""
        return
    seen = answer.json
    assert (seen["method"], seen["path"], seen["size"]) == (
        method, path or "/", len(body or b""))
    assert seen["headers"]["x-own"] == "1"
    assert seen["headers"]["cookie"] == "c=1"
    assert seen["headers"]["host"] == "127.0.0.1:8124"
    assert not {name for name in seen["headers"] if "sandbox" in name
                or "sallyport" in name or "token" in name}
    assert api.key not in json.dumps(seen)


def test_a_port_is_reached_by_way_of_execd_too(api, box, mirror):
    prefix, token = api.endpoint(box, 44772)
    path = prefix + "/proxy/8124"
    answer = api.call("POST", path + "/a?b", b"xyz", token)
    seen = answer.json
    assert (seen["method"], seen["path"], seen["size"]) == ("POST", "/a?b", 3)
    assert not {name for name in seen["headers"] if "token" in name}
    assert next(iter(token.values())) not in json.dumps(seen)
    assert api.call("GET", path, headers=token).json["path"] == "/"
    # Its page would read of its own address what runs commands.
    by_path = signed(api, box, 44772)
    assert api.call("GET", by_path + "/ping", key=None).status == 200
    for headers in {}, token:
        assert api.call("GET", by_path + "/proxy/8124/s", key=None,
                        headers=headers).status == 401
    assert api.call("GET", signed(api, box, 8124) + "/s",
                    key=None).json["path"] == "/s"
    for headers in ({}, api.endpoint(box, 18080)[1], mirror[1],
                    api.endpoint(api.make(), 44772)[1]):
        assert api.call("GET", path, headers=headers).status == 401, headers
    for port, status in (("0", 400), ("x", 400), ("70000", 400), ("9", 502)):
        assert api.call("GET", f"{prefix}/proxy/{port}/",
                        headers=token).status == status, port


def test_bodies_stream_both_ways(api, mirror):
    prefix, token = mirror
    large = api.call("GET", prefix + "/large", headers=token, key=None)
    assert len(large.body) == 3000000
    assert api.call("GET", prefix + "/nothing", headers=token,
                    key=None).status == 204
    sent = api.call("POST", prefix + "/p", iter([b"a" * 70000] * 30),
                    token, key=None)
    assert sent.json["size"] == 2100000


def test_a_websocket_reaches_a_port_inside(api, mirror):
    prefix, token = mirror
    with api.socket() as stream:
        head = "".join(f"{name}: {value}\r\n" for name, value in token.items())
        stream.sendall((
            f"GET {prefix}/ws HTTP/1.1\r\nHost: x\r\n{head}Upgrade: websocket"
            "\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += stream.recv(1)
        assert answer.startswith(b"HTTP/1.1 101 ")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in answer
        assert websocket.read_frame(stream)[:3] == (
            websocket.TEXT, True, b"hi")
        assert stream.recv(1) == b""


def signed(api, box, port, seconds=600):
    answer = api.call("GET", f"/v1/sandboxes/{box}/endpoints/{port}"
                      f"?expires={int(time.time()) + seconds}")
    assert (answer.status, answer.json["headers"]) == (200, {})
    host, slash, path = answer.json["endpoint"].partition("/")
    return slash + path


def test_a_signed_route_needs_no_header_and_opens_nothing_else(
        api, box, mirror):
    path = signed(api, box, 8124)
    answer = api.call("POST", path + "/a?b", b"xyz", key=None, headers={
        "Referer": f"http://127.0.0.1{path}/page", "X-Own": "1"})
    assert answer.status == 200
    seen = answer.json
    assert (seen["method"], seen["path"], seen["size"]) == ("POST", "/a?b", 3)
    assert seen["headers"]["x-own"] == "1"
    assert "signed" not in json.dumps(seen)
    proof = path.split("/")[4]
    until, _, mark = proof.partition("-")
    for other in (path.replace("/8124", "/8125"),
                  path.replace("/8124", "/44772"),
                  path.replace("/proxy/8124", "/execd/ping"),
                  path.replace(box, api.make()),
                  path.replace(until, str(int(until) + 9)),
                  path.replace(mark, mark[:-1] + "x"),
                  path.replace(proof, until), path.replace(proof, "-")):
        assert api.call("GET", other, key=None).status == 401, other
    # Nor does a token open one whose proof is wrong.
    assert api.call("GET", path.replace(mark, "00"), key=None,
                    headers=mirror[1]).status == 401
    execd = signed(api, box, 44772)
    assert api.call("GET", execd + "/ping", key=None).status == 200
    assert api.call("GET", signed(api, box, 18080) + "/policy",
                    key=None).status == 200


@pytest.mark.parametrize("query", [
    "expires=1", "expires=x", "expires=", "expires=-5",
    "expires=99999999999999999999", "expires=1e12",
    "expires=9999999999&use_server_proxy=true"])
def test_a_signed_route_has_a_time_to_come(api, box, query):
    answer = api.call("GET", f"/v1/sandboxes/{box}/endpoints/80?{query}")
    assert answer.status == 400 and answer.json["message"], answer


def test_a_signed_route_ends_within_seven_days(api, box):
    week = 7 * 24 * 3600
    path = signed(api, box, 44772, week - 60)
    assert api.call("GET", path + "/ping", key=None).status == 200
    for seconds in (week + 60, 400 * 24 * 3600, 1 << 40):
        answer = api.call("GET", f"/v1/sandboxes/{box}/endpoints/44772"
                          f"?expires={int(time.time()) + seconds}")
        assert answer.status == 400
        assert "seven days" in answer.json["message"]


def test_a_proof_that_ends_later_is_none(api, box):
    """Such as one that was made before there was a bound."""
    def ping(seconds):
        until = int(time.time()) + seconds
        text = f"signed/execd/0/{until}/{box}".encode()
        key = (api.dir / "host/api.key").read_bytes()
        mark = hmac.new(key, text, hashlib.sha256).hexdigest()
        return api.call("GET", f"/sandboxes/{box}/signed/{until}-{mark}/execd"
                        "/ping", key=None).status
    assert ping(3600) == 200
    assert ping(8 * 24 * 3600) == 401


@pytest.mark.parametrize("method, path", [
    ("GET", "/pools"), ("POST", "/pools"), ("GET", "/v1/pools/a"),
    ("PUT", "/pools/a"), ("DELETE", "/pools/a")])
def test_pools_are_the_operators(api, method, path):
    body = {} if method in ("POST", "PUT") else None
    assert api.call(method, path, body, key=None).status == 401
    answer = api.call(method, path, body)
    assert (answer.status, answer.json["code"]) == (501, "NOT_SUPPORTED")


def test_what_answers_wrongly_inside_is_told(api, box):
    api.ok("exec", "--detach", box, "--", "python3", "-c", LIAR)
    path, token = api.endpoint(box, 8125)
    wait_until(lambda: api.call("GET", path, headers=token,
                                key=None).status == 204)
    for number in range(9):
        answer = api.call("GET", f"{path}/{number}", headers=token, key=None)
        assert (answer.status, answer.json["code"]) == (
            502, "BAD_GATEWAY"), number


def test_where_nothing_listens_is_told(api, box):
    path, token = api.endpoint(box, 9)
    answer = api.call("GET", path, headers=token, key=None)
    assert answer.status in (502, 503) and answer.json["message"]


# ---- who may ----

def test_only_who_has_the_key_may_ask(api, box):
    where = f"/v1/sandboxes/{box}"
    for key in (None, "wrong", api.key + "x", api.key[:-1], "x" * 5000):
        for method, path, body in (
                ("GET", where, None), ("POST", "/v1/sandboxes", {}),
                ("DELETE", where, None), ("GET", f"{where}/endpoints/80",
                                          None), ("GET", "/nowhere", None)):
            answer = api.call(method, path, body, key=key)
            assert answer.status == 401, (method, path, key)
            assert answer.json["code"] == "UNAUTHORIZED"
    with api.socket() as stream:
        key = f"OPEN-SANDBOX-API-KEY: {api.key}\r\n"
        stream.sendall((f"GET {where} HTTP/1.1\r\nHost: x\r\n{key}{key}\r\n"
                        ).encode())
        assert b" 401 " in stream.recv(100)
    assert state(api, box) == "Running"


def test_a_token_is_for_one_endpoint_of_one_sandbox(api, box, mirror):
    other = api.make()
    prefix, token = mirror
    assert list(token) == ["X-SALLYPORT-TOKEN"]
    _, of_other = api.endpoint(other, 8124)
    path, execd = api.endpoint(box, 44772)
    _, egress = api.endpoint(box, 18080)
    assert list(execd) == ["X-EXECD-ACCESS-TOKEN"]
    assert list(egress) == ["OPENSANDBOX-EGRESS-AUTH"]
    assert len({*token.values(), *of_other.values(), *execd.values(),
                *egress.values()}) == 4
    for wrong in ({}, of_other, execd, egress,
                  {"X-SALLYPORT-TOKEN": next(iter(execd.values()))},
                  {"X-SALLYPORT-TOKEN": api.key},
                  {"X-SALLYPORT-TOKEN": ""}):
        assert api.call("GET", prefix, headers=wrong,
                        key=None).status == 401, wrong
        assert api.call("GET", prefix, headers=wrong).status == 401, wrong
    assert api.call("GET", path + "/ping", headers=token,
                    key=None).status == 401
    # The other way round a token is no key.
    assert api.call("GET", f"/v1/sandboxes/{box}",
                    key=next(iter(token.values()))).status == 401
    api.call("DELETE", f"/v1/sandboxes/{other}")


def test_methods_and_paths_that_are_not(api, box):
    answer = api.call("PUT", f"/v1/sandboxes/{box}")
    assert answer.status == 405
    assert {*answer.headers["Allow"].split(", ")} == {"GET", "DELETE"}
    for path in ("/", "/v1", "/v1/v1/sandboxes", "/v1/sandboxes/x/y/z"):
        assert api.call("GET", path).status == 404, path
    assert api.call("POST", "/v1/metrics/events", {
        "eventType": "sandbox.create"}).status == 204


def test_every_route_is_described():
    folder = pathlib.Path(__file__).parents[2] / "sandbox-host/api"
    areas = {"proxy.c": "proxy", "egress": "egress", "execd": "execd",
             "files": "execd"}
    routes = []
    for path in sorted(folder.glob("*.c")):
        text = path.read_text()
        one = re.search(r'#define ONE "(.*)"', text)
        text = text.replace('ONE "', f'"{one[1]}') if one else text
        area = next((f"/sandboxes/x/{area}" for name, area in areas.items()
                     if path.name.startswith(name)), "")
        routes += [(method, area + pattern) for method, pattern in re.findall(
            r'\{"([A-Z]+)", "(/[^"]*)"', text)]
    assert len(routes) > 75
    for method, pattern in routes:
        assert openapi.find(method, pattern.replace("{}", "x")), pattern


def test_the_description_can_be_had(api):
    answer = api.call("GET", "/openapi.json")
    assert (answer.status, answer.json) == (200, openapi.DOCUMENT)
    assert api.call("GET", "/v1/openapi.json").body == answer.body
    assert api.call("GET", "/openapi.json", key=None).status == 401


def test_a_snapshot_that_is_not_there_is_none(api):
    for method in ("GET", "DELETE"):
        for name in ("snap-nobody", "x" * 200):
            answer = api.call(method, f"/v1/snapshots/{name}")
            assert (answer.status, answer.json["code"]) == (
                404, "SNAPSHOT_NOT_FOUND"), answer
    answer = api.call("POST", "/v1/sandboxes/sb-nobody/snapshots", {})
    assert answer.json["code"] == "SANDBOX_NOT_FOUND", answer


# ---- the SDK ----

def test_the_sdk_lists_shows_changes_and_ends(api, sdk):
    box = api.make(timeout=600, metadata={"by": "sdk"})
    said = api.node(sdk, """
const id = process.argv[2];
const manager = SandboxManager.create({ connectionConfig: connection });
const listed = await manager.listSandboxInfos({
  metadata: { by: "sdk" }, pageSize: 5 });
const info = await manager.getSandboxInfo(id);
await manager.pauseSandbox(id);
const paused = await manager.getSandboxInfo(id);
await manager.resumeSandbox(id);
await manager.renewSandbox(id, 3600);
const renewed = await manager.getSandboxInfo(id);
let refused;
try { await manager.getSandboxInfo("sb-nobody"); }
catch (err) { refused = [err.name, err.error.code, err.statusCode]; }
await manager.killSandbox(id);
const killed = await manager.getSandboxInfo(id);
await manager.close();
console.log(JSON.stringify({
  listed: listed.items.map((item) => item.id), state: info.status.state,
  expires: info.expiresAt, paused: paused.status.state,
  renewed: renewed.expiresAt, refused, killed: killed.status.state }));
""", box)
    assert said["listed"] == [box]
    assert (said["state"], said["paused"], said["killed"]) == (
        "Running", "Paused", "Terminated")
    assert said["renewed"] > said["expires"]
    assert said["refused"][1] == "SANDBOX_NOT_FOUND"


def test_the_sdk_makes_a_sandbox_and_comes_back_to_it(api, sdk):
    """create waits for execd; pause and resume connect again."""
    said = api.node(sdk, """
const made = await Sandbox.create({
  connectionConfig: connection, image: "host", timeoutSeconds: 600,
  metadata: { by: "create" }, env: { GREETING: "hi" },
  networkPolicy: { defaultAction: "deny", egress: [] },
  resource: { cpu: "1", memory: "512Mi" } });
const info = await made.getInfo();
const endpoint = await made.getEndpoint(8124);
const healthy = await made.isHealthy();
const signed = await made.getSignedEndpoint(
  44772, Math.floor(Date.now() / 1000) + 600);
const pong = (await fetch(`http://${signed.endpoint}/ping`)).status;
await made.pause();
const paused = await made.getInfo();
const again = await made.resume();
await again.renew(3600);
const other = await Sandbox.connect({
  connectionConfig: connection, sandboxId: made.id });
const state = (await other.getInfo()).status.state;
await other.kill();
const ended = (await again.getInfo()).status.state;
console.log(JSON.stringify({ id: made.id, info, endpoint, healthy, pong,
  paused: paused.status.state, state, ended }));
""")
    assert said["healthy"] is True and said["pong"] == 200
    assert said["info"]["metadata"] == {"by": "create"}
    assert said["info"]["image"] == {"uri": "host"}
    assert (said["paused"], said["state"], said["ended"]) == (
        "Paused", "Running", "Terminated")
    assert said["endpoint"]["endpoint"].endswith(
        f"/sandboxes/{said['id']}/proxy/8124")
    assert list(said["endpoint"]["headers"]) == ["X-SALLYPORT-TOKEN"]


# ---- how often ----

def test_who_asks_all_the_time_waits_and_others_do_not(own_api):
    """Requests of one sandbox's token, as fast as they are taken."""
    box = own_api.make()
    path, token = own_api.endpoint(box, 44772)
    fields = "".join(f"{name}: {value}\r\n" for name, value in token.items())
    ask = f"GET {path}/none HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode()
    said, others = bytearray(), []

    def hear(stream):
        while piece := stream.recv(1 << 16):
            said.extend(piece)

    with own_api.socket() as stream:
        reader = threading.Thread(target=hear, args=(stream,))
        reader.start()
        asked, until = 0, time.monotonic() + 60
        # A host that is busy with others may take fewer for a while.
        while asked < 8000 or (b" 429 " not in said
                               and time.monotonic() < until):
            stream.sendall(500 * ask)
            asked += 500
            others.append(own_api.call("GET", f"/v1/sandboxes/{box}").status)
        stream.shutdown(socket.SHUT_WR)
        reader.join(60)
    told = re.findall(rb"HTTP/1\.1 (\d+)", said)
    assert len(told) == asked
    assert set(told) == {b"404", b"429"}
    # When to come again: to whom it was too often, and to nobody else.
    assert said.count(b"\r\nRetry-After: 1\r\n") == told.count(b"429")
    assert set(others) == {200}
    wait_until(lambda: own_api.call(
        "GET", f"{path}/none", headers=token, key=None).status == 404)


# ---- ends ----

def test_a_killed_api_comes_back_and_a_token_still_holds(own_api):
    box = own_api.make()
    path, token = own_api.endpoint(box, 8124)
    old, = own_api.api_pids()
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: old not in own_api.api_pids()
               and own_api.is_healthy())
    assert state(own_api, box) == "Running"
    assert own_api.call("GET", path, headers=token, key=None).status != 401
    own_api.kill()
    own_api.start()
    assert state(own_api, box) == "Running"
    assert own_api.endpoint(box, 8124) == (path, token)


def test_who_leaves_while_a_sandbox_is_made_leaves_none(api):
    before = {box["id"] for box in api.list()}
    body = json.dumps({"image": {"uri": "host"},
                       "entrypoint": ["sleep", "1000"]}).encode()
    for _ in range(5):
        with api.socket() as stream:
            stream.sendall(
                b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\n"
                b"OPEN-SANDBOX-API-KEY: " + api.key.encode() +
                b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            stream.shutdown(socket.SHUT_WR)
            stream.recv(1)

    def new():
        return [box["state"] for box in api.list() if box["id"] not in before]
    wait_until(lambda: len(new()) == 5 and {*new()} <= {"Terminated",
                                                        "Failed"})
