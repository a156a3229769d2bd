"""Where the host lets the gateway make a cgroup, its packchecks are in it."""
import os
import pathlib
import re
import subprocess

import gitwire
from gateway import wait_until
from gitwire import ZERO

OWN = "refs/heads/agent/1"
ALONE = "rlimits alone"
MEMORY_MAX = 4 << 30
SPACE = os.stat("/proc/self/ns/pid").st_ino


def group_of(gateway):
    return re.search(r"packchecks are held by ([^\n\"]*)",
                     gateway.log())[1]


def test_a_packcheck_runs_in_the_group(own_gateway, make_session, policies,
                                       repo):
    session = make_session(policies.make(
        repo=repo, push={"branches": ["agent/*"],
                         "limits": {"objects": 1000}}), repo, on=own_gateway)
    work = session.clone()
    tip = work.commit(content=os.urandom(6 << 20))
    body = gitwire.commands([(ZERO, tip, OWN)]) + gitwire.pack(
        work, [tip], ["origin/main"])
    slow = gitwire.SlowPush(session)
    slow.send(body[:-1000])
    pid = wait_until(lambda: own_gateway.pid("packcheck", session.id))
    group = group_of(own_gateway)
    if group == ALONE:
        assert "sallyport-packchecks" not in pathlib.Path(
            f"/proc/{pid}/cgroup").read_text()
    else:
        name = pathlib.Path(group).name
        assert name == (f"sallyport-packchecks-{SPACE}-"
                        f"{own_gateway.process.pid}")
        assert wait_until(lambda: name in pathlib.Path(
            f"/proc/{pid}/cgroup").read_text())
        limits = [pathlib.Path(group, file) for file in
                  ("memory.max", "memory.limit_in_bytes", "pids.max")]
        values = [int(file.read_text()) for file in limits if file.exists()]
        assert values and set(values) <= {MEMORY_MAX, 10}
    # It works all the same, and is gone with the gateway.
    slow.send(body[-1000:])
    status, answer = slow.finish()
    slow.close()
    assert gitwire.Report(answer).landed == [OWN]
    wait_until(lambda: not own_gateway.pid("packcheck", session.id))
    own_gateway.stop()
    assert not os.path.exists(group)


def test_groups_of_the_dead_are_removed_and_no_others(own_gateway):
    group = group_of(own_gateway)
    if group == ALONE:
        return  # nothing is made there, nothing to remove
    done = subprocess.Popen(["true"])
    done.wait()
    place = pathlib.Path(group).parent
    # A pid says nothing of what lives in another pid namespace.
    dead, foreign = (place / f"sallyport-packchecks-{space}-{done.pid}"
                     for space in (SPACE, SPACE + 1))
    dead.mkdir()
    foreign.mkdir()
    try:
        own_gateway.stop()
        own_gateway.start()
        assert not dead.exists()
        assert foreign.exists()
    finally:
        foreign.rmdir()
