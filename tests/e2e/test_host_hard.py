"""The sandboxes' service when things go badly: fifty sandboxes and a daemon
that is killed, disks that are full, processes without end, ids that are
none."""
import os
import signal
import subprocess

import pytest
from host import Host
from waiting import wait_until

MANY = 50


@pytest.fixture
def own_host(gateway, tmp_path):
    host = Host(gateway, tmp_path).start()
    yield host
    host.stop()
    host.check()


def test_fifty_outlive_a_killed_daemon_and_nothing_is_left(own_host):
    host = own_host
    boxes = host.ok("create", "--workspace", "-", "--count", MANY).split()
    assert len(set(boxes)) == MANY
    before = host.supervisors()
    assert set(before) == set(boxes)
    host.kill()
    assert host.run("list").returncode == 4
    host.start()
    assert host.supervisors() == before
    wait_until(lambda: [box["state"] for box in host.list()] ==
               ["Running"] * MANY)
    for box in boxes[::10]:
        assert host.exec(box, "echo", box).stdout == f"{box}\n"
    # Daemon and supervisors at once: the next one sweeps.
    host.kill()
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    host.start()
    wait_until(lambda: all(box["state"] == "Failed" for box in host.list()))
    wait_until(lambda: not list(host.works.iterdir()))
    assert not host.supervisors()
    for pid in before.values():
        assert not host.groups(pid)


@pytest.fixture
def small_disk(gateway, tmp_path):
    """Its run directory and its workspaces on a disk of 4 MiB each."""
    places = [tmp_path / name for name in ("host", "works")]
    for place in places:
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700",
                        "none", place], check=True)
    host = Host(gateway, tmp_path).start()
    yield host, places
    host.stop()
    left = list(host.works.iterdir())
    for place in places:
        subprocess.run(["umount", "-l", place], check=True)
    assert not left
    host.check()


@pytest.mark.parametrize("number", [0, 1])
def test_a_full_disk_refuses_and_goes_on_later(small_disk, number):
    host, places = small_disk
    box = host.create("--workspace", "-")
    filler = places[number] / "filler"
    full = subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"],
                          capture_output=True, text=True, check=False)
    assert "No space" in full.stderr
    assert host.exec(box, "true").returncode == 0
    if number == 0:
        done = host.run("create", "--workspace", "-")
        # Either it is refused by name, or there was room for it in memory.
        assert done.returncode in (0, 1) and \
            ("No space" in done.stderr) == (done.returncode == 1), done.stderr
    else:
        done = host.exec(box, "sh", "-c", "echo x > x")
        assert done.returncode != 0 and "echo" in done.stderr
    assert host.state(box) == "Running"
    filler.unlink()
    other = host.create("--workspace", "-")
    assert host.exec(other, "sh", "-c", "echo x > x && cat x").stdout == "x\n"
    for one in (box, other):
        host.ok("kill", one)


FORKS = """
import os, signal
made = refused = 0
for _ in range(10000):
    try:
        pid = os.fork()
    except BlockingIOError:
        refused += 1
        if refused > 50:
            break
        continue
    if pid == 0:
        signal.pause()
    made += 1
print(made, refused > 0, flush=True)
"""


def test_processes_without_end_stop_at_the_limit_and_end(own_host, tmp_path):
    host = own_host
    policy = tmp_path / "limits.yaml"
    policy.write_text("version: 1\nlimits: {processes: 200}\n")
    box = host.create("--workspace", "-", "--policy", policy)
    pid = host.supervisors()[box]
    done = host.exec(box, "python3", "-c", FORKS)
    made, refused = done.stdout.split()
    assert int(made) < 200 and refused == "True", done.stderr
    # The service goes on.
    assert host.state(box) == "Running"
    host.ok("kill", box)
    wait_until(lambda: not host.groups(pid))


def test_ten_thousand_processes_end_with_their_sandbox(own_host):
    host = own_host
    box = host.create("--workspace", "-")
    done = host.exec(box, "sh", "-c", """
        i=0
        while [ $i -lt 10000 ]; do (exit 0); i=$((i + 1)); done
        echo done""")
    assert done.stdout == "done\n", done.stderr
    host.ok("kill", box)


@pytest.mark.parametrize("verb,more", [
    ("show", []), ("kill", []), ("pause", []), ("resume", []),
    ("exec", ["--", "true"]), ("logs", []), ("events", []),
    ("port", ["80"]), ("renew", ["--timeout", "5"]), ("snapshot", [])])
@pytest.mark.parametrize("name", ["sb-none", "..", "../sandboxes", "sb-",
                                  "a" * 32, "sb-\n"])
def test_an_id_that_is_none_is_no_sandbox(shared, verb, more, name):
    done = shared.run(verb, *(["--timeout", "5", name] if verb == "renew"
                              else [name, *more]))
    assert done.returncode == 6, (done.returncode, done.stderr)
    assert "there is no sandbox" in done.stderr


@pytest.fixture(scope="module")
def shared(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()
