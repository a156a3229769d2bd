"""kill -9 of every process, idle and in the middle of a push: it comes back,
it is recorded, and nothing is lost or let through."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import gitwire
import pytest
from gateway import CLI, PROGRAM, wait_until
from gitwire import ZERO, Report

OWN = "refs/heads/agent/1"
KEEPERS = ["ledger", "vault", "minter", "dialer", "courier", "control"]


def kill(gateway, role, session=None):
    pid = gateway.pid(role, session)
    os.kill(pid, signal.SIGKILL)
    return pid


def is_back(gateway, role, old, session=None):
    def look():
        try:
            return gateway.is_ready() and gateway.pid(role, session) not in (
                None, old)
        except (OSError, AssertionError, ValueError):
            return False
    wait_until(look, 30)


def recorded(gateway, role):
    rows = wait_until(lambda: [
        row for row in gateway.audit(kind="process")
        if role in row.get("host", "") + row.get("detail", "")
        and "signal 9" in row.get("detail", "")])
    return rows[-1]


def test_what_an_upgrade_puts_there_is_of_the_next_gateway(
        own_gateway, make_session, policies, repo):
    """Messages of another version mean nothing to the one that runs."""
    own_gateway.stop()
    programs = own_gateway.dir / "programs"
    shutil.copytree(PROGRAM.parent, programs)
    own_gateway.program = programs / PROGRAM.name
    own_gateway.start()
    for program in list(programs.iterdir()):
        new = programs / "new"
        shutil.copy("/bin/false", new)
        new.replace(program)
    old = kill(own_gateway, "vault")
    is_back(own_gateway, "vault", old)
    for number in range(2):  # the edge that waited, and one that began since
        session = make_session(policies.make(repo=repo), repo,
                               f"agent/{number}", own_gateway)
        work = session.clone()
        work.commit()
        assert work.push(f"HEAD:agent/{number}").returncode == 0
    own_gateway.stop()
    done = subprocess.run([own_gateway.program, "-c", own_gateway.config],
                          check=False, timeout=20)
    assert done.returncode == 1, "that is /bin/false"


@pytest.mark.parametrize("role", KEEPERS)
def test_a_killed_keeper_comes_back_and_serves(own_gateway, make_session,
                                               policies, repo, role):
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    work.commit()
    old = kill(own_gateway, role)
    is_back(own_gateway, role, old)
    if role == "control":
        # Who attached lost its connection: its session ended with it.
        session = make_session(policies.make(repo=repo), repo, on=own_gateway)
        work.session = session
    assert work.push("HEAD:agent/1").returncode == 0
    recorded(own_gateway, role)
    assert own_gateway.cli("audit", "verify").returncode == 0


def test_a_killed_edge_takes_only_its_own_connections(
        own_gateway, make_session, policies, origin):
    rule = policies.rule("good.example", paths=["/**"])
    one = make_session(policies.make([rule]), on=own_gateway)
    other = make_session(policies.make([rule]), on=own_gateway)
    host = f"good.example{origin.suffix}"
    streams = []
    for session in (one, other):
        stream = session.connect_tls("good.example", origin.port)
        stream.sendall(f"GET /drip HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        stream.recv(300)
        streams.append(stream)
    old = kill(own_gateway, "edge", one.id)
    streams[0].settimeout(10)
    try:
        while streams[0].recv(1000):
            pass
    except OSError:
        pass
    streams[1].settimeout(60)
    assert streams[1].recv(1)
    is_back(own_gateway, "edge", old, one.id)
    assert one.curl(origin.url("/echo")).status == 200
    assert other.edge() and own_gateway.get(
        f"/v1/sessions/{one.id}")["edge_restarts"] == 1
    recorded(own_gateway, "edge")
    for stream in streams:
        stream.close()


def test_connects_wait_while_an_edge_restarts(own_gateway, make_session,
                                              policies, origin):
    rule = policies.rule("good.example", paths=["/**"])
    session = make_session(policies.make([rule]), on=own_gateway)
    kill(own_gateway, "edge", session.id)
    assert session.curl(origin.url("/echo")).status == 200


def half_sent(session, work, old):
    """A push of which half is sent; the rest of its bytes."""
    tip = work.out("rev-parse", "HEAD")
    without = [old] if old != ZERO else ["origin/main"]
    body = (gitwire.commands([(old, tip, OWN)])
            + gitwire.pack(work, [tip], without))
    slow = gitwire.SlowPush(session)
    slow.send(body[:len(body) // 2])
    time.sleep(0.3)
    return slow, body[len(body) // 2:], tip


def outcome(slow, rest):
    """What the client learns: True landed, False refused, None nothing."""
    try:
        slow.send(rest)
        status, answer = slow.finish()
    except (OSError, ValueError):
        return None
    finally:
        slow.close()
    return status == 200 and Report(answer).landed == [OWN]


@pytest.mark.parametrize("role", [*KEEPERS, "edge"])
@pytest.mark.parametrize("update", [False, True], ids=["create", "update"])
def test_a_push_during_which_a_process_is_killed(own_gateway, make_session,
                                                 policies, repo, role,
                                                 update):
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    old = ZERO
    if update:
        old = work.commit("one")
        assert work.push("HEAD:agent/1").returncode == 0
    work.commit("two", content=os.urandom(500000))
    slow, rest, tip = half_sent(session, work, old)
    pid = kill(own_gateway, role, session.id if role == "edge" else None)
    is_back(own_gateway, role, pid, session.id if role == "edge" else None) \
        if role != "control" else wait_until(own_gateway.is_ready, 30)
    told = outcome(slow, rest)
    now = repo.tip("agent/1")
    # All of it or nothing of it; and never less than was told.
    assert now in (tip, None if old == ZERO else old)
    if told:
        assert now == tip
    if told is False:
        assert now != tip
    recorded(own_gateway, role)
    assert own_gateway.cli("audit", "verify").returncode == 0
    if role == "control":
        session = make_session(policies.make(repo=repo), repo, on=own_gateway)
        work.session = session
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip


def children_named(pid, name):
    """Children of a process by their program's name (15 characters)."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            for child in (task / "children").read_text().split():
                comm = pathlib.Path(f"/proc/{child}/comm").read_text()
                if comm.strip() == name[:15]:
                    found.append(int(child))
        except OSError:
            pass
    return found


def test_a_push_whose_packcheck_is_killed_is_refused(
        own_gateway, make_session, policies, repo):
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    first = work.commit("one")
    assert work.push("HEAD:agent/1").returncode == 0
    work.commit("two", content=os.urandom(40 << 20))
    slow, rest, tip = half_sent(session, work, first)
    pids = wait_until(lambda: children_named(own_gateway.process.pid,
                                             "sallyport-packcheck"))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert outcome(slow, rest) is False
    assert repo.tip("agent/1") == first
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip


def test_when_the_warden_is_killed_all_end_and_nothing_is_lost(
        own_gateway, make_session, policies, repo):
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    work.commit("one", content=os.urandom(500000))
    rows = own_gateway.audit(session.id)
    slow, rest, tip = half_sent(session, work, ZERO)
    pids = [p["pid"] for p in own_gateway.status()["processes"] if p["pid"]]
    own_gateway.process.kill()
    own_gateway.process.wait()
    wait_until(lambda: not any(_runs(pid) for pid in pids))
    assert outcome(slow, rest) is None
    assert repo.tip("agent/1") is None
    own_gateway.start()
    after = own_gateway.audit(session.id)
    assert after[:len(rows)] == rows
    assert own_gateway.cli("audit", "verify").returncode == 0
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work.session = session
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip


def _runs(pid):
    try:
        return "Z" not in pathlib.Path(
            f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return False


def test_edges_that_die_while_their_sessions_end_harm_nobody(
        own_gateway, make_session, policies, origin):
    """Their ends wait for the edges, which then exit and close their
    channels at one time, in either order."""
    policy = policies.make([policies.rule("plain.example", paths=["/**"])])
    other = make_session(policy, on=own_gateway)
    sessions = [make_session(policy, on=own_gateway) for _ in range(10)]
    edges = [session.edge() for session in sessions]
    wait_until(own_gateway.is_ready)
    for edge in edges:
        os.kill(edge, signal.SIGSTOP)
    for session in sessions:
        session.close()
    # All others close them within this time; the edges cannot answer.
    time.sleep(0.2)
    for edge in edges:
        with contextlib.suppress(ProcessLookupError):
            os.kill(edge, signal.SIGKILL)
    # All of them at one look: control answers fifty of these in a second.
    ids = {session.id for session in sessions}
    wait_until(lambda: not [
        process for process in own_gateway.status()["processes"]
        if process["role"] == "edge" and process["session"] in ids])
    assert other.curl(origin.plain_url("/echo")).status == 200


@pytest.mark.parametrize("keeper", ["courier", "vault", "minter"])
def test_a_session_ends_though_its_edge_and_a_keeper_hang(
        own_gateway, make_session, policies, origin, keeper):
    policy = policies.make([policies.rule("plain.example", paths=["/**"])])
    other = make_session(policy, on=own_gateway)
    session = make_session(policy, on=own_gateway)
    wait_until(own_gateway.is_ready)
    hung = [own_gateway.pid(keeper), session.edge()]
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    try:
        own_gateway.end(session.id)
    finally:
        for pid in hung:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    assert not own_gateway.pid("edge", session.id)
    wait_until(own_gateway.is_ready)
    assert other.curl(origin.plain_url("/echo")).status == 200


if os.geteuid() == 0:  # nobody else asks for the group
    def test_a_lookup_of_the_group_that_hangs_ends_with_the_gateway(tmp_path):
        group, log = tmp_path / "group", tmp_path / "log"
        os.mkfifo(group)
        config = tmp_path / "gateway.yaml"
        config.write_text(f"run: {tmp_path}/run\nstate: {tmp_path}/state\n")
        with open(log, "w") as out:
            gateway = subprocess.Popen(
                ["unshare", "-m", "sh", "-c",
                 'mount --bind "$0" /etc/group && exec "$@"', group, PROGRAM,
                 "-c", config], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, cwd="/", start_new_session=True)
        try:
            asked = wait_until(lambda: _asks_for_group(gateway.pid))
        finally:
            gateway.kill()
            gateway.wait()
        try:
            wait_until(lambda: not any(_runs(pid) for pid in asked), 30)
        finally:
            # What still hangs goes on.
            with contextlib.suppress(OSError):
                os.close(os.open(group, os.O_WRONLY | os.O_NONBLOCK))


def _children(pid):
    try:
        return [int(child) for child in pathlib.Path(
            f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _asks_for_group(gateway):
    """The control process of a gateway and the one that it asks with."""
    for pid in _children(gateway):
        try:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text()
        except OSError:
            continue  # it has ended, as mount does
        if name.startswith("sallyport-contr") and _children(pid):
            return [pid, *_children(pid)]
    return None


# In a mount namespace of its own. $1: what is mounted, $2...: the gateway.
ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=2m,mode=0700 none "$1"
[ -z "$FILL" ] || dd if=/dev/zero of="$1/filler" bs=4096 2>/dev/null || true
shift
exec "$@"
"""


@pytest.mark.parametrize("fill", ["yes", ""])
def test_a_gateway_whose_disk_is_full_says_so_and_ends(tmp_path, fill):
    state, run = tmp_path / "state", tmp_path / "run"
    state.mkdir()
    with subprocess.Popen(
            ["unshare", "-m", "bash", "-c", ON_A_SMALL_DISK, "-", state,
             PROGRAM, "--state", state, "--run", run],
            env={"PATH": os.environ["PATH"], "FILL": fill}, text=True,
            stderr=subprocess.PIPE) as gateway:
        if fill:
            log = gateway.communicate(timeout=60)[1]
            assert gateway.returncode == 1
            assert "No space left on device" in log \
                or "database or disk is full" in log
            assert f"the disk of {state} is full: it has 0 KiB left" in log
            assert "the gateway ends: its " in log
            assert not (run / "control.sock").exists()
            return
        # Its twin: there is room.
        try:
            wait_until(lambda: (run / "control.sock").exists())
            wait_until(lambda: all(
                p["ready"] for p in json.loads(subprocess.run(
                    [CLI, "status", "-o", "json"], text=True,
                    capture_output=True,
                    env={"SALLYPORT_RUN": str(run)}).stdout)["processes"]))
            assert gateway.poll() is None
        finally:
            gateway.terminate()
        assert "the gateway ends" not in gateway.communicate(timeout=60)[1]
        assert gateway.returncode == 0
