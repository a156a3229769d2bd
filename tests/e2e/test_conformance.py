"""One rule set on every way out: the same table of requests by CONNECT, in
absolute form, by SOCKS (name and address), and redirected, and by SOCKS at
the door; in TLS, in the clear and as HTTP/2. Each must get the same verdict everywhere, and be forwarded alike."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest
from gateway import ApiError

CLIENT = pathlib.Path(__file__).parent / "conformance_client.py"
WAYS = ["connect-tls", "connect-plain", "socks-name-tls", "socks-name-plain",
        "socks-address-tls", "socks-address-plain", "transparent-tls",
        "transparent-plain", "absolute-plain", "connect-h2", "socks-name-h2",
        "socks-address-h2", "transparent-h2", "door-socks-tls",
        "door-socks-plain", "door-socks-h2"]
STATUS = {
    "host_not_allowed": 403, "port_not_allowed": 403,
    "method_not_allowed": 403, "path_not_allowed": 403,
    "denied_by_rule": 403, "path_ambiguous": 400, "host_mismatch": 421,
    "request_malformed": 400, "request_too_large": 431,
    "method_unknown": 405, "upgrade_not_supported": 403,
    "websocket_not_allowed": 403, "query_not_allowed": 403,
    "header_not_allowed": 403, "body_not_allowed": 403,
    "body_too_large": 413, "body_unreadable": 415, "secret_in_body": 403,
    "graphql_not_allowed": 403, "limit_rate": 429, "approval_pending": 403,
    "approval_denied": 403,
}
# What HTTP/2 says to a head that breaks it (RFC 9113 8.1.1).
RESET = "StreamReset"
GOOD, OTHER = "good.example", "other.example"
HANDSHAKE = [["Upgrade", "websocket"],
             ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
             ["Sec-WebSocket-Version", "13"], ["Connection", "upgrade"]]


def rules(policies):
    return [
        policies.rule(GOOD, action="deny", name="no-secrets",
                      paths=["/repos/*/secret/**", "/repos/**:close"],
                      reason="it is secret"),
        policies.rule(GOOD, name="issues", methods=["GET", "HEAD"],
                      paths=["/repos/*/issues", "/repos/*/issues/**",
                             "/repos/*/secret/**", "/~user/*",
                             "/@scope/*"]),
        policies.rule(GOOD, name="search", methods=["GET"],
                      paths=["/search"], query={"q": "[a-z]+"}),
        policies.rule(GOOD, name="typed", methods=["GET"],
                      paths=["/typed"], headers={"Accept": "application/.*"}),
        policies.rule(GOOD, name="new-issue", methods=["POST"],
                      paths=["/repos/acme/issues"]),
        policies.rule(GOOD, name="json", methods=["POST"], paths=["/json"],
                      body={"max": "1KiB", "json": [
                          {"pointer": "/head", "equals": "agent"}]}),
        policies.rule(GOOD, name="form", methods=["POST"], paths=["/form"],
                      body={"form": {"title": "[a-z]+"}}),
        policies.rule(GOOD, name="notes", methods=["POST"], paths=["/notes"],
                      body={"secrets": "deny"}),
        policies.rule(GOOD, name="graphql", methods=["POST"],
                      paths=["/graphql"],
                      body={"graphql": {"operations": ["query"]}}),
        *(policies.rule(GOOD, name=f"once-{way}", methods=["GET"],
                        paths=[f"/once/{way}"], rate={"requests": "1/1h"})
          for way in WAYS),
        policies.rule(GOOD, name="volume", methods=["POST"],
                      paths=["/volume"], rate={"upload": "1KiB/1h"}),
        policies.rule(GOOD, name="asked", methods=["POST"], paths=["/ask/**"],
                      action="ask", hold="60s"),
        policies.rule(GOOD, name="unheard", methods=["GET"],
                      paths=["/unheard"], action="ask", hold="100ms"),
        policies.rule(OTHER, name="no-deletes", methods=["DELETE"],
                      action="deny"),
        policies.rule(OTHER, name="the-rest", paths=["/**"]),
    ]


def row(name, verdict, method, target, host=GOOD, **more):
    """verdict: the path that upstream sees, or the constraint."""
    return {"name": name, "verdict": verdict, "method": method, "host": host,
            "target": target, "port": "allowed", **more}


I = "/repos/acme/issues"
JSON = [["Content-Type", "application/json"]]
FORM = [["Content-Type", "application/x-www-form-urlencoded"]]
TOKEN = "-----BEGIN RSA PRIVATE KEY-----"
ROWS = [
    # methods and paths
    row("a path", I, "GET", I),
    row("a path below", f"{I}/1", "GET", f"{I}/1"),
    row("a path far below", f"{I}/1/2/3", "GET", f"{I}/1/2/3"),
    row("a trailing slash", f"{I}/", "GET", f"{I}/"),
    row("another name in the star", "/repos/x/issues", "GET",
        "/repos/x/issues"),
    row("the star holds no slash", "path_not_allowed", "GET",
        "/repos/x/y/issues"),
    row("another path", "path_not_allowed", "GET", "/repos/acme/pulls"),
    row("a path's beginning", "path_not_allowed", "GET", "/repos/acme"),
    row("more than the path", "path_not_allowed", "GET",
        "/repos/acme/issuesx"),
    row("another case", "path_not_allowed", "GET", "/repos/acme/Issues"),
    row("the root", "path_not_allowed", "GET", "/"),
    row("another method", "method_not_allowed", "DELETE", I),
    row("a method of one path only", "path_not_allowed", "POST", f"{I}/1",
        body="x"),
    row("that method there", I, "POST", I, body="title=x"),
    row("a method no rule names", "method_not_allowed", "PUT", I, body="x"),
    row("OPTIONS", "method_not_allowed", "OPTIONS", I),
    row("an unknown method", "method_unknown", "BREW", I),
    row("TRACE", "method_unknown", "TRACE", I),
    # first match decides
    row("denied before allowed", "denied_by_rule", "GET",
        "/repos/acme/secret/x"),
    row("denied in any case", "denied_by_rule", "GET",
        "/repos/acme/SECRET/x"),
    row("denied under an escape that stays", "denied_by_rule", "GET",
        "/repos/acme/secret/x%3Aget"),
    row("a verb denied under an escape", "denied_by_rule", "GET",
        f"{I}%3Aclose"),
    row("another verb", f"{I}/1%3Aopen", "GET", f"{I}/1%3Aopen"),
    row("denied under an escape", "denied_by_rule", "GET",
        "/repos/acme/%73ecret/x"),
    row("a denied method", "denied_by_rule", "DELETE", "/x", host=OTHER),
    row("the rest of that host", "/x", "PUT", "/x", host=OTHER, body="x"),
    row("its root", "/", "GET", "/", host=OTHER),
    # one canonical form, decided on and forwarded
    row("an escape that means nothing", I, "GET", "/repos/acme/%69ssues"),
    row("escapes in capitals", f"{I}/a%2Bb", "GET", f"{I}/a%2bb"),
    row("a dot", I, "GET", "/repos/./acme/issues"),
    row("an escaped dot", I, "GET", "/repos/%2e/acme/issues"),
    row("an escaped tilde", "/~user/x", "GET", "/%7Euser/x"),
    row("npm's scope", "/@scope/name", "GET", "/@scope%2fname"),
    row("npm's scope below", f"{I}/@scope/name", "GET",
        f"{I}/@scope%2fname"),
    row("npm's scope, denied", "denied_by_rule", "GET",
        "/repos/acme/secret/@scope%2fname"),
    row("two dots", "path_ambiguous", "GET", f"{I}/../pulls"),
    row("two escaped dots", "path_ambiguous", "GET", f"{I}/%2e%2e/pulls"),
    row("two slashes", "path_ambiguous", "GET", "/repos//acme/issues"),
    row("an escaped slash", "path_ambiguous", "GET", f"{I}%2f1"),
    row("a backslash", "request_malformed", "GET", f"{I}\\1"),
    row("an escaped backslash", "path_ambiguous", "GET", f"{I}%5c1"),
    row("an escaped NUL", "path_ambiguous", "GET", f"{I}/%00"),
    row("a double escape", "path_ambiguous", "GET", f"{I}/%252e"),
    row("a parameter", "path_ambiguous", "GET", f"{I};x/1"),
    row("overlong UTF-8", "path_ambiguous", "GET", f"{I}/%c0%ae"),
    row("half an escape", "path_ambiguous", "GET", f"{I}/%4"),
    row("a fragment", "request_malformed", "GET", f"{I}#1"),
    # queries and fields: all values of a name
    row("a query that matches", "/search?q=abc", "GET", "/search?q=abc"),
    row("one that matches under an escape", "/search?q=%61bc", "GET",
        "/search?q=%61bc"),
    row("another query", "query_not_allowed", "GET", "/search?q=123"),
    row("no query", "query_not_allowed", "GET", "/search"),
    row("one value of two", "query_not_allowed", "GET",
        "/search?q=abc&q=123"),
    row("a field that matches", "/typed", "GET", "/typed",
        fields=[["accept", "application/json"]]),
    row("another field", "header_not_allowed", "GET", "/typed",
        fields=[["Accept", "text/html"]]),
    row("no field", "header_not_allowed", "GET", "/typed"),
    row("one field of two", "header_not_allowed", "GET", "/typed",
        fields=[["Accept", "application/json"], ["ACCEPT", "text/html"]]),
    # bodies
    row("a body that matches", "/json", "POST", "/json",
        body='{"head": "agent"}', fields=JSON),
    row("another body", "body_not_allowed", "POST", "/json",
        body='{"head": "main"}', fields=JSON),
    row("a body without the value", "body_not_allowed", "POST", "/json",
        body="{}", fields=JSON),
    row("a body that is no JSON", "body_unreadable", "POST", "/json",
        body='{"head": "agent"', fields=JSON),
    row("a body with a name twice", "body_unreadable", "POST", "/json",
        body='{"head": "agent", "head": "main"}', fields=JSON),
    row("a body that is too large", "body_too_large", "POST", "/json",
        body=json.dumps({"head": "agent", "more": "x" * 1024}), fields=JSON),
    row("a form that matches", "/form", "POST", "/form",
        body="title=abc&b=1", fields=FORM),
    row("a form with one value of two", "body_not_allowed", "POST", "/form",
        body="title=abc&title=123", fields=FORM),
    row("a text without a token", "/notes", "POST", "/notes",
        body="nothing"),
    row("a text with a token", "secret_in_body", "POST", "/notes",
        body=f"this: {TOKEN}"),
    row("a query of GraphQL", "/graphql", "POST", "/graphql",
        body='{"query": "{ viewer { login } }"}', fields=JSON),
    row("a mutation", "graphql_not_allowed", "POST", "/graphql",
        body='{"query": "mutation { close(id: 1) { id } }"}', fields=JSON),
    # rates: each way has a rule of its own to use up
    row("the first of one", "/once/{way}", "GET", "/once/{way}"),
    row("the second of one", "limit_rate", "GET", "/once/{way}"),
    row("a body within the volume", "/volume", "POST", "/volume", body="x"),
    row("a body beyond the volume", "limit_rate", "POST", "/volume",
        body="x" * 1025),
    # what a person is asked
    row("what a person allows", "/ask/yes/{way}", "POST", "/ask/yes/{way}",
        body="x"),
    row("what a person denies", "approval_denied", "POST", "/ask/no/{way}",
        body="x"),
    row("what nobody answers", "approval_pending", "GET", "/unheard"),
    # queries pass as they are
    row("a query", f"{I}?a=1&b=%2f..", "GET", f"{I}?a=1&b=%2f.."),
    row("an empty query", f"{I}?", "GET", f"{I}?"),
    row("a query is no path", "path_not_allowed", "GET",
        f"/repos/acme/pulls?{I}"),
    # hosts and ports
    row("another host", "host_not_allowed", "GET", I,
        host="wrong-host.example"),
    row("below an allowed host", "host_not_allowed", "GET", I,
        host="sub.good.example"),
    row("the end of an allowed host", "host_not_allowed", "GET", I,
        host="example"),
    row("another port", "port_not_allowed", "GET", I, port="web"),
    row("a port that is not the web's", "port_not_allowed", "GET", I,
        port="far"),
    row("Host is another", "host_mismatch", "GET", I, says_host=OTHER,
        absolute="request_malformed"),
    row("Host is no host", "request_malformed", "GET", I,
        says_host="good.example, other.example", h2=RESET),
    # heads
    row("two lengths", "request_malformed", "POST", I, body="x",
        fields=[["Content-Length", "2"]], h2=RESET),
    row("a length and chunks", "request_malformed", "POST", I, body="x",
        fields=[["Transfer-Encoding", "chunked"]], h2=RESET),
    row("a folded line", "request_malformed", "GET", I,
        fields=[["X-A", "b\r\n c"]]),
    row("a field by Connection", "request_malformed", "GET", I,
        fields=[["Connection", "authorization"]], h2=RESET),
    row("a head that is too large", "request_too_large", "GET", I,
        fields=[["X-Large", "x" * 9000]]),
    row("too many fields", "request_too_large", "GET", I,
        fields=[[f"X-{i}", "y"] for i in range(120)]),
    row("another protocol", "upgrade_not_supported", "GET", I,
        fields=[["Upgrade", "h2c"], ["Connection", "upgrade"]], h2=RESET),
    row("a WebSocket", "websocket_not_allowed", "GET", I, fields=HANDSHAKE,
        h2=RESET),
]
# A name that does not exist, and a reply of SOCKS, say no in their own way.
UNTOLD = {
    "host_not_allowed": {"transparent": "no such name",
                         "socks-address": "no such name"},
    "port_not_allowed": {"socks-name": "SOCKS 2", "socks-address": "SOCKS 2",
                         "door-socks": "SOCKS 2"},
}


def expected(row, way):
    verdict = row["verdict"]
    if way == "absolute-plain":
        verdict = row.get("absolute", verdict)
    if way.endswith("-h2") and "h2" in row:
        return [None, row["h2"], None]
    if verdict.startswith("/"):
        return [200, None, verdict.replace("{way}", way)]
    told = UNTOLD.get(verdict, {}).get(way.rpartition("-")[0])
    if told and (verdict == "host_not_allowed" or row["port"] == "far"):
        return [None, told, None]
    return [STATUS[verdict], verdict, None]


@pytest.fixture(scope="module")
def door():
    """A loopback address that another run of the tests does not use."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 8) % 128}.{pid & 255}.5", 3128


@pytest.fixture(scope="module")
def gateway(make_gateway, door):
    gateway = make_gateway("conformance", config={
        "listen": {"proxy": [f"{door[0]}:{door[1]}"]}})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture(scope="module")
def person(gateway):
    """Allows what is below /ask/yes, denies what is below /ask/no."""
    is_over = threading.Event()

    def decide(asked):
        yes = asked["path"].startswith("/ask/yes/")
        gateway.call("POST", f"/v1/approvals/{asked['id']}", json.dumps(
            {"decision": "approve" if yes else "deny"}))

    def answer():
        while not is_over.wait(0.05):
            try:
                pending = gateway.get("/v1/approvals?state=pending")
                for asked in pending["approvals"]:
                    if asked["path"].startswith("/ask/"):
                        decide(asked)
            except (ApiError, OSError):  # busy: the next turn asks again
                pass
    thread = threading.Thread(target=answer)
    thread.start()
    yield
    is_over.set()
    thread.join()


def send_inside(gateway, policy, table, workspace):
    (workspace / "table.json").write_text(json.dumps(table))
    return gateway.run(policy, ["/usr/bin/python3", CLIENT.name,
                                "table.json"], workspace, timeout=400)


def send_at_the_door(gateway, policy, table, workspace, door):
    made = gateway.create(policy, proxy=True)
    ca = workspace / "ca.pem"
    ca.write_text(made["ca_pem"])
    (workspace / "door.json").write_text(json.dumps(
        table | {"door": {"address": door, "lease": made["lease"]}}))
    done = subprocess.run(
        [sys.executable, CLIENT, workspace / "door.json"], text=True,
        capture_output=True, check=False, timeout=400,
        env={"PATH": os.environ["PATH"], "SSL_CERT_FILE": str(ca)})
    gateway.end(made["id"], "ended")
    return done


@pytest.fixture(scope="module")
def answers(gateway, policies, origin, tmp_path_factory, person, door):
    """{(row's name, way): what came back}: one sandbox for all of them, and
    one client of the door."""
    workspace = tmp_path_factory.mktemp("conformance")
    shutil.copy(CLIENT, workspace)
    tls, plain = origin.port, origin.plain_port
    web = (8443, 8080) if tls == 443 else (443, 80)
    table = {"rows": ROWS, "ports": {"allowed": [tls, plain], "web": web,
                                     "far": [9443, 9080]}}
    policy = policies.make(rules(policies))
    lines = []
    for done in (send_inside(gateway, policy, table, workspace),
                 send_at_the_door(gateway, policy, table, workspace, door)):
        assert done.returncode == 0, done.stderr
        lines += done.stdout.splitlines()
    return {(name, way): got for name, way, got in map(json.loads, lines)}


def test_no_row_is_left_out(answers):
    assert len(ROWS) >= 40
    assert len({row["name"] for row in ROWS}) == len(ROWS)
    assert len(answers) == len(ROWS) * len(WAYS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_verdict_is_the_same(answers, row, way):
    assert answers[row["name"], way] == expected(row, way)


def test_the_policy_says_so_too(gateway, policies, origin, tmp_path):
    """`policy test` decides as the edge does."""
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policies.make(rules(policies))))
    wrong = []
    for case in ROWS:
        if case["verdict"] not in ("path_not_allowed", "method_not_allowed",
                                   "denied_by_rule", I):
            continue
        url = f"https://{case['host']}{origin.suffix}{case['target']}"
        done = gateway.cli("policy", "test", "--policy", path,
                           case["method"], url)
        if (done.returncode == 0) != (case["verdict"] == I):
            wrong.append((case["name"], done.stdout + done.stderr))
    assert not wrong
