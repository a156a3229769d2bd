"""The one supervisor that waits, started and linked, for the next sandbox:
whose it becomes, what it holds until then, and that none is left."""
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import pytest
from host import OVER, Host, children_of, has_ended, ordinary
from waiting import wait_until


@pytest.fixture(autouse=True)
def root_lock():
    """What waits is made of the names in the host's root: who changes these
    is alone here, also beside the tests of another build."""
    lock = os.open("/", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    yield lock
    os.close(lock)


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


def two_wait(host):
    """Their pids."""
    def look():
        found = host.spares()
        return len(found) == 2 and found
    return wait_until(look)


def first(pid):
    """Process 1 of the sandbox that is to come, which waits as well."""
    def look():
        found = children_of(pid)
        return len(found) == 1 and found[0]
    return wait_until(look)


def network(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


def root_of(pid):
    """What its root has."""
    with contextlib.suppress(FileNotFoundError):
        return os.listdir(f"/proc/{pid}/root")
    return []


def begun(pid):
    """Has it all that it begins with? The host's root is there until the
    rest of its own is."""
    return "old" in root_of(pid) and \
        os.path.ismount(f"/proc/{pid}/root/dev/shm")


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
    assert not set(two_wait(kept)) & set(found.values())


def test_two_wait_where_two_were_wanted_at_once(kept):
    """Each of the next two has one, whoever comes first; when no second one
    was wanted for a while, one waits again."""
    spare(kept)
    ids = kept.ok("create", "--workspace", "-", "--count", "2").split()
    for _ in range(2):
        waiting = two_wait(kept)
        inside = {first(pid) for pid in waiting}
        boxes = kept.ok("create", "--workspace", "-", "--count", "2").split()
        found = kept.supervisors()
        assert {found[box] for box in boxes} == set(waiting)
        assert {kept.show(box)["pid"] for box in boxes} == inside
        ids += boxes
    # While the second one waits: it does so for ten seconds.
    gone = [(has_ended(pid), has_ended(first(pid))) for pid in two_wait(kept)]
    for box in ids:
        assert kept.exec(box, "echo", "good").stdout == "good\n"
    left = spare(kept)
    # One of both, and all that it had, is gone.
    wait_until(lambda: sum(all(has() for has in one) for one in gone) == 1)
    assert spare(kept) == left


def test_one_waits_where_they_come_one_after_the_other(kept):
    """The twin: each had the one that waited."""
    for _ in range(3):
        waiting = spare(kept)
        box = make(kept)
        assert kept.supervisors()[box] == waiting
        first(spare(kept))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM,
                                    signal.SIGHUP])
def test_the_second_ends_as_the_first_does(kept, number):
    kept.ok("create", "--workspace", "-", "--count", "2")
    gone = [has_ended(pid) for one in two_wait(kept)
            for pid in (one, first(one))]
    kept.process.send_signal(number)
    wait_until(lambda: all(has() for has in gone))
    if number != signal.SIGHUP:
        kept.process.wait(30)
        kept.start()
    make(kept)


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
    there. Process 1 has its channel, its own listeners, the log, its score
    when memory is out, and the lock of a user that is nobody's yet."""
    box = make(kept, "--", "sleep", "1000")
    waiting = spare(kept)
    # That is the last that it makes before it waits.
    inside = first(waiting)
    wait_until(lambda: network(inside) != network(waiting) and
               begun(inside) and len(links(inside)) == 3 + 5 + 2)
    assert sockets(waiting) == 2 and sockets(inside) == 5
    assert {link for link in links(waiting) if link.startswith("/")} == {
        "/dev/null", str(kept.dir / "log"), "/run/sallyport/uids.lock",
        f"/proc/{waiting}/mountinfo"}
    assert {link for link in links(inside) if link.startswith("/")} == {
        "/dev/null", str(kept.dir / "log"), "/run/sallyport/uids.lock",
        f"/old/proc/{inside}/oom_score_adj"}
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


def policy_of(host, name, text):
    path = host.dir / f"{name}.yaml"
    path.write_text(f"version: 1\n{text}")
    return path


HIT, MISS, PLAIN = "gone on with", "thrown away", "nothing was begun"


def build(host, *words, workspace=None):
    """A sandbox, and what became of process 1 that waited."""
    waiting = spare(host)
    inside = first(waiting)
    was_begun = b"--base" in pathlib.Path(
        f"/proc/{waiting}/cmdline").read_bytes()
    wait_until(lambda: network(inside) != network(waiting) and
               (begun(inside) or not was_begun))
    box = host.create("--workspace", workspace or host.workspace, *words)
    is_its = host.show(box)["pid"] == inside
    # It ends once the sandbox runs, and is waited for.
    if not is_its:
        wait_until(lambda: not pathlib.Path(f"/proc/{inside}").exists())
    if not was_begun:
        assert is_its
        return box, PLAIN
    return box, HIT if is_its else MISS


@pytest.fixture(params=["root", "ordinary"])
def anybodys(request, pki):
    if request.param == "root":
        yield request.getfixturevalue("kept")
        return
    with ordinary(pki[1]) as host:
        yield host


# What a policy says of files, and what is seen of it.
ALIKE = {
    "write": ("", "echo new > file && cat file", "new\n"),
    "read": ("filesystem: {workspace: {mode: read}}\n",
             "echo new > file || cat file", "old\n"),
    "overlay": ("filesystem: {workspace: {mode: overlay}}\n",
                "echo new > file && cat file", "new\n"),
    "hidden": ("filesystem: {hide: [./file]}\n",
               "cat file || echo hidden", "hidden\n"),
    "protected": ("filesystem: {protect: [./file]}\n",
                  "echo new > file || cat file", "old\n"),
}


@pytest.mark.parametrize("kind", ALIKE)
def test_what_was_begun_is_gone_on_with(anybodys, kind):
    """Whatever the policy says of the workspace: that comes later."""
    text, command, wanted = ALIKE[kind]
    file = anybodys.workspace / "file"
    file.write_text("old\n")
    if anybodys.gateway.as_user:
        user = anybodys.gateway.as_user["user"]
        os.chown(file, user, user)
    policy = policy_of(anybodys, "policy", text)
    for _ in range(2):
        file.write_text("old\n")
        box, became = build(anybodys, "--policy", policy)
        assert became == HIT
        assert anybodys.exec(box, "sh", "-c", command).stdout == wanted
        assert file.read_text() == (wanted if kind == "write" else "old\n")
        # Nothing of how it was begun is left, and nothing of the host's.
        assert anybodys.exec(box, "sh", "-c", "ls -d /old; ls -A /tmp; "
                             "touch /x /usr/x /dev/x").returncode != 0
        assert anybodys.exec(box, "sh", "-c", "ls -d /old || id -u").stdout \
            == f"{file.stat().st_uid}\n"
        anybodys.ok("kill", box)


DIFFER = {
    "what it reads": "filesystem: {read: [/etc]}\n",
    "a tmpfs of another size": "limits: {disk: 64MiB}\n",
}


@pytest.mark.parametrize("kind", DIFFER)
def test_what_was_begun_otherwise_is_thrown_away(anybodys, kind):
    """It is made as if nothing had waited. After two that are alike the next
    one begins like them."""
    policy = policy_of(anybodys, "other", DIFFER[kind])
    look = ("sh", "-c", "ls /srv >/dev/null 2>&1; echo $?; "
            "df -k --output=size /tmp | tail -1")
    seen = []
    other = ["--policy", policy]
    for words, wanted in ([], HIT), (other, MISS), (other, PLAIN), \
            (other, HIT), ([], MISS), ([], PLAIN), ([], HIT):
        box, became = build(anybodys, *words)
        assert became == wanted, (words, len(seen))
        seen.append(anybodys.exec(box, *look).stdout)
        anybodys.ok("kill", box)
    assert len({seen[i] for i in (0, 4, 5, 6)}) == 1
    assert len({seen[i] for i in (1, 2, 3)}) == 1 and seen[0] != seen[1]


def test_of_another_owner_s_workspace_another_one_is_begun(kept):
    """Ids are mapped once."""
    other = kept.dir / "other"
    other.mkdir()
    os.chown(other, 1234, 1235)
    for workspace, wanted in (None, HIT), (other, MISS), (None, PLAIN), \
            (other, PLAIN), (other, PLAIN), (other, HIT):
        box, became = build(kept, workspace=workspace)
        assert became == wanted
        assert kept.exec(box, "sh", "-c", "id -u; id -g; touch mine; "
                         "stat -c '%u:%g' mine").stdout == (
            "1234\n1235\n1234:1235\n" if workspace else "0\n0\n0:0\n")
        kept.ok("kill", box)
    held = (other / "mine").stat()
    assert (held.st_uid, held.st_gid) == (1234, 1235)


LOCKS = "/run/sallyport/uids.lock"  # sandbox-host/identity.h
# Ids that other processes' tests do not use, also those of another build.
USERS = 3100000 + os.getpid() % 4096 * 512


@contextlib.contextmanager
def taken(users):
    """Their ids are in use, as sandboxes hold them."""
    file = os.open(LOCKS, os.O_RDWR)
    try:
        for user in users:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(
                "hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, user, 1, 0))
        yield
    finally:
        os.close(file)


def user_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/uid_map").read_text().split()[1])


def test_the_last_user_is_had_from_what_was_thrown_away(own_gateway, tmp_path):
    """It holds one until it ends, which is later: but not too late."""
    users = range(USERS, USERS + 256)
    host = Host(own_gateway, tmp_path,
                uid_range=f"{users[0]}-{users[-1]}").start()
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, 1234, 1235)
    inside = first(spare(host))
    wait_until(lambda: begun(inside))
    mine = user_of(inside)
    with taken(set(users) - {mine}):
        box, became = build(host, workspace=other)
        assert became == MISS
        assert user_of(host.show(box)["pid"]) == mine
        assert host.exec(box, "echo", "good").stdout == "good\n"
        # None at all is left: the twin.
        assert host.run("create", "--workspace", other).returncode != 0
    host.stop()
    host.check()


@pytest.mark.parametrize("who", ["daemon", "supervisor"])
def test_what_is_thrown_away_ends_though_all_others_do(kept, who):
    """The daemon, or the supervisor, dies while a sandbox of another kind than
    was begun for is built."""
    other = kept.dir / "other"
    other.mkdir()
    os.chown(other, 1234, 1235)
    waiting = spare(kept)
    inside = first(waiting)
    wait_until(lambda: begun(inside))
    has = [has_ended(pid) for pid in (waiting, inside)]
    control = kept.gateway.pid("control")
    os.kill(control, signal.SIGSTOP)
    try:
        asked = kept.popen("create", "--workspace", other)
        wait_until(kept.supervisors)
        if who == "daemon":
            kept.kill()
    finally:
        os.kill(control, signal.SIGCONT)
    if who == "supervisor":
        os.kill(waiting, signal.SIGKILL)
    asked.communicate(timeout=60)
    wait_until(lambda: all(ended() for ended in has))
    wait_until(lambda: not kept.groups(waiting))
    if who == "daemon":
        kept.start()
    assert kept.exec(make(kept), "echo", "good").stdout == "good\n"


def test_one_that_nobody_has_on_record_ends(kept):
    """The daemon died between the two: nothing of it is left."""
    waiting = spare(kept)
    has = [has_ended(pid) for pid in (waiting, first(waiting))]
    os.kill(waiting, signal.SIGSTOP)
    try:
        asked = kept.popen("create", "--workspace", "-")
        boxes = kept.dir / "host/sandboxes"
        record, = wait_until(lambda: list(boxes.glob("*/record")))
        kept.kill()
        record.unlink()
    finally:
        os.kill(waiting, signal.SIGCONT)
    assert asked.wait(60) != 0
    asked.communicate()
    wait_until(lambda: all(ended() for ended in has))
    kept.start()
    box, = kept.list()
    assert box["state"] in OVER, box
    wait_until(lambda: not kept.groups(waiting))
    assert kept.exec(make(kept), "echo", "good").stdout == "good\n"


def test_each_is_a_user_of_its_own(kept):
    """Also the one that waits, and the sandbox after one that was thrown
    away."""
    users = []
    for _ in range(3):
        box, became = build(kept)
        assert became == HIT
        users.append(pathlib.Path(
            f"/proc/{kept.supervisors()[box]}").exists() and
            kept.show(box)["pid"])
    waiting = first(spare(kept))
    wait_until(lambda: begun(waiting))
    maps = [pathlib.Path(f"/proc/{pid}/uid_map").read_text().split()[1]
            for pid in [*users, waiting]]
    assert len(set(maps)) == len(maps)


def test_of_few_users_none_waits(own_gateway, tmp_path):
    """The last of them is for a sandbox."""
    host = Host(own_gateway, tmp_path,
                uid_range=f"{USERS}-{USERS + 1}").start()
    boxes = []
    for _ in range(2):
        inside = first(spare(host))
        wait_until(lambda: network(inside) != network(spare(host)))
        assert not pathlib.Path(f"/proc/{inside}/uid_map").read_text()
        boxes.append(make(host))
        assert inside in children_of(host.supervisors()[boxes[-1]])
    assert host.run("create", "--workspace", "-").returncode != 0
    for box in boxes:
        assert host.exec(box, "echo", "good").stdout == "good\n"
    host.stop()
    host.check()


def test_a_name_of_the_host_s_that_leads_elsewhere_is_seen(kept, root_lock):
    """No mount has changed; what stands there is another directory."""
    fcntl.flock(root_lock, fcntl.LOCK_EX)
    place, moved = (pathlib.Path(f"/sallyport-test-{os.getpid()}{end}")
                    for end in ("", "-moved"))
    place.mkdir()
    try:
        (place / "old").touch()
        before = spare(kept)
        gone = [has_ended(pid) for pid in (before, first(before))]
        kept.process.send_signal(signal.SIGHUP)
        wait_until(lambda: all(has() for has in gone))
        box, _ = build(kept)
        assert kept.exec(box, "ls", place).stdout == "old\n"
        inside = first(spare(kept))
        wait_until(lambda: begun(inside))
        place.rename(moved)
        place.mkdir()
        (place / "new").touch()
        box, became = build(kept)
        assert became == MISS
        assert kept.exec(box, "ls", place).stdout == "new\n"
    finally:
        for path in place, moved:
            shutil.rmtree(path, ignore_errors=True)


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
