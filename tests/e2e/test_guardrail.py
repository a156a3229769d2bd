"""An operator's guardrail narrows every session; without it the same policy
lets the same request pass."""
import json
import subprocess

import pytest
from gateway import PROGRAM, wait_until


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


KEY = "AKIA" + "QYLPMN5HFIQR7XYA"  # of an account, by its looks


@pytest.fixture(scope="module")
def keeping(make_gateway, tmp_path_factory, policies):
    path = tmp_path_factory.mktemp("keeping") / "guardrail.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "network": {"rules": [policies.rule("good.example",
                                            body={"secrets": "deny"})],
                    "addresses": policies.addresses}}))
    gateway = make_gateway("keeping", config={"guardrail": str(path)})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.mark.parametrize("text", ["MY_API_KEY", f"{KEY}x"])
def test_a_placeholder_of_a_policys_own_excuses_no_secret(
        make_session, policies, keeping, gateway, origin, text):
    policy = policies.make([policies.rule("good.example", paths=["/c/**"],
                                          credential="c"),
                            policies.rule("good.example")])
    policy["credentials"] = [{
        "name": "c", "secret": "forge", "attach": "placeholder",
        "hosts": ["good.example"], "placeholder": {"text": text}}]
    session = make_session(policy, on=keeping)
    wait_until(lambda: session.curl(
        origin.url("/echo"), "-d", "key=").status == 200)
    answer = session.curl(origin.url("/echo"), "-d", f"key={KEY}")
    assert answer.status == 403
    assert answer.json["constraint"] == "secret_in_body"
    # Without the guardrail it is a text like any other.
    answer = make_session(policy, on=gateway).curl(
        origin.url("/echo"), "-d", f"key={KEY}")
    assert answer.status == 200


ALLOW = "function decide() return 'allow' end"


@pytest.fixture(scope="module")
def asking(make_gateway, tmp_path_factory, policies):
    path = tmp_path_factory.mktemp("asking") / "guardrail.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "network": {"rules": [policies.rule("good.example", action="ask",
                                            name="person", hold="200ms")],
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


@pytest.fixture
def policy_file(policies, repo, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(json.dumps(policies.make([
        policies.rule("good.example", "plain.example",
                      methods=["GET", "POST"])], repo=repo)))
    return path


def decided(gateway, policy_file, method, url, *options, **env):
    done = gateway.cli("policy", "test", "--policy", policy_file,
                       "--branch", "agent/1", *options, *method.split(),
                       *url.split(), **env)
    assert done.returncode in (0, 10), done.stderr
    return done.returncode, done.stdout


def test_policy_test_sees_the_guardrail_of_the_gateway_that_runs(
        gateway, guarded, policy_file, origin, repo):
    for method, url, rule in [
            ("POST", origin.url("/"), "guardrail/no-writes: denied_by_rule"),
            ("GET", origin.plain_url("/"),
             "guardrail/default: host_not_allowed"),
            ("PUSH", f"{repo.url} agent/1", "guardrail/no-writes")]:
        code, text = decided(guarded, policy_file, method, url)
        assert code == 10 and f"deny by {rule}" in text, text
        assert f"guardrail: that of the gateway at {guarded.run_dir}" in text
        code, text = decided(gateway, policy_file, method, url)
        assert code == 0, text
        assert f"guardrail: the gateway at {gateway.run_dir} has none" in text
    code, text = decided(guarded, policy_file, "GET", origin.url("/"))
    assert code == 0 and "guardrail/rules[1]: matches: allow" in text


def test_policy_test_takes_a_guardrail_of_a_file(
        guarded, guardrail, policy_file, origin, tmp_path):
    nowhere = {"SALLYPORT_RUN": str(tmp_path)}
    url = origin.url("/")
    code, text = decided(guarded, policy_file, "POST", url, "--guardrail",
                         guardrail, **nowhere)
    assert code == 10 and "deny by guardrail/no-writes" in text
    assert f"guardrail: {guardrail}\n" in text
    code, text = decided(guarded, policy_file, "POST", url, **nowhere)
    assert code == 0 and "guardrail: not known, since no gateway" in text
    # No guardrail at all, whatever the gateway has.
    assert decided(guarded, policy_file, "POST", url, "--guardrail",
                   "/dev/null")[0] == 0
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("version: 1\nextends: [npm]\n")
    for path in [wrong, tmp_path / "missing"]:
        done = guarded.cli("policy", "test", "--policy", policy_file,
                           "--branch", "x", "--guardrail", path, "GET", url)
        assert done.returncode == 3 and str(path) in done.stderr


def test_policy_explain_tells_of_the_guardrail(gateway, guarded, guardrail,
                                               policy_file):
    def explained(where, *options):
        done = where.cli("policy", "explain", "--policy", policy_file,
                         "--branch", "agent/1", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout
    for text in [explained(guarded),
                 explained(gateway, "--guardrail", guardrail)]:
        assert "## Guardrail" in text and "guardrail/no-writes" in text
    assert "## Guardrail" not in explained(gateway)


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
