"""One rule set on every way out: the same table of requests by CONNECT, in
absolute form, by SOCKS (name and address), and redirected; in TLS, in the
clear and as HTTP/2. Each must get the same verdict everywhere, and be forwarded alike."""
import json
import pathlib
import shutil

import pytest

CLIENT = pathlib.Path(__file__).parent / "conformance_client.py"
WAYS = ["connect-tls", "connect-plain", "socks-name-tls", "socks-name-plain",
        "socks-address-tls", "socks-address-plain", "transparent-tls",
        "transparent-plain", "absolute-plain", "connect-h2", "socks-name-h2",
        "socks-address-h2", "transparent-h2"]
STATUS = {
    "host_not_allowed": 403, "port_not_allowed": 403,
    "method_not_allowed": 403, "path_not_allowed": 403,
    "denied_by_rule": 403, "path_ambiguous": 400, "host_mismatch": 421,
    "request_malformed": 400, "request_too_large": 431,
    "method_unknown": 405, "upgrade_not_supported": 403,
    "websocket_not_allowed": 403, "query_not_allowed": 403,
    "header_not_allowed": 403,
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
        policies.rule(OTHER, name="no-deletes", methods=["DELETE"],
                      action="deny"),
        policies.rule(OTHER, name="the-rest", paths=["/**"]),
    ]


def row(name, verdict, method, target, host=GOOD, **more):
    """verdict: the path that upstream sees, or the constraint."""
    return {"name": name, "verdict": verdict, "method": method, "host": host,
            "target": target, "port": "allowed", **more}


I = "/repos/acme/issues"
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
    "port_not_allowed": {"socks-name": "SOCKS 2", "socks-address": "SOCKS 2"},
}


def expected(row, way):
    verdict = row["verdict"]
    if way == "absolute-plain":
        verdict = row.get("absolute", verdict)
    if way.endswith("-h2") and "h2" in row:
        return [None, row["h2"], None]
    if verdict.startswith("/"):
        return [200, None, verdict]
    told = UNTOLD.get(verdict, {}).get(way.rpartition("-")[0])
    if told and (verdict == "host_not_allowed" or row["port"] == "far"):
        return [None, told, None]
    return [STATUS[verdict], verdict, None]


@pytest.fixture(scope="module")
def answers(gateway, policies, origin, tmp_path_factory):
    """{(row's name, way): what came back}: one sandbox for all of them."""
    workspace = tmp_path_factory.mktemp("conformance")
    shutil.copy(CLIENT, workspace)
    tls, plain = origin.port, origin.plain_port
    web = (8443, 8080) if tls == 443 else (443, 80)
    (workspace / "table.json").write_text(json.dumps(
        {"rows": ROWS, "ports": {"allowed": [tls, plain], "web": web,
                                 "far": [9443, 9080]}}))
    done = gateway.run(policies.make(rules(policies)),
                       ["/usr/bin/python3", CLIENT.name, "table.json"],
                       workspace, timeout=300)
    assert done.returncode == 0, done.stderr
    return {(name, way): got for name, way, got in
            map(json.loads, done.stdout.splitlines())}


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
