"""What a sandbox can read, write and leave behind."""
import contextlib
import os
import socket
import subprocess
import sys

import pytest

from sandbox_tool import PYTHON, box, host_view  # noqa: F401 (a fixture)

GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]


def test_workspace_is_writable_and_keeps_its_owner(box):
    result = box.sh("echo hello > new && mkdir d && mv new d/moved")
    assert result.returncode == 0, result.stderr
    made = box.workspace / "d/moved"
    assert made.read_text() == "hello\n"
    assert made.stat().st_uid == box.uid


def test_a_workspace_of_another_owner_stays_that_owners(box):
    owner = box.owner = 4242 if box.user == "root" else box.uid
    result = box.sh("id -u; touch new")
    assert result.stdout == f"{owner}\n", result.stderr
    assert (box.workspace / "new").stat().st_uid == owner


@pytest.mark.parametrize("mode, code", [(0o600, 125), (0o700, 0)])
def test_a_workspace_that_can_not_be_entered_is_none(box, mode, code):
    if box.user == "root":  # which enters whatever its mode
        code = 0
    box.workspace.chmod(mode)
    result = box.run("true")
    box.workspace.chmod(0o700)
    assert result.returncode == code, result.stderr
    if code:
        assert f"{box.workspace}: Permission denied" in result.stderr


def test_workspace_may_be_read_only(box):
    box.write("kept", "text")
    result = box.sh("cat kept; echo x > kept; echo x > new",
                    options=["--workspace-read"])
    assert result.stdout == "text"
    assert host_view(box.workspace).keys() == {"kept"}
    assert f"write to {box.workspace}/new denied by filesystem (read-only)" \
        in result.stderr


@pytest.mark.parametrize("path", [
    "/etc/passwd", "/usr/new", "/new", "/etc/new", "/var/new", "/run/new",
    "/sys/new", "/proc/sys/kernel/core_pattern", "/dev/new",
    "/run/sallyport/resolv.conf"])
def test_writes_outside_are_denied_and_said(box, path):
    result = box.sh(f"echo x > {path}")
    assert result.returncode != 0
    assert f"sandbox: write to {path} denied by filesystem (read-only)\n" \
        in result.stderr


def test_temporary_files_are_private_and_gone_afterwards(box):
    names = ["/tmp/sallyport-was-here", "/var/tmp/sallyport-was-here",
             "/dev/shm/sallyport-was-here"]
    result = box.sh("".join(f"echo x > {name} && " for name in names) +
                    "ls -A /tmp")
    assert result.returncode == 0, result.stderr
    assert not any(os.path.exists(name) for name in names)
    assert set(result.stdout.split()) <= {"sallyport-was-here", box.root.name}


@pytest.mark.parametrize("path", [
    "/etc/shadow", "/etc/gshadow", "/proc/keys", "/proc/kcore"])
def test_secrets_of_the_host_are_unreadable(box, path):
    result = box.sh(f"cat {path}")
    assert result.returncode != 0
    assert result.stdout == ""


def test_the_root_has_no_sockets_or_homes_of_others(box):
    result = box.sh("ls -A /run; ls -d /home /boot; ls -A /root 2>/dev/null")
    assert result.stdout.split() == ["sallyport"]


def test_secrets_in_the_home_are_hidden(box):
    box.write(".ssh/id_ed25519", "SECRET", box.home)
    box.write(".netrc", "SECRET", box.home)
    box.write(".config/gh/hosts.yml", "SECRET", box.home)
    box.write(".visible", "fine", box.home)
    result = box.sh("cat ~/.visible ~/.ssh/id_ed25519 ~/.netrc "
                    "~/.config/gh/hosts.yml; grep -rs SECRET ~")
    assert "SECRET" not in result.stdout
    # A privileged caller's home is not shown at all.
    assert result.stdout == ("fine" if box.user == "ordinary" else "")


def test_hidden_files_stay_hidden_whatever_is_tried(box):
    box.write(".env", "SECRET")
    box.write("a/b/.env", "SECRET")
    box.write("a/visible", "fine")
    before = box.view()
    result = box.sh("cat .env a/b/.env; chmod 644 .env; rm -f .env; "
                    "mv .env x; ln .env y; cp .env z; echo x > .env; "
                    "mv a c; cat c/b/.env c/visible; mv c a",
                    options=["--hide", "**/.env"])
    assert result.stdout == "fine"
    assert box.view() == before


def test_without_the_hide_the_same_file_is_readable(box):
    box.write(".env", "SECRET")
    assert box.sh("cat .env").stdout == "SECRET"


def test_a_pattern_over_a_tree_that_is_too_large_fails_closed(box):
    """Deeper than is looked; how many entries are: test_walk.c."""
    deep = box.write("d/" * 60 + "f-i-n-d", "SECRET")
    script = f"cat {deep} 2>/dev/null; echo started"
    result = box.sh(script, options=["--hide", "**/f-i-n-d"])
    assert result.stdout == "started\n", result.stderr
    box.write("d/" * 70 + "f-i-n-d")
    result = box.sh(script, options=["--hide", "**/f-i-n-d"])
    assert result.returncode == 125
    assert result.stdout == ""
    assert "pattern" in result.stderr and "too large" in result.stderr


PROTECTED = {".git/hooks/pre-commit": "echo", ".git/config": "[core]\n",
             ".vscode/tasks.json": "{}", ".mcp.json": "{}", ".envrc": "true",
             "sub/repo/.git/config": "[core]\n"}


def test_existing_protected_files_are_not_changed(box):
    for name, text in PROTECTED.items():
        box.write(name, text)
    before = box.view()
    script = "".join(f"echo x > {name}; rm -rf {name}; mv {name} gone; "
                     for name in PROTECTED)
    script += ("rm -rf .git .vscode; mv .git g; mv .vscode v; "
               "mv .git/hooks h; touch .git/hooks/new; mv sub/repo/.git q; "
               "mv sub other")
    result = box.sh(script)
    assert box.view() == before
    assert "(protected)" in result.stderr


def test_protected_names_do_not_appear(box):
    box.write("evil", "x")
    box.write(".git/config", "[core]\n")
    before = box.view()
    result = box.python("""
import os, socket
def attempt(call, *args):
    try:
        call(*args)
        print("done", call.__name__, args)
    except PermissionError:
        pass
def bind(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
cwd = os.getcwd()
names = [".bashrc", ".envrc", ".vscode", ".git/hooks", ".mcp.json", ".ssh"]
for name in names:
    for path in [name, f"{cwd}/{name}", f"/proc/self/cwd/{name}",
                 f"/proc/thread-self/root{cwd}/{name}", f"./../workspace/{name}",
                 f"/proc/{os.getpid()}/cwd/{name}"]:
        attempt(os.open, path, os.O_CREAT | os.O_WRONLY)
        attempt(os.mkdir, path)
        attempt(os.symlink, "evil", path)
        attempt(os.link, "evil", path)
        attempt(os.rename, "evil", path)
        attempt(os.mknod, path)
        attempt(bind, path)
    fd = os.open(cwd, os.O_PATH)
    attempt(lambda: os.mkdir(name, dir_fd=fd))
    attempt(lambda: os.mkdir(f"{os.path.dirname(name) or '.'}/./"
                             f"{os.path.basename(name)}/", dir_fd=fd))
os.mkdir("d"); os.mkdir("d/git")
os.mkdir(".config")
attempt(os.rename, "d/git", ".config/git")
attempt(os.symlink, "/tmp", ".config/git")
os.rmdir(".config")
attempt(os.rename, "d", ".config")
attempt(os.symlink, "d", ".config")
os.rmdir("d/git"); os.rmdir("d")
""")
    assert result.stdout == "", result.stdout
    assert result.returncode == 0, result.stderr
    assert box.view() == before
    assert f"{box.workspace}/.bashrc denied by filesystem (protected)" \
        in result.stderr


def test_names_of_the_policy_are_protected_as_well(box):
    box.write("ci/deploy.yml", "x")
    options = ["--protect", "ci", "--protect", "**/Jenkinsfile"]
    result = box.sh("echo y > ci/deploy.yml; touch ci/new; mkdir s; "
                    "touch s/Jenkinsfile; ls -A s", options=options)
    assert result.stdout == ""
    assert (box.workspace / "ci/deploy.yml").read_text() == "x"
    assert box.sh("touch s/Jenkinsfile && ls -A s").stdout == "Jenkinsfile\n"


def test_a_repository_made_inside_works(box):
    subprocess.run([*GIT, "init", "-q", box.workspace], check=True)
    result = box.sh("""
set -e
git config --file /dev/null --list
git -c user.name=n -c user.email=e@x commit -q --allow-empty -m one
git clone -q . clone
git -C clone config user.name inside
git init -q fresh
git -C fresh config user.name inside
git -C clone rev-parse HEAD
""")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.strip()) == 40


def test_no_repository_is_made_where_the_policy_protects_it(box):
    box.sh("mkdir -p t/hooks n/t/hooks; git init -q fresh; mv t .git; "
           "mv n/t n/.git; mkdir .git; git init -q",
           options=["--protect", "**/.git"])
    assert {str(path.relative_to(box.workspace))
            for path in box.workspace.rglob("*")} >= {"t/hooks", "n/t/hooks"}
    assert not list(box.workspace.rglob(".git"))


def test_pipes_of_the_host_that_may_only_be_read_are_not_written(box):
    """A read-only mount does not keep from that, nor Landlock below /tmp."""
    paths = [box.root / "given/pipe", box.workspace / "pipe"]
    (box.root / "given").mkdir()
    ends = []
    for path in paths:
        os.mkfifo(path)
        path.chmod(0o666)
        ends.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
    result = box.python(f"""
import os, subprocess
for path in {[str(path) for path in paths]!r}:
    at = os.open(path, os.O_PATH)
    for name in path, f"/proc/self/fd/{{at}}":
        for how in os.O_WRONLY, os.O_RDWR:
            try:
                os.write(os.open(name, how | os.O_NONBLOCK), b"x")
                print("written")
            except OSError as error:
                print(error.strerror)
own = subprocess.run("echo out > /dev/stdout", shell=True, capture_output=True)
print(own.stdout.decode(), end="")
""", options=["--read", str(box.root / "given")])
    for end in ends:
        os.close(end)
    assert result.stdout.splitlines() == (
        ["Permission denied"] * 4 + ["written"] * 4 + ["out"]), result.stderr
    assert f"write to {paths[0]} denied by filesystem (read-only)" \
        in result.stderr


# Ways to write to a file that may be opened to be read.
REOPEN = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
AT_EMPTY_PATH = 0x1000
def write(path):
    at = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(at, b"written")
    os.close(at)
def write_by_link(path, **how):
    os.link(path, "other", **how)
    write("other")
    os.unlink("other")
def write_by_empty(at):
    if libc.linkat(at, b"", os.open(".", os.O_PATH), b"other", AT_EMPTY_PATH):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    write("other")
    os.unlink("other")
print("go", flush=True)
sys.stdin.readline()
for name in sys.argv[1:]:
    at = os.open(name, os.O_RDONLY)
    os.symlink(f"/proc/self/fd/{at}", "link")
    pid, said = os.getpid(), []
    for how in [lambda: write(name), lambda: write(f"/proc/self/fd/{at}"),
                lambda: write(f"/dev/fd/{at}"),
                lambda: write(f"/proc/thread-self/fd/{at}"),
                lambda: write(f"/proc/{pid}/fd/{at}"),
                lambda: write("link"), lambda: write_by_link(name),
                lambda: write_by_empty(at),
                lambda: os.truncate(f"/proc/self/fd/{at}", 3),
                lambda: write(f"/proc/self/fd//{at}"),
                lambda: write(f"/proc/self/task/{pid}/fd/{at}")]:
        try:
            how()
            said.append("written")
        except OSError as error:
            said.append(error.strerror)
    os.unlink("link")
    print(name, *said, sep=",")
"""


def test_what_the_host_replaces_stays_protected(box):
    """A mount over it is gone then, and its name alone is known."""
    names = [".git/config", ".envrc", ".bashrc", "fine"]
    box.write(".git/config", "")
    box.write(".bashrc", "")
    child = box.start(PYTHON, "-c", REOPEN, *names, stdin=subprocess.PIPE,
                      options=["--protect", ".envrc"])
    with child:
        assert child.stdout.readline() == "go\n", child.stderr.read()
        for name in names:
            new = box.write("new", "new " + name)
            os.chown(new, box.uid, box.uid)
            new.rename(box.workspace / name)
        out, err = child.communicate("\n", timeout=60)
    rows = {name: said for name, *said in
            (line.split(",") for line in out.splitlines())}
    for name in names[:-1]:
        assert rows[name] == ["Permission denied"] * 11, (name, err)
        assert (box.workspace / name).read_text() == "new " + name
        assert (f"write to {box.workspace / name} denied by filesystem "
                "(protected)\n") in err
    # Kernels before 6.10 link no descriptor.
    assert rows["fine"][7] in ("written", "No such file or directory"), err
    assert rows["fine"][:7] == ["written"] * 7, err


def test_only_named_directories_are_readable_with_a_read_list(box):
    given = box.write("given/file", "fine", box.root)
    secret = box.write("secret/file", "SECRET", box.root)
    script = f"cat {given} {secret}; ls /srv; ls /usr/bin/env"
    result = box.sh(script, options=["--read", str(given.parent)])
    assert result.stdout == "fine/usr/bin/env\n"


def test_named_directories_are_writable(box):
    cache = box.root / "cache"
    cache.mkdir()
    result = box.sh(f"echo x > {cache}/new", options=["--write", str(cache)])
    assert result.returncode == 0, result.stderr
    assert (cache / "new").read_text() == "x\n"
    assert box.sh(f"echo x > {cache}/other").returncode != 0


def test_sockets_of_the_host_do_not_answer(box):
    path = str(box.home / "agent.sock")
    script = f"""
import socket
with socket.socket(socket.AF_UNIX) as client:
    client.connect({path!r})
    print(client.recv(10))
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen()
        result = box.python(script)
        assert result.returncode != 0
        assert result.stdout == ""


@contextlib.contextmanager
def listening_from(directory, name):
    """A program of the host that listens by a name in its own directory."""
    script = f"""
import os, socket, sys
assert os.dup2(os.open(".", os.O_RDONLY), 100) == 100
server = socket.socket(socket.AF_UNIX)
server.bind({name!r})
os.chmod({name!r}, 0o777)
server.listen()
print("ready", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", script], cwd=directory,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"ready\n"
        yield
        server.stdin.close()


@pytest.mark.parametrize("name", ["app.sock", "./app.sock", "../app.sock",
                                  "/proc/self/fd/100/app.sock",
                                  "/dev/fd/100/app.sock"])
def test_sockets_of_the_host_that_are_bound_by_a_name_do_not_answer(box, name):
    """/proc/net/unix does not say where such a one is."""
    directory = box.workspace / "run/deep"
    directory.mkdir(parents=True)
    made = name.replace("/proc/self/fd/100", ".").replace("/dev/fd/100", ".")
    path = os.path.relpath(directory / made, box.workspace)
    reach = f"""
import socket
client = socket.socket(socket.AF_UNIX)
client.connect({path!r})
print("reached")
"""
    with listening_from(directory, name):
        denied = box.python(reach)
        moved = box.sh("mv run other")
        named = box.python(reach, options=["--write", box.workspace / path])
    assert denied.returncode != 0 and denied.stdout == "", denied.stdout
    assert moved.returncode != 0
    assert named.stdout == "reached\n", named.stderr


def test_sockets_made_inside_answer(box):
    result = box.python("""
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("s")
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("s")
server.accept()[0].send(b"inside")
print(client.recv(10))
""")
    assert result.stdout == "b'inside'\n", result.stderr


def test_a_file_in_the_place_of_a_directory_fails_closed(box):
    result = box.sh("echo started", options=["--read", "/run"])
    assert result.returncode == 125
    assert result.stdout == ""
    assert "/run" in result.stderr


def test_the_ca_is_trusted_by_the_system_bundle(box):
    ca = box.write("ca.pem", "-----BEGIN CERTIFICATE-----\nours\n", box.root)
    result = box.sh("tail -n1 /etc/ssl/certs/ca-certificates.crt; "
                    "cat /run/sallyport/ca.pem; "
                    "grep -c BEGIN /run/sallyport/bundle.pem",
                    options=["--ca", str(ca)])
    lines = result.stdout.splitlines()
    assert lines[0] == "ours"
    assert lines[1:3] == ca.read_text().splitlines()
    assert int(lines[3]) > 50
    with open("/etc/ssl/certs/ca-certificates.crt") as bundle:
        assert "ours\n" not in bundle.readlines()


def test_the_directory_of_cas_that_git_is_told_of_is_empty(box):
    """git would read each of the host's for each of its requests."""
    ca = box.write("ca.pem", "-----BEGIN CERTIFICATE-----\nours\n", box.root)
    result = box.sh("ls -A /run/sallyport/ca.d | wc -l; "
                    "touch /run/sallyport/ca.d/x 2>&1",
                    options=["--ca", str(ca)])
    lines = result.stdout.splitlines()
    assert lines[0] == "0", result.stderr
    assert "Read-only file system" in lines[1]
