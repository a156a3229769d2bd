"""What `commands` of a policy leaves to a person: held, answered, run."""
import json
import os
import pathlib
import pty
import struct
import subprocess

import pytest
from gateway import ApiError
from host import OVER, Host
from waiting import wait_until

CLOCK = pathlib.Path(__file__).parent / "moved_clock.c"


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


def policy(path, **more):
    file = path / "policy.yaml"
    file.write_text(json.dumps({"version": 1, "commands": {
        "hold": "10m", **more}}))
    return file


@pytest.fixture(scope="module")
def box(host, tmp_path_factory):
    return host.create("--policy", policy(tmp_path_factory.mktemp("p")),
                       "--workspace", "-")


class Command:
    """One that may have to wait."""

    def __init__(self, host, box, *words, options=(), env=None):
        self.process = subprocess.Popen(
            host.command("exec", *options, box, "--", *words),
            env=host.env() | (env or {}), stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **host.gateway.as_user)

    def hear(self):
        """What it says while it waits: one line."""
        return self.process.stderr.readline()

    def end(self):
        out, errors = self.process.communicate(timeout=60)
        return self.process.returncode, out, errors


def approvals(host, box, state="pending"):
    session = host.show(box)["session"]
    return host.gateway.get(
        f"/v1/approvals?session={session}&state={state}")["approvals"]


def pending(host, box, command):
    """The proposal about that command, which must come."""
    def find():
        return [row for row in approvals(host, box)
                if row["path"] == command]
    return wait_until(find)[0]


def wanted(proposal):
    """What whoever waits is told at once; `sallyport run` says the same."""
    return (f"sallyport: approval {proposal['id']} wanted for EXEC "
            f"{proposal['path']}: sallyport approval approve "
            f"{proposal['id']}\n")


def decide(host, proposal, *words):
    done = host.gateway.cli("approval", *words, proposal["id"])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_command_runs_once_it_is_approved_and_not_before(host, box):
    held = Command(host, box, "touch", "a b")
    asked = pending(host, box, "touch 'a b'")
    assert (asked["method"], asked["host"], asked["scheme"]) == \
        ("EXEC", "sandbox", "")
    assert asked["rule"].startswith("commands.autonomy")
    assert host.exec(box, "ls").stdout == ""
    listed = host.gateway.cli("approval", "list").stdout
    assert f"{asked['id']} pending" in listed and "EXEC touch 'a b' [" in \
        listed
    assert held.hear() == wanted(asked)
    assert "EXEC touch" in decide(host, asked, "approve", "--once")
    assert held.end() == (0, "", "")
    assert host.exec(box, "ls").stdout == "a b\n"
    # Once is over: it is asked about again, and by itself. Denied it stays.
    again = Command(host, box, "touch", "a b")
    other = pending(host, box, "touch 'a b'")
    assert other["id"] != asked["id"]
    decide(host, other, "deny")
    code, _, errors = again.end()
    assert code == 5 and "approval_denied: `touch 'a b'`" in errors
    assert "approval_denied" in host.exec(box, "touch", "a b").stderr


def test_those_that_wait_are_told_so_at_once(host, box):
    """Both that ask for the same, the first that is detached too; and one
    whose text is long is told the beginning, and how to answer."""
    held = [Command(host, box, "touch", "one", options=options)
            for options in ((), ("-d",))]
    asked = pending(host, box, "touch one")
    assert [one.hear() for one in held] == [wanted(asked)] * 2
    assert [one.process.poll() for one in held] == [None, None]
    decide(host, asked, "approve")
    assert [one.end() for one in held] == [(0, "", "")] * 2
    # Nobody is asked, and nothing is said.
    assert host.exec(box, "touch", "one").stderr == ""
    words = ("touch", "\u00e9" * 600)
    held = Command(host, box, *words)
    line = held.hear()
    asked = approvals(host, box)[0]
    assert line.startswith(wanted(asked)[:200])
    assert line.endswith(f": sallyport approval approve {asked['id']}\n")
    decide(host, asked, "deny")
    assert held.end()[0] == 5


def test_one_with_a_terminal_says_there_that_it_waits(host, box):
    master, slave = pty.openpty()
    child = subprocess.Popen(
        host.command("exec", "-i", "-t", box, "--", "touch", "two"),
        env=host.env(), stdin=slave, stdout=slave, stderr=slave,
        **host.gateway.as_user)
    os.close(slave)
    asked = pending(host, box, "touch two")
    seen = b""
    while b"\n" not in seen:
        seen += os.read(master, 4096)
    assert seen.decode() == wanted(asked).replace("\n", "\r\n")
    assert child.poll() is None
    decide(host, asked, "approve")
    assert child.wait(60) == 0
    os.close(master)


@pytest.mark.parametrize("seconds,is_there", [(599, True), (700, False)])
def test_it_waits_as_long_as_a_policy_may_hold_it(host, box, tmp_path,
                                                  seconds, is_there):
    """By the clock of the command line, which alone goes ahead."""
    library, passed = tmp_path / "moved_clock.so", tmp_path / "passed"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, CLOCK],
                   check=True)
    passed.write_bytes(bytes(8))
    env = {"LD_PRELOAD": str(library), "MOVED_TIME": str(passed),
           "ASAN_OPTIONS": host.env()["ASAN_OPTIONS"] +
           ":verify_asan_link_order=0"}
    held = Command(host, box, "touch", f"after-{seconds}", env=env)
    asked = pending(host, box, f"touch after-{seconds}")
    assert held.hear() == wanted(asked)
    with open(passed, "r+b", buffering=0) as file:
        file.write(struct.pack("=q", seconds))
    if is_there:
        with pytest.raises(subprocess.TimeoutExpired):
            held.process.wait(1)
        decide(host, asked, "approve")
        assert held.end() == (0, "", "")
    else:
        assert held.end() == (8, "", "sallyport: no reply in time\n")


def test_a_grant_is_for_the_session_and_for_that_command(host, box):
    held = Command(host, box, "rm", "-rf", "x")
    asked = pending(host, box, "rm -rf x")
    decide(host, asked, "approve")
    assert held.end() == (0, "", wanted(asked))
    for _ in range(2):
        assert host.exec(box, "rm", "-rf", "x").returncode == 0
    for words, options, text in (
            (("rm", "-rf", "y"), (), "rm -rf y"),
            (("rm", "-rf", "x"), ("-w", "/tmp"), "rm -rf x # in /tmp"),
            (("rm", "-rf", "x"), ("-e", "PATH=/y"),
             "env PATH=/y rm -rf x")):
        held = Command(host, box, *words, options=options)
        decide(host, pending(host, box, text), "deny")
        assert held.end()[0] == 5
    # Of variables that change nothing nobody hears.
    assert host.exec(box, "rm", "-rf", "x",
                     options=["-e", "SECRET=s3cret"]).returncode == 0
    assert "s3cret" not in json.dumps(approvals(host, box, "used"))


def test_a_grant_is_for_the_variables_that_a_shell_puts_in(host, box):
    words, proposals = ("sh", "-c", 'rm -rf "$D"'), set()
    for value in ("s3cret-1", "s3cret-2"):
        held = Command(host, box, *words, options=("-e", f"D={value}"))
        asked = wait_until(lambda: [
            row for row in approvals(host, box)
            if row["path"].startswith("sh -c 'rm -rf \"$D\"' # with ")])[0]
        assert value not in asked["path"] and "D=@" in asked["path"]
        proposals.add(asked["path"])
        decide(host, asked, "approve")
        assert held.end() == (0, "", wanted(asked))
        assert host.exec(box, *words, options=["-e", f"D={value}"]
                         ).returncode == 0
    assert len(proposals) == 2


def test_a_command_that_nobody_allows_is_refused_with_its_proposal(
        host, tmp_path):
    box = host.create("--policy", policy(tmp_path, hold="1ms"),
                      "--workspace", "-")
    done = host.exec(box, "mkdir", "x")
    asked = pending(host, box, "mkdir x")
    assert done.returncode == 5
    assert "approval_pending: `mkdir x`: a person must" in done.stderr
    assert f"sallyport approval approve {asked['id']}" in done.stderr
    assert asked["id"] in host.exec(box, "mkdir", "x").stderr
    decide(host, asked, "approve")
    assert host.exec(box, "mkdir", "x").returncode == 0
    host.ok("kill", box)


def test_who_hangs_up_waits_no_more_and_others_do(host, box):
    gone = Command(host, box, "mv", "a", "b")
    asked = pending(host, box, "mv a b")
    gone.process.kill()
    gone.end()
    one = Command(host, box, "mv", "a", "b")
    two = Command(host, box, "sh", "-c", "echo it > told")
    told = pending(host, box, "sh -c 'echo it > told'")
    assert host.exec(box, "echo", "free").stdout == "free\n"
    decide(host, told, "approve")
    assert two.end()[0] == 0
    assert host.exec(box, "cat", "told").stdout == "it\n"
    decide(host, asked, "approve", "--once")
    # It ran, and says so itself.
    assert one.end()[0] == 1


def test_so_many_wait_and_no_more(host, box):
    held = [Command(host, box, "touch", f"many-{n}") for n in range(16)]
    for n, one in enumerate(held):
        wait_until(lambda: one.process.poll() is not None or [
            row for row in approvals(host, box)
            if row["path"] == f"touch many-{n}"])
        assert one.process.poll() is None, one.end()
    done = host.exec(box, "touch", "many-16")
    assert done.returncode != 0 and "wait for a person" in done.stderr
    for one in held:
        one.process.kill()
        one.end()
    for row in approvals(host, box):
        decide(host, row, "deny")

    def is_asked():
        """Once its supervisor has heard of their ends."""
        one = Command(host, box, "touch", "many-16")
        wait_until(lambda: one.process.poll() is not None or
                   approvals(host, box))
        rows = approvals(host, box)
        for row in rows:
            decide(host, row, "deny")
        assert one.end()[0] != 0
        return rows
    wait_until(is_asked)


def test_it_counts_as_an_action_when_it_runs(host, tmp_path):
    box = host.create("--policy", policy(tmp_path, actions="2/1h"),
                      "--workspace", "-")
    held = Command(host, box, "touch", "x")
    asked = pending(host, box, "touch x")
    assert host.exec(box, "ls").returncode == 0
    decide(host, asked, "approve")
    assert held.end()[0] == 0
    for words in (("touch", "x"), ("ls",)):
        done = host.exec(box, *words)
        assert done.returncode == 5 and "limit_actions" in done.stderr
    host.ok("kill", box)


def test_a_paused_sandbox_runs_nothing_that_is_approved(host, tmp_path):
    box = host.create("--policy", policy(tmp_path), "--workspace", "-")
    held = Command(host, box, "touch", "x")
    asked = pending(host, box, "touch x")
    host.ok("pause", box)
    decide(host, asked, "approve")
    code, _, errors = held.end()
    assert code != 0 and "the sandbox is Paused" in errors
    host.ok("resume", box)
    assert host.exec(box, "touch", "x").returncode == 0
    host.ok("kill", box)


def test_those_that_wait_end_with_the_sandbox(host, tmp_path):
    box = host.create("--policy", policy(tmp_path), "--workspace", "-")
    held = Command(host, box, "touch", "x")
    pending(host, box, "touch x")
    host.ok("kill", box)
    assert held.end()[0] != 0


def test_without_a_session_nobody_is_asked(host, tmp_path):
    box = host.create("--policy", policy(tmp_path), "--workspace", "-")
    assert host.exec(box, "ls").returncode == 0
    done = host.gateway.cli("session", "revoke", host.show(box)["session"])
    assert done.returncode == 0, done.stderr
    done = host.exec(box, "touch", "x")
    assert done.returncode == 5 and "approval_pending" in done.stderr
    assert "session" in done.stderr and "approve" not in done.stderr
    assert host.exec(box, "ls").stdout == ""
    host.ok("kill", box)


# ---- the entrypoint ----

def test_an_entrypoint_that_is_denied_ends_the_sandbox(host, tmp_path):
    box = host.create("--policy", policy(tmp_path, deny=["id"]),
                      "--workspace", "-", "--", "id")
    wait_until(lambda: host.state(box) in OVER)
    shown = host.show(box)
    assert (shown["state"], shown["reason"]) == ("Failed", "not_permitted")
    assert "command_not_allowed: `id`" in shown["message"]


def test_an_entrypoint_waits_for_a_person(host, tmp_path):
    box = host.create("--policy", policy(tmp_path), "--workspace", "-", "--",
                      "sh", "-c", "echo $$ > began; exit 7")
    asked = pending(host, box, "sh -c 'echo $$ > began; exit 7'")
    assert host.state(box) == "Running" and \
        host.exec(box, "ls").stdout == ""
    decide(host, asked, "approve")
    wait_until(lambda: host.state(box) in OVER)
    assert host.show(box)["exit_code"] == 7


def test_an_entrypoint_that_nobody_allows_ends_the_sandbox(host, tmp_path):
    box = host.create("--policy", policy(tmp_path, hold="1ms"),
                      "--workspace", "-", "--", "touch", "x")
    wait_until(lambda: host.state(box) in OVER)
    shown = host.show(box)
    assert shown["reason"] == "not_permitted"
    assert "sallyport approval approve p-" in shown["message"]


def test_an_entrypoint_that_only_reads_runs(host, tmp_path):
    box = host.create("--policy", policy(tmp_path), "--workspace", "-", "--",
                      "true")
    wait_until(lambda: host.state(box) in OVER)
    assert host.show(box)["exit_code"] == 0


# ---- control ----

@pytest.mark.parametrize("body,status", [
    ({"command": "x", "rule": "r"}, 200),
    ({"command": "", "rule": "r"}, 422),
    ({"command": "x" * 8193, "rule": "r"}, 422),
    ({"command": "x", "rule": "r" * 257}, 422),
    ({"command": "x"}, 400),
    ({"command": "x", "rule": "r", "method": "GET"}, 400),
    ({"command": 1, "rule": "r"}, 400),
    ("x", 400),
])
def test_control_takes_questions_about_commands_alone(host, box, body,
                                                      status):
    session = host.show(box)["session"]
    path = f"/v1/sessions/{session}/commands"
    try:
        told = json.loads(host.gateway.call("POST", path, json.dumps(body)))
        assert status == 200 and told["method"] == "EXEC"
        decide(host, told, "deny")
    except ApiError as error:
        assert error.status == status
