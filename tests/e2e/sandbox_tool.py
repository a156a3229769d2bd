"""Run commands in a sandbox, by the probe that drives the library.

SALLYPORT_BUILD names the build tree (default: build/dev).
Every test runs twice when root runs it: as root, whose command gets a host
user of its own, and as an ordinary user without any help from root.
"""
import os
import pathlib
import subprocess
import tempfile

import pytest

from waiting import remove_tree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SALLYPORT_BUILD", SOURCE / "build/dev"))
PROBE = BUILD / "tests/sandbox_probe"
ORDINARY_UID = 54321
USERS = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]
PYTHON = "/usr/bin/python3"


class Box:
    """A workspace and a home of its own, and runs in sandboxes over them."""

    def __init__(self, user, root):
        self.user = user
        self.root = root
        self.workspace = root / "workspace"
        self.home = root / "home"
        self.workspace.mkdir()
        self.home.mkdir()
        self.log = root / "accepted"
        self.owner = self.uid

    @property
    def uid(self):
        if self.user == "ordinary" and os.geteuid() == 0:
            return ORDINARY_UID
        return os.geteuid()

    def prefix(self):
        if self.uid == os.geteuid():
            return []
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}",
                "--clear-groups"]

    def give(self):
        """Hand all of it to the user who will run (or another owner)."""
        for path in [self.root, *self.root.rglob("*")]:
            os.chown(path, self.owner, self.owner, follow_symlinks=False)

    def view(self):
        """What is on the host in workspace and home, to compare."""
        if os.geteuid() == 0:
            self.give()
        return host_view(self.workspace), host_view(self.home)

    def write(self, name, text="", where=None):
        path = (where or self.workspace) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, *command, options=()):
        if os.geteuid() == 0:
            self.give()
        return [*self.prefix(), str(PROBE), "--workspace",
                str(self.workspace), "--home", str(self.home),
                "--env", "PATH=/usr/local/bin:/usr/bin:/bin",
                "--env", f"HOME={self.home}", *options, "--", *command]

    def start(self, *command, options=(), **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(*command, options=options),
                                text=True, **popen)

    def run(self, *command, options=(), timeout=60, **popen):
        child = self.start(*command, options=options, **popen)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
        return subprocess.CompletedProcess(command, child.returncode, out,
                                           err)

    def sh(self, script, options=(), **popen):
        return self.run("/bin/sh", "-c", script, options=options, **popen)

    def python(self, script, options=(), **popen):
        return self.run(PYTHON, "-c", script, options=options, **popen)


@pytest.fixture(params=USERS)
def box(request):
    assert PROBE.exists(), f"{PROBE}: build it (ninja sandbox_probe)"
    root = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-e2e-"))
    root.chmod(0o755)
    try:
        yield Box(request.param, root)
    finally:
        remove_tree(root)


def host_view(path):
    """Names, kinds, modes, owners and texts below path: to compare."""
    found = {}
    for item in sorted(path.rglob("*")):
        st = item.lstat()
        text = item.read_bytes() if item.is_file() and not item.is_symlink() \
            else b""
        found[str(item.relative_to(path))] = (st.st_mode, st.st_uid, text)
    return found
