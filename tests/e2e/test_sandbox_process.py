"""How a sandboxed command starts, ends, and is ended."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)
from waiting import wait_until

FIRST_UID = 2000000  # of those that sandboxes of root get (identity.h)


@pytest.mark.parametrize("script,code", [
    ("exit 0", 0), ("exit 7", 7), ("exit 255", 255),
    ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)])
def test_exit_codes_are_the_commands(box, script, code):
    assert box.sh(script).returncode == code


def test_a_command_that_can_not_be_run_is_named(box):
    missing = box.run("/nonexistent/program")
    assert missing.returncode == 127
    assert "run /nonexistent/program: No such file" in missing.stderr
    assert box.run("/etc/passwd").returncode == 126


def test_standard_streams_pass_through(box):
    child = box.start("/bin/sh", "-c", "cat; echo err >&2",
                      stdin=subprocess.PIPE)
    out, err = child.communicate("in", timeout=30)
    assert (out, err) == ("in", "err\n")


@pytest.mark.parametrize("number", [
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
    signal.SIGUSR1])
def test_signals_are_passed_on(box, number):
    child = box.start("/bin/bash", "-c",
                      f"trap 'echo caught; exit 42' {int(number)}; "
                      "echo ready; while :; do sleep 0.05; done")
    assert child.stdout.readline() == "ready\n"
    child.send_signal(number)
    out, _ = child.communicate(timeout=30)
    assert (out, child.returncode) == ("caught\n", 42)


def test_a_signal_that_is_not_caught_ends_it(box):
    child = box.start("/bin/sh", "-c", "echo ready; exec sleep 60")
    assert child.stdout.readline() == "ready\n"
    child.terminate()
    child.communicate(timeout=30)
    assert child.returncode == 143


def marked(mark):
    found = subprocess.run(["pgrep", "-f", mark], text=True,
                           capture_output=True, check=False)
    return found.stdout.split()


def test_background_processes_end_with_the_command(box):
    mark = f"86{os.getpid()}"
    result = box.sh(f"sleep {mark} & (setsid sleep {mark} &) ; exit 3")
    assert result.returncode == 3
    assert wait_until(lambda: not marked(f"^sleep {mark}"))


def test_everything_ends_when_the_caller_is_killed(box):
    mark = f"87{os.getpid()}"
    child = box.start("/bin/sh", "-c", f"echo ready; sleep {mark} & "
                      f"exec sleep {mark}")
    assert child.stdout.readline() == "ready\n"
    child.kill()
    child.communicate()
    assert wait_until(lambda: not marked(f"sleep {mark}"))


def test_orphans_are_reaped(box):
    # Soon, which on a busy machine may be later.
    result = box.sh("for i in 1 2 3 4 5; do (true &) ; done; "
                    "for i in $(seq 100); do sleep 0.3; "
                    "ps -eo stat= | grep -q Z || break; done; "
                    "ps -eo stat= | grep -c Z")
    assert result.stdout == "0\n"


def test_the_time_limit_ends_it_and_says_so(box):
    started = time.monotonic()
    result = box.sh("sleep 60", options=["--time", "300"])
    assert time.monotonic() - started < 30
    assert result.returncode == 137
    assert "ended by resource_limit (time: 300 ms)" in result.stderr
    assert box.sh("true", options=["--time", "30000"]).returncode == 0


def test_a_fork_bomb_stays_inside(box):
    result = box.python("""
import os, time
count = 0
try:
    while count < 200:
        if os.fork() == 0:
            time.sleep(60)  # all of them at one time; the end ends them
            os._exit(0)
        count += 1
except OSError:
    pass
print(count, flush=True)
os._exit(0)
""", options=["--processes", "30"])
    assert int(result.stdout) <= 30


def test_memory_is_bounded(box):
    result = box.python("x = b'a' * 400_000_000; print('had it')",
                        options=["--memory", "100000000"])
    assert result.returncode != 0
    assert "had it" not in result.stdout
    assert box.python("x = b'a' * 400_000_000; print('had it')").stdout \
        == "had it\n"


def test_nothing_is_left_behind(box):
    box.write("kept", "text")
    before = box.view()
    child = box.start("/bin/cat", "/proc/self/uid_map", options=[
        "--memory", "100000000", "--processes", "50", "--hide", "kept",
        "--protect", "new"])
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert box.view() == before
    assert not groups(child.pid)
    # Another run of the tests may take the same one now, for a while.
    uid = int(out.split()[1])
    assert (uid >= FIRST_UID) == (box.user == "root")
    wait_until(lambda: uid not in user_ids())


def user_ids():
    """Those that are taken: by locks on the file of them, a byte each."""
    path = pathlib.Path("/run/sallyport/uids.lock")
    inode = f":{path.stat().st_ino} " if path.exists() else "(none)"
    with open("/proc/locks", encoding="ascii") as locks:
        return {int(line.split()[-2]) for line in locks if inode in line}


def test_cgroups_of_killed_callers_are_removed_by_the_next(box):
    options = ["--memory", "100000000"]
    child = box.start("/bin/sh", "-c", "echo ready; sleep 60",
                      options=options)
    assert child.stdout.readline() == "ready\n"
    child.kill()
    child.communicate()
    assert wait_until(lambda: box.sh("true", options=options) and
                      not groups(child.pid))


def groups(pid):
    """The cgroups of the sandboxes that this process began."""
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if f"/sallyport-{pid}-" in path]


def read_until(fd, pattern):
    text = b""
    while not re.search(pattern, text):
        ready, _, _ = select.select([fd], [], [], 30)
        assert ready, text
        try:
            text += os.read(fd, 4096)
        except OSError:  # the other side is closed
            break
    return text


def test_a_terminal_is_a_pty_of_the_sandboxes_own(box):
    pid, fd = pty.fork()
    if pid == 0:
        command = box.command(
            "/bin/sh", "-c", "tty; stty size; read line; echo got $line; "
            "trap 'echo winch; stty size' WINCH; trap 'exit 9' INT; "
            "echo x > /etc/x; echo ready; while :; do sleep 0.05; done",
            options=["--terminal", "--env", "TERM=xterm"])
        os.execvp(command[0], command)
    resize(fd, 30, 100)
    assert b"/dev/pts/0" in read_until(fd, rb"pts/\d+")
    os.write(fd, b"typed\r")
    # The report is another's, and may come after what the command says next.
    seen = read_until(fd, rb"(?s)denied.*ready\r\n|ready\r\n.*denied")
    assert b"got typed" in seen
    assert b"write to /etc/x denied" in seen
    resize(fd, 40, 120)
    os.kill(pid, signal.SIGWINCH)
    assert b"40 120" in read_until(fd, rb"winch\r\n\d+ \d+")
    os.write(fd, b"\x03")
    read_until(fd, rb"$never")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 9


def test_a_command_may_close_its_terminal_and_go_on(box):
    pid, fd = pty.fork()
    if pid == 0:
        command = box.command(
            "/bin/sh", "-c", "exec <&- >&- 2>&-; sleep 0.5; "
            "echo later > /dev/tty; exit 4", options=["--terminal"])
        os.execvp(command[0], command)
    assert b"later" in read_until(fd, rb"later")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 4


def resize(fd, rows, columns):
    import fcntl
    import struct
    import termios
    fcntl.ioctl(fd, termios.TIOCSWINSZ,
                struct.pack("HHHH", rows, columns, 0, 0))


def test_script_runs_inside(box):
    result = box.sh("script -qec 'tty; exit 4' /dev/null")
    assert result.returncode == 4, result.stderr
    assert "/dev/pts/" in result.stdout


def test_the_environment_is_what_was_given(box):
    result = box.run("/usr/bin/env", options=["--env", "A=b"],
                     env={**os.environ, "GITHUB_TOKEN": "SECRET"})
    assert result.stdout.splitlines() == [
        "PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={box.home}", "A=b"]


def test_a_plan_is_printed_and_nothing_started(box):
    result = subprocess.run([*box.command("/bin/false", options=["--plan"])],
                            text=True, capture_output=True, check=False)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "namespaces user mount pid net ipc uts cgroup"
    assert lines[-1] == f"exec /bin/false from {box.workspace}"


def test_many_sandboxes_start_at_once(box):
    children = [box.start("/bin/sh", "-c", "id -u") for _ in range(8)]
    for child in children:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (0, f"{box.uid}\n"), err


if os.geteuid() == 0:  # only root mounts
    @pytest.mark.parametrize("mode, is_open", [("600", False), ("666", True)])
    def test_why_the_reporter_can_not_begin_is_told(box, mode, is_open):
        """Root opens it in any case."""
        null = box.write("null", where=box.root)
        result = subprocess.run(
            ["unshare", "--mount", "sh", "-c",
             f"chmod {mode} {null}; chown root: {null}; "
             f"mount --bind {null} /dev/null && exec \"$@\"",
             "sh", *box.command("/bin/echo", "began")], capture_output=True,
            text=True, stdin=subprocess.DEVNULL, check=False, timeout=60)
        if is_open or box.user == "root":
            assert (result.returncode, result.stdout) == (0, "began\n"), \
                result.stderr
        else:
            assert result.returncode != 0 and result.stdout == ""
            assert "reporter: open /dev/null: Permission denied" in \
                result.stderr
