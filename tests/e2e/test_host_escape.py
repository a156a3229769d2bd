"""Ways out of a sandbox of the service, row by row: tried as root inside and as
a user, under a daemon that is root's and under one that is a user's."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import pytest
from gateway import Gateway
from host import Host
from sandbox_tool import ORDINARY_UID, PYTHON
from test_kernel_surface import others, probes

IS_ROOT = os.geteuid() == 0
DAEMONS = ["root's", "a user's"] if IS_ROOT else ["a user's"]
POLICY = "version: 1\nname: p\nlimits: {processes: 64}\n"

# What is tried, each on its own: what answers instead of "reached". Where it
# is let through it changes nothing but files of its own.
ATTACKS = r"""
import errno, json, os, shutil, signal, stat, subprocess, sys
host = json.loads(sys.argv[1])
tries = {}

def attack(name):
    def keep(function):
        tries[name] = function
        return function
    return keep

def opens(name, path, flags=os.O_RDONLY):
    tries[name] = lambda: os.read(os.open(path, flags), 1) \
        if flags == os.O_RDONLY else os.close(os.open(path, flags))

opens("G1 a link out of the workspace", "link/secret")
opens("G3 memory of a process of the host", f"/proc/{host['pid']}/environ")
opens("G3 the root of another process", f"/proc/{host['pid']}/root/etc/passwd")
opens("G10 core_pattern", "/proc/sys/kernel/core_pattern", os.O_WRONLY)
opens("G10 sysrq", "/proc/sysrq-trigger", os.O_WRONLY)
opens("G10 memory of the kernel", "/proc/kcore")
opens("G10 modprobe", "/proc/sys/kernel/modprobe", os.O_WRONLY)
opens("G10 the host's name", "/proc/sys/kernel/hostname", os.O_WRONLY)
opens("G13 a file of the host's by a descriptor", "/proc/self/fd/9")

@attack("G1 a hard link to what is outside")
def _():
    os.link(host["secret"], "hard")
    os.unlink("hard")

@attack("G3 a signal to a process of the host")
def _():
    os.kill(host["pid"], 0)

@attack("G9 a file with a set-id bit")
def _():
    shutil.copy("/bin/true", "own")
    os.chmod("own", 0o4755)
    mode = os.stat("own").st_mode
    os.unlink("own")
    if not mode & stat.S_ISUID:
        raise PermissionError(errno.EPERM, "dropped")

@attack("G9 a file with capabilities")
def _():
    os.setxattr(".", "security.capability", b"\1\0\0\2" + bytes(16))

@attack("G10 a group of the host's")
def _():
    for place, _, names in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in names:
            os.close(os.open(f"{place}/cgroup.procs", os.O_WRONLY))
            return
    raise FileNotFoundError(errno.ENOENT, "no groups")

@attack("G11 a program without a name, for what is outside")
def _():
    fd = os.memfd_create("cat", 0)
    with open("/bin/cat", "rb") as cat:
        os.write(fd, cat.read())
    subprocess.run([f"/proc/self/fd/{fd}", host["secret"]], check=True,
                   pass_fds=[fd], capture_output=True)

for name in (".git/hooks/post-commit", ".git/config", ".vscode/tasks.json"):
    @attack(f"G12 {name}")
    def _(name=name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w") as out:
            out.write("x")

@attack("G14 a socket of the host's")
def _():
    import socket
    socket.socket(socket.AF_UNIX).connect(host["path"])

for name, kind, number in (("a disk", stat.S_IFBLK, os.makedev(8, 0)),
                           ("memory", stat.S_IFCHR, os.makedev(1, 1))):
    @attack(f"G16 a node of {name}")
    def _(kind=kind, number=number):
        os.mknod("node", 0o600 | kind, number)
        os.unlink("node")

@attack("G16 marks of an overlay")
def _():
    os.setxattr(".", "trusted.overlay.opaque", b"y")
    os.removexattr(".", "trusted.overlay.opaque")

@attack("G18 more processes than there may be")
def _():
    children = []
    try:
        for _ in range(100):
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

def answer(function):
    try:
        function()
        return "reached"
    except OSError as error:
        return errno.errorcode[error.errno]
    except subprocess.CalledProcessError:
        return "failed"

print(json.dumps({name: answer(one) for name, one in tries.items()}))
"""


@pytest.fixture(scope="module", params=DAEMONS)
def daemon(request, pki):
    """(whose it is, gateway and service of that user)"""
    root = pathlib.Path(tempfile.mkdtemp(prefix="sp."))
    root.chmod(0o755)
    (root / "gw").mkdir()
    (root / "host").mkdir()
    gateway = Gateway(root / "gw", {}, pki[1])
    host = Host(gateway, root / "host")
    if IS_ROOT and request.param == "a user's":
        gateway.as_user = {"user": ORDINARY_UID, "group": ORDINARY_UID,
                           "extra_groups": []}
        for path in [root, *root.rglob("*")]:
            os.chown(path, ORDINARY_UID, ORDINARY_UID)
    gateway.start()
    yield request.param, host.start()
    host.stop()
    gateway.stop()
    host.check()
    gateway.check()
    shutil.rmtree(root)


def plant(tree, owner, host):
    """A repository, and a link that leads out of it."""
    tree.mkdir()
    (tree / "link").symlink_to(host.dir)
    subprocess.run(["git", "init", "-q", tree], check=True)
    for path in [tree, *tree.rglob("*")] if IS_ROOT else []:
        os.chown(path, owner, owner, follow_symlinks=False)
    return tree


@pytest.fixture(scope="module")
def boxes(daemon):
    """Sandboxes of the service: {whose inside: (id, workspace)}"""
    whose, host = daemon
    user = ORDINARY_UID if IS_ROOT else os.geteuid()
    secret = host.dir / "secret"
    secret.write_text("of the host\n")
    policy = host.dir / "policy.yaml"
    policy.write_text(POLICY)
    for path in (secret, policy):
        path.chmod(0o644)
        if IS_ROOT:
            os.chown(path, user, user)
    owners = {"a user": user} | ({"root": 0} if whose == "root's" else {})
    made = {}
    for name, owner in owners.items():
        tree = plant(host.dir / f"tree-{owner}", owner, host)
        made[name] = host.create("--policy", policy, "--workspace",
                                 tree), tree
        done = host.exec(made[name][0], "id", "-u")
        assert done.stdout == f"{owner}\n", done
    yield made
    for box, _ in made.values():
        host.ok("kill", box)


@pytest.fixture
def named(daemon):
    """A socket of the host's that everybody may use."""
    path = daemon[1].dir / "host.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o666)
        server.listen(50)
        yield str(path)
    path.unlink()


def told(daemon, named):
    return json.dumps({"pid": os.getpid(), "path": named,
                       "secret": str(daemon[1].dir / "secret")})


def test_no_attack_reaches_anything(daemon, boxes, named):
    host = daemon[1]
    for name, (box, _) in boxes.items():
        done = host.exec(box, PYTHON, "-c", ATTACKS, told(daemon, named))
        assert done.returncode == 0, (name, done)
        found = json.loads(done.stdout)
        assert len(found) >= 22
        assert [row for row, answer in found.items()
                if answer == "reached"] == [], (name, found)


def test_without_a_sandbox_they_do(daemon, boxes, named):
    """The same attacks, by the same users, beside it."""
    host = daemon[1]
    for name, (_, tree) in boxes.items():
        uid = tree.stat().st_uid
        outside = plant(tree.with_name(f"{tree.name}-outside"), uid, host)
        leak = os.open(host.dir / "secret", os.O_RDONLY)
        try:
            done = subprocess.run(
                [PYTHON, "-c", "import os, sys\n"
                 f"os.dup2({leak}, 9)\n" + ATTACKS, told(daemon, named)],
                cwd=outside, pass_fds=[leak], capture_output=True, text=True,
                timeout=60, **({"user": uid, "group": uid, "extra_groups": []}
                               if IS_ROOT else {}))
        finally:
            os.close(leak)
        assert done.returncode == 0, (name, done)
        reached = {row for row, answer in json.loads(done.stdout).items()
                   if answer == "reached"}
        assert {row for row in reached if row[:3] != "G10"} >= {
            "G1 a link out of the workspace",
            "G1 a hard link to what is outside",
            "G9 a file with a set-id bit",
            "G11 a program without a name, for what is outside",
            "G12 .git/hooks/post-commit", "G12 .git/config",
            "G12 .vscode/tasks.json",
            "G13 a file of the host's by a descriptor",
            "G14 a socket of the host's",
            "G18 more processes than there may be"}, (name, reached)
        shutil.rmtree(outside)


def test_the_doors_of_the_kernel_are_closed_to_a_command(daemon, boxes,
                                                         named):
    host = daemon[1]
    for name, (box, _) in boxes.items():
        done = host.exec(box, PYTHON, "-c", probes(), options=[
            "-e", "SALLYPORT_PROBE=" + json.dumps(
                {"shm": os.getpid(), "abstract": "none", "path": named})])
        assert done.returncode == 0, (name, done)
        assert others(json.loads(done.stdout)) == {}, name


def test_no_signal_from_inside_stops_what_serves_it(daemon, boxes):
    """G15: whatever it sends to whom, the next command runs."""
    host = daemon[1]
    for name, (box, _) in boxes.items():
        supervisor = host.supervisors()[box]
        for number in ("STOP", "KILL", "TERM", "SEGV"):
            host.exec(box, "sh", "-c", f"kill -{number} 1; kill -{number} -1")
        assert host.exec(box, "echo", "here").stdout == "here\n", name
        assert host.supervisors()[box] == supervisor
        assert host.state(box) == "Running"


def test_one_sandbox_sees_nothing_of_another(daemon, boxes, named):
    """G3, G7: processes, sockets without a name and files of its neighbour."""
    host = daemon[1]
    other = host.create("--workspace", "-")
    child = host.popen("exec", other, "--", PYTHON, "-c", (
        "import os, socket, time\n"
        "server = socket.socket(socket.AF_UNIX)\n"
        "server.bind('\\0neighbour')\n"
        "server.listen()\n"
        "os.makedirs('/tmp/neighbour')\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"))
    assert child.stdout.readline() == "ready\n"
    script = (
        "import os, socket\n"
        "seen = b''\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    try:\n"
        "        seen += open(f'/proc/{pid}/cmdline', 'rb').read()\n"
        "    except OSError:\n"
        "        pass\n"
        "try:\n"
        "    socket.socket(socket.AF_UNIX).connect('\\0neighbour')\n"
        "    print('socket')\n"
        "except OSError:\n"
        "    pass\n"
        "print('seen' if b'time.sleep' + b'(600)' in seen else 'nothing',\n"
        "      os.path.exists('/tmp/neighbour'))")
    for name, (box, _) in boxes.items():
        assert host.exec(box, PYTHON, "-c", script).stdout == \
            "nothing False\n", name
    # The twin: beside it, all of that is there.
    assert host.exec(other, PYTHON, "-c", script).stdout == \
        "socket\nseen True\n"
    host.ok("kill", other)
    child.communicate(timeout=60)
