"""Packchecks run a few at a time; pushes beyond those wait for their turn."""
import os
import threading

from gitwire import ZERO
import gitwire

PUSHES = 8


def packs(session, work, count):
    """As many bodies, each with a pack large enough to be looked at ahead."""
    bodies = []
    for number in range(count):
        work.git("checkout", "-q", "-B", f"agent/{number}", "origin/main")
        tip = work.commit(content=os.urandom(3 << 20))
        bodies.append(
            gitwire.commands([(ZERO, tip, f"refs/heads/agent/{number}")])
            + gitwire.pack(work, [tip], ["origin/main"]))
    return bodies


def test_eight_pushes_at_once_all_pass(gateway, make_session, policies, repo):
    policy = policies.make(repo=repo, push={"branches": ["agent/*"],
                                            "limits": {"objects": 1000}})
    sessions = [make_session(policy, repo) for _ in range(2)]
    work = sessions[0].clone()
    bodies = packs(sessions[0], work, PUSHES)
    slow = [gitwire.SlowPush(sessions[number % 2])
            for number in range(PUSHES)]
    reports = [None] * PUSHES

    def finish(number):
        slow[number].send(bodies[number][-1000:])
        reports[number] = gitwire.Report(slow[number].finish()[1])
        slow[number].close()

    try:
        # Each wants a packcheck before any is done with its own.
        for number, push in enumerate(slow):
            push.send(bodies[number][:-1000])
        threads = [threading.Thread(target=finish, args=[number])
                   for number in range(PUSHES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
    finally:
        for push in slow:
            push.close()
    assert [report.landed for report in reports] == [
        [f"refs/heads/agent/{number}"] for number in range(PUSHES)], [
        report.lines for report in reports]
