"""Every door of the kernel that kernel_probes knows, tried from inside, and
once more without a sandbox."""
import json
import os
import pathlib
import socket
import subprocess

import pytest

import kernel_probes
from kernel_probes import DOORS
from sandbox_tool import PYTHON, SOURCE, box  # noqa: F401 (a fixture)

OPEN_MAX = 5
EXPECTED = {name: answer.split() for name, (_, answer) in DOORS.items()}
OPEN = {name for name, answers in EXPECTED.items() if answers == ["reached"]}


@pytest.fixture
def host_things(box):
    """What is on the host to be reached, if anything lets a program out."""
    name = f"sallyport-probe-{os.getpid()}"
    key = os.getpid()
    shm = kernel_probes.call(29, key, 4096, 0o1666)
    path = box.root / "host.sock"
    with socket.socket(socket.AF_UNIX) as named, \
            socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(path))
        path.chmod(0o666)
        abstract.bind("\0" + name)
        named.listen()
        abstract.listen()
        yield json.dumps({"shm": key, "abstract": name, "path": str(path)})
    kernel_probes.call(31, shm, 0, 0)


def probes():
    return pathlib.Path(kernel_probes.__file__).read_text()


def others(found):
    """What answered otherwise than a sandbox must."""
    assert found.keys() == EXPECTED.keys()
    return {name: answer for name, answer in found.items()
            if answer not in EXPECTED[name]}


def test_at_most_five_doors_are_open_and_the_others_say_so(box, host_things):
    result = box.python(probes(), options=[
        "--env", f"SALLYPORT_PROBE={host_things}"])
    assert result.returncode == 0, result.stderr
    assert others(json.loads(result.stdout)) == {}
    assert len(DOORS) >= 50 and len(OPEN) <= OPEN_MAX


def test_without_a_sandbox_the_same_doors_answer_otherwise(box, host_things):
    box.give()
    result = subprocess.run(
        [*box.prefix(), PYTHON, "-c", probes()], text=True,
        capture_output=True, cwd=box.workspace, timeout=60,
        env=os.environ | {"SALLYPORT_PROBE": host_things})
    assert result.returncode == 0, result.stderr
    other = set(others(json.loads(result.stdout)))
    # A kernel has not all of them, and an ordinary user not all rights.
    assert len(other) >= (80 if box.user == "root" else 40), sorted(other)
    assert {"the host's abstract sockets", "the host's sockets by path",
            "the host's shared memory (System V)", "vmsplice", "MSG_OOB", "TIOCLINUX", "AF_UNIX datagram pairs",
            "32-bit system calls (int 0x80)", "x32 system calls",
            "process_vm_readv", "kcmp", "modify_ldt", "prctl PR_SET_MM",
            "personality", "openat2"} <= other


def test_every_open_door_is_explained():
    text = (SOURCE / "docs/THREAT_MODEL.md").read_text()
    table = text.split("## What of the kernel stays open")[1].split("\n## ")[0]
    rows = {line.split("|")[1].strip() for line in table.splitlines()
            if line.startswith("| ")}
    assert rows - {"open", "---"} == OPEN
