"""The egress API of a sandbox: what it may reach, and credentials for it,
changed while it runs, by raw requests and the unmodified SDK."""
import contextlib
import json
import os
import pathlib
import re

import openapi
import pytest
from api import Api, install_sdk
from gateway import wait_until

EGRESS = 18080
CANARY = "canary-4f6d2a90b1"


class Described(Api):
    """Every answer is one that openapi.json knows."""

    def call(self, method, path, *words, **more):
        answer = super().call(method, path, *words, **more)
        if "/egress/" in path:
            openapi.check(method, path, answer)
        return answer


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Described(gateway, tmp_path_factory.mktemp("api")).start()
    yield api
    api.stop()
    api.check()


@pytest.fixture(scope="module")
def box(api):
    return api.make(networkPolicy={"defaultAction": "deny", "egress": [
        {"action": "allow", "target": "first.example"}]})


@pytest.fixture
def call(api, box):
    """To the egress API of the box, which then has nothing left in it."""
    def call(method, path, body=None, **more):
        return api.inside(method, box, path, body, port=EGRESS, **more)
    yield call
    call("DELETE", "/credential-vault")
    call("POST", "/policy", {})


def rules(*pairs):
    return [{"action": action, "target": target} for action, target in pairs]


def policy_of(call):
    answer = call("GET", "/policy")
    assert answer.status == 200, answer
    return answer.json


# ---- /policy ----

def test_what_it_was_made_with_is_shown(api):
    made = api.make(networkPolicy={"egress": rules(
        ("allow", "a.example"), ("deny", "*.b.example"))})
    answer = api.inside("GET", made, "/policy", port=EGRESS)
    assert answer.json == {
        "status": "ok", "mode": "enforcing", "enforcementMode": "dns+nft",
        "policy": {"defaultAction": "deny", "egress": rules(
            ("allow", "a.example"), ("deny", "*.b.example"))}}
    assert api.inside("GET", made, "/healthz", port=EGRESS).status == 200
    assert api.call("DELETE", f"/v1/sandboxes/{made}").status == 204


@pytest.mark.parametrize("body", [b"", b"{}", b"null",
                                  b'{"egress": []}'])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_nothing_denies_everything(call, method, body):
    assert call("POST", "/policy", {"defaultAction": "allow"}).status == 200
    assert policy_of(call)["mode"] == "allow_all"
    assert call(method, "/policy", body).status == 200
    now = policy_of(call)
    assert now["mode"] == "deny_all"
    assert now["policy"] == {"defaultAction": "deny", "egress": []}


def test_new_rules_go_first_and_the_first_of_a_target_counts(call):
    assert call("PUT", "/policy", {"egress": rules(
        ("allow", "A.example"), ("deny", "a.EXAMPLE"),
        ("allow", "b.example"))}).status == 200
    assert policy_of(call)["policy"]["egress"] == rules(
        ("allow", "a.example"), ("allow", "b.example"))
    assert call("PATCH", "/policy", rules(
        ("deny", "B.example"), ("allow", "c.example"))).status == 200
    assert policy_of(call)["policy"]["egress"] == rules(
        ("deny", "b.example"), ("allow", "c.example"), ("allow", "a.example"))
    for _ in range(2):  # once more changes nothing
        assert call("DELETE", "/policy",
                    ["C.EXAMPLE", "none.example"]).status == 200
    assert policy_of(call)["policy"]["egress"] == rules(
        ("deny", "b.example"), ("allow", "a.example"))


@pytest.mark.parametrize("method,body,status", [
    ("POST", b"{", 400), ("POST", b"[]", 400), ("POST", b'{"more": 1}', 400),
    ("POST", b'{"defaultAction": "maybe"}', 400),
    ("PATCH", b"[]", 400), ("PATCH", b"{}", 400), ("PATCH", b"", 400),
    ("PATCH", json.dumps(rules(("allow", "10.0.0.0/8"))).encode(), 400),
    ("PATCH", json.dumps(rules(("allow", "169.254.169.254"))).encode(), 400),
    ("PATCH", json.dumps(rules(("allow", "fd00::/8"))).encode(), 400),
    ("PATCH", json.dumps(rules(("deny", "198.51.100.1/24"))).encode(), 400),
    ("PATCH", json.dumps(rules(("deny", "a.example/24"))).encode(), 400),
    ("PATCH", json.dumps(rules(("allow", "a b"))).encode(), 400),
    ("PATCH", json.dumps(rules(("allow", "*"))).encode(), 400),
    ("PATCH", json.dumps(rules(("allow", "*.com"))).encode(), 400),
    ("DELETE", b"[]", 400), ("DELETE", b'[1]', 400),
    ("PATCH", json.dumps(rules(*[("allow", f"h{i}.example")
                                 for i in range(4097)])).encode(), 413),
], ids=lambda value: str(value)[:30])
def test_what_is_no_change_changes_nothing(call, method, body, status):
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "kept.example"))}).status == 200
    answer = call(method, "/policy", body)
    assert answer.status == status, answer
    assert answer.body
    assert policy_of(call)["policy"]["egress"] == rules(
        ("allow", "kept.example"))


def test_many_rules_fit(call):
    many = rules(*[("allow", f"h{i}.example") for i in range(4096)])
    assert call("PUT", "/policy", {"egress": many}).status == 200
    assert policy_of(call)["policy"]["egress"] == many


def test_a_sandbox_with_a_policy_of_its_own_is_shown_and_left(api):
    made = api.make(extensions={
        "sallyport.policy": "version: 1\nname: own\n"})
    shown = api.inside("GET", made, "/policy", port=EGRESS)
    assert shown.status == 200 and shown.json["reason"]
    answer = api.inside("PATCH", made, "/policy",
                        rules(("allow", "a.example")), port=EGRESS)
    assert answer.status == 409
    assert api.call("DELETE", f"/v1/sandboxes/{made}").status == 204


def test_without_its_token_nothing_is_told_or_changed(api, box):
    path, _ = api.endpoint(box, EGRESS)
    _, other = api.endpoint(box, 44772)
    for headers in ({}, {"OPENSANDBOX-EGRESS-AUTH": "wrong"}, other):
        for method, at in (("GET", "/policy"), ("POST", "/policy"),
                           ("GET", "/credential-vault")):
            assert api.call(method, path + at, headers=headers,
                            key=None).status == 401


# ---- the vault ----

def vault(*hosts, name="key", auth=None):
    return {"credentials": [{"name": name, "source": {
                "type": "inline", "value": CANARY}}],
            "bindings": [{"name": "b", "match": {"hosts": list(hosts)},
                          "auth": auth or {"type": "bearer",
                                           "credential": name}}]}


def matching(**more):
    body = vault("v.example")
    body["bindings"][0]["match"] |= more
    return body


def test_a_vault_is_made_shown_changed_and_dropped(call):
    assert call("GET", "/credential-vault").status == 404
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "v.example"))}).status == 200
    made = call("POST", "/credential-vault", vault("v.example"))
    assert made.status == 201, made
    assert made.json["revision"] == 1
    assert call("POST", "/credential-vault", vault("v.example")).status == 409
    shown = call("GET", "/credential-vault").json
    assert shown["credentials"][0]["name"] == "key"
    assert shown["bindings"][0]["match"] == {"hosts": ["v.example"]}
    for at in ("credentials", "credentials/key", "bindings", "bindings/b"):
        assert call("GET", f"/credential-vault/{at}").status == 200
    assert call("GET", "/credential-vault/bindings/none").status == 404
    stale = call("PATCH", "/credential-vault", {"expectedRevision": 7})
    assert stale.status == 409
    used = call("PATCH", "/credential-vault",
                {"credentials": {"delete": ["key"]}})
    assert used.status == 400
    # Who is told that it holds has not been misunderstood.
    for odd in ({"credentials": ["key"]}, {"bindings": "b"},
                {"bindings": {"delete": "b"}}, {"credentials": {"add": {}}},
                {"credentials": {"delete": {"key": True}}},
                {"expectedRevision": "7"}, {"expectedRevision": 1.0}):
        refused = call("PATCH", "/credential-vault", odd)
        assert refused.status == 400, (odd, refused)
    assert call("PATCH", "/credential-vault", {
        "expectedRevision": None, "credentials": None,
        "bindings": {"delete": None}}).json["revision"] == 2
    changed = call("PATCH", "/credential-vault", {
        "expectedRevision": 2, "credentials": {"replace": [
            {"name": "key", "source": {"type": "inline",
                                       "value": CANARY + "-2"}}]}})
    assert (changed.status, changed.json["revision"]) == (200, 3)
    uncovers = call("DELETE", "/policy", ["v.example"])
    assert uncovers.status == 400
    assert call("DELETE", "/credential-vault").status == 204
    assert call("DELETE", "/policy", ["v.example"]).status == 200


@pytest.mark.parametrize("body", [
    vault("uncovered.example"), vault("*.v.example"), vault(),
    vault("v.example", auth={"type": "bearer", "credential": "other"}),
    vault("v.example", auth={"type": "apiKey", "name": "Host",
                             "credential": "key"}),
    vault("v.example", auth={"type": "apiKey", "name": "Content-Length",
                             "credential": "key"}),
    {**vault("v.example"), "bindings": 2 * vault("v.example")["bindings"]},
    {"credentials": [], "bindings": [
        {"name": "b", "match": {"hosts": ["v.example"]},
         "auth": {"type": "magic"}}]},
    {"credentials": [{"name": "key", "source": {"type": "file"}}]},
    # Cut short, it would be another path, or none: any.
    matching(paths=["/" + 509 * "a" + "\u00e9"]),
    matching(paths=["/" + 600 * "a"]),
    matching(path=["/only"]),
], ids=lambda body: str(body)[:200])
def test_what_cannot_be_a_vault_is_none(call, body):
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "v.example"))}).status == 200
    answer = call("POST", "/credential-vault", body)
    assert answer.status in (400, 409), answer
    assert CANARY not in answer.body.decode()
    assert call("GET", "/credential-vault").status == 404
    assert call("POST", "/credential-vault", vault("v.example")).status == 201


def test_a_value_never_gets_the_name_of_another(call, gateway):
    """Of two changes at one time one holds: with its own values."""
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "v.example"))}).status == 200

    def lent():
        return {secret
                for row in gateway.get("/v1/sessions")["sessions"]
                for secret in re.findall(
                    r'"session\.([^"]+)"',
                    gateway.get(f"/v1/sessions/{row['id']}/policy")["policy"])}
    names = []
    for _ in range(2):
        assert call("POST", "/credential-vault",
                    vault("v.example")).status == 201
        names.append(lent())
        assert call("DELETE", "/credential-vault").status == 204
    assert len(names[0]) == 1 and len(names[1]) == 1
    assert names[0] != names[1]
    assert not lent()


def test_what_was_lent_for_a_change_that_is_refused_is_taken_back(
        call, gateway):
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "v.example"))}).status == 200

    def named(method):
        return {row["host"] for row in gateway.audit(kind="secret.changed")
                if row["method"] == method and row["allowed"]}
    before = named("lend") - named("take back")
    body = vault("v.example")
    body["bindings"][0]["match"]["methods"] = ["NO SUCH"]
    # The API cannot know it: the policy's compiler refuses.
    assert call("POST", "/credential-vault", body).status == 400
    wait_until(lambda: named("lend") - named("take back") == before)
    del body["bindings"][0]["match"]["methods"]
    assert call("POST", "/credential-vault", body).status == 201
    wait_until(
        lambda: len((named("lend") - named("take back")) - before) == 1)


def contents(root):
    """All files below it; some come and go while they are read."""
    found = b""
    for place, _, names in os.walk(root):
        for path in (pathlib.Path(place, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and not path.is_symlink():
                    found += path.read_bytes()
    return found


def test_no_value_is_ever_readable(api, call, box, gateway):
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "v.example"))}).status == 200
    assert call("POST", "/credential-vault",
                vault("v.example")).status == 201
    told = b"".join(call("GET", at).body for at in (
        "/policy", "/credential-vault", "/credential-vault/credentials",
        "/credential-vault/bindings"))
    inside = api.inside("POST", box, "/command", {
        "command": "env; cat /proc/[0-9]*/environ; "
                   "grep -rs canary- /tmp /etc /run | head"})
    told += inside.body
    told += api.log().encode() + gateway.log().encode()
    told += contents(gateway.state) + contents(api.dir)
    assert CANARY.encode() not in told
    assert b"v.example" in told


# ---- the SDK ----

@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return install_sdk(tmp_path_factory.mktemp("sdk"))


def test_the_sdk_shows_and_changes_it(api, sdk, box, call):
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "one.example"))}).status == 200
    said = api.node(sdk, """
const box = await Sandbox.connect({ sandboxId: process.argv[2],
                                    connectionConfig: connection });
const first = await box.getEgressPolicy();
await box.patchEgressRules([{ action: "allow", target: "two.example" }]);
const second = await box.getEgressPolicy();
await box.deleteEgressRules(["one.example"]);
const third = await box.getEgressPolicy();
const made = await box.credentialVault.create({
  credentials: [{ name: "k", source: { type: "inline", value: "canary" } }],
  bindings: [{ name: "b", match: { hosts: ["two.example"] },
               auth: { type: "bearer", credential: "k" } }] });
const shown = await box.credentialVault.get();
console.log(JSON.stringify({ first, second, third, made, shown }));
""", box)
    assert said["first"]["egress"] == rules(("allow", "one.example"))
    assert said["second"]["egress"] == rules(("allow", "two.example"),
                                             ("allow", "one.example"))
    assert said["third"]["egress"] == rules(("allow", "two.example"))
    assert said["made"]["revision"] == said["shown"]["revision"] == 1
    assert said["shown"]["bindings"][0]["name"] == "b"
    assert "canary" not in json.dumps(said)




# ---- what it does ----

@pytest.mark.parametrize("auth", [
    {"type": "basic", "credential": "key"},
    {"type": "apiKey", "name": "X-Api-Key", "credential": "key"},
    {"type": "customHeaders", "headers": [{"name": "X-Mine",
                                           "credential": "key"}]},
    {"type": "passthrough"},
], ids=lambda auth: auth["type"])
def test_each_kind_of_auth_becomes_a_policy(call, auth):
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "*.v.example"))}).status == 200
    body = vault("a.v.example", "*.b.v.example", auth=auth)
    body["bindings"][0]["match"] |= {
        "schemes": ["https"], "methods": ["GET", "POST"], "paths": ["/v1/*"]}
    made = call("POST", "/credential-vault", body)
    assert made.status == 201, made
    shown = call("GET", "/credential-vault/bindings/b").json
    assert shown["auth"]["type"] == auth["type"]
    assert policy_of(call)["policy"]["egress"] == rules(
        ("allow", "*.v.example"))


def test_what_runs_inside_feels_a_change_at_once(api, call, box):
    def said():
        answer = api.inside("POST", box, "/command", {
            "command": "curl -sS -m 20 https://plain.example/"})
        return answer.body.decode()
    assert call("PUT", "/policy", {}).status == 200
    assert "host_not_allowed" in said()
    # Its name leads to this host, where nothing of a sandbox may go.
    assert call("PATCH", "/policy",
                rules(("allow", "plain.example"))).status == 200
    assert "address_forbidden" in said()
    assert call("DELETE", "/policy", ["plain.example"]).status == 200
    assert "host_not_allowed" in said()


def test_ranges_of_addresses_and_every_port(api, call, box):
    """Documentation's addresses are allowed by a rule, and refused only when
    they would be dialled: nothing leaves this host."""
    def said(url):
        answer = api.inside("POST", box, "/command", {
            "command": f"curl -sS -m 20 {url}"})
        return answer.body.decode()
    assert call("PUT", "/policy", {}).status == 200
    for url in ("http://198.51.100.7/", "http://plain.example:8081/"):
        assert "host_not_allowed" in said(url)
    ranges = rules(("deny", "198.51.100.128/25"), ("allow", "198.51.100.0/24"),
                   ("allow", "2001:db8::/32"), ("allow", "plain.example"))
    assert call("PUT", "/policy", {"egress": ranges}).status == 200
    assert policy_of(call)["policy"]["egress"] == ranges
    for url in ("http://198.51.100.7/", "http://198.51.100.7:8081/",
                "http://[2001:db8::1]:8081/", "http://plain.example:8081/"):
        assert "address_forbidden" in said(url)
    assert "denied_by_rule" in said("http://198.51.100.129:8081/")
    assert "host_not_allowed" in said("http://203.0.113.1/")
    assert call("PUT", "/policy", {"defaultAction": "allow", "egress": rules(
        ("deny", "198.51.100.0/24"))}).status == 200
    shown = policy_of(call)
    assert (shown["policy"]["defaultAction"],
            shown["policy"]["egress"]) == (
                "allow", rules(("deny", "198.51.100.0/24")))
    assert "denied_by_rule" in said("http://198.51.100.7/")
    assert "address_forbidden" in said("http://203.0.113.1:8081/")
    assert call("DELETE", "/policy", ["198.51.100.0/24"]).status == 200
    assert policy_of(call)["mode"] == "allow_all"


def test_a_bare_star_of_a_create_allows_no_more_after_a_change(api):
    """It is of names: what is denied beside it opens no address."""
    box = api.make(networkPolicy={"egress": rules(("allow", "*"))})

    def said():
        return api.inside("POST", box, "/command", {
            "command": "curl -sS -m 20 http://198.51.100.7/"}).body.decode()
    assert "host_not_allowed" in said()
    assert api.inside("PATCH", box, "/policy", rules(("deny", "x.example")),
                      port=EGRESS).status == 200
    assert "host_not_allowed" in said()
    assert api.inside("PUT", box, "/policy", {"defaultAction": "allow"},
                      port=EGRESS).status == 200
    assert "address_forbidden" in said()
    assert api.call("DELETE", f"/v1/sandboxes/{box}").status == 204


def test_a_vault_of_more_values_than_the_gateway_takes_in_a_second(call):
    body = vault("v.example")
    body["credentials"] = [
        {"name": f"key-{i}", "source": {"type": "inline", "value": f"v-{i}"}}
        for i in range(60)]
    body["bindings"][0]["auth"]["credential"] = "key-59"
    assert call("PUT", "/policy",
                {"egress": rules(("allow", "v.example"))}).status == 200
    made = call("POST", "/credential-vault", body)
    assert made.status == 201, made
    assert len(made.json["credentials"]) == 60
    assert call("DELETE", "/credential-vault").status == 204
