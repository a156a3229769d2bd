"""What of the kernel a sandbox can reach."""
import os
import socket
import subprocess

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)

CALL = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(number, *[ctypes.c_long(a) for a in args])
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""
# x86-64's numbers; what each answers.
REFUSED = {
    "ptrace": ((101, 0, 0, 0, 0), "EPERM"),
    "unshare user": ((272, 0x10000000), "EPERM"),
    "unshare net": ((272, 0x40000000), "EPERM"),
    "setns": ((308, 0, 0), "EPERM"),
    "clone3": ((435, 0, 0), "ENOSYS"),
    "mount": ((165, 0, 0, 0, 0, 0), "EPERM"),
    "umount2": ((166, 0, 0), "EPERM"),
    "chroot": ((161, 0), "EPERM"),
    "pivot_root": ((155, 0, 0), "EPERM"),
    "fsopen": ((430, 0, 0), "EPERM"),
    "open_tree": ((428, -100, 0, 0), "EPERM"),
    "io_uring": ((425, 1, 0), "ENOSYS"),
    "bpf": ((321, 0, 0, 0), "EPERM"),
    "perf": ((298, 0, 0, 0, 0, 0), "EPERM"),
    "userfaultfd": ((323, 0), "EPERM"),
    "keyctl": ((250, 0, 0), "EPERM"),
    "add_key": ((248, 0, 0, 0, 0, 0), "EPERM"),
    "request_key": ((249, 0, 0, 0, 0), "EPERM"),
    "kcmp": ((312, 0, 0, 0, 0, 0), "EPERM"),
    "process_vm_readv": ((310, 0, 0, 0, 0, 0, 0), "EPERM"),
    "pidfd_getfd": ((438, 0, 0, 0), "EPERM"),
    "open_by_handle_at": ((304, 0, 0, 0), "EPERM"),
    "kexec_load": ((246, 0, 0, 0, 0), "EPERM"),
    "init_module": ((175, 0, 0, 0), "EPERM"),
    "reboot": ((169, 0, 0, 0, 0), "EPERM"),
    "swapon": ((167, 0, 0), "EPERM"),
    "personality": ((135, 0x40000), "EPERM"),
    "syslog": ((103, 3, 0, 0), "EPERM"),
    "statmount": ((457, 0, 0, 0, 0), "ENOSYS"),
    "a call of tomorrow": ((600,), "ENOSYS"),
    "AF_VSOCK": ((41, 40, 1, 0), "EAFNOSUPPORT"),
    "AF_ALG": ((41, 38, 5, 0), "EAFNOSUPPORT"),
    "AF_PACKET": ((41, 17, 3, 0), "EAFNOSUPPORT"),
    "AF_INET raw": ((41, 2, 3, 1), "EPERM"),
    "AF_UNIX datagram": ((41, 1, 2, 0), "EPERM"),
    "netfilter": ((41, 16, 3, 12), "EPERM"),
    "SCTP": ((41, 2, 1, 132), "EPROTONOSUPPORT"),
    "MPTCP": ((41, 2, 1, 262), "EPROTONOSUPPORT"),
}
ALLOWED = {
    "AF_INET": (41, 2, 1, 0), "AF_INET6": (41, 10, 2, 0),
    "AF_UNIX": (41, 1, 1, 0), "routing": (41, 16, 3, 0),
    "getpid": (39,), "memfd_create": (319, id(b"x"), 0)}


def test_calls_that_reach_around_are_refused(box):
    asked = {name: args for name, (args, _) in REFUSED.items()}
    result = box.python(CALL + f"print({{n: call(*a) for n, a in "
                               f"{asked!r}.items()}})")
    assert eval(result.stdout) == {n: e for n, (_, e) in REFUSED.items()}
    assert "sandbox: ptrace denied by syscall (not open to a sandbox)\n" \
        in result.stderr


def test_ordinary_calls_pass(box):
    names = [name for name in ALLOWED if name != "memfd_create"]
    asked = {name: ALLOWED[name] for name in names}
    result = box.python(CALL + f"print({{n: call(*a) for n, a in "
                               f"{asked!r}.items()}})")
    assert eval(result.stdout) == {name: "ok" for name in names}


def test_no_capability_is_left_and_none_can_be_had(box):
    result = box.sh("grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status")
    fields = dict(line.split(":\t") for line in result.stdout.splitlines())
    assert {fields[n] for n in ("CapInh", "CapPrm", "CapEff", "CapBnd",
                                "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_setuid_programs_have_no_effect(box):
    result = box.sh("find / -xdev -perm -4000 -type f 2>/dev/null | head -1; "
                    "mount | grep -vc nosuid; su -c id 2>&1; id -u")
    lines = result.stdout.splitlines()
    assert lines[-1] == str(box.uid)
    assert not any("uid=0" in line for line in lines[:-1])


def test_a_root_caller_gets_a_host_user_of_its_own(box):
    child = box.start("/bin/sleep", "60")
    try:
        found = {uid_of(pid) for pid in descendants(child.pid, 2)}
    finally:
        child.kill()
        child.communicate()
    if box.user == "root":
        assert all(2000000 <= uid < 2065536 for uid in found)
    else:
        assert found == {box.uid}


def uid_of(pid):
    status = open(f"/proc/{pid}/status").read()
    return int(status.split("Uid:\t")[1].split()[0])


def descendants(pid, count):
    """Wait until pid has count descendants inside, and list them: the reporter
    is none."""
    for _ in range(100):
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], text=True,
                                capture_output=True, check=True).stdout
        parents = {int(a): int(b) for a, b in
                   (line.split() for line in listed.splitlines())}
        found = {p for p in parents
                 if is_below(p, pid, parents) and is_inside(p)}
        if len(found) >= count:
            return found
        subprocess.run(["sleep", "0.05"], check=True)
    raise AssertionError(f"{pid} has {len(found)} descendants")


def is_inside(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != \
            os.readlink("/proc/self/ns/pid")
    except OSError:
        return False


def is_below(pid, ancestor, parents):
    while pid in parents and pid != ancestor:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def test_processes_of_the_host_are_not_seen(box):
    result = box.sh("ls /proc | grep -c '^[0-9]'; kill -9 1; echo $?; "
                    "cat /proc/1/cmdline /proc/1/environ; kill -0 %d; echo $?"
                    % os.getpid())
    lines = result.stdout.splitlines()
    assert int(lines[0]) <= 4
    assert lines[1] != "0" and lines[2] != "0"


def test_abstract_sockets_of_the_host_are_not_reached(box):
    name = f"sallyport-e2e-{os.getpid()}"
    script = f"""
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\\0{name}")
    print("reached")
except OSError:
    print("refused")
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        assert box.python(script).stdout == "refused\n"


def test_no_descriptor_leaks_in(box):
    leak = os.open("/etc/passwd", os.O_RDONLY)
    try:
        result = box.sh("ls /proc/$$/fd", pass_fds=[leak])
    finally:
        os.close(leak)
    assert set(result.stdout.split()) <= {"0", "1", "2", "10"}
    assert str(leak) not in result.stdout.split() or leak == 10


def test_other_architectures_are_killed(box):
    # int 0x80 with getpid's 32-bit number.
    code = "b8 14 00 00 00 cd 80 c3"
    result = box.python(f"""
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("{code}"))
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""")
    assert result.returncode == 128 + 31
    assert result.stdout == ""


def test_terminal_input_can_not_be_faked(box):
    result = box.python("""
import fcntl
for request in (0x5412, 0x541c, 0x5423, 0x100005412):
    try:
        fcntl.ioctl(0, request & 0xffffffff, b"x")
        print("done")
    except PermissionError:
        pass
""")
    assert result.stdout == "" and result.returncode == 0, result.stderr


def test_names_of_the_host_are_not_told(box):
    result = box.sh("hostname; ls /sys; cat /proc/sys/kernel/hostname")
    assert result.stdout.split() == ["sandbox", "sandbox"]
    assert box.sh("hostname", options=["--hostname", "agent"]).stdout \
        == "agent\n"
