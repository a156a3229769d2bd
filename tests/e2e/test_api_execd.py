"""execd's calls that run things, asked raw: streams, backgrounds, sessions,
their ends, and clients of every bad kind."""
import json
import os
import pathlib
import signal
import threading

import pytest
from api import Api
from execd import Execd, Terminal, told
from host import fields_of
from waiting import wait_until
from websocket import BINARY, TEXT, frame

POLICY = "version: 1\ncommands: {allow: [echo], deny: [id]}\n"


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("execd")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture(scope="module")
def box(host):
    return host.create("--name", "shared", "-e", "GREETING=hello")


@pytest.fixture
def execd(host, box):
    return Execd(host, box)


def processes(host, box, words):
    """How many processes inside have these words among their arguments."""
    done = host.exec(box, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    return done.stdout.count(words)


# ---- commands ----

def test_ping_answers_with_an_empty_body(execd):
    status, fields, text = execd.ask("GET", "/ping")
    assert (status, fields["Content-Length"], text) == (200, "0", b"")


def test_a_stream_has_its_events_in_order(execd):
    events = list(execd.stream("/command", {
        "command": "echo one; echo; echo two >&2; exit 3"}))
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["init", "ping"] and kinds[-1] == "error"
    assert kinds.count("error") == 1 and "execution_complete" not in kinds
    assert [event["text"] for event in events
            if event["type"] == "stdout"] == ["one", "\n"]
    assert [event["text"] for event in events
            if event["type"] == "stderr"] == ["two"]
    assert events[-1]["error"]["ename"] == "CommandExecError"
    assert events[-1]["error"]["evalue"] == "3"
    assert all(event["timestamp"] > 1_600_000_000_000 for event in events)
    assert events[0]["text"].startswith("cmd-")


@pytest.mark.parametrize("command,code,out", [
    ("true", 0, []),
    ("echo $GREETING", 0, ["hello"]),
    ("kill -9 $$", -1, []),
    ("printf 'a\\nb'", 0, ["a", "b"]),
    ("printf '\\377\\303\\050\\n'", 0, ["\ufffd\ufffd("]),
    ("printf 'nul\\000x\\n'", 0, ["nul\0x"]),
    ("cat", 0, []),
    ("pwd", 0, ["/usr"]),
    ("echo $ONE$TWO", 0, ["1=2"]),
], ids=str)
def test_ends_and_outputs(execd, command, code, out):
    assert execd.run(command, cwd="/usr", envs={"ONE": "1=", "TWO": "2"})[
        :2] == (code, out)


def test_a_long_line_comes_in_pieces_and_many_lines_all_come(execd):
    code, out, _ = execd.run("head -c 100000 /dev/zero | tr '\\0' x")
    assert code == 0 and len(out) > 1 and "".join(out) == "x" * 100000
    code, out, _ = execd.run("seq 10000")
    assert (code, out) == (0, [str(n) for n in range(1, 10001)])


def test_a_timeout_kills_the_group(host, box, execd):
    code, _, _ = execd.run("sleep 71.5 & sleep 71.5; echo no", timeout=300)
    assert code == -1
    wait_until(lambda: not processes(host, box, "sleep 71.5"))


def test_who_is_left_behind_and_writes_on_keeps_no_end_off(host, box, execd):
    code, out, _ = execd.run(
        "sh -c 'while echo 74.5; do :; done' & echo begun; exit 4")
    assert code == 4 and "begun" in out
    wait_until(lambda: not processes(host, box, "echo 74.5"))


def test_a_foreground_command_dies_with_its_client(host, box, execd):
    connection, response = execd.open(
        "POST", "/command", {"command": "echo here; sleep 72.5"})
    assert json.loads(response.readline())["type"] == "init"
    wait_until(lambda: processes(host, box, "sleep 72.5"))
    response.close()
    connection.close()
    wait_until(lambda: not processes(host, box, "sleep 72.5"))


def test_one_that_ignores_sigterm_is_interrupted(execd):
    events = execd.stream("/command", {
        "command": "trap '' TERM; echo ready; while :; do sleep 0.1; done"})
    for event in events:
        if event["type"] == "init":
            name = event["text"]
        if event["type"] == "stdout":
            break
    assert execd.ask("DELETE", f"/command?id={name}")[0] == 200
    assert told(events)[0] == -1
    status = execd.json("GET", f"/command/status/{name}")
    assert status["running"] is False and status["exit_code"] == -1
    # It is what was wanted already.
    assert execd.ask("DELETE", f"/command?id={name}")[0] == 200


def test_a_command_in_the_background_goes_on_and_is_read_by_a_cursor(execd):
    events = list(execd.stream("/command", {
        "command": "echo one; until [ -e go ]; do sleep 0.05; done; "
                   "echo two >&2; exit 4", "background": True}))
    assert [event["type"] for event in events] == [
        "init", "ping", "execution_complete"]
    name = events[0]["text"]
    status = execd.json("GET", f"/command/status/{name}")
    assert status["running"] and "exit_code" not in status
    assert status["started_at"].endswith("Z")
    wait_until(lambda: execd.ask("GET", f"/command/{name}/logs")[2] ==
               b"one\n")
    fields = execd.ask("GET", f"/command/{name}/logs")[1]
    assert fields["EXECD-COMMANDS-TAIL-CURSOR"] == "4"
    assert execd.run("touch go")[0] == 0
    wait_until(lambda: not execd.json(
        "GET", f"/command/status/{name}")["running"])
    status = execd.json("GET", f"/command/status/{name}")
    assert status["exit_code"] == 4 and status["finished_at"]
    code, fields, text = execd.ask("GET", f"/command/{name}/logs?cursor=4")
    assert (code, text) == (200, b"two\n")
    assert fields["EXECD-COMMANDS-TAIL-CURSOR"] == "8"


def test_output_of_the_background_is_bounded(execd):
    events = list(execd.stream("/command", {
        "command": "seq 400000", "background": True}))
    name = events[0]["text"]
    wait_until(lambda: not execd.json(
        "GET", f"/command/status/{name}")["running"])
    _, fields, text = execd.ask("GET", f"/command/{name}/logs")
    assert len(text) == 1024 * 1024 and text.endswith(b"\n400000\n")
    assert int(fields["EXECD-COMMANDS-TAIL-CURSOR"]) == sum(
        len(str(n)) + 1 for n in range(1, 400001))


def test_a_client_that_reads_slowly_holds_the_command(host, box, execd):
    """What waits for it is bounded by what pipes and sockets hold."""
    connection, response = execd.open("POST", "/command", {
        "command": "line=$(printf %30000s); line=${line// /y}; "
                   "for i in {1..600}; do echo $line; echo $i > progress; "
                   "done"})
    response.readline()
    progress = pathlib.Path(host.show(box)["workspace"]) / "progress"
    seen = []

    def rests():
        seen.append(progress.read_text() if progress.exists() else "")
        return len(seen) > 10 and seen[-1] and seen[-1] == seen[-10]
    wait_until(rests)
    assert int(seen[-1]) < 500
    code, out, _ = told(json.loads(line) for line in
                        response.read().splitlines() if line)
    connection.close()
    assert (code, out) == (0, ["y" * 30000] * 600)


def test_a_command_is_run_as_the_one_user_that_there_is(execd):
    uid, gid = map(int, execd.run("id -u; id -g")[1])
    assert execd.run("id -u", uid=uid)[1] == [str(uid)]
    assert execd.run("id -g", uid=uid, gid=gid)[1] == [str(gid)]
    for wanted in ({"uid": uid + 1}, {"uid": uid, "gid": gid + 1}):
        status, _, text = execd.ask("POST", "/command",
                                    {"command": "true", **wanted})
        assert status == 501
        assert f"one user, which is {uid}:{gid} inside" in text.decode()


@pytest.mark.parametrize("body,status,code", [
    (b"", 400, "INVALID_REQUEST"),
    (b"{", 400, "INVALID_REQUEST"),
    (b"[]", 400, "INVALID_REQUEST_BODY"),
    ({}, 400, "INVALID_REQUEST_BODY"),
    ({"command": ""}, 400, "INVALID_REQUEST_BODY"),
    ({"command": 5}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "a\0b"}, 400, None),
    ({"command": "x" * 140000}, 413, "INVALID_REQUEST_BODY"),
    ({"command": "true", "cwd": "relative"}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "timeout": -1}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "timeout": 1.5}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "envs": {"A=B": "x"}}, 400,
     "INVALID_REQUEST_BODY"),
    ({"command": "true", "envs": ["A"]}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "gid": 1}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "uid": -1}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "uid": 1 << 32}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "uid": "root"}, 400, "INVALID_REQUEST_BODY"),
    ({"command": "true", "uid": 54321}, 501, "NOT_SUPPORTED"),
], ids=lambda value: str(value)[:40])
def test_what_makes_no_sense_is_refused_with_words(execd, body, status, code):
    got, _, text = execd.ask("POST", "/command", body)
    assert got == status, text
    assert json.loads(text)["message"]
    if code:
        assert json.loads(text)["code"] == code


@pytest.mark.parametrize("method,path,status", [
    ("GET", "/command/status/cmd-unknown", 404),
    ("GET", "/command/cmd-unknown/logs", 404),
    ("DELETE", "/command?id=cmd-unknown", 404),
    ("DELETE", "/command", 400),
    ("POST", "/session/bash-unknown/run", 404),
    ("DELETE", "/session/bash-unknown", 404),
    ("POST", "/v1/isolated/session", 400),
    ("GET", "/nothing", 404),
    ("PUT", "/command", 405),
])
def test_what_is_not_there_says_so(execd, method, path, status):
    got, _, text = execd.ask(method, path, {"command": "true"}
                             if method == "POST" else None)
    assert got == status and json.loads(text)["message"]


def test_only_the_sandboxs_own_token_lets_in(host, execd):
    other = Execd(host, host.create("--name", "other"))
    name = next(execd.stream("/command", {"command": "true",
                                          "background": True}))["text"]
    for token in ("", "wrong", next(iter(other.headers.values()))):
        for method, path in (("GET", "/ping"), ("POST", "/command"),
                             ("GET", f"/command/status/{name}")):
            status, _, text = execd.ask(
                method, path, {"command": "touch hacked"}
                if method == "POST" else None, token=token)
            assert status == 401 and json.loads(text)["message"]
    assert execd.run("ls hacked")[0] == 2
    # The command of one is unknown in another.
    assert other.ask("GET", f"/command/status/{name}")[0] == 404


def test_commands_of_the_policy_are_judged(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    execd = Execd(host, host.create("--policy", policy))
    assert execd.run("echo fine")[:2] == (0, ["fine"])
    status, _, text = execd.ask("POST", "/command", {"command": "echo; id"})
    assert status == 403 and "id" in json.loads(text)["message"]
    session = execd.json("POST", "/session")["session_id"]
    assert execd.run("echo too", f"/session/{session}/run")[:2] == \
        (0, ["too"])
    status, _, text = execd.ask("POST", f"/session/{session}/run",
                                {"command": "echo; id"})
    assert status == 403 and "id" in json.loads(text)["message"]


def test_what_links_of_the_workspace_lead_to_is_judged(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nfilesystem: {hide: ['./dir/key']}\n"
                      "commands: {autonomy: full}\n")
    work = tmp_path / "work"
    (work / "dir").mkdir(parents=True)
    for name in ("key", "fine"):
        (work / "dir" / name).write_text(name)
        (work / f"to-{name}").symlink_to(f"dir/{name}")
    execd = Execd(host, host.create("--policy", policy, "--workspace", work))
    assert execd.run("cat to-fine") == (0, ["fine"], [])
    for command in ("cat to-key", "cat ./x/../to-key", "wc < to-key",
                    "echo; cat to-key"):
        status, _, text = execd.ask("POST", "/command", {"command": command})
        assert status == 403, command
        assert "filesystem.hide" in json.loads(text)["message"], text
    # Links may be such as take long to follow.
    assert execd.run("cat" + 64 * " to-fine")[0] == 0
    assert execd.ask("POST", "/command", {
        "command": "cat" + 65 * " to-fine"})[0] == 403
    # What is made by then is the sandbox's to refuse.
    assert execd.run("ln -s dir odd && cat odd/key")[0] == 1
    status, _, text = execd.ask("POST", "/command", {"command": "cat odd/key"})
    assert status == 403, text


def test_a_run_of_a_session_is_judged_where_it_begins(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ncommands: {autonomy: read-only}\n"
                      "filesystem: {hide: [/usr/hidden]}\n")
    execd = Execd(host, host.create("--policy", policy))
    start = execd.json("POST", "/session", {"cwd": "/usr"})["session_id"]
    moved = execd.json("POST", "/session")["session_id"]
    assert execd.run("cd /usr", f"/session/{moved}/run")[0] == 0
    given = execd.json("POST", "/session")["session_id"]
    for session, more in ((start, {}), (moved, {}), (given, {"cwd": "/usr"})):
        path = f"/session/{session}/run"
        status, _, text = execd.ask("POST", path, {
            "command": "cat hidden/x", **more})
        assert status == 403 and b"filesystem" in text, (status, text)
        assert execd.run("pwd", path, **more)[:2] == (0, ["/usr"])
    # From elsewhere that is another file.
    other = execd.json("POST", "/session", {"cwd": "/tmp"})["session_id"]
    assert execd.run("cat hidden/x", f"/session/{other}/run")[0] == 1


def test_a_sandbox_that_rests_refuses_and_one_that_ended_too(host):
    name = host.create()
    execd = Execd(host, name)
    assert execd.run("true")[0] == 0
    if host.run("pause", name).returncode == 0:
        for method, path in (("GET", "/ping"), ("POST", "/command")):
            assert execd.ask(method, path, {"command": "true"}
                             if method == "POST" else None)[0] == 409
        host.ok("resume", name)
        assert execd.run("true")[0] == 0
    host.ok("kill", name)
    for method, path in (("GET", "/ping"), ("POST", "/command")):
        assert execd.ask(method, path, {"command": "true"}
                         if method == "POST" else None)[0] in (404, 409)


def test_a_sandbox_that_is_killed_ends_its_streams(host):
    name = host.create()
    events = Execd(host, name).stream(
        "/command", {"command": "echo ready; sleep 73.5"})
    for event in events:
        if event["type"] == "stdout":
            break
    host.ok("kill", name)
    assert told(events)[0] == -1


def test_so_many_commands_run_at_once_and_no_more(host):
    """The bound is named, and those that run are not harmed."""
    box = host.create()
    execd = Execd(host, box)
    assert execd.run("mkfifo gate")[0] == 0
    results = []

    def one():
        results.append(execd.ask("POST", "/command", {
            "command": "read < gate; echo done"}))
    threads = [threading.Thread(target=one) for _ in range(300)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(results) >= 100)
    gate = os.open(f"{host.show(box)['workspace']}/gate", os.O_RDWR)
    os.write(gate, b"\n" * 300)
    for thread in threads:
        thread.join()
    os.close(gate)
    refused = [json.loads(text)["message"] for status, _, text in results
               if status == 429]
    good = [text for status, _, text in results if status == 200]
    # One that could not be started in time, on a slow host, is a 503.
    assert {status for status, _, _ in results} <= {200, 429, 503}, results
    assert 0 < len(good) <= 200 and len(refused) > 0
    assert all(b"done" in text for text in good)
    assert any("200 commands run" in words for words in refused)
    assert execd.run("true")[0] == 0


def test_what_process_1_cannot_take_yet_is_a_limit_and_no_failure(host):
    """It is busy: what it has not heard fills its socket, and the rest may be
    asked for again."""
    box = host.create()
    execd = Execd(host, box)
    inside = host.show(box)["pid"]
    results = []

    def one():
        results.append(execd.ask("POST", "/command", {"command": "true"}))
    threads = [threading.Thread(target=one) for _ in range(200)]
    os.kill(inside, signal.SIGSTOP)
    try:
        wait_until(lambda: fields_of(inside)[0] == "T")
        for thread in threads:
            thread.start()
        wait_until(lambda: len(results) > 0)
        # Those of one sandbox, and then no file of this process's either.
        assert {status for status, _, _ in results} == {429}, results
    finally:
        os.kill(inside, signal.SIGCONT)
        for thread in threads:
            thread.join()
    assert {status for status, _, _ in results} <= {200, 429}, results
    assert execd.run("true")[0] == 0


# ---- sessions ----

def test_a_session_keeps_what_a_shell_keeps(execd):
    session = execd.json("POST", "/session", {"cwd": "/tmp"})["session_id"]
    path = f"/session/{session}/run"
    steps = [
        ("pwd; export A='x y'; f() { echo \"f $1 $A\"; }; cd /usr", 0,
         ["/tmp"]),
        ("pwd; f hi; bash -c 'echo $A'; declare -A m=([k]='v w')", 0,
         ["/usr", "f hi x y", "x y"]),
        ("echo ${m[k]}; unset A; shopt -s extglob; set -u; exit 5", 5,
         ["v w"]),
        ("echo ${A-none}; shopt extglob | tr -s '\\t ' ' '; echo $-", 0,
         ["none", "extglob on", "huBc"]),
    ]
    for command, code, out in steps:
        assert execd.run(command, path) == (code, out, []), command
    assert execd.run("pwd", path, cwd="/etc")[:2] == (0, ["/etc"])
    assert execd.run("pwd", path)[:2] == (0, ["/etc"])
    # What is ended in the middle leaves the state as it was.
    assert execd.run("B=1; cd /; sleep 74.5", path, timeout=300)[0] == -1
    assert execd.run("echo ${B-none}; pwd", path)[:2] == (0, ["none", "/etc"])
    assert execd.ask("DELETE", f"/session/{session}")[0] == 200
    assert execd.ask("POST", path, {"command": "true"})[0] == 404


def test_a_session_outlives_a_client_that_goes_away(host, box, execd):
    session = execd.json("POST", "/session")["session_id"]
    path = f"/session/{session}/run"
    assert execd.run("V=kept", path)[0] == 0
    connection, response = execd.open("POST", path,
                                      {"command": "V=lost; sleep 75.5"})
    assert json.loads(response.readline())["type"] == "init"
    wait_until(lambda: processes(host, box, "sleep 75.5"))
    assert execd.ask("POST", path, {"command": "true"})[0] == 409
    response.close()
    connection.close()
    wait_until(lambda: not processes(host, box, "sleep 75.5"))
    assert execd.run("echo $V", path)[:2] == (0, ["kept"])


def test_a_state_that_is_too_large_is_not_taken(execd):
    session = execd.json("POST", "/session")["session_id"]
    path = f"/session/{session}/run"
    assert execd.run("A=1", path)[0] == 0
    assert execd.run("A=$(head -c 900000 /dev/zero | tr '\\0' z)",
                     path)[0] == 0
    assert execd.run("echo $A", path)[:2] == (0, ["1"])
    assert execd.run("A=$(head -c 300000 /dev/zero | tr '\\0' z)",
                     path)[0] == 0
    assert execd.run("echo ${#A}", path)[:2] == (0, ["300000"])


def test_sessions_are_bounded(host):
    execd = Execd(host, host.create())
    for _ in range(32):
        execd.json("POST", "/session")
    status, _, text = execd.ask("POST", "/session")
    assert status == 429 and "32" in json.loads(text)["message"]


# ---- metrics ----

def test_metrics_are_of_the_sandboxs_processes(execd):
    events = execd.stream("/command", {
        "command": "x=$(printf %50000000s); echo ready; sleep 78.5; true"})
    for event in events:
        if event["type"] == "stdout":
            break
    metrics = execd.json("GET", "/metrics")
    assert metrics["mem_total_mib"] > metrics["mem_used_mib"] > 45
    assert metrics["cpu_count"] == os.cpu_count()
    assert metrics["cpu_used_pct"] >= 0 and metrics["processes"] >= 2
    assert metrics["timestamp"] > 1_600_000_000_000
    events.close()
    wait_until(lambda: execd.json("GET", "/metrics")["mem_used_mib"] < 45)


def test_memory_is_what_the_sandbox_may_have(host):
    box = host.make(resourceLimits={"memory": "96Mi"})
    assert Execd(host, box).json("GET", "/metrics")["mem_total_mib"] == 96


def test_metrics_are_watched(execd):
    connection, response = execd.open("GET", "/metrics/watch")
    lines = []
    while len(lines) < 3:
        line = response.readline().strip()
        if line:
            lines.append(json.loads(line))
    connection.close()
    assert all("cpu_used_pct" in line for line in lines)
    times = [line["timestamp"] for line in lines]
    assert times == sorted(set(times))


def test_of_what_is_watched_the_head_alone_can_be_had(execd):
    connection, response = execd.open("HEAD", "/metrics/watch")
    assert response.status == 200 and response.read() == b""
    # Its answer is over: the next one is served.
    connection.request("GET", execd.prefix + "/ping", None, execd.headers)
    assert connection.getresponse().status == 200
    connection.close()


# ---- terminals ----

def test_a_terminal_is_one_and_is_taken_over(execd):
    name = execd.json("POST", "/pty", {"cwd": "/usr"}, 201)["session_id"]
    assert execd.json("GET", f"/pty/{name}") == {
        "session_id": name, "running": False, "output_offset": 0}
    one = Terminal(execd, name)
    assert one.wait("connected")["mode"] == "pty"
    one.type("tty; pwd; stty size; echo a''bc\n")
    one.until("abc")
    assert b"/dev/pts/" in one.output and b"/usr\r\n" in one.output
    assert b"24 80" in one.output
    one.say(type="resize", rows=50, cols=132)
    one.type("stty size; echo d''ef\n")
    one.until("def")
    assert b"50 132" in one.output
    one.say(type="ping")
    one.wait("pong")
    # Only one looks; another one may take its place, when it says so.
    assert Terminal(execd, name).status == 409
    two = Terminal(execd, name, "?takeover=1")
    two.wait("connected")
    assert two.replay[0] == 0 and b"def" in two.replay[1]
    assert one.wait_closed() == 4001
    offset = two.replay[0] + len(two.replay[1])
    two.type("echo g''hi\n")
    two.until("ghi")
    two.close()
    wait_until(lambda: execd.json(
        "GET", f"/pty/{name}")["output_offset"] > offset)
    # It goes on without a client, and what it says meanwhile is replayed.
    three = None

    def is_free():
        nonlocal three
        three = Terminal(execd, name, f"?since={offset}")
        return three.status == 101
    wait_until(is_free)
    three.wait("connected")
    assert three.replay[0] == offset and b"ghi" in three.replay[1]
    assert b"def" not in three.replay[1]
    three.type("exit 7\n")
    assert three.wait("exit")["exit_code"] == 7
    assert three.wait_closed() == 1000
    assert execd.json("GET", f"/pty/{name}")["running"] is False
    assert execd.ask("DELETE", f"/pty/{name}")[0] == 200
    assert execd.ask("GET", f"/pty/{name}")[0] == 404


def test_a_terminal_goes_on_whose_command_closes_it(execd):
    """As touch(1) does before it ends; it is not hung up."""
    name = execd.json("POST", "/pty", {
        "command": "echo one; exec <&- >&- 2>&-; until [ -e said ]; do "
        "sleep 0.05; done; echo two > /dev/tty; read word < /dev/tty; "
        "echo \"<$word>\" > /dev/tty; exit 4"}, 201)["session_id"]
    terminal = Terminal(execd, name)
    terminal.until("one")
    execd.run("touch said")
    terminal.until("two")
    terminal.type("three\n")
    terminal.until("<three>")
    assert terminal.wait("exit")["exit_code"] == 4
    terminal.close()
    execd.ask("DELETE", f"/pty/{name}")


def test_a_terminal_that_is_deleted_ends(host, box, execd):
    name = execd.json("POST", "/pty", {"command": "sleep 76.5"},
                      201)["session_id"]
    terminal = Terminal(execd, name)
    terminal.wait("connected")
    wait_until(lambda: processes(host, box, "sleep 76.5"))
    assert execd.ask("DELETE", f"/pty/{name}")[0] == 200
    assert terminal.wait_closed() == 1000
    wait_until(lambda: not processes(host, box, "sleep 76.5"))


def test_without_a_terminal_the_streams_are_apart(execd):
    name = execd.json("POST", "/pty", {
        "command": "tty; read x; echo got $x; echo no >&2; sleep 77.5"},
        201)["session_id"]
    terminal = Terminal(execd, name, "?pty=0")
    assert terminal.wait("connected")["mode"] == "pipe"
    terminal.say(type="stdin", data="words\n")
    terminal.until("got words")
    terminal.until("no\n")
    assert b"not a tty" in terminal.output
    terminal.say(type="nonsense")
    assert terminal.wait("error")["code"] == "INVALID_FRAME"
    terminal.say(type="signal", signal="SIGNONE")
    assert terminal.wait("error")["code"] == "INVALID_FRAME"
    terminal.say(type="signal", signal="SIGTERM")
    assert terminal.wait("exit")["exit_code"] == -1


def test_a_viewer_that_does_not_read_holds_the_terminal(execd):
    size = 30_000_000
    name = execd.json("POST", "/pty", {"command": f"yes | head -c {size}"},
                      201)["session_id"]
    terminal = Terminal(execd, name, "?pty=0")
    terminal.wait("connected")
    seen = []

    def rests():
        seen.append(execd.json("GET", f"/pty/{name}")["output_offset"])
        return len(seen) > 10 and seen[-1] == seen[-10] > 0
    wait_until(rests)
    assert seen[-1] < size
    # Without it the rest is written, and only the newest is kept.
    terminal.close()
    wait_until(lambda: not execd.json("GET", f"/pty/{name}")["running"])
    assert execd.json("GET", f"/pty/{name}")["output_offset"] == size
    terminal = Terminal(execd, name, "?pty=0")
    terminal.wait("connected")
    assert len(terminal.replay[1]) == 256 * 1024
    terminal.close()
    assert execd.ask("DELETE", f"/pty/{name}")[0] == 200


@pytest.mark.parametrize("what,code", [
    (b"\xff\xff\xff\xff", 1002),
    (frame(BINARY, b"\0x", mask=False), 1002),
    (frame(BINARY, b"\0" * 70000), 1009),
    (frame(TEXT, b"\xff"), 1007),
])
def test_frames_that_are_wrong_close(execd, what, code):
    name = execd.json("POST", "/pty", status=201)["session_id"]
    terminal = Terminal(execd, name)
    terminal.wait("connected")
    terminal.client.stream.sendall(what)
    assert terminal.wait_closed() == code
    assert execd.ask("DELETE", f"/pty/{name}")[0] == 200


def test_a_terminal_needs_a_token_and_an_upgrade(execd):
    name = execd.json("POST", "/pty", status=201)["session_id"]
    assert execd.ask("GET", f"/pty/{name}/ws")[0] == 426
    assert execd.ask("GET", f"/pty/{name}/ws", token="no")[0] == 401
    assert Terminal(execd, "pty-unknown").status == 404
