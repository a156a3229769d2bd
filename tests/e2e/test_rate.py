"""How much a session, or a rule, may do in a time."""
import json
import os

import pytest
from waiting import wait_until


@pytest.fixture
def rated(make_session, policies):
    """A session with that rate, and perhaps one of its rule's."""
    def make(rate=None, of_rule=None, repo=None):
        rule = policies.rule("good.example", methods=["GET", "POST"],
                             paths=["/**"],
                             **({"rate": of_rule} if of_rule else {}))
        policy = policies.make([rule], repo=repo)
        if rate:
            policy["network"]["rate"] = rate
        return make_session(policy, repo)
    return make


def field(answer, name):
    for line in answer.head.splitlines()[1:]:
        if line.lower().startswith(name.lower() + ":"):
            return line.split(":", 1)[1].strip()
    return None


def limited(answer):
    assert answer.status == 429, answer.head + answer.text
    assert answer.json["constraint"] == "limit_rate"
    return answer


@pytest.mark.parametrize("where", ["rate", "of_rule"])
def test_requests_beyond_the_rate_wait(rated, origin, where):
    session = rated(**{where: {"requests": "3/1h"}})
    for _ in range(3):
        assert session.curl(origin.url("/echo")).status == 200
    before = len(origin.tls.requests)
    answer = limited(session.curl(origin.url("/echo")))
    # One comes back every twenty minutes.
    assert 1100 < int(field(answer, "Retry-After")) <= 1200
    assert len(origin.tls.requests) == before
    assert session.row("request", allowed=False)["constraint"] == "limit_rate"


def test_without_a_rate_they_do_not(rated, origin):
    session = rated()
    for _ in range(5):
        assert session.curl(origin.url("/echo")).status == 200


def test_an_upload_that_is_too_large_is_refused_at_once(rated, origin):
    session = rated(rate={"upload": "100KiB/1h"})
    body = session.dir / "body"
    body.write_bytes(bytes(90 * 1024))
    url = origin.url("/echo")
    assert session.curl(url, "--data-binary", f"@{body}").status == 200
    before = len(origin.tls.requests)
    answer = limited(session.curl(url, "--data-binary", f"@{body}"))
    assert int(field(answer, "Retry-After")) > 1000
    body.write_bytes(bytes(101 * 1024))
    answer = limited(session.curl(url, "--data-binary", f"@{body}"))
    assert field(answer, "Retry-After") is None, "it never passes"
    assert len(origin.tls.requests) == before


def test_an_upload_without_a_length_is_cut(rated, origin):
    session = rated(rate={"upload": "1MiB/1h"})
    body = session.dir / "body"
    body.write_bytes(bytes(4 << 20))
    # Over HTTP/2 some versions of curl say the length all the same.
    limited(session.curl(origin.url("/echo"), "--http1.1", "-H", "Expect:",
                         "-H", "Transfer-Encoding: chunked", "--data-binary",
                         f"@{body}"))
    assert session.row("response")["constraint"] == "limit_rate"


def test_downloads_have_their_limit(rated, origin):
    session = rated(of_rule={"download": "1MiB/1h"})
    assert len(session.curl(origin.url("/big/1000000")).body) == 1000000
    limited(session.curl(origin.url("/big/1000000")))
    row = session.row("response", constraint="limit_rate")
    assert row["path"] == "/big/1000000"


def test_git_counts_as_well(rated, repo):
    session = rated(rate={"upload": "64KiB/1h"}, repo=repo)
    work = session.clone()
    work.commit("small", content="small")
    assert work.push("HEAD:agent/1").returncode == 0
    work.commit("large", content=os.urandom(300000))
    pushed = work.push("HEAD:agent/1")
    assert pushed.returncode != 0
    assert repo.tip("agent/1") != work.out("rev-parse", "HEAD")
    wait_until(lambda: any(row.get("constraint") == "limit_rate"
                           for row in session.audit()))


def change(session, policy):
    session.gateway.call("PUT", f"/v1/sessions/{session.id}/policy",
                         json.dumps({"policy": json.dumps(policy, indent=1)}))


@pytest.mark.parametrize("used", [3, 0], ids=["used up", "not used"])
@pytest.mark.parametrize("where", ["rate", "of_rule"])
def test_a_change_of_the_policy_is_no_new_budget(make_session, policies,
                                                 origin, where, used):
    """Nor are two, one of which takes the rule away."""
    rate = {"rate": {"requests": "3/1h"}}
    of_rule = rate if where == "of_rule" else {}
    policy = policies.make([policies.rule("good.example", name="counted",
                                          paths=["/**"], **of_rule)])
    other = policies.make([policies.rule("plain.example")])
    if where == "rate":
        policy["network"].update(rate)
        other["network"].update(rate)
    session = make_session(policy)
    for _ in range(used):
        assert session.curl(origin.url("/echo")).status == 200
    change(session, policy | {"name": "next"})
    change(session, other)
    change(session, policy)
    for _ in range(3 - used):
        assert session.curl(origin.url("/echo")).status == 200
    limited(session.curl(origin.url("/echo")))


def test_a_larger_budget_is_as_empty_as_the_one_before(make_session, policies,
                                                       origin):
    def of(count):
        return policies.make([policies.rule(
            "good.example", name="counted", paths=["/**"],
            rate={"requests": f"{count}/1h"})])
    session = make_session(of(2))
    assert session.curl(origin.url("/echo")).status == 200
    change(session, of(4))
    for _ in range(2):
        assert session.curl(origin.url("/echo")).status == 200
    limited(session.curl(origin.url("/echo")))
