"""What runs in the background is its sandbox's: it outlives the process that
serves the API, and the daemon, with all that is known of it."""
import json
import pathlib
import time

import pytest
from api import Api
from api_ends import ENDS, come_back, kill_api
from execd import Execd, Terminal
from waiting import wait_until

MIB = 1024 * 1024
SLICE = 0.05  # seconds, in each of which a sandbox is read so much:
BYTES = MIB + 64 * 1024  # (the last piece of it may pass the MiB)
SAMPLE = 16 * MIB

# Says something before and after the file `go` is there, and leaves `done`.
WAITS = ("echo one; until [ -e go ]; do sleep 0.05; done; echo two >&2; "
         "echo three; touch done; exit 4")


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("background")).start()
    yield host
    host.stop()
    host.check()


def begin(execd, command, **more):
    """Its id."""
    events = list(execd.stream("/command", {
        "command": command, "background": True, **more}))
    assert [event["type"] for event in events] == [
        "init", "ping", "execution_complete"]
    return events[0]["text"]


def status(execd, name):
    return execd.json("GET", f"/command/status/{name}")


def logs(execd, name, cursor=0):
    """(text, next cursor)"""
    code, fields, text = execd.ask(
        "GET", f"/command/{name}/logs?cursor={cursor}")
    assert code == 200, text
    return text, int(fields["EXECD-COMMANDS-TAIL-CURSOR"])


def wait_ended(execd, name):
    wait_until(lambda: not status(execd, name)["running"])
    return status(execd, name)


def most_in(seconds):
    """Two slices are there in part, and one may begin as late as the loop that
    counts it."""
    return (seconds / SLICE + 3) * BYTES


def test_all_of_them_are_read_at_a_rate_and_whole(host):
    """The sandbox's limits do not count who reads: who writes waits."""
    execd = Execd(host, host.create("--workspace", "-"))
    names = [begin(execd, "cat /dev/zero") for _ in range(2)]

    def come():
        return sum(logs(execd, name)[1] for name in names)
    wait_until(come)
    began, before = time.monotonic(), come()
    wait_until(lambda: come() > before + SAMPLE)
    after = come()
    assert after - before <= most_in(time.monotonic() - began)
    for name in names:
        assert execd.ask("DELETE", f"/command?id={name}")[0] == 200
    size = 8 * MIB
    names = [begin(execd, f"head -c {size} /dev/zero") for _ in range(2)]
    for name in names:
        assert wait_ended(execd, name)["exit_code"] == 0
        assert logs(execd, name)[1] == size


def of_entrypoint(host):
    """A sandbox whose log grows, and how much of it there is."""
    box = host.create("--workspace", "-", "--", "cat", "/dev/zero")
    log = host.dir / "host/sandboxes" / box / "log"
    return box, lambda: log.exists() and log.stat().st_size


def of_terminal(host):
    """One with a terminal that nobody holds."""
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = execd.json("POST", "/pty", {
        "command": "until [ -e go ]; do sleep 0.05; done; cat /dev/zero"},
        201)["session_id"]
    Terminal(execd, name, "?pty=0").close()
    work = pathlib.Path(host.show(box)["workspace"])

    def come():
        return execd.json("GET", f"/pty/{name}")["output_offset"]
    (work / "go").touch()
    return box, come


@pytest.mark.parametrize("make", [of_entrypoint, of_terminal])
def test_what_nobody_waits_for_is_read_at_that_rate_too(host, make):
    box, come = make(host)
    wait_until(come)
    began, before = time.monotonic(), come()
    wait_until(lambda: come() > before + SAMPLE)
    after = come()
    assert after - before <= most_in(time.monotonic() - began)
    host.ok("kill", box)


def test_who_writes_most_takes_no_turn_of_others(host):
    """All that a sandbox may have of terminals that nobody holds, more
    commands than are read in one slice, and its own command."""
    box = host.create("--workspace", "-", "--", "cat", "/dev/zero")
    log = host.dir / "host/sandboxes" / box / "log"
    execd = Execd(host, box)
    terminals = [execd.json("POST", "/pty", {"command": "cat /dev/zero"},
                            201)["session_id"] for _ in range(16)]
    for name in terminals:
        Terminal(execd, name, "?pty=0").close()
    names = [begin(execd, "cat /dev/zero") for _ in range(80)]

    def come():
        return [log.stat().st_size, *(
            execd.json("GET", f"/pty/{name}")["output_offset"]
            for name in (terminals[0], terminals[-1])), *(
                logs(execd, name)[1] for name in (names[0], names[-1]))]
    before = come()
    wait_until(lambda: all(now > then for now, then in zip(come(), before)),
               every=0.5)
    host.ok("kill", box)


@pytest.mark.parametrize("end", ENDS)
def test_a_command_goes_on_and_is_known_afterwards_when(host, end):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = begin(execd, WAITS)
    over = begin(execd, "seq 400000; exit 7")
    was_over = wait_ended(execd, over)
    wait_until(lambda: logs(execd, name) == (b"one\n", 4))
    was = status(execd, name)
    work = pathlib.Path(host.show(box)["workspace"])
    ENDS[end](host)
    (work / "go").touch()
    wait_until((work / "done").exists)
    come_back(host)
    now = wait_ended(execd, name)
    assert now.pop("finished_at") >= was["started_at"]
    assert now == {**was, "running": False, "exit_code": 4}
    assert logs(execd, name) == (b"one\ntwo\nthree\n", 14)
    assert logs(execd, name, 8) == (b"three\n", 14)
    # What had ended before is as it was, all that is kept of it.
    assert was_over["exit_code"] == 7 and status(execd, over) == was_over
    text, cursor = logs(execd, over)
    assert len(text) == 1024 * 1024 and text.endswith(b"\n400000\n")
    assert cursor == sum(len(str(n)) + 1 for n in range(1, 400001))
    host.ok("kill", box)


def test_a_timeout_holds_without_a_daemon(host):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = begin(execd, "echo begun; sleep 75.5; echo no", timeout=2000)
    supervisor = host.supervisors()[box]
    wait_until(lambda: logs(execd, name) == (b"begun\n", 6))
    host.kill()

    def sleeps():
        return any(b"75.5" in words_of(path)
                   for path in pathlib.Path("/proc").glob("[0-9]*")
                   if path.name != str(supervisor))
    wait_until(lambda: not sleeps())
    host.start()
    # Its end is told a moment after its last process is gone.
    now = wait_ended(execd, name)
    assert (now["running"], now["exit_code"], now["error"]) == (
        False, -1, "timeout")
    assert logs(execd, name) == (b"begun\n", 6)
    host.ok("kill", box)


def words_of(process):
    """Its command line; nothing of one that has just ended."""
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_one_of_the_api_before_is_stopped_also_where_it_ignores_that(host):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = begin(execd, "trap '' TERM; echo ready; "
                        "while :; do sleep 0.1; done")
    gentle = begin(execd, "trap 'echo bye; exit 9' TERM; echo ready; "
                          "while :; do sleep 0.1; done")
    for which in (name, gentle):
        wait_until(lambda which=which: logs(execd, which)[0] == b"ready\n")
    kill_api(host)
    come_back(host)
    for which, code in ((gentle, 9), (name, -1)):
        assert execd.ask("DELETE", f"/command?id={which}")[0] == 200
        now = wait_ended(execd, which)
        assert now["exit_code"] == code and "error" not in now
        # It is what was wanted already.
        assert execd.ask("DELETE", f"/command?id={which}")[0] == 200
    # (bash says of its sleep that it was terminated, too.)
    assert logs(execd, gentle)[0].endswith(b"bye\n")
    host.ok("kill", box)


def test_nobody_else_reads_or_ends_one(host):
    ours, theirs = (Execd(host, host.create("--workspace", "-"))
                    for _ in range(2))
    name = begin(ours, "echo secret; exec sleep 76.5")
    wait_until(lambda: logs(ours, name)[0] == b"secret\n")
    for who, expected in ((theirs, 404), (ours, 200)):
        for method, path in (("GET", f"/command/status/{name}"),
                             ("GET", f"/command/{name}/logs"),
                             ("DELETE", f"/command?id={name}")):
            got, _, text = who.ask(method, path)
            assert got == expected, text
            assert b"secret" not in text or who is ours
        if who is theirs:
            assert status(ours, name)["running"]
    assert wait_ended(ours, name)["exit_code"] == -1


@pytest.mark.parametrize("name", [
    "cmd-", "cmd-" + "a" * 26, "x" * 300, "cmd-"+"%c3%a9" * 14, "%20"])
def test_an_id_of_nothing_is_none(host, name):
    execd = Execd(host, host.create("--workspace", "-"))
    for method, path in (("GET", f"/command/status/{name}"),
                         ("GET", f"/command/{name}/logs"),
                         ("DELETE", f"/command?id={name}")):
        got, _, text = execd.ask(method, path)
        assert got == 404 and json.loads(text)["message"]


def test_so_many_run_in_the_background_of_one_and_no_more(host):
    execd = Execd(host, host.create("--workspace", "-"))
    for _ in range(200):
        last = begin(execd, "exec sleep 77.5")
    got, _, text = execd.ask("POST", "/command", {
        "command": "touch hacked", "background": True})
    assert got == 429 and b"200" in text
    other = Execd(host, host.create("--workspace", "-"))
    assert wait_ended(other, begin(other, "true"))["exit_code"] == 0
    # One that ends makes room for one.
    assert execd.ask("DELETE", f"/command?id={last}")[0] == 200
    wait_ended(execd, last)
    assert wait_ended(execd, begin(execd, "ls hacked"))["exit_code"] == 2


def test_what_is_kept_of_one_sandbox_is_bounded(host):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    running = begin(execd, "echo mine; exec sleep 78.5")
    names = []
    for _ in range(10):
        names.append(begin(execd, "head -c 2000000 /dev/zero | tr '\\0' x"))
        wait_ended(execd, names[-1])
    held = [len(logs(execd, name)[0]) for name in names]
    # 8 MiB of all, and the newest of them.
    assert held == [0] * 3 + [1024 * 1024] * 7
    # The cursor of what is gone is where it ended all the same.
    assert {logs(execd, name)[1] for name in names} == {2000000}
    assert logs(execd, running)[0] == b"mine\n"
    host.ok("kill", box)


def test_what_is_left_behind_and_writes_on_keeps_no_end_off(host):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = begin(execd, "sh -c 'while echo 79.5; do :; done' & echo begun; "
                        "exit 4")
    assert wait_ended(execd, name)["exit_code"] == 4
    assert b"begun\n" in logs(execd, name)[0]
    wait_until(lambda: "echo 79.5" not in host.exec(
        box, "sh", "-c", "cat /proc/[0-9]*/cmdline").stdout)
    host.ok("kill", box)


def test_one_of_a_sandbox_that_rests_is_read_and_one_that_ended_has_none(
        host):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = begin(execd, "echo here; exec sleep 80.5")
    wait_until(lambda: logs(execd, name)[0] == b"here\n")
    if host.run("pause", box).returncode == 0:
        assert status(execd, name)["running"]
        assert logs(execd, name) == (b"here\n", 5)
        assert execd.ask("POST", "/command", {
            "command": "true", "background": True})[0] == 409
        host.ok("resume", box)
    host.ok("kill", box)
    assert execd.ask("GET", f"/command/status/{name}")[0] in (404, 409)


def test_a_command_that_the_policy_forbids_is_none_of_those_that_run(
        host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ncommands: {allow: [echo], deny: [id]}\n")
    execd = Execd(host, host.create("--policy", policy))
    for _ in range(250):
        got, _, text = execd.ask("POST", "/command", {
            "command": "id", "background": True})
        assert got == 403 and "id" in json.loads(text)["message"]
    name = begin(execd, "echo fine")
    assert wait_ended(execd, name)["exit_code"] == 0
    assert logs(execd, name)[0] == b"fine\n"


def test_text_that_is_cut_in_a_character_comes_whole(host):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    name = begin(execd, "printf 'a\\303'; until [ -e go ]; do sleep 0.05; "
                        "done; printf '\\251\\377'")
    wait_until(lambda: logs(execd, name) == (b"a", 1))
    pathlib.Path(host.show(box)["workspace"], "go").touch()
    wait_ended(execd, name)
    assert logs(execd, name, 1) == ("\u00e9\ufffd".encode(), 4)
    host.ok("kill", box)


# ---- sessions ----

@pytest.mark.parametrize("end", ENDS)
def test_a_session_keeps_its_state_when(host, end):
    box = host.create("--workspace", "-")
    execd = Execd(host, box)
    session, fresh, busy = (execd.json("POST", "/session", {"cwd": "/tmp"})[
        "session_id"] for _ in range(3))
    path = f"/session/{session}/run"
    assert execd.run("A='x y'; f() { echo \"f $1 $A\"; }; cd /usr; "
                     "B=$(head -c 300000 /dev/zero | tr '\\0' z)",
                     path)[0] == 0
    assert execd.run("C=before", f"/session/{busy}/run")[0] == 0
    connection, response = execd.open("POST", f"/session/{busy}/run", {
        "command": "C=lost; echo here; sleep 81.5"})
    while b"here" not in response.readline():
        pass
    ENDS[end](host)
    come_back(host)
    response.close()
    connection.close()
    assert execd.run("pwd; f hi; echo ${#B}", path)[:2] == (
        0, ["/usr", "f hi x y", "300000"])
    assert execd.run("pwd", f"/session/{fresh}/run")[:2] == (0, ["/tmp"])
    # What was ended in the middle leaves the state as it was.
    assert execd.run("echo $C; pwd", f"/session/{busy}/run")[:2] == (
        0, ["before", "/tmp"])
    assert execd.ask("DELETE", f"/session/{session}")[0] == 200
    assert execd.ask("POST", path, {"command": "true"})[0] == 404
    host.ok("kill", box)


def test_nobody_else_runs_in_a_session_or_ends_it(host):
    ours, theirs = (Execd(host, host.create("--workspace", "-"))
                    for _ in range(2))
    session = ours.json("POST", "/session")["session_id"]
    assert ours.run("A=secret", f"/session/{session}/run")[0] == 0
    for method, path in (("POST", f"/session/{session}/run"),
                         ("DELETE", f"/session/{session}")):
        got, _, text = theirs.ask(method, path, {"command": "echo $A"}
                                  if method == "POST" else None)
        assert got == 404 and b"secret" not in text
    assert ours.run("echo $A", f"/session/{session}/run")[:2] == (
        0, ["secret"])


def test_states_of_one_sandbox_are_bounded_together(host):
    execd = Execd(host, host.create("--workspace", "-"))
    sessions = [execd.json("POST", "/session")["session_id"]
                for _ in range(20)]
    for session in sessions:
        assert execd.run("A=$(head -c 400000 /dev/zero | tr '\\0' z)",
                         f"/session/{session}/run")[0] == 0
    assert [execd.run("echo ${#A}", f"/session/{session}/run")[1]
            for session in sessions] == [["400000"]] * 20
    # Each run is done; what is beyond 8 MiB is as it was before.
    one = execd.json("POST", "/session")["session_id"]
    for _ in range(2):
        assert execd.run("B=$(head -c 400000 /dev/zero | tr '\\0' z)",
                         f"/session/{one}/run")[0] == 0
        assert execd.run("echo ${#B}", f"/session/{one}/run")[1] == ["0"]
    assert execd.ask("DELETE", f"/session/{sessions[0]}")[0] == 200
    assert execd.run("B=$(head -c 400000 /dev/zero | tr '\\0' z)",
                     f"/session/{one}/run")[0] == 0
    assert execd.run("echo ${#B}", f"/session/{one}/run")[1] == ["400000"]
