"""Tokens that the gateway buys: OAuth 2.0 and a GitHub App. What they are
bought with never leaves but to their endpoint."""
import base64
import json
import os
import threading
import urllib.parse

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from gateway import ApiError
from token_double import API, ISSUER, TokenDouble
from waiting import wait_until

PID = os.getpid()


def pem_of(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()).decode()


@pytest.fixture(scope="module")
def double(pki, origin):
    double = TokenDouble(f"127.{64 + (PID >> 8) % 128}.{PID & 255}.23",
                         origin.port, pki[0][API])
    yield double
    double.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, double):
    token_url = double.url("/token")
    app = {"app": 4711, "installation": 42, "key": "app-key",
           "api": double.url("")}
    gateway = make_gateway("tokens", secret=False, config={
        "dns": {"hosts": {API: double.address, ISSUER: double.address}},
        "secrets": {
            "oauth": {"oauth2": {"token_url": token_url, "client": "client",
                                 "scope": "read write"}},
            "oauth-body": {"oauth2": {"token_url": token_url,
                                      "client": "client",
                                      "client_auth": "body"}},
            "oauth-bad": {"oauth2": {"token_url": token_url,
                                     "client": "client"}},
            "oauth-refresh": {"oauth2": {"token_url": token_url,
                                         "client": "client",
                                         "refresh_token": "refresh"}},
            "app": {"github_app": {**app, "permissions":
                                   {"issues": "write"}}},
            "app-bad": {"github_app": app}}})
    double.refresh = "the-first-refresh-token"
    key = rsa.generate_private_key(65537, 2048)
    double.app_private, double.app_key = key, key.public_key()
    gateway.put_secret("client", ":".join(double.client))
    gateway.put_secret("refresh", double.refresh)
    gateway.put_secret("app-key", pem_of(key))
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture(autouse=True)
def well(double):
    yield
    double.mode, double.lifetime = "", 3600


@pytest.fixture
def session(make_session, double):
    def make(secret, repo=None, push=True):
        policy = {
            "version": 1,
            "network": {"rules": [{"hosts": [API], "ports": [double.port],
                                   "paths": ["/x/**"], "credential": "api",
                                   "action": "allow"}],
                        "addresses": {"allow": [f"{double.address}/32"]}},
            "credentials": [{"name": "api", "secret": secret,
                             "attach": "bearer", "hosts": [API]}]}
        if repo:
            path = repo if "/" in repo else f"acme/{repo}"
            entry = {"repo": double.url(f"/{path}", API),
                     "credential": "api", "read": True}
            if push:
                entry["push"] = {"branches": ["agent/1"]}
            policy["git"] = [entry]
        return make_session(policy)
    return make


def carried(session, double, path):
    answer = session.curl(double.url(path, API))
    assert answer.status == 200, answer.text
    return double.token_of(path).removeprefix("Bearer ")


def form_of(heard):
    return dict(urllib.parse.parse_qsl(heard.body))


def listed(gateway):
    """What `secret list` says, by name."""
    done = gateway.cli("secret", "list", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert "ghs_" not in done.stdout and "PRIVATE" not in done.stdout
    return {row["name"]: row for row in json.loads(done.stdout)["secrets"]}


# ---- OAuth 2.0 ----

def test_client_credentials_one_token_for_many(session, double):
    made = session("oauth")
    threads = [threading.Thread(target=made.curl, args=(
        double.url("/x/many", API),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    token = carried(made, double, "/x/one")
    assert token == double.issued[-1]
    asked = [h for h in double.paths("/token")
             if form_of(h).get("scope") == "read write"]
    assert len(asked) == 1
    assert form_of(asked[0]) == {"grant_type": "client_credentials",
                                 "scope": "read write"}
    assert base64.b64decode(asked[0].authorization.split()[1]).decode() == \
        ":".join(double.client)


def test_the_client_in_the_body(session, double):
    assert carried(session("oauth-body"), double, "/x/body") == \
        double.issued[-1]
    heard = double.paths("/token")[-1]
    assert not heard.authorization
    assert form_of(heard)["client_secret"] == double.client[1]


def test_a_refresh_token_that_rotates_outlives_the_vault(gateway, session,
                                                         double):
    made = session("oauth-refresh")
    assert carried(made, double, "/x/refresh") == double.issued[-1]
    first = double.refresh
    assert first != "the-first-refresh-token"
    pid = gateway.pid("vault")
    os.kill(pid, 9)
    wait_until(lambda: gateway.pid("vault") not in (None, pid))
    wait_until(gateway.is_ready)
    before = len(double.issued)
    wait_until(lambda: made.curl(double.url("/x/again", API)).status == 200)
    assert len(double.issued) == before + 1 and double.refresh != first


@pytest.fixture
def purchase(gateway, session, double):
    """One with the refresh token whose answer is held back; a function that
    lets it go, and gives what the client was told."""
    gateway.put_secret("refresh", double.refresh)  # nothing is held any more
    double.held = threading.Event()
    made, answers, before = session("oauth-refresh"), [], len(double.issued)
    client = threading.Thread(target=lambda: answers.append(
        made.curl(double.url("/x/held", API))))
    client.start()
    wait_until(lambda: len(double.issued) > before)

    def let_go():
        double.held.set()
        client.join()
        return answers[0]
    yield let_go
    let_go()
    double.held = None


def test_a_refresh_token_that_is_put_meanwhile_stays(gateway, session, double,
                                                     purchase):
    """What the purchase with the one before brings does not replace it, and
    serves whoever waited alone."""
    double.refresh = "the-refresh-token-of-another-grant"
    gateway.put_secret("refresh", double.refresh)
    assert purchase().status == 200
    first, given = double.issued[-1], double.refresh
    second = carried(session("oauth-refresh"), double, "/x/given")
    assert second == double.issued[-1] != first
    assert form_of(double.paths("/token")[-1])["refresh_token"] == given


def test_a_refresh_token_that_comes_at_the_end_is_kept(gateway, session,
                                                       double, purchase):
    end = threading.Thread(target=gateway.stop)
    end.start()
    wait_until(lambda: not (gateway.run_dir / "control.sock").exists())
    purchase()
    end.join()
    gateway.start()
    before = double.refresh
    assert carried(session("oauth-refresh"), double, "/x/kept") == \
        double.issued[-1]
    assert form_of(double.paths("/token")[-1])["refresh_token"] == before


def test_what_does_not_last_is_bought_again(session, double):
    double.lifetime = 2
    made = session("oauth-bad")
    first = carried(made, double, "/x/short")
    wait_until(lambda: carried(made, double, "/x/short") != first)


@pytest.mark.parametrize("mode, words", [
    ("refused", "401 invalid_client"), ("garbage", "no JSON"),
    ("html", "no JSON"), ("huge", "larger than"), ("twice", "no JSON"),
    ("wrong-type", "not bearer"), ("expired", "had expired"),
    ("newline", "no token"), ("redirect", "302")])
def test_an_endpoint_that_does_not_do_well_is_named(gateway, session, double,
                                                    mode, words):
    # What was bought before is dropped with what it was bought with.
    gateway.put_secret("client", ":".join(double.client))
    double.mode = mode
    made = session("oauth-bad")
    url = double.url(f"/x/{mode}", API)
    answer = made.curl(url)
    assert answer.status == 502 and words in answer.text, answer.text
    assert answer.json["constraint"] == "credential_unavailable"
    assert ISSUER in answer.text and "idea" not in answer.text
    assert not double.paths(f"/x/{mode}")
    double.mode = ""
    gateway.put_secret("client", ":".join(double.client))
    assert made.curl(url).status == 200


def test_an_endpoint_that_is_silent_holds_nobody_for_ever(gateway, session,
                                                          double):
    gateway.put_secret("client", ":".join(double.client))
    double.mode = "slow"
    made = session("oauth-bad")
    answer = made.curl(double.url("/x/slow", API))
    assert answer.status == 502
    assert "did not answer in time" in answer.text
    double.mode = ""
    double.let_go.set()
    wait_until(lambda: made.curl(double.url("/x/slow", API)).status == 200)


def test_what_tokens_are_bought_with_goes_nowhere_else(session, double):
    for name in ("client", "refresh", "app-key"):
        answer = session(name).curl(double.url("/x/material", API))
        assert answer.status == 502
        assert "bought with" in answer.text
    assert not double.paths("/x/material")


# ---- a GitHub App ----

def test_an_apps_token_is_for_one_repository_and_ends(gateway, session,
                                                      double):
    first, second = session("app", "widgets"), session("app", "widgets")
    token = carried(first, double, "/x/app")
    assert token == double.issued[-1] and not double.faults
    asked = double.paths("/app/installations/42/access_tokens")
    assert json.loads(asked[-1].body) == {
        "repositories": ["widgets"],
        "permissions": {"metadata": "read", "contents": "write",
                        "pull_requests": "write", "issues": "write"}}
    assert carried(second, double, "/x/app") == token
    assert len(double.paths("/app/installations/42/access_tokens")) == \
        len(asked)
    gateway.end(first.id)
    assert carried(second, double, "/x/app") == token
    assert token not in double.revoked
    gateway.end(second.id)
    wait_until(lambda: token in double.revoked)
    wait_until(lambda: "revoke" in [
        row["method"] for row in gateway.audit(kind="secret.changed")
        if row["host"] == "app"])


def test_who_only_reads_gets_a_token_that_only_reads(session, double):
    carried(session("app-bad", "gears", push=False), double, "/x/read")
    asked = double.paths("/app/installations/42/access_tokens")[-1]
    assert json.loads(asked.body) == {
        "repositories": ["gears"],
        "permissions": {"metadata": "read", "contents": "read",
                        "pull_requests": "read"}}


@pytest.mark.parametrize("repo, words", [
    ("zeta/widgets", "installation 42 has no repository zeta/widgets"),
    ("nobody/widgets", "installation 42 has no repository nobody/widgets"),
    ("acme/deep/widgets", "acme/deep/widgets is no repository of GitHub")])
def test_whose_a_repository_is_counts(session, double, repo, words):
    """The token would be for acme/widgets: GitHub takes a name alone."""
    tokens = "/app/installations/42/access_tokens"
    before = len(double.paths(tokens))
    answer = session("app", repo).curl(double.url("/x/owner", API))
    assert answer.status == 502 and words in answer.text, answer.text
    assert answer.json["constraint"] == "credential_unavailable"
    assert len(double.paths(tokens)) == before
    assert not double.paths("/x/owner")


def test_a_token_ends_with_the_key_that_bought_it(gateway, session, double):
    made = session("app", "levers")
    first = carried(made, double, "/x/levers")
    row = listed(gateway)["app"]
    assert row["source"] == "github_app" and row["state"] == "held"
    gateway.put_secret("app-key", pem_of(double.app_private))
    second = carried(made, double, "/x/levers")
    assert second != first
    wait_until(lambda: first in double.revoked)
    assert carried(made, double, "/x/levers") == second
    assert second not in double.revoked


def test_without_a_repository_there_is_no_token(session, double):
    before = len(double.paths("/app/installations/42/access_tokens"))
    answer = session("app").curl(double.url("/x/none", API))
    assert answer.status == 502 and "one repository" in answer.text
    assert len(double.paths("/app/installations/42/access_tokens")) == before


@pytest.mark.parametrize("mode, words", [
    ("refused", "401"), ("garbage", "no JSON"), ("huge", "larger than")])
def test_githubs_refusal_is_named(session, double, mode, words):
    double.mode = mode
    made = session("app-bad", f"bolts-{mode}")
    answer = made.curl(double.url("/x/bolts", API))
    assert answer.status == 502 and words in answer.text
    double.mode = ""
    wait_until(lambda: made.curl(
        double.url("/x/bolts", API)).status == 200)


def test_a_weak_key_is_not_taken(gateway):
    for text in (pem_of(rsa.generate_private_key(65537, 1024)), "no key"):
        with pytest.raises(ApiError) as refused:
            gateway.put_secret("app-key", text)
        assert refused.value.status == 400 and "2048" in str(refused.value)


def test_tokens_end_with_the_gateway(gateway, session, double):
    """Those that are held, and one that was replaced a moment ago."""
    made = session("app", "axles")
    first = carried(made, double, "/x/axles")
    other = carried(session("app", "cranks"), double, "/x/cranks")
    gateway.put_secret("app-key", pem_of(double.app_private))
    second = carried(made, double, "/x/axles")
    assert len({first, second, other}) == 3
    gateway.stop()
    assert {first, second, other} <= set(double.revoked)
    gateway.start()


def test_a_gateway_stops_though_no_token_can_be_revoked(gateway, session,
                                                        double):
    token = carried(session("app", "pistons"), double, "/x/pistons")
    double.mode = "mute"
    gateway.stop()
    assert token not in double.revoked
    double.heard_out.set()
    gateway.start()


def test_no_log_or_record_has_any_of_it(gateway, double):
    seen = gateway.log() + str(gateway.audit())
    for secret in [double.client[1], double.refresh, *double.issued]:
        assert secret not in seen
