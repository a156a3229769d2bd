"""Ends of commands and sandboxes of the service that come at a bad moment, and
who is believed to be the service."""
import fcntl
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import pytest
from host import Host, fields_of
from sandbox_tool import ORDINARY_UID
from waiting import wait_until


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


def has_state(pid, letters):
    return lambda: fields_of(pid)[0] in letters


def running(host, box, mark):
    return host.exec(box, "sh", "-c", "cat /proc/[0-9]*/cmdline").stdout \
        .replace("\0", " ").count(f"{mark} ")


@pytest.fixture
def still(host):
    """A sandbox, and its process 1 that does nothing before it is let go."""
    box = host.create("--workspace", "-")
    inside = host.show(box)["pid"]
    os.kill(inside, signal.SIGSTOP)
    wait_until(has_state(inside, "T"))
    yield box, lambda: os.kill(inside, signal.SIGCONT)
    os.kill(inside, signal.SIGCONT)
    host.ok("kill", box)


def test_a_command_whose_time_is_over_before_it_runs_is_killed(host, still):
    box, let_go = still
    child = host.popen("exec", "--timeout", "1", box, "--", "sleep", "6000")
    time.sleep(1.5)  # its time; whatever is later holds as well
    let_go()
    assert "timeout" in child.communicate(timeout=60)[1]
    assert child.returncode == 137


def test_commands_that_nobody_waits_for_any_more_never_stay(host, still):
    """They are killed in the moment in which they begin."""
    box, let_go = still
    pid = host.supervisors()[box]
    before = len(pipes_of(pid))
    children = [host.popen("exec", box, "--", "sleep", "6006")
                for _ in range(20)]
    # Each has its pipes there.
    wait_until(lambda: len(pipes_of(pid)) >=
               before + 2 * len(children))
    for child in children:
        child.kill()
        child.communicate()
    let_go()
    wait_until(lambda: len(pipes_of(pid)) == before)
    wait_until(lambda: running(host, box, "6006") == 0)


def pipes_of(pid):
    found = []
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += [path.name] if os.readlink(path).startswith("pipe:") \
                else []
        except FileNotFoundError:
            pass
    return found


@pytest.mark.parametrize("begin,left", [("exec >&- 2>&-;", 0), ("", 1)])
def test_an_output_that_was_closed_is_waited_for_no_more(host, begin, left):
    """It would be readable for ever, and keep its supervisor busy."""
    other = host.create("--workspace", "-")
    before = len(pipes_of(host.supervisors()[other]))
    box = host.create("--", "sh", "-c",
                      "echo said; while [ ! -e go ]; do sleep 0.02; done; "
                      f"{begin} exec sleep 6000")
    pid = host.supervisors()[box]
    assert host.exec(box, "true").returncode == 0
    (host.workspace / "go").touch()
    wait_until(lambda: len(pipes_of(pid)) == before + left)
    assert host.ok("logs", box) == "said\n"
    (host.workspace / "go").unlink()
    for one in box, other:
        host.ok("kill", one)


def test_the_time_of_a_policy_ends_a_sandbox_and_is_not_renewed(
        host, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nlimits: {time: 3s}\n")
    boxes = [host.create("--policy", path, *words)
             for words in ([], ["--timeout", "3600"])]
    free = host.create("--timeout", "3600")
    for box, timeout in zip(boxes, ("0", "3600")):
        host.run("renew", box, "--timeout", timeout)
    for box in boxes:
        wait_until(lambda: host.state(box) == "Terminated")
        assert host.show(box)["reason"] == "expired"
    assert host.state(free) == "Running"
    host.ok("kill", free)


LISTEN = """
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen()
print("ready", flush=True)
print(len(s.accept()[0].recv(65536)), flush=True)
"""


@pytest.mark.parametrize("owner,is_believed", [(None, True),
                                               (ORDINARY_UID, False)])
def test_nobody_else_is_taken_for_the_service(host, owner, is_believed):
    """Who creates a sandbox says all of its environment."""
    if owner and os.geteuid() != 0:
        owner, is_believed = None, True
    root = pathlib.Path(tempfile.mkdtemp(prefix="sp."))
    place = root / "sallyport"
    place.mkdir()
    root.chmod(0o755)
    as_owner = {"user": owner, "group": owner, "extra_groups": []} \
        if owner else {}
    if owner:
        os.chown(place, owner, owner)
    other = subprocess.Popen(
        ["/usr/bin/python3", "-c", LISTEN, place / "host.sock"], text=True,
        stdout=subprocess.PIPE, **as_owner)
    assert other.stdout.readline() == "ready\n"
    env = {**host.env(), "XDG_RUNTIME_DIR": str(root)}
    del env["SALLYPORT_HOST"]
    env["SALLYPORT_RUN"] = str(place)
    child = subprocess.Popen(host.command("list"), env=env, text=True,
                             stderr=subprocess.PIPE)
    assert (int(other.stdout.readline()) > 0) == is_believed
    said = child.communicate(timeout=60)[1]
    assert ("neither root nor you" in said) == (not is_believed)
    assert child.returncode == (4 if is_believed else 5)
    other.communicate()
    shutil.rmtree(root)


def is_taken(uid):
    """Would a sandbox that begins now not get that user?"""
    lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0)
    with open("/run/sallyport/uids.lock", "r+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
        except BlockingIOError:
            return True
    return False


def is_gone(pid):
    return (fields_of(pid) or "X")[0] in "ZX"


def uid_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"Uid:\s+(\d+)", status)[1])


@pytest.mark.parametrize("is_paused", [True, False],
                         ids=["paused", "running"])
def test_the_user_of_a_sandbox_is_its_own_as_long_as_it_lives(
        gateway, tmp_path, is_paused):
    """A frozen one outlives its supervisor, where the kernel's freezer keeps
    the dead, until somebody lets it go on."""
    host = Host(gateway, tmp_path).start()
    try:
        box = host.create("--workspace", "-")
        inside, supervisor = host.show(box)["pid"], host.supervisors()[box]
        uid = uid_of(inside)
        # A command has no lock, nor has whatever it leaves.
        held = host.exec(box, "ls", "-l", "/proc/self/fd").stdout
        assert "uids.lock" not in held
        assert is_taken(uid)
        if is_paused:
            host.ok("pause", box)
        os.kill(host.process.pid, signal.SIGSTOP)
        try:
            os.kill(supervisor, signal.SIGKILL)
            wait_until(lambda: is_gone(supervisor))
            if is_paused:
                assert is_taken(uid) or is_gone(inside)
            else:
                wait_until(lambda: not is_taken(uid))
        finally:
            os.kill(host.process.pid, signal.SIGCONT)
        wait_until(lambda: not is_taken(uid))
        wait_until(lambda: not list(host.works.iterdir()))
    finally:
        host.stop()
    host.check()


@pytest.fixture
def lone(own_gateway, tmp_path_factory):
    """With a gateway of its own, which may be held."""
    host = Host(own_gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


@pytest.mark.parametrize("is_heard", [False, True])
def test_one_whose_asker_left_before_it_ran_ends(lone, is_heard):
    """By Ctrl-C, or killed: its id was told to no one, and it would last."""
    control = lone.gateway.pid("control")
    os.kill(control, signal.SIGSTOP)
    try:
        asked = lone.popen("create", "--workspace", "-")
        box, = wait_until(lone.list)
        assert box["state"] == "Pending"
        if not is_heard:
            asked.kill()
            asked.wait(30)
    finally:
        os.kill(control, signal.SIGCONT)
    out, _ = asked.communicate(timeout=60)
    if is_heard:
        assert (asked.returncode, out.strip()) == (0, box["id"])
        assert lone.state(box["id"]) == "Running"
    else:
        wait_until(lambda: lone.state(box["id"]) == "Terminated")
        assert lone.show(box["id"])["reason"] == "killed"
