"""What a sandbox may use, what says that it was too much, and what the host
must have."""
import os
import pathlib
import struct
import subprocess

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)

MIB = 1 << 20
TREES = pathlib.Path("/sys/fs/cgroup")
V2 = (TREES / "cgroup.controllers").exists()
FILES = {"memory": ("memory.max", "memory.limit_in_bytes"),
         "pids": ("pids.max", "pids.max"),
         "cpu": ("cpu.max", "cpu.cfs_quota_us"),
         "freezer": ("cgroup.freeze", "freezer.state")}


def place(controller):
    """Where a group of that controller would be made, or None."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if V2 and not names:
            own = TREES / path.lstrip("/")
            return TREES if os.geteuid() == 0 else own.parent
        if not V2 and controller in names.split(","):
            return TREES / controller / path.lstrip("/")
    return None


def has(box, controller):
    """Does this host let whoever runs the box make a group? Nobody but us
    may where we are."""
    at = place(controller)
    if box.uid != os.geteuid() or not at:
        return False
    group = at / f"probe-{os.getpid()}"
    try:
        if V2 and controller != "freezer":
            (at / "cgroup.subtree_control").write_text(f"+{controller}")
        group.mkdir()
    except OSError:
        return False
    try:
        return (group / FILES[controller][not V2]).exists()
    finally:
        group.rmdir()


def fill(path):
    return f"""
import os
fd = os.open("{path}", os.O_CREAT | os.O_WRONLY, 0o600)
done = 0
try:
    while done < 64 << 20:
        done += os.write(fd, bytes(1 << 20))
except OSError as error:
    print(error.strerror, done >> 20)
else:
    print("no end")
"""


def test_private_file_systems_hold_no_more_than_the_limit(box):
    options = ["--disk", str(4 * MIB)]
    for path in ("/tmp/x", "/dev/shm/x", str(box.home / "x")):
        script = "import signal\nsignal.signal(signal.SIGXFSZ, " \
            "signal.SIG_IGN)\n" + fill(path)
        home = [] if "home" not in path else ["--no-read"]
        assert box.python(script, options=options + home).stdout in (
            "No space left on device 4\n", "File too large 4\n"), path
    assert box.python(fill("/tmp/x")).stdout == "no end\n"


def test_several_files_share_what_a_private_file_system_holds(box):
    script = "".join(fill(f"/tmp/{name}").replace("64 << 20", "2 << 20")
                     for name in "abc")
    assert box.python(script, options=["--disk", str(4 * MIB)]).stdout \
        == "no end\nno end\nNo space left on device 0\n"


def test_a_file_larger_than_the_limit_is_said(box):
    script = "exec head -c 4194304 /dev/zero > big"
    result = box.sh(script, options=["--disk", str(2 * MIB)])
    assert result.returncode == 128 + 25
    assert (box.workspace / "big").stat().st_size == 2 * MIB
    assert "denied by resource_limit (limits.disk: 2097152 bytes)" \
        in result.stderr
    assert box.sh(script).stderr == ""
    assert (box.workspace / "big").stat().st_size == 4 * MIB


WITHOUT_END = """
mkdir -p "$0"; n=0
while :; do n=$((n+1)); head -c 1048576 /dev/zero > "$0/f$n" || exit 1; done
"""
ENDED = "it was ended by resource_limit (limits.disk)"


@pytest.mark.parametrize("where", ["workspace", "changes"])
def test_many_files_together_end_what_writes_them(box, where):
    """Each of them is small: no rlimit minds."""
    changes = box.root / "changes"
    options = ["--disk", str(8 * MIB)]
    if where == "changes":
        options += ["--changes", str(changes)]
    result = box.run("/bin/sh", "-c", WITHOUT_END, "many", options=options)
    assert result.returncode == 128 + 9, result.stderr
    assert ENDED in result.stderr and "write less" in result.stderr
    assert (box.workspace / "many").exists() == (where == "workspace")


@pytest.mark.parametrize("where", ["workspace", "changes"])
def test_what_stays_below_the_limit_or_was_there_before_ends_nothing(box,
                                                                     where):
    box.write("before").write_bytes(bytes(20 * MIB))
    options = ["--disk", str(16 * MIB)]
    if where == "changes":
        options += ["--changes", str(box.root / "changes")]
    # Longer than a look and the pause after it.
    result = box.sh("head -c 8388608 /dev/zero > more; sleep 1; echo done",
                    options=options)
    assert (result.stdout, result.stderr) == ("done\n", "")


def test_a_directory_that_its_user_closed_is_looked_into(box):
    script = "mkdir closed; cd closed; chmod 300 ." + WITHOUT_END
    result = box.run("/bin/sh", "-c", script, "many",
                     options=["--disk", str(8 * MIB)])
    (box.workspace / "closed").chmod(0o700)
    assert result.returncode == 128 + 9 and ENDED in result.stderr


def test_open_files_are_bounded(box):
    script = """
import os
kept = []
try:
    for _ in range(200):
        kept.append(os.dup(0))
except OSError as error:
    print(error.strerror, kept[-1])
else:
    print("no end")
"""
    assert box.python(script, options=["--files", "64"]).stdout \
        == "Too many open files 63\n"
    assert box.python(script).stdout == "no end\n"


def test_what_was_used_up_is_said(box):
    result = box.python("x = b'a' * 400_000_000; print('had it')",
                        options=["--memory", "100000000"])
    assert "had it" not in result.stdout
    assert ("ended by resource_limit (limits.memory)" in result.stderr) \
        == has(box, "memory")
    result = box.sh("for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait",
                    options=["--processes", "4"])
    assert ("a new process denied by resource_limit (limits.processes: 4"
            in result.stderr) == has(box, "pids")


def test_cores_are_bounded_or_it_is_said_that_they_are_not(box):
    script = """
import os, time
start, used = time.monotonic(), time.process_time()
while time.monotonic() - start < 1.5:
    pass
print((time.process_time() - used) / (time.monotonic() - start))
"""
    result = box.python(script, options=["--cpu", "200"])
    said = "limits.cpu does not hold" in result.stderr
    assert said != has(box, "cpu")
    if not said:
        assert float(result.stdout) < 0.4


def without_landlock():
    """Runs in the child: its kernel has no Landlock from here on."""
    import ctypes
    code = b"".join(struct.pack("HBBI", *row) for row in (
        (0x20, 0, 0, 0), (0x15, 0, 1, 444),
        (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)))
    kept = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", 4, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.syscall(317, 1, 0, program):
        os._exit(99)


def test_a_host_without_landlock_is_refused_only_where_it_is_required(box):
    weaker = box.sh("echo ran", preexec_fn=without_landlock)
    assert weaker.stdout == "ran\n"
    assert "this kernel has no Landlock" in weaker.stderr
    refused = box.sh("echo ran", options=["--require", "landlock-2"],
                     preexec_fn=without_landlock)
    assert (refused.returncode, refused.stdout) == (125, "")
    assert "requires landlock-2: this kernel has no Landlock" \
        in refused.stderr
    assert box.sh("echo ran", options=["--require", "landlock-2"]).stdout \
        == "ran\n"
    assert "requires landlock-99: this kernel has ABI " in box.sh(
        "echo ran", options=["--require", "landlock-99"]).stderr


@pytest.mark.parametrize("name,option,controller", [
    ("limits.memory", "--memory", "memory"),
    ("limits.processes", "--processes", "pids"),
    ("limits.cpu", "--cpu", "cpu"), ("freezer", None, "freezer")])
def test_a_limit_that_no_cgroup_holds_is_refused_where_it_is_required(
        box, name, option, controller):
    limit = [option, "1000000000" if option == "--memory" else "100"] \
        if option else []
    result = box.sh("echo ran", options=[*limit, "--require", name])
    if has(box, controller):
        assert result.stdout == "ran\n", result.stderr
    else:
        assert (result.returncode, result.stdout) == (125, "")
        assert f"the policy requires {name}: this host gives us no cgroup" \
            in result.stderr


def test_disk_is_bounded_only_where_nothing_else_can_be_written(box):
    options = ["--disk", str(MIB), "--require", "limits.disk"]
    assert "nothing bounds what is written to the workspace" \
        in box.sh("echo ran", options=options).stderr
    assert box.sh("echo ran", options=[*options, "--workspace-read"]).stdout \
        == "ran\n"


def test_no_group_is_left(box):
    child = box.start("/bin/true", options=["--cpu", "100", "--memory",
                                            "100000000"])
    child.communicate(timeout=60)
    assert not [path for path, _, _ in os.walk(TREES)
                if f"/sallyport-{child.pid}-" in path]
