"""Unix sockets of the host that come once a sandbox runs, and its own."""
import contextlib
import os
import socket
import subprocess
import textwrap

import pytest

from sandbox_tool import PYTHON, box  # noqa: F401 (a fixture)

# Inside: wait for the host, then try.
PRELUDE = """
import ctypes, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
CONNECT = {"x86_64": 42, "aarch64": 203}[os.uname().machine]
def connect(path, more=0):
    with socket.socket(socket.AF_UNIX) as client:
        name = struct.pack("H", socket.AF_UNIX) + os.fsencode(path) + bytes(1)
        size = ctypes.c_long(more | len(name))
        rc = libc.syscall(CONNECT, client.fileno(), name, size)
        return os.strerror(ctypes.get_errno()) if rc else "reached"
print("go", flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def listening(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        os.chmod(path, 0o777)
        owner = os.stat(os.path.dirname(path))
        os.chown(path, owner.st_uid, owner.st_gid)
        server.listen(20)
        yield server


def try_inside(box, script, path, options=()):
    """What script says when the host listens at path meanwhile."""
    child = box.start(PYTHON, "-c", PRELUDE + textwrap.dedent(script),
                      options=options, stdin=subprocess.PIPE)
    with child:
        assert child.stdout.readline() == "go\n", child.stderr.read()
        with listening(path):
            out, err = child.communicate("\n", timeout=60)
    return out.splitlines(), err


# Each a way to the same socket, at path.
WAYS = {
    "name": "print(connect(path))",
    "length": "print(connect(path, 1 << 32))",
    "link": """
        os.symlink(path, "link")
        print(connect("link"))""",
    "relative": """
        print(connect(os.path.relpath(path)))""",
    "directory": """
        at = os.open(os.path.dirname(path), os.O_PATH)
        print(connect(f"/proc/self/fd/{at}/{os.path.basename(path)}"))""",
    "descriptor": """
        at = os.open(path, os.O_PATH)
        print(connect(f"/proc/self/fd/{at}"))""",
    "descriptor-by-dev": """
        at = os.open(path, os.O_PATH)
        print(connect(f"/dev/fd/{at}"))""",
    "descriptor-by-slashes": """
        at = os.open(path, os.O_PATH)
        print(connect(f"/proc/self/fd//{at}"))""",
    "descriptor-by-number": """
        at = os.open(path, os.O_PATH)
        print(connect(f"/proc/{os.getpid()}/fd/{at}"))""",
    "descriptor-of-task": """
        at = os.open(path, os.O_PATH)
        print(connect(f"/proc/self/task/{os.getpid()}/fd/{at}"))""",
    "thread": """
        at = os.open(path, os.O_PATH)
        def run():
            print(connect(f"/proc/thread-self/fd/{at}"))
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()""",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_socket_that_comes_where_it_may_be_read_does_not_answer(box, way):
    directory = box.root / "given"
    directory.mkdir()
    path = directory / "s"
    said, err = try_inside(box, f"path = {str(path)!r}\n"
                           + textwrap.dedent(way), path,
                           ["--read", str(directory)])
    assert said in (["Permission denied"], ["No such file or directory"]), err


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_socket_that_comes_where_it_may_be_written_does_not_answer(box, way):
    path = box.workspace / "s"
    said, err = try_inside(box, f"path = {str(path)!r}\n"
                           + textwrap.dedent(way), path)
    assert said == ["Permission denied"], err
    is_said = (f"sandbox: connect to {path} denied by filesystem "
               "(a socket of the host)\n") in err
    assert is_said or "task" in way or "fd//" in way, err


def test_a_socket_that_comes_does_not_answer_by_another_name(box):
    """Moved, linked, and gone but for a descriptor."""
    path = box.workspace / "s"
    said, err = try_inside(box, """
        os.mkdir("deep")
        os.rename("s", "deep/moved")
        print(connect("deep/moved"))
        os.link("deep/moved", "linked")
        print(connect("linked"))
        at = os.open("linked", os.O_PATH)
        os.unlink("linked")
        print(connect(f"/proc/self/fd/{at}"))
        print(connect(f"/proc/{os.getpid()}/fd/{at}"))
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("linked (deleted)")
            server.listen()
            print(connect(f"/proc/{os.getpid()}/fd/{at}"))
            print(connect("linked (deleted)"))
        """, path)
    assert said == ["Permission denied"] * 3 + ["No such file or directory",
                                                "Permission denied",
                                                "reached"], err


def test_a_socket_that_was_renamed_before_does_not_answer(box):
    path = box.workspace / "s"
    with listening(path):
        path.rename(box.workspace / "renamed")
        result = box.python("""
import socket
socket.socket(socket.AF_UNIX).connect("renamed")
""")
    assert "PermissionError" in result.stderr


def test_a_socket_of_another_network_namespace_does_not_answer(box):
    """A container's: nobody tells it from one whose server has ended."""
    path = box.workspace / "s"
    server = subprocess.Popen(
        ["unshare", "-rn", PYTHON, "-c", f"""
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind({str(path)!r})
os.chmod({str(path)!r}, 0o777)
server.listen()
print("ready", flush=True)
sys.stdin.read()
"""],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with server:
        assert server.stdout.readline() == b"ready\n"
        result = box.python("""
import socket
socket.socket(socket.AF_UNIX).connect("s")
""")
        # Nor did we before: that would show it in our namespace.
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        server.stdin.close()
    assert "ConnectionRefusedError" in result.stderr


def test_a_socket_that_is_named_answers_also_where_it_comes_again(box):
    path = box.workspace / "s"
    script = f"""
        path = {str(path)!r}
        print(connect(path), connect("s"))
        at = os.open("s", os.O_PATH)
        print(connect(f"/proc/self/fd/{{at}}"))
        """
    with listening(path):
        child = box.start(PYTHON, "-c", PRELUDE + textwrap.dedent(script),
                          options=["--write", str(path)],
                          stdin=subprocess.PIPE)
        assert child.stdout.readline() == "go\n", child.stderr.read()
        path.unlink()
    with listening(path):
        out, err = child.communicate("\n", timeout=60)
    assert out == "reached reached\nreached\n", err


OWN = """
import contextlib, ctypes, os, socket, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
def connect(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as client:
        try:
            client.connect(path)
            return "reached"
        except OSError as error:
            return error.strerror
@contextlib.contextmanager
def listening(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(path)
        server.listen(20)
        yield server
"""


@pytest.mark.parametrize("is_overlay", [False, True])
def test_a_sandboxs_own_sockets_answer(box, is_overlay):
    options = []
    if is_overlay:
        changes = box.root / "state/changes/c-1"
        changes.parent.mkdir(parents=True, mode=0o700)
        options = ["--changes", str(changes)]
    deep = "d" * 100
    result = box.python(OWN + f"""
top = os.getcwd()
with listening("s"):
    os.mkdir({deep!r})
    os.symlink("s", "link")
    os.symlink("/proc/self/cwd/s", "through")
    os.link("s", "other")
    print(connect("s"), connect("./s"), connect("link"), connect("through"))
    print(connect("other"), connect(os.path.abspath("s")))
    at = os.open("s", os.O_PATH)
    print(connect(f"/proc/self/fd/{{at}}"),
          connect(f"/proc/{{os.getpid()}}/fd/{{at}}"))
    os.rename("s", "moved")
    print(connect("moved"), connect(f"/dev/fd/{{at}}"), connect("link"))
    os.chdir({deep!r})
    print(connect("../moved"))
    with listening("s"):
        at = os.open(".", os.O_PATH)
        print(connect("s"), connect(f"/proc/self/fd/{{at}}/s"))
    os.chdir(top)
with listening("sequence", socket.SOCK_SEQPACKET):
    print(connect("sequence", socket.SOCK_SEQPACKET))
with listening("/tmp/s"):
    print(connect("/tmp/s"), flush=True)
    pid = os.fork()
    if pid == 0:
        print(connect("/tmp/s"), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
with contextlib.ExitStack() as stack:
    for i in range(900):
        stack.enter_context(listening(f"many-{{i}}"))
    print({{connect(f"many-{{i}}") for i in range(0, 900, 50)}})
print(connect("/tmp/s"), connect("many-1"), connect("none"))
""", options=options)
    words = result.stdout.replace("reached", "").split("\n")
    assert [word.strip() for word in words] == [
        "", "", "", "No such file or directory", "", "", "", "", "", "{''}",
        "Connection refused Connection refused No such file or directory",
        ""], result.stdout + result.stderr
    assert "denied" not in result.stderr
