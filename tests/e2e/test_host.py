"""sallyport-host: many sandboxes, each with its supervisor; commands in them;
ends of every kind, after which nothing is left."""
import concurrent.futures
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import pytest
from gateway import CLI, is_sanitized
from host import OVER, PROGRAM, Host, has_ended, ordinary
from sandbox_tool import ORDINARY_UID
from waiting import wait_until, while_it_lives

SERVER = """
import http.server, socketserver
socketserver.TCPServer.allow_reuse_address = True
with socketserver.TCPServer(("127.0.0.1", 8123),
                            http.server.SimpleHTTPRequestHandler) as server:
    server.serve_forever()
"""


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture
def own_host(gateway, tmp_path):
    """For a test that kills or spoils what it consists of."""
    host = Host(gateway, tmp_path).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture(scope="module")
def box(host):
    """One that tests share which leave it as it was."""
    return host.create("--name", "shared", "-e", "GREETING=hello")


def sessions(host):
    return [s["id"] for s in host.gateway.get("/v1/sessions")["sessions"]
            if not s["revoked"]]


def test_an_id_that_can_not_be_written_is_told_with_why(own_host):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            own_host.command("create", "--workspace", "-"), stdout=full,
            stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
            check=False, timeout=30, env=own_host.env(), **own_host.gateway.as_user)
    assert (done.returncode, done.stderr) == (
        1, "sallyport: the standard output: No space left on device\n")


def test_a_table_says_why_in_words(own_host):
    host = own_host
    box = host.create("--", "sh", "-c", "exit 3")
    lost = host.create("--", "no-such-command")
    runs = host.create()
    for ended in (box, lost):
        wait_until(lambda: host.state(ended) == "Terminated")
    rows = {line.split()[0]: line for line in host.ok("list").splitlines()}
    assert rows[box].endswith(" exited (3)")
    assert rows[lost].endswith(" exited (127)")
    assert rows[runs].split()[1:] == ["Running", "never"]
    assert host.ok("show", lost).splitlines()[2:] == [
        "run no-such-command: No such file or directory"]
    assert len(host.ok("show", runs).splitlines()) == 2
    # Nothing of its own is in it.
    assert host.run("snapshot", runs).returncode == 1
    kept = host.ok("snapshot", host.create("--workspace", "-")).strip()
    listed = subprocess.run(
        [CLI, "snapshot", "list"], text=True, capture_output=True, check=True,
        timeout=30, env=host.env(), **host.gateway.as_user).stdout
    rows = {line.split()[1]: line for line in listed.splitlines()}
    assert "there is nothing of its own in it" in rows["Failed"]
    assert rows["Ready"].startswith(kept)
    assert "nothing of its own" not in rows["Ready"]


# ---- commands ----

def test_commands_give_their_output_and_exit_code(host, box):
    done = host.exec(box, "sh", "-c",
                     "echo $GREETING; echo no >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == \
        (7, "hello\n", "no\n")


@pytest.mark.parametrize("command,code,words", [
    (["true"], 0, ""),
    (["sh", "-c", "kill -9 $$"], 137, ""),
    (["/nonexistent"], 127, "No such file"),
    (["/etc/passwd"], 126, "Permission denied"),
])
def test_ends_of_commands_are_told_apart(host, box, command, code, words):
    done = host.exec(box, *command)
    assert done.returncode == code
    assert words in done.stderr


def test_a_command_reads_what_it_is_given_and_nothing_else(host, box):
    text = "x" * 300000
    assert host.exec(box, "cat", options=["-i"], stdin=None,
                     input=text).stdout == text
    assert host.exec(box, "cat", stdin=None, input=text).stdout == ""


def test_its_standard_files_can_be_opened_by_name(host, box, tmp_path):
    with open(tmp_path / "out", "w") as out:
        done = subprocess.run(
            host.command("exec", box, "--", "sh", "-c",
                         "echo out > /dev/stdout; echo err > /dev/stderr"),
            env=host.env(), stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "err\n")
    assert (tmp_path / "out").read_text() == "out\n"


def test_a_command_has_no_descriptor_and_no_right_of_ours(host, box):
    done = host.exec(box, "sh", "-c", """
        ls /proc/self/fd | wc -l
        grep -E 'CapEff|NoNewPrivs|^Seccomp:' /proc/self/status
        mount -t tmpfs none /mnt 2>/dev/null || echo no mount
        cat /proc/1/environ 2>/dev/null || echo no environ
        kill -9 1; kill -9 -1; echo alive""")
    assert done.stdout.split("\n") == [
        "4", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
        "no mount", "no environ", "alive", ""], done.stderr
    assert host.exec(box, "true").returncode == 0


def test_a_command_is_killed_when_its_time_is_over(host, box):
    done = host.exec(box, "sh", "-c", "sleep 600; true",
                     options=["--timeout", "1"])
    assert done.returncode == 137
    assert "timeout" in done.stderr


def test_signals_reach_the_command(host, box):
    child = host.popen("exec", box, "--", "sh", "-c",
                       "trap 'echo got; exit 3' TERM; echo ready; "
                       "while :; do sleep 0.05; done")
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGTERM)
    assert child.communicate(timeout=60)[0] == "got\n"
    assert child.returncode == 3


def test_a_signal_for_a_paused_sandbox_is_answered_at_once(host):
    """Its twin is test_signals_reach_the_command()."""
    box = host.create("--workspace", "-")
    child = host.popen("exec", box, "--", "sh", "-c",
                       "trap 'echo got; exit 3' TERM; echo ready; "
                       "while :; do sleep 0.05; done")
    assert child.stdout.readline() == "ready\n"
    host.ok("pause", box)
    child.send_signal(signal.SIGTERM)
    assert ("the sandbox is Paused: the signal comes when it goes on"
            in child.stderr.readline())
    assert host.state(box) == "Paused"
    host.ok("resume", box)
    assert child.communicate(timeout=60)[0] == "got\n"
    assert child.returncode == 3
    host.ok("kill", box)


def test_a_command_ends_with_whoever_asked_for_it(host, box):
    name = "ends-with-its-asker"
    child = host.popen("exec", box, "--", "bash", "-c",
                       f"echo ready; exec -a {name} sleep 6000")
    assert child.stdout.readline() == "ready\n"
    child.kill()
    child.communicate()
    wait_until(lambda: name not in host.exec(
        box, "sh", "-c", "cat /proc/[0-9]*/cmdline").stdout)


def test_one_that_is_detached_goes_on(host, box):
    done = host.exec(box, "sh", "-c", "sleep 0.3; echo done > detached",
                     options=["--detach"])
    assert done.returncode == 0
    wait_until((host.workspace / "detached").exists)


def test_a_command_gets_a_terminal_of_its_own(host, box):
    """Not ours: what it does to it is not done to ours."""
    master, slave = pty.openpty()
    child = host.popen("exec", "-i", "-t", box, "--", "sh", "-c",
                       "test -t 0 && tty; stty size; read line; "
                       "echo got $line; exit 4",
                       stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    os.write(master, b"word\n")
    while b"got word" not in seen:
        seen += os.read(master, 4096)
    assert child.wait(60) == 4
    assert b"/dev/pts/" in seen
    os.close(master)


def test_a_command_may_close_its_terminal_and_go_on(host, box):
    """As touch(1) does before it ends; it is not hung up."""
    master, slave = pty.openpty()
    child = host.popen("exec", "-i", "-t", box, "--", "sh", "-c",
                       "echo one; exec <&- >&- 2>&-; sleep 0.5; "
                       "echo two > /dev/tty; exit 4",
                       stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    while b"two" not in seen:
        seen += os.read(master, 4096)
    assert child.wait(60) == 4
    os.close(master)


def test_a_terminal_needs_one(host, box):
    assert host.exec(box, "true", options=["-t"]).returncode == 2


def test_commands_of_the_policy_decide_what_runs(host, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("version: 1\ncommands: {allow: [touch], deny: [id], "
                    "hold: 1ms, actions: 4/1h}\n")
    box = host.create("--policy", path, "--workspace", "-")
    assert host.exec(box, "touch", "x").returncode == 0
    assert host.exec(box, "sh", "-c", "ls | wc -l").stdout.strip() == "1"
    for words, says in [
            (["sh", "-c", "ls; id"], "command_not_allowed: `sh -c ls; id`"),
            (["rm", "-r", "x"], "approval_pending: `rm -r x`: a person must"),
            (["bash", "-c", "ls 'x"], "approval_pending")]:
        done = host.exec(box, *words)
        assert done.returncode == 5 and says in done.stderr, done.stderr
    done = host.exec(box, "ls", options=["-e", "LD_PRELOAD=/x"])
    assert done.returncode == 5 and "variable" in done.stderr
    assert host.exec(box, "ls").stdout == "x\n"
    assert host.exec(box, "ls").returncode == 0
    done = host.exec(box, "ls")
    assert done.returncode == 5 and "limit_actions" in done.stderr
    host.ok("kill", box)


def test_many_commands_at_once(host, box):
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        done = list(pool.map(
            lambda n: host.exec(box, "sh", "-c", f"echo {n}").stdout,
            range(30)))
    assert done == [f"{n}\n" for n in range(30)]


def test_what_is_denied_is_among_the_events(host, box):
    assert host.exec(box, "sh", "-c", "echo x > /etc/passwd").returncode != 0
    assert [e for e in host.events(box)
            if e["kind"] == "filesystem" and "/etc/passwd" in e["text"]]


def test_what_the_gateway_denied_is_among_them_with_what_to_do(host, box):
    host.exec(box, "curl", "-s", "-m", "10", "http://nowhere.example/")

    def told():
        return [e for e in host.events(box)
                if e["kind"] == "host_not_allowed" and "nowhere.example" in
                e["text"]]
    assert "network.rules" in wait_until(told)[0]["try"]
    host.exec(box, "sh", "-c", "echo x > /etc/hosts")
    event, = [e for e in host.events(box) if "/etc/hosts" in e["text"]]
    assert event["rule"] == "filesystem.write"
    assert "workspace" in event["try"]


def test_a_limit_that_was_reached_is_among_them(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nlimits: {disk: 1MiB}\n")
    box = host.create("--policy", policy)
    done = host.exec(box, "sh", "-c", "exec head -c 9000000 /dev/zero >big")
    assert done.returncode == 128 + 25
    event, = [e for e in host.events(box) if e["kind"] == "resource_limit"]
    assert event["rule"] == "limits.disk" and "limits.disk" in event["try"]


def test_a_sandbox_that_fills_its_disk_is_ended_by_name(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nlimits: {disk: 8MiB}\n"
                      "filesystem: {workspace: {mode: overlay}}\n")
    box = host.create("--policy", policy)
    host.exec(box, "sh", "-c", "while :; do n=$((n+1)); "
              "head -c 1048576 /dev/zero > f$n || exit 1; done")
    wait_until(lambda: host.state(box) == "Terminated")
    assert host.show(box)["reason"] == "resource_limit"
    assert "limits.disk" in host.show(box)["message"]
    assert not list(host.workspace.glob("f*"))
    host.run("discard", box)


# Over files of any user, and memory (sandbox-host/outside.c).
KEPT = sum(1 << number for number in (0, 1, 2, 3, 4))


def test_a_supervisor_gives_up_what_only_building_took(host, box):
    """Sanitized builds keep their system calls."""
    pid = host.supervisors()[box]
    fields = dict(line.split(":", 1) for line in pathlib.Path(
        f"/proc/{pid}/status").read_text().splitlines())
    kept = KEPT if int(fields["Uid"].split()[0]) == 0 else 0
    for name in ("CapEff", "CapPrm"):
        assert int(fields[name], 16) == kept
    assert int(fields["CapInh"], 16) == int(fields["CapAmb"], 16) == 0
    if kept:
        assert int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"].strip() == "1"
    assert fields["Seccomp"].strip() == ("0" if is_sanitized(pid) else "2")


def test_a_command_of_a_service_has_no_capability_and_can_have_none(host, box):
    found = host.exec(box, "grep", "^Cap", "/proc/self/status").stdout
    assert {line.split(":\t")[1] for line in found.splitlines()} == {"0" * 16}
    assert len(found.splitlines()) == 5


def test_the_gateway_serves_a_sandbox_of_the_service(
        host, policies, origin, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policies.make([
        policies.rule("plain.example")])))
    open_box = host.create("--policy", path)
    for name, code in ("plain.example", "200"), ("other.example", "403"):
        done = host.exec(open_box, "curl", "-s", "-o", "/dev/null", "-w",
                         "%{http_code}", origin.plain_url("/", name))
        assert done.stdout == code, done.stderr
    assert host.show(open_box)["session"] in sessions(host)
    host.ok("kill", open_box)


# ---- asked wrongly ----

def test_what_is_not_there_and_what_can_not_be_is_refused_by_name(host):
    missing = "sb-aaaaaaaaaaaaaaaaaaaaaaaaaa"
    for words in (["show", missing], ["kill", missing], ["pause", missing],
                  ["exec", missing, "true"], ["logs", missing],
                  ["port", missing, "80"],
                  ["renew", missing, "--timeout", "60"]):
        done = host.run(*words)
        assert done.returncode == 6, (words, done.stderr)
        assert missing in done.stderr
    box = host.create("--workspace", "-")
    assert host.run("resume", box).returncode == 7
    host.ok("pause", box)
    for words in (["pause", box], ["exec", box, "true"], ["port", box, "80"],
                  ["cp", f"{box}:/etc/hosts", "-"]):
        done = host.run(*words)
        assert done.returncode == 7 and "Paused" in done.stderr
        # Only whoever needs it running is told how it does.
        assert ((f"sallyport sandbox resume {box}\n" in done.stderr) ==
                (words[0] != "pause")), done.stderr
    host.ok("kill", box)
    for words in (["kill", box], ["pause", box], ["resume", box],
                  ["exec", box, "true"], ["renew", box, "--timeout", "60"]):
        done = host.run(*words)
        assert done.returncode == 7, words
        assert "sandbox resume" not in done.stderr
    assert host.state(box) == "Terminated"


@pytest.mark.parametrize("words,code,says", [
    (["--workspace", "/nonexistent"], 3, "no such directory"),
    (["--policy", "/nonexistent"], 3, "nonexistent"),
    (["--timeout", "0"], 2, "Usage"),
    (["-e", "=x"], 2, "Usage"),
    (["--", "/nonexistent"], 0, ""),
])
def test_creating_is_refused_with_a_reason(host, words, code, says):
    done = host.run("create", *words)
    assert done.returncode == code, done.stderr
    assert says in done.stderr


def test_a_policy_with_errors_makes_no_sandbox(host, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nname: p\nnetwerk: {}\n")
    before = len(host.list())
    done = host.run("create", "--policy", path)
    assert done.returncode == 3 and "policy.yaml:3:1" in done.stderr
    assert len(host.list()) == before


# ---- life ----

def test_an_entrypoint_ends_its_sandbox_and_its_words_stay(host):
    box = host.create("--", "sh", "-c", "echo one; echo two >&2; exit 5")
    wait_until(lambda: host.state(box) == "Terminated")
    shown = host.show(box)
    assert (shown["reason"], shown["exit_code"]) == ("exited", 5)
    assert shown["entrypoint"][0] == "sh"
    assert host.ok("logs", box) == "one\ntwo\n"


def test_what_changed_in_an_overlay_is_kept_by_the_id(host, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nname: p\n"
                    "filesystem: {workspace: {mode: overlay}}\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").write_text("before\n")
    box = host.create("--policy", path, "--workspace", work)
    done = host.exec(box, "sh", "-c", "echo after > file; cat file")
    assert done.stdout == "after\n", done.stderr
    host.ok("kill", box)
    assert (work / "file").read_text() == "before\n"
    assert "+after" in host.ok("diff", box)
    host.ok("commit", box)
    assert (work / "file").read_text() == "after\n"
    done = host.run("create", "--policy", path, "--workspace", "-")
    assert done.returncode == 3 and "overlay" in done.stderr


def test_logs_are_followed_to_their_end(host):
    box = host.create("--", "sh", "-c",
                      "echo begin; while [ ! -e go-on ]; do sleep 0.05; "
                      "done; echo end")
    child = host.popen("logs", "--follow", box)
    assert child.stdout.readline() == "begin\n"
    (host.workspace / "go-on").touch()
    assert child.communicate(timeout=60)[0] == "end\n"
    assert child.returncode == 0


def test_a_log_is_bounded(host):
    box = host.create("--", "sh", "-c",
                      "head -c 5000000 /dev/zero | tr '\\0' a; echo; echo end")
    wait_until(lambda: host.state(box) == "Terminated")
    text = host.ok("logs", box)
    assert text.endswith("a\nend\n")
    assert len(text) == 1 << 20
    log = host.dir / "host/sandboxes" / box / "log"
    assert log.stat().st_blocks * 512 < 2 << 20


def test_pause_stops_what_runs_and_resume_lets_it_go_on(host):
    box = host.create("--workspace", "-", "--", "sh", "-c",
                      "while :; do echo tick; sleep 0.02; done")
    wait_until(lambda: host.ok("logs", box))
    host.ok("pause", box)
    assert host.state(box) == "Paused"
    size = len(host.ok("logs", box))

    def rests():
        """What was said just before may be read just after."""
        nonlocal size
        before = size
        time.sleep(0.3)
        size = len(host.ok("logs", box))
        return size == before
    wait_until(rests)
    host.ok("resume", box)
    wait_until(lambda: len(host.ok("logs", box)) > size)
    host.ok("pause", box)
    host.ok("kill", box)
    assert host.state(box) == "Terminated"


def test_what_starts_programs_all_the_time_rests_each_time(host):
    """One of 15 times the freezer of version 1 meets a vfork."""
    box = host.create("--", "sh", "-c", "for i in 1 2 3; do while :; do sleep 0.001; done & done; wait")
    for _ in range(40):
        host.ok("pause", box)
        host.ok("resume", box)
    host.ok("kill", box)


def test_a_sandbox_expires_even_while_it_rests(host):
    def paused(seconds):
        box = host.create("--timeout", seconds)
        host.ok("pause", box)
        assert host.state(box) == "Paused"
        return box
    box = while_it_lives(paused)
    wait_until(lambda: host.state(box) == "Terminated")
    assert host.show(box)["reason"] == "expired"


def test_a_renewed_one_lasts(host):
    box = host.create("--timeout", "600")
    before = host.show(box)["expires"]
    host.ok("renew", box, "--timeout", "3600")
    assert host.show(box)["expires"] > before
    host.ok("renew", box, "--timeout", "0")
    assert host.show(box)["expires"] is None
    while_it_lives(lambda seconds: host.ok("renew", box, "--timeout", seconds),
                   (1, 8, 32))
    wait_until(lambda: host.state(box) == "Terminated")


def test_a_port_inside_is_reached_from_the_host(host):
    (host.workspace / "page").write_text("served from inside")
    box = host.create("--", "/usr/bin/python3", "-c", SERVER)
    address = host.ok("port", box, "8123").strip()
    assert address == host.ok("port", box, "8123").strip()

    def page():
        try:
            with urllib.request.urlopen(f"http://{address}/page",
                                        timeout=20) as answer:
                return answer.read()
        except OSError:
            return None
    assert wait_until(page) == b"served from inside"
    host.ok("kill", box)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://{address}/page", timeout=20)


def test_twenty_at_once_are_made_used_and_ended(host):
    def life(number):
        box = host.create("--workspace", "-", "--name", f"n{number}")
        said = host.exec(box, "sh", "-c", f"echo {number} > f; cat f").stdout
        kept = host.show(box)["workspace"]
        host.ok("kill", box)
        return said, pathlib.Path(kept).exists()
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        lives = list(pool.map(life, range(20)))
    assert lives == [(f"{n}\n", False) for n in range(20)]


# ---- killed processes ----

def test_sandboxes_outlive_their_daemon(own_host):
    boxes = [own_host.create("--workspace", "-", "--metadata", f"n={n}")
             for n in range(3)]
    own_host.exec(boxes[0], "sh", "-c", "echo kept > file")
    own_host.ok("pause", boxes[1])
    ended = own_host.create("--", "true")
    wait_until(lambda: own_host.state(ended) == "Terminated")
    before = {b["id"]: b for b in own_host.list()}
    # That of the one that ended may take a moment to go.
    pids = wait_until(lambda: set(own_host.supervisors()) == set(boxes)
                      and own_host.supervisors())
    own_host.kill()
    assert own_host.run("list").returncode == 4
    own_host.start()
    wait_until(lambda: {b["id"]: b for b in own_host.list()} == before)
    assert own_host.supervisors() == pids
    assert own_host.exec(boxes[0], "cat", "file").stdout == "kept\n"
    own_host.ok("resume", boxes[1])
    assert own_host.exec(boxes[1], "true").returncode == 0
    assert [e["text"] for e in own_host.events(boxes[1])][:2] == \
        ["Running", "Pausing"]


def test_one_that_expires_without_a_daemon_is_found_over(own_host):
    def made(seconds):
        box = own_host.create("--timeout", seconds, "--workspace", "-")
        shown = own_host.show(box)
        assert shown["state"] == "Running"
        return box, pathlib.Path(shown["workspace"])

    box, kept = while_it_lives(made)
    own_host.kill()
    wait_until(lambda: not own_host.supervisors())
    assert not kept.exists()
    own_host.start()
    shown = own_host.show(box)
    assert (shown["state"], shown["reason"]) == ("Terminated", "expired")


def test_a_killed_supervisor_takes_its_sandbox_along(own_host):
    box = own_host.create("--workspace", "-")
    shown = own_host.show(box)
    kept = pathlib.Path(shown["workspace"])
    pid = own_host.supervisors()[box]
    inside = has_ended(shown["pid"])
    child = own_host.popen("exec", box, "--", "sh", "-c",
                           "echo ready; exec sleep 6000")
    assert child.stdout.readline() == "ready\n"
    own_host.ok("pause", box)  # version 1's freezer keeps the dead
    assert own_host.groups(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: own_host.state(box) == "Failed")
    assert own_host.show(box)["reason"] == "supervisor_lost"
    assert child.wait(60) == 125
    child.communicate()
    wait_until(inside)
    wait_until(lambda: not own_host.groups(pid))
    wait_until(lambda: not kept.exists())
    wait_until(lambda: shown["session"] not in sessions(own_host))


def test_daemon_and_supervisor_killed_leave_nothing(own_host):
    box = own_host.create("--workspace", "-")
    shown = own_host.show(box)
    pid = own_host.supervisors()[box]
    inside = has_ended(shown["pid"])
    own_host.kill()
    os.kill(pid, signal.SIGKILL)
    wait_until(inside)
    own_host.start()
    assert own_host.show(box)["reason"] == "supervisor_lost"
    wait_until(lambda: not pathlib.Path(shown["workspace"]).exists())
    wait_until(lambda: not own_host.groups(pid))


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 500])
def test_a_damaged_record_does_not_orphan_its_sandbox(own_host, damage):
    box = own_host.create()
    pid = own_host.supervisors()[box]
    record = own_host.dir / "host/sandboxes" / box / "record"
    assert pid.to_bytes(4, "little") in record.read_bytes()
    own_host.kill()
    record.write_bytes(damage)
    own_host.start()
    wait_until(lambda: own_host.show(box)["session"])
    # The daemon knows again whom to end by force.
    wait_until(lambda: pid.to_bytes(4, "little") in record.read_bytes())
    assert own_host.exec(box, "true").returncode == 0
    own_host.ok("kill", box)
    assert own_host.state(box) == "Terminated"


def test_without_a_gateway_nothing_is_made(own_gateway, tmp_path):
    host = Host(own_gateway, tmp_path).start()
    box = host.create()
    own_gateway.stop()
    done = host.run("create")
    assert done.returncode == 4, done.stderr
    # What runs goes on, and nothing leaves it.
    wait_until(lambda: host.exec(
        box, "curl", "-sf", "http://sallyport.internal/policy").returncode
        not in (0, 127))
    assert host.exec(box, "echo", "here").stdout == "here\n"
    own_gateway.start()
    wait_until(lambda: [e for e in host.events(box)
                        if e["kind"] == "gateway"])
    assert all(b["state"] in OVER or b["id"] == box for b in host.list())
    host.stop()
    host.check()


@pytest.fixture
def ordinary_host(pki):
    with ordinary(pki[1]) as host:
        yield host


def test_an_ordinary_user_has_the_service_as_well(ordinary_host):
    host = ordinary_host
    one, other = (host.create("--workspace", "-") for _ in range(2))
    done = host.exec(one, "sh", "-c", "id -u; echo mine > file; "
                                      "echo x > /dev/stderr")
    assert done.returncode == 0, done.stderr
    # Neither sees what the other has.
    there = host.show(one)["workspace"]
    assert host.exec(other, "ls", there).returncode != 0
    assert host.exec(one, "cat", f"{there}/file").stdout == "mine\n"
    if not host.groups(host.supervisors()[one]):
        done = host.run("pause", one)
        assert done.returncode == 1 and "freezer" in done.stderr
        assert host.state(one) == "Running"
    pids = host.supervisors()
    host.kill()
    host.start()
    assert host.supervisors() == pids
    assert host.exec(one, "true").returncode == 0
    os.kill(pids[other], signal.SIGKILL)
    wait_until(lambda: host.state(other) == "Failed")


def test_a_users_own_run_directory_is_hidden_while_another_is_used(
        ordinary_host):
    """The sockets of a gateway of theirs, and of services, would be there."""
    gateway, work = ordinary_host.gateway, ordinary_host.workspace
    for name in ("sallyport", "other"):
        place = work / "run" / name
        place.mkdir(parents=True)
        (place / "control.sock").write_text("words")
    env = gateway.env(XDG_RUNTIME_DIR=str(work / "run"))
    assert env["SALLYPORT_RUN"] == str(gateway.run_dir)
    policy = ordinary_host.dir / "run.yaml"
    policy.write_text("version: 1\nname: p\n")
    policy.chmod(0o644)

    def read(name):
        return subprocess.run(
            [CLI, "run", "--policy", policy,
             "--workspace", work, "--", "cat", f"run/{name}/control.sock"],
            cwd=work, env=env, capture_output=True, text=True, timeout=60,
            check=False, **gateway.as_user)
    assert read("sallyport").returncode != 0
    done = read("other")
    assert (done.returncode, done.stdout) == (0, "words"), done.stderr


def test_what_another_user_made_is_not_a_users_own_run_directory(
        ordinary_host):
    """Below /tmp anybody can: a link there would choose what is hidden."""
    gateway, work = ordinary_host.gateway, ordinary_host.workspace
    (work / "fine").write_text("fine\n")
    (work / "run").mkdir()
    (work / "run/sallyport").symlink_to(work)
    policy = ordinary_host.dir / "run.yaml"
    policy.write_text("version: 1\nname: p\n")
    policy.chmod(0o644)

    def run(owner):
        os.chown(work / "run/sallyport", owner, owner, follow_symlinks=False)
        return subprocess.run(
            [CLI, "run", "--policy", policy, "--workspace", work, "--", "cat",
             "fine"], cwd=work, capture_output=True, text=True, timeout=60,
            env=gateway.env(XDG_RUNTIME_DIR=str(work / "run")), check=False,
            **gateway.as_user)
    done = run(4242)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    done = run(ORDINARY_UID)
    assert done.returncode != 0
    assert "the workspace would be hidden" in done.stderr


def test_files_of_an_ordinary_user_s_sandbox_are_served(ordinary_host):
    host = ordinary_host
    policy = host.dir / "policy.yaml"
    policy.write_text("version: 1\nname: p\nfilesystem:\n"
                      "  hide: [./secret.txt]\n  protect: [./kept.txt]\n")
    policy.chmod(0o644)
    box = host.create("--policy", policy, "--workspace", "-")
    for _ in range(2):
        host.ok("cp", "/etc/hostname", f"{box}:made/name")
    assert host.exec(box, "cmp", "made/name", "/etc/hostname").returncode == 0
    # Names that are to be: no mount stands there.
    assert host.exec(box, "ln", "-s", "kept.txt", "alias").returncode == 0
    for name, word in [("secret.txt", "hidden"), ("kept.txt", "protected"),
                       ("made/../kept.txt/x", "protected"),
                       ("alias", "protected"), ("/etc/motd", "read-only")]:
        done = host.run("cp", "/etc/hostname", f"{box}:{name}")
        assert done.returncode == 5 and word in done.stderr, (name, done)
    assert host.run("cp", f"{box}:/etc/shadow", "/dev/null").returncode != 0
    assert host.exec(box, "cat", "secret.txt", "kept.txt").returncode == 1
    # A command that nobody may look at is not taken for one of ours.
    done = host.exec(box, "python3", "-c", (
        "import ctypes, os\n"
        "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
        "try: os.mkdir('kept.txt')\n"
        "except PermissionError: print('refused')"))
    assert done.stdout == "refused\n", done
    host.ok("kill", box)


def test_only_its_own_user_may_ask(host):
    if os.geteuid() != 0:
        assert (host.dir / "host/host.sock").stat().st_mode & 0o777 == 0o600
        return
    # That user can write no reports of sanitizers where ours are.
    env = {name: value for name, value in host.env().items()
           if not name.endswith("SAN_OPTIONS")}
    done = subprocess.run(
        ["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}",
         "--clear-groups", *host.command("list")], env=env,
        capture_output=True, text=True)
    assert done.returncode == 4, done.stderr


def test_the_configuration_is_checked(tmp_path):
    path = tmp_path / "host.yaml"
    for text, code, says in (
            ("limits: {sandboxes: 3}\nuid_range: 3000000-3000999\n", 0,
             "valid"),
            ("limits: {sandboxes: 0}\n", 3, "host.yaml:1:21"),
            ("runn: /x\n", 3, "did you mean"),
            ("uid_range: 5-10\n", 3, "user ids"),
            ("workspaces: relative\n", 3, "absolute"),
            ("pool: {a: {size: 0}}\n", 3, "host.yaml:1:"),
            ("images: {a: here}\n", 3, "absolute")):
        path.write_text(text)
        done = subprocess.run([PROGRAM, "-t", "-c", path], text=True,
                              capture_output=True)
        assert done.returncode == code, (text, done.stderr)
        assert says in done.stdout + done.stderr, (text, done.stderr)


def test_the_states_are_printed_for_graphviz():
    text = subprocess.run([PROGRAM, "--dump-states"], text=True, check=True,
                          capture_output=True).stdout
    assert "Running -> Pausing" in text
    assert "Terminated ->" not in text and "Failed ->" not in text


# ---- where root keeps them ----

if os.geteuid() == 0:  # of others' sandboxes the user is the caller

    @pytest.fixture
    def closed():
        """A directory of root's alone, that no sandbox has in place of."""
        place = pathlib.Path(tempfile.mkdtemp(dir="/var/lib"))
        (place / "other").write_text("not for them")
        (place / "work").mkdir()
        yield place
        shutil.rmtree(place)

    LOOK = ("echo x > made && cat made; ls {0}; "
            "chmod u+w {0} 2>/dev/null; echo y 2>/dev/null > {0}/y || echo no")

    def test_workspaces_may_lie_below_what_is_roots_alone(gateway, tmp_path,
                                                          closed):
        """As the default, /var/lib/sallyport-host/workspaces, does."""
        host = Host(gateway, tmp_path, workspaces=str(closed / "works"))
        host.works = closed / "works"
        host.start()
        box = host.create("--workspace", "-")
        done = host.exec(box, "sh", "-c", LOOK.format(closed))
        assert done.stdout == "x\nworks\nno\n", done.stderr
        host.stop()
        host.check()
        assert sorted(os.listdir(closed)) == ["other", "work", "works"]

    def test_run_works_in_a_directory_below_what_is_roots_alone(gateway,
                                                                closed):
        done = gateway.cli("run", "sh", "-c", LOOK.format(closed),
                           cwd=closed / "work")
        assert done.stdout == "x\nwork\nno\n", done.stderr
        assert (closed / "work/made").read_text() == "x\n"
