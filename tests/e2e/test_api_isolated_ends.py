"""Isolated sessions outlive the process that serves the API, and the daemon,
and end with their sandbox."""
import json
import os
import pathlib
import signal

import pytest
from api import Api
from api_ends import ENDS, come_back, kill_api
from gateway import ApiError
from isolated import Isolated, state
from waiting import wait_until


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("isolated")).start()
    yield host
    host.stop()
    host.check()


def changes_of(host, session):
    return pathlib.Path(host.env()["SALLYPORT_STATE"]) / "changes" / session


def test_nothing_is_left_when_its_supervisor_or_its_sandbox_is_killed(host):
    iso = Isolated(host, host.make())
    one, two = iso.open(), iso.open()
    for session in (one, two):
        assert iso.run(session, "echo new > base")[0] == 0
        assert changes_of(host, session).exists()
    os.kill(host.supervisors()[one], signal.SIGKILL)
    wait_until(lambda: not changes_of(host, one).exists())
    # Its twin is there, also after the API's end, until its sandbox is not.
    kill_api(host)
    come_back(host)
    assert state(host, two) == "Running" and changes_of(host, two).exists()
    os.kill(host.supervisors()[iso.box], signal.SIGKILL)
    wait_until(lambda: not changes_of(host, two).exists())
    # Its supervisor says so once nothing is left.
    wait_until(lambda: state(host, two) == "Terminated")


@pytest.mark.parametrize("end", ENDS)
def test_it_goes_on_with_what_it_keeps_when(host, end):
    iso = Isolated(host, host.make())
    session = iso.open(idle_timeout_seconds=900, env_passthrough={
        "mode": "deny", "keys": ["NONE"]})
    assert iso.run(session, "A='x y'; f() { echo \"f $A\"; }; mkdir d; "
                            "cd d; echo new > ../base; echo 1 > one")[0] == 0
    was, pid = iso.ask("GET", session), host.supervisors()[session]
    assert was["last_run_at"] > was["created_at"]
    ENDS[end](host)
    come_back(host)
    now = iso.ask("GET", session)
    assert 0 < now["idle_remaining_seconds"] <= was["idle_remaining_seconds"]
    for told in (was, now):
        del told["idle_remaining_seconds"]
    assert now == was and host.supervisors()[session] == pid
    assert [one["status"] for one in iso.execd.json(
        "GET", "/v1/isolated/sessions")["sessions"]] == ["active"]
    assert iso.run(session, "f; pwd; cat ../base one")[1] == [
        "f x y", f"{iso.path}/d", "new", "1"]
    assert iso.execd.run("cat base; ls")[1] == ["old", "base"]
    assert [one["path"] for one in iso.ask("GET", session, "/diff")[
        "changes"]] == ["base", "d", "d/one"]
    assert iso.ask("POST", session, "/commit", {})["applied"] == 3
    assert iso.execd.run("cat base d/one")[1] == ["new", "1"]
    iso.ask("GET", session, "", status=404)
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


def test_of_those_before_so_many_are_there_and_nobody_elses(host):
    """More than the daemon tells in one answer (20)."""
    of = {Isolated(host, host.make()): count for count in (8, 7, 6)}
    made = {iso: {iso.open("ro") for _ in range(count)}
            for iso, count in of.items()}
    kill_api(host)
    come_back(host)
    for iso, sessions in made.items():
        assert {one["session_id"] for one in iso.execd.json(
            "GET", "/v1/isolated/sessions")["sessions"]} == sessions
    iso, other, _ = made
    session = made[iso].pop()
    iso.create("ro", 429)
    for method, path in (("GET", ""), ("GET", "/diff"), ("DELETE", "")):
        other.ask(method, session, path, status=404)
    iso.ask("DELETE", session)
    iso.open("ro")
    for iso in made:
        host.call("DELETE", f"/v1/sandboxes/{iso.box}")


def test_those_that_are_over_count_until_they_are_deleted(host):
    iso = Isolated(host, host.make())
    sessions = [iso.open("ro", idle_timeout_seconds=0) for _ in range(8)]
    for session in sessions:
        host.call("DELETE", f"/v1/sandboxes/{session}")
        assert iso.ask("GET", session)["status"] == "dead"
    assert "8" in iso.create("ro", 429)["message"]
    iso.ask("DELETE", sessions[0])
    iso.open("ro")
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


def test_one_that_is_asked_for_as_the_api_ends_is_not_made(host):
    """Nobody would know of it, neither its client nor the next process."""
    iso = Isolated(host, host.make())
    known = iso.open("ro")
    boxes = set(host.supervisors())
    supervisor = host.supervisors()[iso.box]
    os.kill(supervisor, signal.SIGSTOP)
    connection = iso.execd.connect()
    connection.request(
        "POST", f"{iso.execd.prefix}/v1/isolated/session",
        json.dumps({"workspace": {"path": iso.path, "mode": "ro"}}),
        {**iso.execd.headers, "Content-Type": "application/json"})
    # The daemon has heard of it by then.
    for _ in range(3):
        assert state(host, iso.box) == "Running"
    kill_api(host)
    come_back(host)
    os.kill(supervisor, signal.SIGCONT)
    connection.close()
    # Its supervisor has answered the daemon meanwhile.
    assert iso.execd.run("true")[0] == 0
    # Those of tests before may end meanwhile.
    assert {iso.box, known} <= set(host.supervisors()) <= boxes
    assert [one["session_id"] for one in iso.execd.json(
        "GET", "/v1/isolated/sessions")["sessions"]] == [known]
    # Its twin, with a process that goes on.
    assert iso.open("ro") in host.supervisors()
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


def test_one_whose_sandbox_ends_as_it_is_made_is_told_that_alone(host):
    """And not where on the host something was that it would be made of."""
    iso = Isolated(host, host.make())
    iso.open("ro")
    waiting = wait_until(host.spares)
    for pid in waiting:
        os.kill(pid, signal.SIGSTOP)
    connection = iso.execd.connect()
    connection.request(
        "POST", f"{iso.execd.prefix}/v1/isolated/session",
        json.dumps({"workspace": {"path": iso.path, "mode": "ro"}}),
        {**iso.execd.headers, "Content-Type": "application/json"})
    wait_until(lambda: "Pending" in [one["state"] for one in host.list()])
    assert host.call("DELETE", f"/v1/sandboxes/{iso.box}").status == 204
    for pid in waiting:
        os.kill(pid, signal.SIGCONT)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 409 and "INVALID_STATE" in text, text
    assert "/" not in text


# ---- what it may reach ----

class Reaching(Isolated):
    """One of a sandbox whose policy is changed at the gateway, as by
    somebody who knows nothing of us."""

    def __init__(self, host, gateway, target):
        super().__init__(host, host.make(networkPolicy={
            "egress": [{"action": "allow", "target": target}]}))
        self.gateway, self.target = gateway, target
        self.session, = wait_until(self.ours)

    def ours(self):
        """The one of the gateway that is ours, once those of a test before,
        of the same target, are gone."""
        try:
            found = [row["id"] for row in self.gateway.get("/v1/sessions")[
                "sessions"] if self.target in self.policy(row["id"])]
        except ApiError as error:
            assert error.status == 404, error
            return None
        return found if len(found) == 1 else None

    def policy(self, session):
        return self.gateway.get(f"/v1/sessions/{session}/policy")["policy"]

    def change(self, path):
        path.write_text(self.policy(self.session).replace(
            self.target, f"not-{self.target}"))
        done = self.gateway.cli("session", "policy", self.session, path)
        assert done.returncode == 0, done.stderr

    def status(self, session):
        # Its sandbox's supervisor has answered the daemon meanwhile.
        assert self.execd.run("true")[0] == 0
        return self.ask("GET", session)["status"]


@pytest.mark.parametrize("end", ENDS)
def test_one_made_after_a_change_that_was_heard_goes_on_when(
        host, gateway, tmp_path, end):
    iso = Reaching(host, gateway, "heard.example")
    alone, before = iso.open(), iso.open(share_net=True)
    iso.change(tmp_path / "policy.yaml")
    wait_until(lambda: iso.status(before) == "dead")
    after = iso.open(share_net=True)
    ENDS[end](host)
    come_back(host)
    assert [iso.status(one) for one in (alone, after)] == 2 * ["active"]
    assert iso.run(after, "true")[0] == 0
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


def test_a_change_while_no_daemon_is_there_ends_those_that_share(
        host, gateway, tmp_path):
    iso = Reaching(host, gateway, "unheard.example")
    alone, shared = iso.open(), iso.open(share_net=True)
    changed = changes_of(host, shared)
    host.kill()
    iso.change(tmp_path / "policy.yaml")
    assert changed.exists()
    come_back(host)
    wait_until(lambda: not changed.exists())
    assert iso.status(alone) == "active"
    after = iso.open(share_net=True)
    host.kill()
    come_back(host)
    assert iso.status(after) == "active"
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


# ---- without a daemon ----

# It holds the directory, wherever that is moved.
WRITER = """
import itertools, os
os.mkdir("of-it")
there = os.open("of-it", os.O_RDONLY)
os.fork() and os.fork()
for i in itertools.count():
    os.close(os.open(str(i % 999), os.O_CREAT | os.O_WRONLY, dir_fd=there))
"""


def test_the_workspace_goes_though_somebody_beside_it_writes_on(host):
    iso = Isolated(host, host.make(timeout=60))
    session = iso.open("rw")
    assert host.exec(session, "python3", "-c", WRITER,
                     options=["--detach"]).returncode == 0
    work = host.works / iso.box
    wait_until(lambda: (work / "of-it/998").exists())
    host.kill()
    os.kill(host.supervisors()[iso.box], signal.SIGTERM)
    wait_until(lambda: iso.box not in host.supervisors())
    come_back(host)
    wait_until(lambda: session not in host.supervisors())
    wait_until(lambda: not work.exists())


def test_idle_ones_and_those_of_no_sandbox_end_without_a_daemon(host):
    iso, over = (Isolated(host, host.make()) for _ in range(2))
    idle, kept = (iso.open(idle_timeout_seconds=s) for s in (1, 0))
    orphan = over.open(idle_timeout_seconds=0)
    supervisors = host.supervisors()
    host.kill()
    os.kill(supervisors[over.box], signal.SIGKILL)
    wait_until(lambda: not changes_of(host, idle).exists())
    # It has left word of its end by then.
    wait_until(lambda: idle not in host.supervisors())
    assert changes_of(host, orphan).exists()
    come_back(host)
    wait_until(lambda: not changes_of(host, orphan).exists())
    assert iso.ask("GET", kept)["status"] == "active"
    iso.ask("GET", idle, status=404)
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")
