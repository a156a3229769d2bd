"""Rules that look into bodies, queries and headers, end to end."""
import pytest


@pytest.fixture
def web(make_session, policies):
    def make(**more):
        return make_session(policies.make(
            [policies.rule("good.example", **more)]))
    return make


HEAD = {"max": "1KiB", "json": [{"pointer": "/head", "equals": "agent/1"}]}
JSON = ("-H", "Content-Type: application/json", "-d")


def test_a_body_passes_when_it_says_what_the_rule_asks(web, origin):
    session = web(body=HEAD)
    answer = session.curl(origin.url("/echo"), *JSON, '{"head": "agent/1"}')
    assert answer.status == 200, answer.text
    answer = session.curl(origin.url("/echo"), *JSON, '{"head": "main"}')
    assert answer.status == 403
    assert answer.json["constraint"] == "body_not_allowed"
    assert 'json /head: "agent/1"' in answer.json["allowed"]
    answer = session.curl(origin.url("/echo"), *JSON, "x" * 1025)
    assert answer.json["constraint"] == "body_too_large"


def test_the_query_says_nothing_else_of_what_a_body_must_say(web, origin):
    """Rails, for one, would take the query's word."""
    session = web(body=HEAD)
    good = JSON + ('{"head": "agent/1"}',)
    assert session.curl(origin.url("/echo?page=1"), *good).status == 200
    before = len(origin.tls.requests)
    answer = session.curl(origin.url("/echo?head=main"), *good)
    assert answer.json["constraint"] == "body_not_allowed"
    assert len(origin.tls.requests) == before


def test_without_the_rule_the_same_body_passes(web, origin):
    answer = web().curl(origin.url("/echo"), *JSON, '{"head": "main"}')
    assert answer.status == 200, answer.text


def test_a_query_and_a_header_must_match(web, origin):
    session = web(query={"q": "[0-9]+"}, headers={"x-kind": "a|b"})
    good = session.curl(origin.url("/echo?q=1"), "-H", "X-Kind: b")
    assert good.status == 200, good.text
    bad = session.curl(origin.url("/echo?q=1&q=x"), "-H", "X-Kind: b")
    assert bad.json["constraint"] == "query_not_allowed"
    bad = session.curl(origin.url("/echo?q=1"), "-H", "X-Kind: c")
    assert bad.json["constraint"] == "header_not_allowed"
