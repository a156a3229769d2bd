"""Nothing of ours ever has a name in the user's tree, not even for a moment:
every change that the kernel tells about while a sandbox starts, runs, ends or
is killed."""
import ctypes
import os
import signal
import struct
import subprocess

import pytest

from sandbox_tool import BUILD, box  # noqa: F401 (a fixture)

LIBC = ctypes.CDLL(None, use_errno=True)
NONBLOCK = 0o4000
MODIFY, ATTRIB, CREATE, DELETE = 0x2, 0x4, 0x100, 0x200
MOVED = 0x40 | 0x80
CHANGES = MODIFY | ATTRIB | CREATE | DELETE | MOVED
OVERFLOW = 0x4000


class Watch:
    """inotify over all directories of some trees."""

    def __init__(self, *trees):
        self.fd = LIBC.inotify_init1(NONBLOCK)
        assert self.fd >= 0
        self.dirs = {}
        for tree in trees:
            for path, _, _ in os.walk(tree):
                number = LIBC.inotify_add_watch(
                    self.fd, os.fsencode(path), CHANGES)
                assert number >= 0
                self.dirs[number] = path

    def seen(self):
        """What changed since, as (kind, path)."""
        found = []
        while True:
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return found
            while data:
                number, mask, _, size = struct.unpack_from("iIII", data)
                name = data[16:16 + size].rstrip(b"\0").decode()
                data = data[16 + size:]
                assert not mask & OVERFLOW
                found.append((mask & CHANGES,
                              os.path.join(self.dirs.get(number, "?"), name)))

    def close(self):
        os.close(self.fd)


@pytest.fixture
def watched(box):  # noqa: F811
    for name in (".git/config", ".git/HEAD", ".git/hooks/pre-commit",
                 ".vscode/tasks.json", ".env", "a/.env", ".agentignore",
                 "sub/repo/.git/config", "a/f"):
        box.write(name, "x\n")
    box.write(".ssh/id", "x", box.home)
    (box.workspace / "link").symlink_to("a")
    (box.root / "state").mkdir()
    box.give() if os.geteuid() == 0 else None
    watch = Watch(box.workspace, box.home)
    yield box, watch
    watch.close()


MODES = {"write": [], "read": ["--workspace-read"], "overlay": []}
LISTS = ["--hide", "**/.env", "--protect", "a/f", "--protect", "**/x*",
         "--ignore", ".agentignore"]


def options_of(box, mode):  # noqa: F811
    options = [*MODES[mode], *LISTS]
    if mode == "overlay":
        options += ["--changes", str(box.root / "state/c")]
    return options


def start(box, mode, script):  # noqa: F811
    """As box.start(), which gives everything away before."""
    command = box.command("/bin/sh", "-c", script,
                          options=options_of(box, mode))
    return command


@pytest.mark.parametrize("mode", MODES)
def test_a_run_leaves_no_trace(watched, mode):
    box, watch = watched
    command = start(box, mode, "cat .env a/f .git/config >/dev/null 2>&1; "
                    "ls -R >/dev/null; echo done")
    watch.seen()
    done = subprocess.run(command, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    assert done.stdout == "done\n", done.stderr
    assert watch.seen() == []


@pytest.mark.parametrize("mode", MODES)
def test_a_kill_leaves_no_trace(watched, mode):
    box, watch = watched
    command = start(box, mode, "echo ready; sleep 1000")
    watch.seen()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL,
                             stdin=subprocess.DEVNULL)
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)  # the end of all inside
    assert watch.seen() == []


def test_a_start_that_fails_leaves_no_trace(watched):
    box, watch = watched
    command = start(box, "write", "true")
    command[-4:-4] = ["--read", "/run"]
    watch.seen()
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 125
    assert watch.seen() == []


def test_what_is_written_is_seen(watched):
    """The watch works: a write of the command's own is told."""
    box, watch = watched
    command = start(box, "write", "echo x > new")
    watch.seen()
    subprocess.run(command, check=True, timeout=60)
    assert (CREATE, str(box.workspace / "new")) in watch.seen()


def test_a_commit_makes_no_other_name(watched):
    box, watch = watched
    state = box.root / "state"
    (state / "changes").mkdir(mode=0o700)
    command = box.command(
        "/bin/sh", "-c", "echo more >> a/g; echo y > link2; rm link; "
        "ln -s a/g link", options=["--changes", str(state / "changes/c")])
    watch.seen()
    subprocess.run(command, check=True, timeout=60)
    assert watch.seen() == []
    subprocess.run([*box.prefix(), BUILD / "bin/sallyport", "sandbox",
                    "commit", "c"], check=True, timeout=60,
                   env={"SALLYPORT_STATE": str(state), "HOME": str(box.home)})
    names = {os.path.relpath(path, box.workspace) for kind, path in
             watch.seen() if kind & (CREATE | DELETE | MOVED)}
    assert names == {"a/g", "link2", "link"}
