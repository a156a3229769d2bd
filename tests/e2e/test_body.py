"""Rules that look into bodies, with real clients: what is refused never
reaches upstream, what passes is exactly what was looked at."""
import gzip
import hashlib
import http.client
import json
import ssl
import string
import time
import zlib

import pytest

GOOD = json.dumps({"head": "agent/1", "base": "main"}).encode()
EVIL = json.dumps({"head": "agent/1", "base": "release"}).encode()


def github_token(text="0123456789abcdefghijABCDEFGHIJ"):
    """Shaped like one, checksum included; it opens nothing."""
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    left, check = zlib.crc32(text.encode()), ""
    while len(check) < 6:
        left, digit = divmod(left, 62)
        check = digits[digit] + check
    return f"ghp_{text}{check}"


TOKEN = github_token()
LOOK = {"max": "64KiB",
        "json": [{"pointer": "/head", "equals": "${session.branch}"},
                 {"pointer": "/base", "one-of": ["main", "next"]}]}


@pytest.fixture
def looking(make_session, policies, repo):
    """A session whose one rule has that body; None: it does not look."""
    def make(body=None, **more):
        rule = policies.rule("good.example", methods=["POST", "PUT"],
                             **({"body": body} if body else {}), **more)
        return make_session(policies.make([rule], repo=repo), repo)
    return make


def post(session, origin, body, *options, kind="application/json"):
    path = session.dir / "post"
    path.write_bytes(body)
    return session.curl(origin.url("/pulls"), "--http1.1", "-H",
                        f"Content-Type: {kind}", "--data-binary", f"@{path}",
                        *options)


def passed(answer, body):
    assert answer.status == 200, answer.head + answer.text
    assert answer.json["digest"] == hashlib.sha256(body).hexdigest()
    assert answer.json["headers"]["content-length"] == str(len(body))
    assert "transfer-encoding" not in answer.json["headers"]


class Nothing:
    """Nothing arrives at the origin meanwhile."""

    def __init__(self, origin):
        self.server = origin.tls

    def __enter__(self):
        self.before = (self.server.connections, len(self.server.requests))

    def __exit__(self, *_):
        assert self.before == (self.server.connections,
                               len(self.server.requests))


def refused(answer, constraint):
    assert answer.json["constraint"] == constraint, answer.text
    assert answer.json["try"], "there is something to do instead"


def test_a_body_that_the_rule_wants_passes_as_it_is(looking, origin):
    passed(post(looking(LOOK), origin, GOOD), GOOD)


@pytest.mark.parametrize("body", [
    EVIL, b"{}", b"[]", b'{"base": "main", "head": "agent/1", "base": "x"}',
    GOOD[:-1], b"base=main&head=agent/1", b"\xff\xfe{\0}\0", b""])
def test_another_body_never_reaches_upstream(looking, origin, body):
    session = looking(LOOK)
    with Nothing(origin):
        answer = post(session, origin, body)
    assert answer.status in (403, 415)
    assert answer.json["constraint"] in ("body_not_allowed",
                                         "body_unreadable")
    row = session.row("request", allowed=False)
    assert row["constraint"] == answer.json["constraint"]


def test_without_the_rule_it_does(looking, origin):
    answer = post(looking(), origin, EVIL)
    assert answer.status == 200
    assert answer.json["length"] == len(EVIL)


@pytest.mark.parametrize("body, passes", [(GOOD, True), (EVIL, False)])
def test_a_compressed_body_is_looked_into(looking, origin, body, passes):
    session = looking(LOOK)
    packed = gzip.compress(body)
    if passes:
        passed(post(session, origin, packed, "-H", "Content-Encoding: gzip"),
               packed)
        return
    with Nothing(origin):
        refused(post(session, origin, packed, "-H", "Content-Encoding: gzip"),
                "body_not_allowed")


@pytest.mark.parametrize("body", [
    gzip.compress(GOOD)[:-6], gzip.compress(GOOD) + b"more",
    gzip.compress(b'{"x":"' + bytes(1 << 24) + b'"}'), GOOD],
    ids=["cut short", "more behind", "too large", "not packed"])
def test_what_cannot_be_unpacked_is_refused(looking, origin, body):
    session = looking(LOOK)
    with Nothing(origin):
        refused(post(session, origin, body, "-H", "Content-Encoding: gzip"),
                "body_unreadable")


@pytest.mark.parametrize("body, passes", [(GOOD, True), (EVIL, False)])
def test_a_body_in_chunks_is_put_together(looking, origin, body, passes):
    session = looking(LOOK)
    if passes:
        passed(post(session, origin, body, "-H",
                    "Transfer-Encoding: chunked"), body)
        return
    with Nothing(origin):
        refused(post(session, origin, body, "-H",
                     "Transfer-Encoding: chunked"), "body_not_allowed")


@pytest.mark.parametrize("body, passes", [(GOOD, True), (EVIL, False)])
def test_a_body_on_http2_is_looked_into_as_well(looking, origin, body, passes):
    session = looking(LOOK)
    if passes:
        answer = post(session, origin, body, "--http2")
        passed(answer, body)
        assert answer.head.startswith("HTTP/2")
        return
    with Nothing(origin):
        refused(post(session, origin, body, "--http2"), "body_not_allowed")


def python_client(session, origin):
    connection = http.client.HTTPSConnection(
        "127.0.0.1", session.port, timeout=60,
        context=ssl.create_default_context(cafile=session.ca))
    connection.set_tunnel("good.example", origin.port)
    return connection


def test_a_body_that_comes_slowly_is_waited_for(looking, origin):
    """Python's http.client sends it in chunks; upstream hears nothing
    before the last."""
    connection = python_client(looking(LOOK), origin)

    def pieces():
        for at in range(0, len(GOOD), 8):
            time.sleep(0.05)
            with Nothing(origin):
                yield GOOD[at:at + 8]
    connection.request("POST", "/pulls", body=pieces(), encode_chunked=True,
                       headers={"Content-Type": "application/json",
                                "Transfer-Encoding": "chunked"})
    answer = connection.getresponse()
    seen = json.loads(answer.read())
    assert seen["digest"] == hashlib.sha256(GOOD).hexdigest()
    connection.close()


@pytest.mark.parametrize("options", [(), ("-H", "Transfer-Encoding: chunked"),
                                     ("-H", "Expect: 100-continue")])
def test_a_body_that_is_too_large_is_refused(looking, origin, options):
    session = looking(LOOK)
    body = GOOD[:-1] + b" " * 65536 + b"}"
    with Nothing(origin):
        answer = post(session, origin, body, *options)
    refused(answer, "body_too_large")
    assert answer.status == 413
    assert "65536 bytes" in answer.json["try"]
    passed(post(looking({**LOOK, "max": "1MiB"}), origin, body), body)


def test_a_large_body_is_sent_on_whole(looking, origin):
    """Larger than any queue towards upstream."""
    body = GOOD[:-1] + b" " * (24 << 20) + b"}"
    passed(post(looking({**LOOK, "max": "32MiB"}), origin, body, "-H",
                "Expect:"), body)


@pytest.mark.parametrize("body, kind", [
    (json.dumps({"text": f"it is {TOKEN}."}).encode(), "application/json"),
    (f"it is {TOKEN}".encode(), "text/plain"),
    (f"note=it+is+{TOKEN}".encode(), "application/x-www-form-urlencoded")])
def test_a_token_does_not_leave_in_a_body(looking, origin, body, kind):
    session = looking({"secrets": "deny"})
    with Nothing(origin):
        answer = post(session, origin, body, kind=kind)
    refused(answer, "secret_in_body")
    assert TOKEN not in answer.text
    assert TOKEN not in json.dumps(session.audit())
    harmless = body.replace(TOKEN.encode(), b"no token")
    passed(post(session, origin, harmless, kind=kind), harmless)
    assert post(looking(), origin, body, kind=kind).status == 200


def test_the_connection_goes_on_after_a_refusal(looking, origin):
    connection = python_client(looking(LOOK), origin)
    fields = {"Content-Type": "application/json"}
    for body, status in [(EVIL, 403), (GOOD, 200), (EVIL, 403), (GOOD, 200)]:
        connection.request("POST", "/pulls", body, fields)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()
