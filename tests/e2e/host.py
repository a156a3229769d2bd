"""The sandboxes' service of the tests' own: its daemon, its supervisors, its
part of the command line."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile

from gateway import BUILD, CLI, Gateway, crashes_in
from sandbox_tool import ORDINARY_UID
from waiting import remove_tree, wait_until

PROGRAM = BUILD / "libexec/sallyport/sallyport-host"
SUPERVISOR = "sallyport-supervisor"
OVER = ("Terminated", "Failed")
NO_ID = "sb-waits---------------------"  # sandbox-host/flow/birth.h


def fields_of(pid):
    """(state, parent, start) of a process, as /proc says; None: there is
    none."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    rest = text[text.rindex(")") + 2:].split()
    return rest[0], int(rest[1]), rest[19]


def children_of(pid):
    return [int(child) for child in pathlib.Path(
        f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Host:
    def __init__(self, gateway, directory, **config):
        self.gateway = gateway
        self.dir = pathlib.Path(directory)
        self.works = self.dir / "works"
        self.workspace = self.dir / "workspace"
        self.workspace.mkdir()
        self.process = None
        self.config = self.dir / "host.yaml"
        # None that nobody asked for, where a test does not say so.
        config["limits"] = {"ready": 0, **config.get("limits", {})}
        self.config.write_text(json.dumps(
            {"run": str(self.dir / "host"), "workspaces": str(self.works),
             "store": str(self.dir / "store"),
             "gateway": str(gateway.run_dir), **config}))

    def env(self):
        return self.gateway.env(
            SALLYPORT_HOST=str(self.dir / "host/host.sock"))

    # ---- the daemon ----

    def start(self):
        with open(self.dir / "log", "a") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "-c", self.config], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=self.env(), cwd="/",
                start_new_session=True, **self.gateway.as_user)
        wait_until(self.is_ready)
        return self

    def is_ready(self):
        assert self.process.poll() is None, self.log()[-3000:]
        return self.run("list").returncode == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """End all sandboxes, then the daemon; nothing may be left."""
        if self.process.poll() is not None:
            self.start()
        for box in self.list():
            if box["state"] not in OVER:
                self.run("kill", box["id"])
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        wait_until(lambda: not self.processes())

    def check(self):
        assert not crashes_in(self.log()), crashes_in(self.log())
        assert self.process.returncode == 0, self.log()[-2000:]
        # A child of the daemon sweeps what was of supervisors that were lost.
        wait_until(lambda: not list(self.works.iterdir()))

    def log(self):
        return (self.dir / "log").read_text(errors="replace")

    def supervisors(self):
        """{id: pid} of ours that live and have a sandbox."""
        found = self.processes()
        return {name: pid for pid, name in found.items() if name != NO_ID}

    def spares(self):
        """The pids of those that wait for a sandbox."""
        return [pid for pid, name in self.processes().items()
                if name == NO_ID]

    def processes(self):
        """{pid: id} of supervisors of ours that live. What each has inside was
        forked from it, and looks like it until it executes something."""
        found = {}
        works = str(self.works).encode()
        # Asked for often, and there are hundreds of processes.
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as line:
                    words = line.read().split(b"\0")
            except OSError:
                continue
            if words[0] != SUPERVISOR.encode() or works not in words:
                continue
            fields = fields_of(pid)
            if fields and fields[0] != "Z":
                found[pid] = words[2].decode(), fields[1]
        return {pid: name for pid, (name, parent) in found.items()
                if parent not in found}

    # ---- the command line ----

    def command(self, verb, *words):
        return [CLI, "sandbox", verb, *map(str, words)]

    def run(self, verb, *words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("timeout", 120)
        return subprocess.run(
            self.command(verb, *words), env=self.env(), cwd=self.workspace,
            capture_output=True, text=True,
            **{**self.gateway.as_user, **more})

    def popen(self, verb, *words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(verb, *words), env=self.env(),
                                cwd=self.workspace, text=True, **more)

    def ok(self, verb, *words, **more):
        done = self.run(verb, *words, **more)
        assert done.returncode == 0, (verb, words, done.stderr, self.log())
        return done.stdout

    def create(self, *words):
        return self.ok("create", *words).strip()

    def exec(self, box, *command, options=(), **more):
        return self.run("exec", *options, box, "--", *command, **more)

    def list(self):
        return json.loads(self.ok("list", "-o", "json"))["sandboxes"]

    def show(self, box):
        return json.loads(self.ok("show", "-o", "json", box))

    def state(self, box):
        return self.show(box)["state"]

    def events(self, box):
        return [json.loads(line) for line in
                self.ok("events", "-o", "json", box).splitlines()]

    def groups(self, pid):
        """The control groups that a supervisor made."""
        # Others' groups come and go meanwhile: os.walk() does not mind.
        return [pathlib.Path(place, name)
                for place, names, _ in os.walk("/sys/fs/cgroup")
                for name in names if name.startswith(f"sallyport-{pid}-")]


def is_alive(pid, start):
    now = fields_of(pid)
    return now is not None and now[0] != "Z" and now[2] == start


def has_ended(pid):
    """For wait_until: this process, not one that has its number later."""
    start = fields_of(pid)
    return lambda: start is None or not is_alive(pid, start[2])


@contextlib.contextmanager
def ordinary(ca):
    """Gateway and service of a user without any help from root."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="sp."))
    root.chmod(0o755)
    (root / "gw").mkdir()
    (root / "host").mkdir()
    gateway = Gateway(root / "gw", {}, ca)
    host = Host(gateway, root / "host")
    if os.geteuid() == 0:
        gateway.as_user = {"user": ORDINARY_UID, "group": ORDINARY_UID,
                           "extra_groups": []}
        for path in [root, *root.rglob("*")]:
            os.chown(path, ORDINARY_UID, ORDINARY_UID)
    gateway.start()
    yield host.start()
    host.stop()
    gateway.stop()
    host.check()
    gateway.check()
    remove_tree(root)
