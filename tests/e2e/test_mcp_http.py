"""sallyport mcp --listen: what a client of the streamable HTTP transport may
do, byte by byte. (test_mcp.py has the unmodified SDK.)"""
import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.parse

import pytest
from gateway import CLI, is_sanitized
from host import OVER, Host, children_of
from waiting import wait_until, while_it_lives

BOTH = "application/json, text/event-stream"
LARGEST = (4 << 20) - 2
SESSIONS = 16


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


class Server:
    """A server of the tests' own, and requests to it."""

    def __init__(self, host, *options, address="127.0.0.1:0", told=True,
                 **env):
        # Who is killed leaves what it had there.
        self.temporary = tempfile.mkdtemp(prefix="sp.", dir="/tmp")
        os.chmod(self.temporary, 0o777)
        self.process = subprocess.Popen(
            [CLI, "mcp", "--listen", address, "--workspace", "-",
             *map(str, options)], cwd=host.workspace,
            env={**host.env(), "TMPDIR": self.temporary, **env},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            **host.gateway.as_user)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.token = self.process.stdout.readline().split()[-1] if told \
            else None
        place = urllib.parse.urlsplit(self.url)
        self.address = place.hostname, place.port

    def connect(self):
        return http.client.HTTPConnection(*self.address, timeout=60)

    def fields(self, **more):
        fields = {"Authorization": f"Bearer {self.token}", "Accept": BOTH,
                  "Content-Type": "application/json"}
        fields.update((name.replace("_", "-"), value)
                      for name, value in more.items())
        return {name: value for name, value in fields.items()
                if value is not None}

    def ask(self, method="POST", body=None, path="/mcp", **fields):
        """(status, fields, body) of one request."""
        with contextlib.closing(self.connect()) as conn:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            conn.request(method, path, body, self.fields(**fields))
            answer = conn.getresponse()
            return answer.status, answer.headers, answer.read()

    def begin(self):
        status, fields, body = self.ask(body=message("initialize", {
            "protocolVersion": "2025-06-18"}))
        assert status == 200, body
        assert json.loads(body)["result"]["serverInfo"]["name"] == "sallyport"
        return Session(self, fields["Mcp-Session-Id"])

    def processes(self):
        """Those of its sessions: of the one that starts them."""
        starter, = children_of(self.process.pid)
        return children_of(starter)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            rest, errors = self.process.communicate(timeout=120)
        finally:
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.temporary)
        assert (self.process.returncode, rest, errors) == (0, "", "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """A test may have ended it by itself."""
        if self.process.returncode is None:
            self.end()


class Session:
    def __init__(self, server, name):
        self.server = server
        self.name = name

    def ask(self, method="POST", body=None, **fields):
        return self.server.ask(method, body, Mcp_Session_Id=self.name,
                               **fields)

    def ping(self):
        return self.ask(body=message("ping"))[0]

    def call(self, tool, number=1, **arguments):
        status, fields, body = self.ask(body=call(tool, number, **arguments))
        assert status == 200, body
        assert fields["Content-Type"] == "text/event-stream"
        result = json.loads(events(body)[0])["result"]
        assert not result["isError"], result
        return result["structuredContent"]


def message(method, params=None, number=1):
    return {"jsonrpc": "2.0", "method": method,
            **({} if number is None else {"id": number}),
            **({} if params is None else {"params": params})}


def call(tool, number=1, **arguments):
    return message("tools/call", {"name": tool, "arguments": arguments},
                   number)


def events(body):
    return [line[6:] for line in body.decode().splitlines()
            if line.startswith("data: ")]


@pytest.fixture(scope="module")
def server(host):
    with Server(host) as server:
        yield server


@pytest.fixture(scope="module")
def session(server):
    return server.begin()


# ---- who may ask ----

@pytest.mark.parametrize("fields,status", [
    ({}, 200),
    ({"Authorization": None}, 401),
    ({"Authorization": "Bearer x"}, 401),
    ({"Authorization": "Basic x"}, 401),
    ({"Host": "localhost:1"}, 200),
    ({"Host": "rebound.example"}, 403),
    ({"Host": "127.0.0.1.rebound.example"}, 403),
    ({"Origin": "http://localhost:3000"}, 200),
    ({"Origin": "http://rebound.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Accept": "application/json"}, 406),
    ({"Accept": "text/event-stream"}, 406),
    ({"Accept": None}, 406),
    ({"Accept": "*/*"}, 200),
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Type": None}, 415),
    ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ({"MCP-Protocol-Version": "2025-03-26"}, 200),
    ({"MCP-Protocol-Version": "2025-06-18"}, 200),
    ({"MCP-Protocol-Version": "1999-01-01"}, 400),
    ({"Mcp-Session-Id": None}, 400),
    ({"Mcp-Session-Id": "unknown"}, 404),
])
def test_what_a_request_must_be(session, fields, status):
    given = {"Mcp-Session-Id": session.name, **fields}
    got, head, body = session.server.ask(body=message("ping"), **given)
    assert got == status, body
    told = json.loads(body)
    assert told["jsonrpc"] == "2.0"
    if status == 200:
        assert told == {"jsonrpc": "2.0", "id": 1, "result": {}}
    else:
        assert told["id"] is None and told["error"]["message"]
    assert ("WWW-Authenticate" in head) == (status == 401)


def test_who_has_no_token_learns_nothing(server):
    for method, path in (("GET", "/"), ("POST", "/mcp"), ("PUT", "/mcp"),
                         ("DELETE", "/mcp"), ("OPTIONS", "/mcp"),
                         ("GET", "/mcp/x")):
        assert server.ask(method, path=path, Authorization=None)[0] == 401
    assert server.ask("GET", path="/")[0] == 404
    assert server.ask("PUT")[1]["Allow"] == "GET, POST, DELETE"


def raw(server, data):
    """Everything that comes back until the connection ends."""
    with socket.create_connection(server.address, 60) as sock:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(data)
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(65536):
                got += piece
        return got


@pytest.mark.parametrize("data", [
    b"\r\n\r\n", b"GET\r\n\r\n", b"GET /mcp HTTP/9.9\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\n\r\n",
    b"GET http://127.0.0.1/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n"
    b"Content-Length: 4\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 70000,
    b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 2000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 400,
])
def test_what_is_no_request_is_refused(server, session, data):
    got = raw(server, data)
    assert got.split(b" ")[1][:1] == b"4", got
    assert session.ping() == 200


# ---- messages ----

@pytest.mark.parametrize("body,code", [
    ("x", -32700), ("", -32700), ("{", -32700), ('{"a":1,"a":2}', -32700),
    ("[" * 100000, -32700), ("[]", -32600), ("1", -32600),
    ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600)])
def test_a_message_that_is_none_is_refused(session, body, code):
    status, _, told = session.ask(body=body)
    assert status == 400 and json.loads(told)["error"]["code"] == code
    assert session.ping() == 200


def test_what_is_unknown_is_answered_by_the_session(session):
    status, _, body = session.ask(body=message("nothing", number="n"))
    told = json.loads(body)
    assert (status, told["id"], told["error"]["code"]) == (200, "n", -32601)


def test_what_asks_for_no_answer_gets_none(session):
    for one in (message("notifications/initialized", number=None),
                {"jsonrpc": "2.0", "id": 7, "result": {}},
                message("notifications/cancelled", {"requestId": "none"},
                        number=None)):
        assert session.ask(body=one)[::2] == (202, b"")


def test_lines_are_made_one(session):
    text = json.dumps(message("ping"), indent=4)
    assert "\n" in text and session.ask(body=text)[0] == 200
    assert session.ping() == 200


def test_a_body_has_a_bound(session):
    start, end = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', \
        '"}}'
    room = LARGEST - len(start) - len(end)
    assert session.ask(body=start + "x" * room + end)[0] == 200
    # Its length is told before it comes.
    length = str(LARGEST + 1)
    status, _, _ = session.server.ask(
        Mcp_Session_Id=session.name, Content_Length=length)
    assert status == 413
    # It is not told.
    chunk = b"x" * (1 << 20)
    head = "".join(f"{name}: {value}\r\n" for name, value in
                   session.server.fields(Mcp_Session_Id=session.name).items())
    got = raw(session.server, b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
              head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" +
              (b"100000\r\n" + chunk + b"\r\n") * 5)
    # What comes after the answer may have thrown it away.
    assert not got or b" 413 " in got.split(b"\r\n")[0], got
    assert session.ping() == 200


def growing(method):
    """A message that is larger once its numbers were read."""
    text = json.dumps(message(method, {"x": []}))
    text = text.replace("[]", "[" + ",".join(["1e15"] * 600000) + "]")
    assert len(text) < LARGEST
    return text


def test_numbers_that_grow_when_they_are_read_are_bounded_too(session):
    status, _, told = session.ask(body=growing("ping"))
    assert status == 400 and "too large" in told.decode()
    assert session.ping() == 200


def test_a_session_that_could_not_begin_is_none(host):
    """Nobody was told its name, and it would count for half an hour."""
    with Server(host) as server:
        status, _, told = server.ask(body=growing("initialize"))
        assert status == 400 and "too large" in told.decode()
        wait_until(lambda: not server.processes())
        assert server.begin().ping() == 200


def test_requests_follow_each_other_on_one_connection(session):
    with contextlib.closing(session.server.connect()) as conn:
        for number in range(3):
            conn.request("POST", "/mcp", json.dumps(
                message("ping", number=number)),
                session.server.fields(Mcp_Session_Id=session.name))
            answer = conn.getresponse()
            assert json.loads(answer.read())["id"] == number
            assert not answer.will_close


# ---- calls ----

def test_calls_answer_in_streams_and_files_stay_the_sessions(server, session):
    other = server.begin()
    box = session.call("sandbox_create")["id"]
    done = session.call("command_run", command="echo hello")
    assert done["stdout"] == "hello\n"
    _, _, body = other.ask(body=call("command_run", sandbox=box,
                                     command="true"))
    told = json.loads(events(body)[0])["result"]
    assert told["isError"]
    assert "there is no sandbox" in told["content"][0]["text"]
    assert other.call("sandbox_list")["sandboxes"] == []
    assert other.ask("DELETE")[0] == 204
    assert session.call("command_run", command="true")["exit_code"] == 0


def test_a_number_that_waits_already_is_refused(session):
    waits = []
    thread = threading.Thread(target=lambda: waits.append(session.call(
        "command_run", "same", command="touch waits; while ! [ -e over ]; do "
        "sleep 0.02; done")))
    thread.start()
    wait_until(lambda: session.call("command_run", command="ls")[
        "stdout"].count("waits"))
    status, _, body = session.ask(body=message("ping", number="same"))
    assert status == 400 and "waits already" in body.decode()
    session.call("command_run", command="touch over")
    thread.join(60)
    assert waits[0]["exit_code"] == 0
    assert session.ask(body=message("ping", number="same"))[0] == 200


def test_who_hangs_up_has_not_cancelled(session):
    conn = session.server.connect()
    conn.request("POST", "/mcp", json.dumps(call(
        "command_run", "gone", command="touch began; while ! [ -e free ]; do "
        "sleep 0.02; done; touch done")),
        session.server.fields(Mcp_Session_Id=session.name))
    wait_until(lambda: "began" in session.call(
        "command_run", command="ls")["stdout"])
    conn.close()
    session.call("command_run", command="touch free")
    wait_until(lambda: "done" in session.call(
        "command_run", command="ls")["stdout"])


def test_a_cancelled_call_ends_its_command_and_its_stream(session):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(session.ask(
        body=call("command_run", "cancel", command="echo $$ > mark; "
                  "sleep 1000"))))
    thread.start()
    wait_until(lambda: "mark" in session.call(
        "command_run", command="ls")["stdout"])
    assert session.ask(body=message("notifications/cancelled", {
        "requestId": "cancel"}, number=None))[0] == 202
    thread.join(60)
    status, _, body = answers[0]
    assert status == 200 and events(body) == []
    wait_until(lambda: session.call(
        "command_run", command="kill -0 $(cat mark)")["exit_code"] != 0)


# ---- the stream of GET ----

def listen(session):
    conn = session.server.connect()
    conn.request("GET", "/mcp", headers=session.server.fields(
        Mcp_Session_Id=session.name, Content_Type=None,
        Accept="text/event-stream"))
    return conn, conn.getresponse()


def test_a_session_has_one_stream_and_the_newest_counts(session):
    first, one = listen(session)
    assert one.status == 200
    assert one.headers["Content-Type"] == "text/event-stream"
    second, two = listen(session)
    assert two.status == 200 and one.read() == b""
    first.close()
    second.close()
    assert session.ask("GET", Accept="application/json")[0] == 406
    assert session.server.ask("GET")[0] == 400
    assert session.server.ask("GET", Mcp_Session_Id="x")[0] == 404


# ---- the end ----

def test_a_session_that_is_ended_ends_its_sandboxes(host, server):
    session = server.begin()
    box = session.call("sandbox_create")["id"]
    conn, stream = listen(session)
    assert session.ask("DELETE")[0] == 204
    assert stream.read() == b""
    conn.close()
    wait_until(lambda: host.state(box) in OVER)
    assert session.ping() == 404 and session.ask("DELETE")[0] == 404


def test_a_session_that_nobody_uses_ends(host):
    def use(seconds):
        with Server(host, "--idle", seconds) as server:
            held, idle = server.begin(), server.begin()
            conn, stream = listen(held)
            assert stream.status == 200
            wait_until(lambda: len(server.processes()) == 1)
            assert idle.ping() == 404
            # It has a stream: somebody is there.
            assert held.ping() == 200
            conn.close()
            wait_until(lambda: not server.processes())
    while_it_lives(use)


def test_sessions_have_a_bound(host):
    with Server(host) as server:
        sessions = [server.begin() for _ in range(SESSIONS)]
        begin = message("initialize", {})
        status, _, body = server.ask(body=begin)
        assert status == 429 and "16 sessions" in body.decode()
        assert sessions[0].ping() == 200
        assert sessions[0].ask("DELETE")[0] == 204
        wait_until(lambda: server.ask(body=begin)[0] == 200)


def test_a_session_whose_process_is_killed_is_over(host):
    with Server(host) as server:
        session = server.begin()
        box = session.call("sandbox_create")["id"]
        answers = []
        thread = threading.Thread(target=lambda: answers.append(session.ask(
            body=call("command_run", "x", command="touch on; sleep 1000"))))
        thread.start()
        wait_until(lambda: "on" in session.call(
            "command_run", command="ls")["stdout"])
        os.kill(server.processes()[0], signal.SIGKILL)
        thread.join(60)
        assert "the session has ended" in events(answers[0][2])[0]
        assert session.ping() == 404 and server.begin().ping() == 200
    host.ok("kill", box)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_sessions_end_with_the_server(host, number):
    with Server(host) as server:
        boxes = [server.begin().call("sandbox_create")["id"] for _ in range(2)]
        server.end(number)
    # One that takes longer than a farewell comes to its end without it.
    wait_until(lambda: all(host.state(box) in OVER for box in boxes))


# ---- the beginning ----

def test_a_token_of_a_file_is_not_told(host, tmp_path):
    path = tmp_path / "token"
    path.write_text("x" * 40 + "\n")
    path.chmod(0o600)
    if host.gateway.as_user:
        os.chown(path, host.gateway.as_user["user"], -1)
    with Server(host, "--token-file", path, address="[::1]:0",
                told=False) as server:
        assert server.url.startswith("http://[::1]:")
        server.token = "x" * 40
        assert server.begin().ping() == 200
        assert server.ask(body=message("ping"), Authorization="Bearer " +
                          "x" * 39)[0] == 401


@pytest.mark.parametrize("options,code,words", [
    (["--listen", "0.0.0.0:0"], 3, "loopback"),
    (["--listen", "[::]:0"], 3, "loopback"),
    (["--listen", "example.com:80"], 3, "loopback"),
    (["--listen", "127.0.0.1"], 3, "loopback"),
    (["--listen", "127.0.0.1:65536"], 3, "loopback"),
    (["--listen", "127.0.0.1:0", "--token-file", "open"], 3, "chmod 600"),
    (["--listen", "127.0.0.1:0", "--token-file", "short"], 3, "32 to 256"),
    (["--listen", "127.0.0.1:0", "--token-file", "."], 3, "chmod 600"),
    (["--listen", "127.0.0.1:0", "--token-file", "none"], 3, "read none"),
    (["--listen", "127.0.0.1:0", "--idle", "0"], 2, "--help"),
    (["--token-file", "short"], 2, "--help"),
])
def test_what_can_not_be_served_is_told(host, tmp_path, options, code, words):
    for name, mode, text in (("open", 0o644, "x" * 40), ("short", 0o600, "x")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    done = subprocess.run([CLI, "mcp", *options], env=host.env(), cwd=tmp_path,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == code and words in done.stderr, done.stderr
    assert done.stdout == ""


def test_who_reads_http_holds_no_right_to_anything_else(server, session):
    """Sanitized builds keep their system calls."""
    pid = server.process.pid
    fields = dict(line.split(":", 1) for line in pathlib.Path(
        f"/proc/{pid}/status").read_text().splitlines())
    if not is_sanitized(pid):
        assert int(fields["CapPrm"], 16) == int(fields["CapEff"], 16) == 0
        assert fields["NoNewPrivs"].strip() == "1"
        assert fields["Seccomp"].strip() == "2"
    # Its sessions are no children of its own.
    starter, = children_of(pid)
    assert starter not in server.processes()
    assert session.ping() == 200


def test_what_is_started_too_late_is_nobodys_session(server, session):
    """The next one is told of its own process, and not of that one's."""
    begun = set(server.processes())
    starter, = children_of(server.process.pid)
    os.kill(starter, signal.SIGSTOP)
    try:
        status, _, body = server.ask(body=message("initialize", {}))
    finally:
        os.kill(starter, signal.SIGCONT)
    assert status == 500 and b"does not answer" in body, (status, body)
    other = server.begin()
    assert other.ping() == session.ping() == 200

    def new():
        return set(server.processes()) - begun
    wait_until(lambda: len(new()) == 1)
    os.kill(new().pop(), signal.SIGKILL)
    wait_until(lambda: other.ping() == 404)
    assert session.ping() == 200


def test_a_session_that_can_not_be_held_is_refused_and_gone(host, tmp_path):
    """Its starter gets its socket, and no descriptor more. It would not end
    by itself: its loader waits for who writes a library."""
    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:2]:
        above.chmod(0o755)
    slow = tmp_path / "libjansson.so.4"
    with Server(host, LD_LIBRARY_PATH=str(tmp_path)) as server:
        session = server.begin()
        starter, = children_of(server.process.pid)
        begun = children_of(starter)
        limit = resource.prlimit(starter, resource.RLIMIT_NOFILE)
        places = {int(n) for n in os.listdir(f"/proc/{starter}/fd")}
        free = min(set(range(len(places) + 1)) - places)
        os.mkfifo(slow)
        slow.chmod(0o666)
        resource.prlimit(starter, resource.RLIMIT_NOFILE, (free + 1, limit[1]))
        try:
            status, _, body = server.ask(body=message("initialize", {}))
            assert children_of(starter) == begun
        finally:
            resource.prlimit(starter, resource.RLIMIT_NOFILE, limit)
            with contextlib.suppress(OSError):
                os.close(os.open(slow, os.O_WRONLY | os.O_NONBLOCK))
            slow.unlink()
        assert status == 500 and b"Too many open files" in body, body
        assert server.begin().ping() == session.ping() == 200
