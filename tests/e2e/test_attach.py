"""Credentials as headers, parameters and in the place of placeholders: what
upstream gets, what is refused, and that nothing of it is ever inside."""
import base64
import gzip

import pytest
from gateway import wait_until
from keyed_origin import KeyedOrigin

HOST, OTHER = "good.example", "plain.example"
KEY = "canary/key+that is kept: 5f1c9e7a&b"
PERCENT = "canary%2Fkey%2Bthat%20is%20kept%3A%205f1c9e7a%26b"


@pytest.fixture(scope="module")
def upstream(origin, pki):
    upstream = KeyedOrigin(origin.address, pki[0][HOST])
    yield upstream
    upstream.stop()


@pytest.fixture
def web(make_session, policies, upstream, gateway):
    """A session with a rule for everything at HOST, with a credential."""
    def make(attach, rule=(), other=(), **more):
        gateway.put_secret("key", KEY)
        upstream.seen.clear()
        upstream.cut.clear()
        upstream.keys = {}
        policy = policies.make([
            policies.rule(HOST, ports=[upstream.port], credential="c",
                          **dict(rule)),
            policies.rule(HOST, OTHER, ports=[upstream.port, *policies.ports],
                          **dict(other))])
        policy["credentials"] = [{
            "name": "c", "secret": "key", "attach": attach, "hosts": [HOST],
            **more}]
        session = make_session(policy)
        session.url = f"https://{HOST}:{upstream.port}"
        return session
    return make


def refused(answer, constraint, *words):
    assert answer.status == 403
    assert answer.json["constraint"] == constraint
    for word in words:
        assert word in answer.text
    assert KEY not in answer.text and PERCENT not in answer.text


# ---- header ----

def test_a_header_is_added_and_replaces_the_clients(web, upstream):
    session = web("header", header={"name": "X-Api-Key",
                                    "format": "token %s!"})
    for name in ("X-Api-Key", "x_api_key", "X-API-KEY"):
        answer = session.curl(session.url + "/a?b=c", "-H", f"{name}: mine",
                              "-H", "Authorization: Bearer mine",
                              "-H", "X-Other: 1")
        assert answer.status == 200
        seen = upstream.seen.pop()
        assert seen.target == "/a?b=c"
        assert [v for n, v in seen.fields if "api" in n] == [
            f"token {KEY}!"]
        assert "authorization" not in seen.headers
        assert seen.headers["x-other"] == "1"


def test_a_header_goes_with_no_other_rule(web, upstream):
    session = web("header", header={"name": "X-Api-Key"},
                  rule={"paths": ["/with/**"]})
    assert session.curl(session.url + "/without").status == 200
    assert "x-api-key" not in upstream.seen.pop().headers
    assert session.curl(session.url + "/with/it").status == 200
    assert upstream.seen.pop().headers["x-api-key"] == KEY


# ---- query ----

@pytest.mark.parametrize("asked, sent", [
    ("/a", "/a?"), ("/a?", "/a?"), ("/a?x=1&y=2", "/a?x=1&y=2&")])
def test_a_parameter_is_added(web, upstream, asked, sent):
    session = web("query", query={"name": "api-key"})
    assert session.curl(session.url + asked).status == 200
    assert upstream.seen.pop().target == f"{sent}api-key={PERCENT}"


def test_the_clients_own_parameter_is_refused(web, upstream):
    session = web("query", query={"name": "key"},
                  placeholder={"env": ["API_KEY"]})
    for query in ("key=mine", "x=1&KEY=mine", "%6bey=mine", "key",
                  "+key=mine", "key%5B%5D=mine"):
        refused(session.curl(f"{session.url}/a?{query}"),
                "query_not_allowed", "added outside the sandbox")
    assert not upstream.seen
    worthless = session.placeholders["API_KEY"]
    answer = session.curl(f"{session.url}/a?x=1&key={worthless}&y=2")
    assert answer.status == 200
    assert upstream.seen.pop().target == f"/a?x=1&y=2&key={PERCENT}"


def test_a_parameter_is_in_no_record(web, upstream, gateway):
    session = web("query", query={"name": "key"})
    assert session.curl(session.url + "/a?x=1").status == 200
    rows = str(session.audit()) + gateway.log()
    assert "canary" not in rows and PERCENT not in rows
    assert "canary" in upstream.seen.pop().target


# ---- its own bounds ----

def test_a_credential_goes_with_its_own_requests_alone(web, upstream):
    session = web("bearer", methods=["GET"], paths=["/v1/**"])
    assert session.curl(session.url + "/v1/a").status == 200
    assert upstream.seen.pop().headers["authorization"] == f"Bearer {KEY}"
    refused(session.curl(session.url + "/v2/a"), "path_not_allowed")
    refused(session.curl(session.url + "/v1/a", "-d", "x"),
            "method_not_allowed")
    assert not upstream.seen


# ---- placeholders ----

def test_a_placeholder_is_swapped_in_a_header_and_in_basic(web, upstream):
    session = web("placeholder", placeholder={"env": ["KEY", "SAME"],
                                              "shape": "npm"})
    worthless = session.placeholders["KEY"]
    assert worthless == session.placeholders["SAME"]
    assert worthless.startswith("npm_") and len(worthless) == 40
    assert session.curl(session.url, "-H", f"Authorization: Bearer {worthless}",
                        "-H", f"X-Twice: {worthless}, {worthless}",
                        "-H", "Cookie: own=1").status == 200
    seen = upstream.seen.pop()
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["x-twice"] == f"{KEY}, {KEY}"
    assert "cookie" not in seen.headers
    assert session.curl(session.url, "-u", f"me:{worthless}").status == 200
    scheme, _, value = upstream.seen.pop().headers["authorization"] \
        .partition(" ")
    assert scheme == "Basic"
    assert base64.b64decode(value).decode() == f"me:{KEY}"
    # Without one there is nothing to swap, and the sandbox's own is dropped.
    assert session.curl(session.url, "-u", "me:mine").status == 200
    assert "authorization" not in upstream.seen.pop().headers


def test_a_placeholder_is_swapped_in_query_and_path(web, upstream):
    session = web("placeholder", placeholder={
        "env": ["KEY"], "in": ["query", "path"]})
    worthless = session.placeholders["KEY"]
    assert session.curl(f"{session.url}/bot{worthless}/send?a={worthless}&b"
                        ).status == 200
    assert upstream.seen.pop().target == f"/bot{PERCENT}/send?a={PERCENT}&b"
    refused(session.curl(session.url, "-H", f"X-Key: {worthless}"),
            "placeholder_not_allowed", "in the query, in the path")
    assert not upstream.seen


@pytest.mark.parametrize("kind, sent, got", [
    ("application/json", '{"a": "@", "b": ["@"]}',
     '{{"a": "{0}", "b": ["{0}"]}}'.format(KEY)),
    ("application/x-www-form-urlencoded", "a=@&b=@", f"a={PERCENT}&b={PERCENT}"),
    ("text/plain", "@" + "x" * 200000 + "@", KEY + "x" * 200000 + KEY)])
def test_a_placeholder_is_swapped_in_a_body(web, upstream, tmp_path, kind,
                                            sent, got):
    session = web("placeholder", placeholder={"env": ["KEY"], "in": ["body"]})
    (tmp_path / "body").write_text(
        sent.replace("@", session.placeholders["KEY"]))
    assert session.curl(session.url, "-H", f"Content-Type: {kind}",
                        "--data-binary", f"@{tmp_path}/body").status == 200
    seen = upstream.seen.pop()
    assert seen.body.decode() == got
    assert int(seen.headers["content-length"]) == len(got)


def test_a_placeholder_goes_nowhere_else(web, upstream, origin):
    """By the other rule, to another host, in the clear, in a URL."""
    session = web("placeholder", rule={"paths": ["/with/**"]},
                  placeholder={"env": ["KEY"]})
    worthless = session.placeholders["KEY"]
    bearer = ("-H", f"Authorization: Bearer {worthless}")
    told = "a header, as Basic to good.example"
    refused(session.curl(session.url + "/without", *bearer),
            "placeholder_not_allowed", told, "credential \\\"c\\\"")
    refused(session.curl(session.url + "/without", "-u", f"x:{worthless}"),
            "placeholder_not_allowed", told)
    refused(session.curl(origin.plain_url("/a"), *bearer),
            "placeholder_not_allowed", told)
    for url in (f"/with/{worthless}", f"/with/?a={worthless}",
                f"/with/?a=%{ord(worthless[0]):02x}{worthless[1:]}"):
        refused(session.curl(session.url + url), "placeholder_not_allowed",
                told)
    assert not upstream.seen
    # The twins.
    assert session.curl(session.url + "/with/a", *bearer).status == 200
    assert session.curl(session.url + "/without", "-H",
                        "Authorization: Bearer mine").status == 200
    assert upstream.seen.pop().headers["authorization"] == "Bearer mine"


def test_a_placeholder_in_a_body_that_a_rule_looks_at(web, upstream):
    session = web("bearer", rule={"body": {"max": "1MiB"}},
                  placeholder={"env": ["KEY"]})
    text = ("-H", "Content-Type: text/plain", "--data-binary")
    refused(session.curl(session.url, *text, session.placeholders["KEY"]),
            "placeholder_not_allowed", "stands in the body")
    assert session.curl(session.url, *text, "nothing").status == 200
    assert upstream.seen.pop().body == b"nothing"


def send(session, tmp_path, body, *options):
    (tmp_path / "body").write_bytes(body)
    return session.curl(session.url, "-H", "Content-Type: text/plain",
                        "--data-binary", f"@{tmp_path}/body", *options)


CHUNKED = ("-H", "Transfer-Encoding: chunked")
GZIP = ("-H", "Content-Encoding: gzip")


def in_members(body):
    """The last one begins within what the body ends with."""
    return gzip.compress(body[:100]) + gzip.compress(body[100:-12]) + \
        gzip.compress(body[-12:])


@pytest.mark.parametrize("coded, options", [
    (bytes, ()), (bytes, CHUNKED), (gzip.compress, GZIP),
    (gzip.compress, (*GZIP, *CHUNKED)), (in_members, GZIP)],
    ids=["length", "chunked", "gzip", "gzip-chunked", "gzip-members"])
def test_a_placeholder_in_a_body_that_streams(web, upstream, tmp_path, coded,
                                              options):
    session = web("placeholder", placeholder={"env": ["KEY"]})
    worthless = session.placeholders["KEY"].encode()
    before = bytes(i * 7 % 251 for i in range(300000))
    refused(send(session, tmp_path, coded(before + worthless + b"behind"),
                 *options),
            "placeholder_not_allowed", "stands in the body")
    assert not upstream.seen
    assert worthless not in b"".join(upstream.cut)
    # The twin: all but its last letter, of which nothing is lost.
    body = coded(before + worthless[:-1])
    assert send(session, tmp_path, body, *options).status == 200
    assert upstream.seen.pop().body == body


def test_seven_letters_of_a_placeholder_are_the_upstreams(web, upstream):
    """Byte by byte, with a pause in which all that may go has gone: a message
    that ends as one begins does not wait for the next, and no more goes."""
    upstream.come = b""
    session = web("placeholder", placeholder={"env": ["KEY"]})
    worthless = session.placeholders["KEY"].encode()
    stream = session.connect_tls(HOST, upstream.port)
    stream.sendall(f"POST / HTTP/1.1\r\nHost: {HOST}:{upstream.port}\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n".encode())
    goes = b"text " + worthless[:7]
    for byte in goes:
        stream.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
        wait_until(lambda: upstream.come.endswith(bytes([byte])))
    for byte in worthless[7:-1]:
        stream.sendall(b"1\r\n" + bytes([byte]) + b"\r\n")
    wait_until(lambda: upstream.come == goes)
    stream.sendall(b"1\r\n" + worthless[-1:] + b"\r\n")
    stream.settimeout(30)
    assert b"placeholder_not_allowed" in stream.recv(65536)
    assert wait_until(lambda: upstream.cut) == [goes]


def test_a_placeholder_in_a_body_that_is_held_and_compressed(web, upstream,
                                                             tmp_path):
    session = web("placeholder", placeholder={"env": ["KEY"], "in": ["body"]})
    worthless = session.placeholders["KEY"].encode()
    for body, status in ((worthless, 403), (worthless[:-1], 200)):
        answer = send(session, tmp_path, gzip.compress(b"a " + body), *GZIP)
        assert answer.status == status, answer.text
    assert len(upstream.seen) == 1


@pytest.mark.parametrize("kind", ["Application/JSON",
                                  "application/problem+Json; charset=utf-8"])
def test_types_of_json_are_so_in_any_case(web, upstream, gateway, kind):
    session = web("placeholder", placeholder={"env": ["KEY"], "in": ["body"]})
    gateway.put_secret("key", 'with "quotes"')
    assert session.curl(session.url, "-H", f"Content-Type: {kind}", "-d",
                        f'"{session.placeholders["KEY"]}"').status == 200
    assert upstream.seen.pop().body == b'"with \\"quotes\\""'


def test_each_session_has_placeholders_of_its_own(web, upstream):
    one, two = (web("placeholder", placeholder={"env": ["KEY"]})
                for _ in range(2))
    assert one.placeholders["KEY"] != two.placeholders["KEY"]
    theirs = two.placeholders["KEY"]
    assert one.curl(one.url, "-H", f"X-Key: {theirs}").status == 200
    assert upstream.seen.pop().headers["x-key"] == theirs


# ---- in a sandbox ----

NPMRC = "//{host}:{port}/:_authToken=${{NPM_TOKEN}}"
INSIDE = f"""
npm ping --registry https://{HOST}:$PORT/ >npm.log 2>&1
/usr/bin/python3 - <<'END'
import os, requests
answer = requests.get(f"https://{HOST}:{{os.environ['PORT']}}/api", timeout=30,
                      auth=("bot", os.environ["NPM_TOKEN"]))
print(answer.status_code)
END
curl -sS https://{HOST}:$PORT/api -H "X-Key: $NPM_TOKEN" -o curl.log
env >env.log
cat /proc/self/environ /proc/self/cmdline >>env.log
"""


def test_npm_requests_and_curl_send_what_they_are_given(
        gateway, policies, upstream, workspace):
    """And not a byte of the secret is where the sandbox could read it."""
    gateway.put_secret("key", KEY)
    upstream.seen.clear()
    upstream.keys = {}
    policy = policies.make([policies.rule(HOST, ports=[upstream.port],
                                          credential="c")])
    policy["credentials"] = [{
        "name": "c", "secret": "key", "attach": "placeholder",
        "hosts": [HOST], "placeholder": {"env": ["NPM_TOKEN"],
                                         "shape": "npm"}}]
    policy["environment"] = {"set": {"PORT": str(upstream.port),
                                     "npm_config_cache": ".npm"}}
    (workspace / ".npmrc").write_text(
        NPMRC.format(host=HOST, port=upstream.port))
    done = gateway.run(policy, INSIDE, workspace)
    assert done.returncode == 0, done.stderr
    assert "200" in done.stdout, done.stdout + done.stderr
    sent = [seen.headers.get("authorization") for seen in upstream.seen]
    assert f"Bearer {KEY}" in sent  # npm
    basic = base64.b64encode(f"bot:{KEY}".encode()).decode()
    assert f"Basic {basic}" in sent  # requests
    assert KEY in [seen.headers.get("x-key") for seen in upstream.seen]
    seen = 0
    for path in workspace.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            seen += len(data)
            assert b"canary" not in data and basic.encode() not in data, path
    assert b"NPM_TOKEN=npm_" in (workspace / "env.log").read_bytes()
    assert seen > 500
    for text in (done.stdout, done.stderr, gateway.log(),
                 str(gateway.audit())):
        assert "canary" not in text and basic not in text


@pytest.mark.parametrize("headers", [[], ["-H", "Content-Encoding: x-own"]],
                         ids=["plain", "coded"])
def test_a_text_of_the_policys_own_is_swapped(web, upstream, tmp_path,
                                              headers):
    """In its place alone, in a body that streams too; without it, it is a
    text like any other."""
    own = "MY_API_KEY"
    body = tmp_path / "body"
    body.write_bytes(b"x" * 300000 + own.encode() + b"y" * 300000)
    streams = ["-H", "Transfer-Encoding: chunked", "-H", "Expect:", *headers,
               "--data-binary", f"@{body}"]
    session = web("placeholder", placeholder={"text": own})
    assert session.placeholders == {}
    assert session.curl(session.url, "-H", f"X-A: a{own}b").status == 200
    assert upstream.seen.pop().headers["x-a"] == f"a{KEY}b"
    refused(session.curl(session.url + "/" + own), "placeholder_not_allowed",
            "stands in the path")
    refused(session.curl(session.url, *streams), "placeholder_not_allowed",
            "stands in the body")
    without = web("bearer")
    assert without.curl(without.url + "/" + own, *streams).status == 200
    seen = upstream.seen.pop()
    assert seen.target == "/" + own and own.encode() in seen.body
