"""What the reporter finds out with few calls is what it finds out with many:
names alone in the working directory or a descriptor's, on a mount that it
knows, beside those on one that it does not."""
import subprocess

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)

WRITES = """
import os
here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)

def made(flags, name, **where):
    os.close(os.open(name, flags, 0o600, **where))

def moved(name, **where):
    open("plain-source", "w").close()
    os.rename("plain-source", name, **where)

W, C, X = os.O_WRONLY, os.O_CREAT, os.O_EXCL
WAYS = {
    "create": lambda n: made(W | C, n),
    "exclusive": lambda n: made(W | C | X, n),
    "create at": lambda n: made(W | C, n, dir_fd=here),
    "mkdir": lambda n: os.mkdir(n),
    "mkdir at": lambda n: os.mkdir(n, dir_fd=here),
    "mknod": lambda n: os.mknod(n),
    "link to": lambda n: os.symlink("nowhere", n),
    "move to": lambda n: moved(n),
    "move to at": lambda n: moved(n, dst_dir_fd=here),
    "another name": lambda n: os.link("kept", n),
}

def tell(name):
    for way, run in WAYS.items():
        try:
            run(name)
            said = "done"
            os.rmdir(name) if way.startswith("mkdir") else os.unlink(name)
        except OSError as error:
            said = error.strerror
        print(way, said, sep=": ")
"""
WARM = "open('kept', 'w').close()\n"  # from now on the mount is known


@pytest.mark.parametrize("first", ["", WARM], ids=["unknown", "known"])
def test_guarded_names_do_not_appear_by_any_call(box, first):
    box.write("kept", "x")
    script = WRITES + first
    refused = box.python(script + f"os.chdir({str(box.workspace)!r})\n"
                         "tell('.bashrc')").stdout.splitlines()
    assert len(refused) == 10, refused
    assert {line.split(": ")[1] for line in refused} == {"Permission denied"}
    assert not (box.workspace / ".bashrc").exists()
    # The same calls with a name that is not guarded.
    done = box.python(script + "tell('.bashrd')").stdout.splitlines()
    assert {line.split(": ")[1] for line in done} == {"done"}, done


def test_a_name_alone_in_a_read_only_directory_is_told_of(box):
    result = box.python(WRITES + WARM + "os.chdir('/etc')\n"
                        "here = os.open('.', os.O_RDONLY)\ntell('new')")
    words = [line.split(": ")[1] for line in result.stdout.splitlines()]
    assert words and "done" not in words
    assert "sandbox: write to /etc/new denied by filesystem (read-only)\n" \
        in result.stderr
    assert "sandbox: creation of /etc/new denied by filesystem (read-only)" \
        in result.stderr
    # And of what is there.
    result = box.python(WARM + "import os\nos.chdir('/etc')\n"
                        "open('passwd', 'a')")
    assert "sandbox: write to /etc/passwd denied by filesystem (read-only)" \
        in result.stderr
    assert "denied" not in box.python(WARM + "open('kept', 'a')").stderr


def meanwhile(box, change, script):
    """Run change on the host between WARM and script inside."""
    child = box.start("/usr/bin/python3", "-c", "import os, sys\nos.chdir('d')"
                      f"\n{WARM}print('ready', flush=True)\n"
                      f"sys.stdin.readline()\n{script}",
                      stdin=subprocess.PIPE)
    assert child.stdout.readline() == "ready\n", child.communicate()
    change()
    return child.communicate("go\n", timeout=60)


def test_a_directory_that_becomes_a_guarded_one_is_guarded(box):
    """Its owner calls it so while a program is in it."""
    box.write("d/x")
    script = "open('kept', 'a').close(); print('appended', flush=True); " \
        "open('new', 'w')"
    out, err = meanwhile(box, lambda: (box.workspace / "d").rename(
        box.workspace / ".vscode"), script)
    assert "appended" not in out and "Permission denied" in err
    name = box.workspace / ".vscode/kept"
    assert f"sandbox: write to {name} denied by filesystem (protected)" in err
    assert not (box.workspace / ".vscode/new").exists()
    # With a name that is not.
    name.parent.rename(box.workspace / "d")
    out, err = meanwhile(box, lambda: (box.workspace / "d").rename(
        box.workspace / "e"), script)
    assert out == "appended\n" and not err
    assert (box.workspace / "e/new").exists()


def test_directories_that_were_removed_and_deep_ones_are_as_outside(box):
    script = """
import os
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
try:
    open("x", "w")
except FileNotFoundError:
    print("missing")
"""
    assert box.python(WARM + script).stdout == "missing\n"
    deep = """
import os
for i in range(60):
    os.mkdir("d" * 60); os.chdir("d" * 60)
    open("x", "w").close(); os.rename("x", "y"); os.unlink("y")
print(len(os.getcwd()) > 3600)
"""
    assert box.python(WARM + deep).stdout == "True\n"


STRESS = """
import os, subprocess, threading
open("warm", "w").close()
for name in ("a", "b", "a/in", "b/in"):
    os.mkdir(name)
failed = []

def turn(i):
    try:
        for k in range(150):
            name = f"t{i}-{k}"
            where = os.open("ab"[k % 2] if i % 2 else ".", os.O_RDONLY)
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=where))
            os.rename(name, name + "r", src_dir_fd=where, dst_dir_fd=where)
            os.unlink(name + "r", dir_fd=where)
            os.close(where)
            if k % 30 == 0:  # vfork, exec, and numbers used again
                subprocess.run(["/bin/sh", "-c",
                                f"echo x > {here}/{name}; rm {here}/{name}"],
                               check=True)
    except Exception as error:
        failed.append(repr(error))

here = os.getcwd()
root = os.open(".", os.O_RDONLY)
threads = [threading.Thread(target=turn, args=(i,)) for i in (1, 3, 5, 7)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(failed, sorted(os.listdir(".")))
for name in (".bashrc", ".claude"):
    try:
        os.mkdir(name)
        print("made")
    except PermissionError:
        print("refused")
"""


def test_threads_and_processes_at_once_each_get_their_own_answer(box):
    result = box.python(STRESS)
    assert result.stdout == "[] ['a', 'b', 'warm']\nrefused\nrefused\n", \
        result.stderr


PAGE_END = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
page = mmap.PAGESIZE

def at_end(text):
    start = libc.mmap(None, ctypes.c_size_t(2 * page), 3, 0x22, -1, 0)
    libc.munmap(start + page, page)
    ctypes.memmove(start + page - len(text), text, len(text))
    return ctypes.c_void_p(start + page - len(text))

def move(one, other):
    return os.strerror(ctypes.get_errno()) if libc.rename(one, other) else "ok"

open("from", "w").close()
print(move(at_end(b"from\\0"), at_end(b"to\\0")))
print(move(at_end(b"to\\0"), ctypes.c_char_p(b"from")))
print(move(ctypes.c_char_p(b"from"), at_end(b".bashrc\\0")))
print(move(at_end(b"from\\0"), at_end(b"open")))
print(move(at_end(b"from"), at_end(b"to\\0")))
print(move(at_end(b"from\\0"), ctypes.c_void_p(0)), os.listdir("."))
"""


def test_paths_at_the_end_of_memory_are_read(box):
    assert box.python(PAGE_END).stdout.splitlines() == [
        "ok", "ok", "Permission denied", "Bad address", "Bad address",
        "Bad address ['from']"]


def test_a_program_finds_its_own_entry_in_proc(box):
    """Whose it is depends on who looks, with a '/' behind it or not."""
    result = box.sh("for d in self self/ self/fd thread-self thread-self/fd; "
                    "do ls /proc/$d >/dev/null && echo $d; done; "
                    "ls /proc/selfish", options=["--hide", "./key"])
    assert result.stdout.split() == [
        "self", "self/", "self/fd", "thread-self", "thread-self/fd"], \
        result.stderr
    assert "selfish" in result.stderr
    refused = box.sh("cd /proc/self/cwd && echo x > key; echo x > "
                     "/proc/self/cwd/key", options=["--hide", "./key"])
    assert refused.stderr.count("Permission denied") == 2
    assert not (box.workspace / "key").exists()
