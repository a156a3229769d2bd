"""The session's own secrets do not leave in a body, in whatever form, where
a rule of the policy or of the guardrail says so."""
import base64
import json
import urllib.parse

import pytest
from gateway import wait_until

SECRET = "a secret/of one's own: 7f3&kind"
FORMS = {
    "plain": SECRET,
    "base64": base64.b64encode(b"xy" + SECRET.encode()).decode(),
    "hex": SECRET.encode().hex(),
    "percent": urllib.parse.quote(SECRET, safe=""),
}


@pytest.fixture(scope="module")
def guarded(make_gateway, policies, tmp_path_factory):
    path = tmp_path_factory.mktemp("guardrail") / "guardrail.yaml"
    path.write_text(json.dumps({"version": 1, "network": {
        "rules": [{"hosts": ["plain.example"], "ports": policies.ports,
                   "body": {"secrets": "deny"}, "action": "allow"}],
        "addresses": policies.addresses}}))
    gateway = make_gateway("guarded", config={"guardrail": str(path)})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def session(make_session, policies, origin):
    """One that may post, with a credential for another host."""
    def make(on, body):
        on.put_secret("own", SECRET)
        rule = policies.rule("plain.example", methods=["POST"])
        if body:
            rule["body"] = body
        policy = policies.make([rule])
        policy["credentials"] = [{"name": "own", "secret": "own",
                                  "attach": "bearer",
                                  "hosts": ["good.example"]}]
        made = make_session(policy, on=on)
        # Fingerprints come a moment after the session.
        wait_until(lambda: post(made, origin, "nothing").status == 200)
        return made
    return make


def post(session, origin, text):
    return session.curl(origin.plain_url("/echo"), "-H",
                        "Content-Type: text/plain", "--data-binary", text)


@pytest.mark.parametrize("form", FORMS)
def test_an_own_secret_does_not_leave(gateway, session, origin, form):
    made = session(gateway, {"secrets": "deny"})
    answer = post(made, origin, f"look: {FORMS[form]} there")
    assert answer.status == 403
    assert answer.json["constraint"] == "secret_in_body"
    assert SECRET not in answer.text


@pytest.mark.parametrize("form", FORMS)
def test_an_own_secret_does_not_leave_by_the_guardrail(guarded, session,
                                                       origin, form):
    made = session(guarded, None)
    answer = post(made, origin, f"look: {FORMS[form]} there")
    assert answer.status == 403
    assert answer.json["constraint"] == "secret_in_body"


def test_without_the_rule_it_is_text_like_any(gateway, session, origin):
    made = session(gateway, None)
    assert post(made, origin, f"look: {SECRET} there").status == 200


@pytest.mark.parametrize("form", FORMS)
def test_policy_test_looks_for_a_secret_that_it_is_given(gateway, tmp_path,
                                                         form):
    policy = tmp_path / "p.yaml"
    policy.write_text(json.dumps({
        "version": 1,
        "network": {"rules": [
            {"hosts": ["a.example"], "credential": "own",
             "body": {"secrets": "deny"}, "action": "allow"}]},
        "credentials": [{"name": "own", "secret": "own", "attach": "bearer",
                         "hosts": ["a.example"]}]}))
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "body").write_text(f"look: {FORMS[form]} there")

    def decided(*options):
        done = gateway.cli("policy", "test", "--policy", policy, "--header",
                           "Content-Type: text/plain", "--body",
                           tmp_path / "body", *options, "POST",
                           "https://a.example/")
        return done.returncode, done.stdout
    code, text = decided("--secret", tmp_path / "secret")
    assert code == 10 and "secret_in_body" in text
    assert "the given secrets are looked for" in text
    code, text = decided()
    assert code == 0
    assert "the secrets of the vault are not looked for" in text


def test_policy_test_refuses_a_secret_that_is_not_looked_for(gateway,
                                                             tmp_path):
    (tmp_path / "short").write_text("hunter2\n")
    for path, code, word in [("short", 2, "shorter than 16"),
                             ("none", 3, "No such")]:
        done = gateway.cli("policy", "test", "--secret", tmp_path / path,
                           "--policy", "/dev/null", "GET",
                           "https://a.example/")
        assert done.returncode == code and word in done.stderr
        assert "hunter2" not in done.stderr


# ---- secrets with parts ----

KEY_ID, KEY, TOKEN = ("ID00OWN000EXAMPLE000", "ZZ00/key+of0the0own0session0xyz12345678",
                      "FwoGZXIvYXdzEJr0own0token0of0the0session0xyz")


@pytest.fixture
def signed(make_session, gateway, policies, origin):
    """A session that may post, and whose credential is an AWS key."""
    def make(body):
        gateway.put_secret("aws", f"{KEY_ID}:{KEY}:{TOKEN}")
        policy = policies.make([policies.rule("plain.example",
                                              methods=["POST"], **body)])
        policy["credentials"] = [{
            "name": "aws", "secret": "aws", "attach": "sigv4",
            "sigv4": {"region": "eu-west-1", "service": "s3"},
            "hosts": ["good.example"]}]
        made = make_session(policy, on=gateway)
        wait_until(lambda: post(made, origin, "nothing").status == 200)
        return made
    return make


@pytest.mark.parametrize("part", [KEY, TOKEN, urllib.parse.quote(KEY, safe=""),
                                  base64.b64encode(TOKEN.encode()).decode()])
def test_a_part_of_a_secret_does_not_leave(signed, origin, part):
    answer = post(signed({"body": {"secrets": "deny"}}), origin, f"= {part} ")
    assert answer.status == 403, answer.text
    assert answer.json["constraint"] == "secret_in_body"


def test_an_id_may_leave_and_without_the_rule_all_may(signed, origin):
    made = signed({"body": {"secrets": "deny"}})
    assert post(made, origin, f"= {KEY_ID} ").status == 200
    assert post(signed({}), origin, f"= {KEY} {TOKEN} ").status == 200
