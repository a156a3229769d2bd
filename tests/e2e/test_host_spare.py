"""The one supervisor that waits, started and linked, for the next sandbox:
whose it becomes, what it holds until then, and that none is left."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from host import OVER, Host, children_of, has_ended
from waiting import wait_until


@pytest.fixture
def kept(own_gateway, tmp_path):
    host = Host(own_gateway, tmp_path, volumes=[str(tmp_path)]).start()
    yield host
    host.stop()
    host.check()


def spare(host):
    """Its pid."""
    def look():
        found = host.spares()
        return len(found) == 1 and found[0]
    return wait_until(look)


def first(pid):
    """Process 1 of the sandbox that is to come, which waits as well."""
    def look():
        found = children_of(pid)
        return len(found) == 1 and found[0]
    return wait_until(look)


def network(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


def make(host, *words):
    return host.create("--workspace", "-", *words)


def test_a_sandbox_gets_the_one_that_waits_and_another_follows(kept):
    waiting = spare(kept)
    box = make(kept)
    assert kept.supervisors() == {box: waiting}
    assert kept.exec(box, "echo", "good").stdout == "good\n"
    assert spare(kept) != waiting
    # Its end is its sandbox's, and no other's.
    kept.ok("kill", box)
    wait_until(has_ended(waiting))
    assert kept.exec(make(kept), "echo", "good").stdout == "good\n"


def test_no_supervisor_serves_two(kept):
    """Also when they come faster than spare ones."""
    boxes = kept.ok("create", "--workspace", "-", "--count", "6").split()
    found = kept.supervisors()
    assert sorted(found) == sorted(boxes)
    assert len(set(found.values())) == len(boxes)
    assert spare(kept) not in found.values()


def links(pid):
    found = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(fd))
    return found


def sockets(pid):
    return len([link for link in links(pid) if link.startswith("socket:")])


def test_it_holds_nothing_of_a_sandbox(kept):
    """Its channel and that to process 1, its loop, the log, and how the
    host's mounts are; no directory, request or socket of those that are
    there. Process 1 has its channel, its own listeners, and the log."""
    box = make(kept, "--", "sleep", "1000")
    waiting = spare(kept)
    # That is the last that it makes before it waits.
    inside = first(waiting)
    wait_until(lambda: network(inside) != network(waiting) and
               len(links(inside)) == 3 + 5)
    assert sockets(waiting) == 2 and sockets(inside) == 5
    assert {link for link in links(waiting) if link.startswith("/")} == {
        "/dev/null", str(kept.dir / "log"), f"/proc/{waiting}/mountinfo"}
    assert {link for link in links(inside) if link.startswith("/")} == {
        "/dev/null", str(kept.dir / "log")}
    for pid in waiting, inside:
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        assert box.encode() not in line
    # One that has a sandbox has all of that, and says whose it is.
    pid = kept.supervisors()[box]
    assert sockets(pid) > 1
    assert str(kept.dir / "host/sandboxes" / box) in links(pid)
    assert box.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def test_process_1_waits_in_its_network_for_the_sandbox(kept):
    waiting = spare(kept)
    inside = first(waiting)
    wait_until(lambda: network(inside) != network(waiting))
    # Whose files it will have is not known yet.
    assert not pathlib.Path(f"/proc/{inside}/uid_map").read_text()
    made = network(inside)
    box = make(kept, "--", "sleep", "1000")
    assert kept.supervisors() == {box: waiting}
    assert inside in children_of(waiting)
    assert kept.exec(box, "readlink", "/proc/self/ns/net").stdout == \
        made + "\n"
    assert len(pathlib.Path(f"/proc/{inside}/uid_map").read_text()
               .splitlines()) == 1
    assert box.encode() in pathlib.Path(
        f"/proc/{inside}/cmdline").read_bytes()


def test_a_sandbox_is_made_though_process_1_was_killed(kept):
    waiting = spare(kept)
    dead = first(waiting)
    os.kill(dead, signal.SIGKILL)
    wait_until(has_ended(dead))
    box = make(kept, "--", "sleep", "1000")
    assert kept.supervisors() == {box: waiting}
    assert dead not in children_of(waiting)
    assert kept.exec(box, "echo", "good").stdout == "good\n"


@contextlib.contextmanager
def mounted(place):
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def test_process_1_is_of_the_hosts_mounts_as_they_are(kept):
    """It would keep what was unmounted, and not have what was mounted."""
    waiting = spare(kept)
    before = first(waiting)
    place = kept.dir / "mounted"
    with mounted(place):
        wait_until(has_ended(before))
        (place / "here").write_text("good\n")
        # At once, and once they are at rest.
        for _ in range(2):
            box = make(kept, "--volume", f"{place}:/mnt:ro", "--",
                       "sleep", "1000")
            assert kept.exec(box, "cat", "/mnt/here").stdout == \
                "good\n"
            kept.ok("kill", box)
            first(spare(kept))
        between = first(spare(kept))
    wait_until(has_ended(between))
    assert first(spare(kept)) != between


def test_of_a_change_that_comes_with_the_sandbox_it_hears(kept):
    """Both wait for it when it looks: process 1 is not of the old mounts."""
    waiting = spare(kept)
    before = first(waiting)
    os.kill(waiting, signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        made = pool.submit(make, kept)
        time.sleep(0.3)
        with mounted(kept.dir / "mounted"):
            os.kill(waiting, signal.SIGCONT)
            box = made.result()
            assert kept.supervisors() == {box: waiting}
            assert before not in children_of(waiting)
            assert kept.exec(box, "echo", "good").stdout == "good\n"


def test_one_that_is_killed_comes_back(kept):
    old = spare(kept)
    gone = has_ended(first(old))
    os.kill(old, signal.SIGKILL)
    wait_until(gone)
    wait_until(lambda: f"process {old}, has ended" in kept.log())
    assert spare(kept) != old
    assert kept.exec(make(kept), "echo", "good").stdout == "good\n"


def test_a_sandbox_is_made_though_it_has_just_died(kept):
    """The daemon hears of both at one time."""
    for _ in range(5):
        dead = spare(kept)
        kept.process.send_signal(signal.SIGSTOP)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(make, kept)
            time.sleep(0.1)
            os.kill(dead, signal.SIGKILL)
            wait_until(has_ended(dead))
            kept.process.send_signal(signal.SIGCONT)
            box = made.result()
        assert kept.supervisors()[box] != dead
        kept.ok("kill", box)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_daemon_and_sandboxes_do_not(kept, number):
    box = make(kept, "--", "sleep", "1000")
    waiting = spare(kept)
    gone = [has_ended(pid) for pid in (waiting, first(waiting))]
    kept.process.send_signal(number)
    kept.process.wait(30)
    wait_until(lambda: all(has() for has in gone))
    assert not kept.spares() and list(kept.supervisors()) == [box]
    kept.start()
    assert kept.exec(box, "echo", "good").stdout == "good\n"
    assert spare(kept) not in kept.supervisors().values()


def restart(host):
    host.process.terminate()
    host.process.wait(30)
    host.start()


def reload(host):
    host.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "was read again, and holds" in host.log())


@pytest.mark.parametrize("anew", [restart, reload])
def test_it_knows_the_configuration_that_holds(kept, anew):
    """Not that of when the one before was started."""
    policy = kept.dir / "policy.yaml"
    policy.write_text("version: 1\nenvironment: {set: {FROM: policy}}\n")
    show = ("sh", "-c", "echo from ${FROM:-nowhere}")
    assert kept.exec(make(kept), *show).stdout == "from nowhere\n"
    before = spare(kept)
    # Process 1 ends a moment after its supervisor, and looks like one.
    gone = [has_ended(pid) for pid in (before, first(before))]
    kept.config.write_text(json.dumps(
        {**json.loads(kept.config.read_text()),
         "default_policy": str(policy)}))
    anew(kept)
    wait_until(lambda: all(has() for has in gone))
    waiting = spare(kept)
    box = make(kept)
    assert kept.supervisors()[box] == waiting
    assert kept.exec(box, *show).stdout == "from policy\n"


def test_one_that_can_not_be_built_ends_alone(kept):
    """And tells why, as one that was started for it does."""
    waiting = spare(kept)
    done = kept.run("create", "--workspace", "-", "--volume", "/etc:/mnt")
    assert done.returncode != 0 and "volume" in done.stderr, done
    assert all(box["state"] in OVER for box in kept.list())
    wait_until(has_ended(waiting))
    assert spare(kept) != waiting
    assert kept.exec(make(kept), "echo", "good").stdout == "good\n"
