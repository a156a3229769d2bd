"""An operator's guardrail narrows every session; without it the same policy
lets the same request pass."""
import json
import subprocess

import pytest
from gateway import PROGRAM


@pytest.fixture(scope="module")
def guardrail(tmp_path_factory, policies):
    path = tmp_path_factory.mktemp("guardrail") / "guardrail.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "network": {
            "rules": [
                {"name": "no-writes", "ports": policies.ports,
                 "methods": ["POST"], "action": "deny",
                 "reason": "nobody writes here"},
                {"hosts": ["good.example"], "ports": policies.ports,
                 "action": "allow"}],
            "addresses": policies.addresses}}))
    return path


@pytest.fixture(scope="module")
def guarded(make_gateway, guardrail):
    gateway = make_gateway("guarded", config={"guardrail": str(guardrail)})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def web(make_session, policies):
    def make(on=None):
        return make_session(policies.make([
            policies.rule("good.example", "plain.example",
                          methods=["GET", "POST"])]), on=on)
    return make


def test_what_the_guardrail_denies_is_refused_in_its_name(web, guarded,
                                                          origin):
    session = web(guarded)
    assert session.curl(origin.url("/echo")).status == 200
    answer = session.curl(origin.url("/echo"), "-d", "x")
    assert answer.status == 403
    assert answer.json["constraint"] == "denied_by_rule"
    assert answer.json["rule"] == "guardrail/no-writes"
    assert answer.json["detail"] == "nobody writes here"
    answer = session.curl(origin.plain_url("/echo", "plain.example"))
    assert answer.status == 403
    assert answer.json["constraint"] == "host_not_allowed"
    assert answer.json["rule"] == "guardrail/default"


def test_without_the_guardrail_the_same_passes(web, origin):
    session = web()
    assert session.curl(origin.url("/echo"), "-d", "x").status == 200
    answer = session.curl(origin.plain_url("/echo", "plain.example"))
    assert answer.status == 200


ALLOW = "function decide() return 'allow' end"


@pytest.fixture(scope="module")
def asking(make_gateway, tmp_path_factory, policies):
    path = tmp_path_factory.mktemp("asking") / "guardrail.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "network": {"rules": [policies.rule("good.example", action="ask",
                                            name="person", hold="1s")],
                    "addresses": policies.addresses}}))
    gateway = make_gateway("asking", config={"guardrail": str(path)})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.mark.parametrize("action", ["allow", "ask"])
def test_no_script_answers_what_the_guardrail_asks(make_session, policies,
                                                   asking, origin, action):
    policy = policies.make([policies.rule("good.example", action=action)])
    policy["network"]["script"] = ALLOW
    answer = make_session(policy, on=asking).curl(origin.url("/echo"))
    assert answer.status == 403
    assert answer.json["constraint"] == "approval_pending"
    assert answer.json["rule"] == "guardrail/person"
    # What the policy itself asks, its script answers.
    assert make_session(policy).curl(origin.url("/echo")).status == 200


def test_a_guardrail_that_is_wrong_is_refused_with_its_place(gateway,
                                                             tmp_path):
    wrong = tmp_path / "guardrail.yaml"
    wrong.write_text("version: 1\nextends: [npm]\n")
    config = tmp_path / "gateway.yaml"
    settings = json.loads(gateway.config.read_text())
    config.write_text(json.dumps(settings | {"guardrail": str(wrong)}))

    def check():
        return subprocess.run([PROGRAM, "-t", "-c", config], text=True,
                              capture_output=True, env=gateway.env())
    done = check()
    assert done.returncode == 3
    assert f"{wrong}:2:1: a guardrail has no \"extends\"" in done.stderr
    wrong.write_text("version: 1\n")
    assert check().returncode == 0
