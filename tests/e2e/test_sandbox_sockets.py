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
