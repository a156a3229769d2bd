"""Sandboxes of the service whose gateway ends and comes back: a session made
anew where nothing is against it, and answers that say why in the meantime."""
import json
import os
import signal
import threading

import pytest
from api import Api
from execd import Execd
from gateway import ApiError
from waiting import wait_until

GOOD = "plain.example"
AWAY = "the gateway is away"
ANEW = "the session was made anew"


@pytest.fixture(scope="module")
def gateway(make_gateway):
    gateway = make_gateway("away")
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("away-host")).start()
    yield host
    host.stop()
    host.check()


def crash(gateway):
    """kill -9, and all that the gateway consisted of is gone with it."""
    gateway.process.kill()
    gateway.process.wait()


def told(host, box, words):
    return [event for event in host.events(box) if words in event["text"]]


class Sandbox:
    """One whose policy allows the origin, with that policy."""

    def __init__(self, host, policies, origin, tmp_path, *words, **more):
        self.host, self.url = host, f"http://{GOOD}:{origin.plain_port}"
        self.policy = policies.make(
            [policies.rule(GOOD, paths=["/echo/**", "/echo"])], **more)
        self.path = tmp_path / "policy.yaml"
        self.path.write_text(json.dumps(self.policy))
        self.id = host.create("--policy", self.path, *words)

    @property
    def session(self):
        return self.host.show(self.id)["session"]

    def curl(self, path="/echo", *options):
        done = self.host.exec(self.id, "curl", "-sS", "-m", "60", "-o",
                              "/dev/null", "-w", "%{http_code}", *options,
                              self.url + path)
        return done.stdout

    def is_told(self, words):
        return told(self.host, self.id, words)


@pytest.fixture
def make(host, policies, origin, tmp_path):
    made = []

    def make_one(*words, **more):
        made.append(Sandbox(host, policies, origin, tmp_path, *words, **more))
        return made[-1]
    yield make_one
    for box in made:
        host.run("kill", box.id)


def test_a_session_is_made_anew_when_the_gateway_is_back(
        gateway, make, repo):
    box = make("--repo", repo.url, "--branch", "agent/7", repo=repo)
    before = box.session
    assert box.curl() == "200"
    running = box.host.popen("exec", "-i", box.id, "--", "sh", "-c",
                             "read line; echo $line; cat", stdin=-1)
    crash(gateway)
    answered = wait_until(lambda: box.is_told(AWAY))
    assert answered
    done = box.host.exec(box.id, "curl", "-sS", "-m", "60", box.url + "/echo")
    assert f"denied by internal: {AWAY}" in done.stdout
    gateway.start()
    wait_until(lambda: box.is_told(ANEW))
    assert box.session != before
    assert box.curl() == "200"
    # What it may not, it may not now; what it may with a credential as well.
    assert box.curl("/other") == "403"
    done = box.host.exec(box.id, "git", "ls-remote", repo.url)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: any(
        f"again {before}" in row["detail"]
        for row in gateway.audit(session=box.session, kind="admin")))
    # The sandbox itself never noticed.
    assert running.communicate("still here\n", timeout=60)[0] == "still here\n"


def test_who_connects_in_the_meantime_may_wait_for_it(gateway, make):
    box = make()
    answers = []
    crash(gateway)
    asking = threading.Thread(target=lambda: answers.append(box.curl(
        "/echo", "--retry", "60", "--retry-delay", "1",
        "--retry-all-errors")))
    asking.start()
    gateway.start()
    asking.join(120)
    assert answers and answers[0].endswith("200")


def test_one_that_was_revoked_does_not_come_back(gateway, make):
    gone, kept = make(), make()
    session = gone.session
    gateway.end(session)
    wait_until(lambda: [row for row in gateway.audit(
        session=session, kind="session.ended")])
    crash(gateway)
    gateway.start()
    wait_until(lambda: kept.is_told(ANEW))
    wait_until(lambda: gone.is_told("was ended, or revoked"))
    assert gone.session == session and not gone.is_told(ANEW)
    done = gone.host.exec(gone.id, "curl", "-sS", "-m", "60",
                          gone.url + "/echo")
    assert "denied by session_revoked" in done.stdout
    assert kept.curl() == "200"


def narrow(box):
    """`session policy`, of somebody else than the sandbox's service."""
    policy = box.policy | {"network": {**box.policy["network"], "rules": []}}
    box.host.gateway.call("PUT", f"/v1/sessions/{box.session}/policy",
                          json.dumps({"policy": json.dumps(policy)}))


def test_a_policy_that_was_narrowed_is_still_that_afterwards(gateway, make):
    box = make()
    narrow(box)
    wait_until(lambda: box.is_told("what may be reached was changed"))
    assert box.curl() == "403"
    crash(gateway)
    gateway.start()
    wait_until(lambda: box.is_told(ANEW))
    assert box.curl() == "403"


def made_again(gateway, session, policy, **more):
    body = {"policy": json.dumps(policy, indent=1), "hold": True,
            "again": session["id"], "lease": session["lease"], **more}
    return json.loads(gateway.call("POST", "/v1/sessions", json.dumps(body)))


def test_one_that_is_there_is_not_made_a_second_time(gateway, policies):
    policy = policies.make()
    made = gateway.create(policy)
    wait_until(lambda: gateway.audit(session=made["id"], kind="admin"))

    def is_refused():
        with pytest.raises(ApiError, match="still there") as caught:
            made_again(gateway, made, policy)
        return caught.value.status == 429
    assert is_refused()
    crash(gateway)
    gateway.start()
    made_again(gateway, made, policy, hold=False)
    assert is_refused()
    crash(gateway)
    gateway.start()
    assert made_again(gateway, made, policy)["lease"] == made["lease"]


def made_again_when_gone(gateway, session, policy):
    """The end of the one before is on record when it begins: until all who
    know of it have closed it, it is still there."""
    try:
        return made_again(gateway, session, policy)
    except ApiError as refused:
        if refused.status != 429 or "still there" not in str(refused):
            raise
        return None


@pytest.mark.parametrize("is_revoked", [True, False], ids=["revoked", "not"])
def test_what_was_made_in_its_place_ends_it_too(gateway, policies, is_revoked):
    """Also the one after that."""
    policy = policies.make()
    first = gateway.create(policy)
    wait_until(lambda: gateway.audit(session=first["id"], kind="admin"))
    made = [first]
    for _ in range(2):
        crash(gateway)
        gateway.start()
        made.append(made_again(gateway, made[-1], policy, hold=False))
        wait_until(lambda: [row for row in gateway.audit(
            session=made[-2]["id"], kind="admin")
            if row["method"] == "session.again"])
    if is_revoked:
        gateway.end(made[-1]["id"])
        wait_until(lambda: gateway.audit(session=made[-1]["id"],
                                         kind="session.ended"))
    crash(gateway)
    gateway.start()
    for session in made:
        if is_revoked:
            with pytest.raises(ApiError, match="was ended") as caught:
                made_again(gateway, session, policy)
            assert caught.value.status == 403
        else:
            wait_until(lambda: made_again_when_gone(gateway, session, policy))


def test_the_record_decides_what_is_made_anew(gateway, policies):
    policy, other = policies.make(), policies.make(name="other")
    made = gateway.create(policy)
    revoked = gateway.create(policy)
    gateway.end(revoked["id"])
    changed = gateway.create(policy)
    gateway.call("PUT", f"/v1/sessions/{changed['id']}/policy",
                 json.dumps({"policy": json.dumps(other, indent=1)}))
    for session in (made, revoked, changed):
        wait_until(lambda: gateway.audit(session=session["id"],
                                         kind="admin"))
    wait_until(lambda: gateway.audit(session=revoked["id"],
                                     kind="session.ended"))
    wait_until(lambda: [row for row in gateway.audit(
        session=changed["id"], kind="admin")
        if row["method"] == "session.policy"])
    crash(gateway)
    gateway.start()

    def again(session, text=policy, **more):
        try:
            got = made_again(gateway, session, text, **more)
        except ApiError as error:
            return error.status
        return got["lease"] == session["lease"]
    assert again(made) is True
    assert again(revoked) == 403
    assert again(changed) == 409
    assert again(changed, other) is True
    assert again(made | {"id": "s-" + "a" * 26}) == 403
    assert again(made | {"lease": "ghp_" + "a" * 36}) == 422
    # A lease that is one, but another session's; a policy that never held.
    assert again(made | {"lease": changed["lease"]}) == 403
    assert again(made, other) == 409
    assert again(made, proxy=True) == 422


def test_isolated_sessions_end_with_the_policy_that_they_reach_things_by(
        host, make):
    box = make()
    execd = Execd(host, box.id)

    def isolated(**more):
        return execd.json("POST", "/v1/isolated/session", {
            "workspace": {"path": str(host.workspace), "mode": "ro"},
            **more}, 201)["session_id"]

    shared, alone = isolated(share_net=True), isolated()
    # What is not changed ends nothing.
    path = f"/v1/sessions/{box.session}/policy"
    host.gateway.call("PUT", path, json.dumps(
        {"policy": box.path.read_text()}))
    assert execd.ask("GET", f"/v1/isolated/session/{shared}")[0] == 200
    narrow(box)

    def ended():
        return [sandbox for sandbox in host.list()
                if sandbox["reason"] == "policy_changed" and
                sandbox["state"] == "Terminated"]
    wait_until(ended)
    assert len(ended()) == 1
    run = "/v1/isolated/session/{}/run"
    assert execd.ask("POST", run.format(shared), {"code": "true"})[0] >= 400
    assert execd.ask("POST", run.format(alone), {"code": "true"})[0] == 200


def policy_changed(host):
    return {box["id"] for box in host.list()
            if box["reason"] == "policy_changed" and
            box["state"] == "Terminated"}


def test_isolated_sessions_end_when_the_egress_api_changes_the_policy(host):
    def reach(*targets):
        return {"defaultAction": "deny", "egress": [
            {"action": "allow", "target": target} for target in targets]}
    before = policy_changed(host)
    box = host.make(networkPolicy=reach("first.example", "second.example"))
    execd = Execd(host, box)
    isolated = execd.json("POST", "/v1/isolated/session", {
        "workspace": {"path": host.show(box)["workspace"], "mode": "ro"},
        "share_net": True}, 201)["session_id"]
    answer = host.inside("POST", box, "/policy", reach("first.example"),
                         port=18080)
    assert answer.status == 200, answer
    wait_until(lambda: len(policy_changed(host) - before) == 1)
    assert execd.ask("POST", f"/v1/isolated/session/{isolated}/run",
                     {"code": "true"})[0] >= 400
    host.ok("kill", box)


def test_a_policy_that_was_changed_while_nobody_was_told_is_seen(
        gateway, host, make):
    """The one who holds the session is told of nothing for a while, as its
    channel to control is gone."""
    box = make()
    execd = Execd(host, box.id)
    before = policy_changed(host)
    execd.json("POST", "/v1/isolated/session", {
        "workspace": {"path": str(host.workspace), "mode": "ro"},
        "share_net": True}, 201)
    pid = host.supervisors()[box.id]
    os.kill(pid, signal.SIGSTOP)
    try:
        old = gateway.pid("control")
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: gateway.is_ready() and
                   gateway.pid("control") != old)
        narrow(box)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: box.is_told("what may be reached was changed"))
    wait_until(lambda: len(policy_changed(host) - before) == 1)
    assert box.curl() == "403"


def test_an_isolated_session_comes_back_as_well(gateway, host, make):
    box = make()
    execd = Execd(host, box.id)
    isolated = execd.json("POST", "/v1/isolated/session", {
        "workspace": {"path": str(host.workspace), "mode": "ro"},
        "share_net": True}, 201)["session_id"]
    crash(gateway)
    gateway.start()
    wait_until(lambda: box.is_told(ANEW))
    # It is a sandbox of its own, with a session of its own.
    mine = [sandbox["id"] for sandbox in host.list()
            if sandbox["state"] == "Running" and sandbox["id"] != box.id]
    wait_until(lambda: all(told(host, one, ANEW) for one in mine))
    run = f"/v1/isolated/session/{isolated}/run"
    words = {"code": f"curl -sS -m 60 -o /dev/null -w '%{{http_code}}' "
                     f"{box.url}/echo"}
    assert [line["text"] for line in execd.stream(run, words)
            if line["type"] == "stdout"] == ["200"]
