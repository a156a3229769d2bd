"""The one edge that waits, confined, for a session: each session gets one of
its own, whichever way it came to it."""
import concurrent.futures
import os
import pathlib
import signal
import time

from gateway import wait_until


def spares(gateway):
    return [p for p in gateway.status()["processes"]
            if p["role"] == "edge" and not p["session"]]


def spare(gateway):
    """Its pid, once it is ready."""
    def look():
        found = [p["pid"] for p in spares(gateway) if p["ready"] and p["pid"]]
        return found and found[0]
    return wait_until(look)


def records(gateway, detail):
    return [row for row in gateway.audit(kind="process")
            if row["host"] == "edge" and detail in row["detail"]]


def test_a_session_gets_the_edge_that_waits_and_another_follows(
        own_gateway, make_session, policies, origin):
    waiting = spare(own_gateway)
    session = make_session(policies.make([policies.rule(
        "good.example", paths=["/**"])]), on=own_gateway)
    assert session.edge() == waiting
    assert session.curl(origin.url("/echo")).status == 200
    assert spare(own_gateway) != waiting
    assert len(spares(own_gateway)) == 1


def test_no_edge_serves_two_sessions(own_gateway, make_session, policies):
    """Also when they come faster than spare ones."""
    sessions = [make_session(policies.make(), on=own_gateway)
                for _ in range(4)]
    edges = [session.edge() for session in sessions]
    assert all(edges) and len(set(edges)) == len(edges)
    for session, edge in zip(sessions, edges):
        own_gateway.end(session.id, "ended")
        wait_until(lambda pid=edge: not pathlib.Path(f"/proc/{pid}").exists())
    assert spare(own_gateway) not in edges


def test_a_killed_spare_edge_is_recorded_and_comes_back(
        own_gateway, make_session, policies, origin):
    old = spare(own_gateway)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: records(own_gateway, "signal 9"))
    wait_until(lambda: records(own_gateway, "restarted"))
    assert spare(own_gateway) != old
    session = make_session(policies.make([policies.rule(
        "good.example", paths=["/**"])]), on=own_gateway)
    assert session.curl(origin.url("/echo")).status == 200
    assert own_gateway.get(f"/v1/sessions/{session.id}")["edge_restarts"] == 0


def test_a_session_is_served_while_no_edge_waits(
        own_gateway, make_session, policies, origin):
    os.kill(spare(own_gateway), signal.SIGKILL)
    session = make_session(policies.make([policies.rule(
        "good.example", paths=["/**"])]), on=own_gateway)
    assert session.curl(origin.url("/echo")).status == 200


def test_a_spare_edge_holds_nothing_of_a_session(own_gateway, make_session,
                                                 policies):
    """No package, no listener, no channel but the warden's."""
    make_session(policies.make(), on=own_gateway)
    directory = pathlib.Path(f"/proc/{spare(own_gateway)}/fd")
    links = [os.readlink(fd) for fd in directory.iterdir()]
    assert len([link for link in links if link.startswith("socket:")]) == 1
    assert not [link for link in links if "session" in link]


def test_a_session_is_made_though_the_spare_edge_has_just_died(
        own_gateway, make_session, policies, origin):
    """The warden hears of both at one time."""
    policy = policies.make([policies.rule("good.example", paths=["/**"])])
    warden = own_gateway.process.pid
    for _ in range(5):
        dead = spare(own_gateway)
        os.kill(warden, signal.SIGSTOP)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(own_gateway.create, policy)
            time.sleep(0.1)
            os.kill(dead, signal.SIGKILL)
            time.sleep(0.05)
            os.kill(warden, signal.SIGCONT)
            session = made.result()["id"]
        edge = own_gateway.pid("edge", session)
        assert edge not in (None, dead)
        own_gateway.end(session, "ended")
        # While it ends it belongs to no session either.
        wait_until(lambda pid=edge: not pathlib.Path(f"/proc/{pid}").exists())
