"""A policy's Lua script: asked after the rules, in a process of its own."""
import json

import pytest
from gateway import wait_until

SCRIPT = """
function decide(request)
  if request.headers["x-debug"] then
    return "deny", "no debugging of " .. request.host
  end
  if request.query == "burn" then while true do end end
  if request.query == "pattern" then
    return (("a"):rep(40) .. "b"):find(("a*"):rep(30) .. "c") and "allow"
  end
  if request.query == "eat" then
    local all = {}
    while true do all[#all + 1] = ("x"):rep(1000) .. #all end
  end
  if request.query == "wrong" then return 42 end
end
"""


def policy_of(policies, script=SCRIPT, **rule):
    policy = policies.make([policies.rule("plain.example", paths=["/echo"],
                                          **rule)])
    if script:
        policy["network"]["script"] = script
    return policy


def problem(answer):
    return json.loads(answer.text)


def test_a_script_denies_and_says_why(make_session, policies, origin):
    session = make_session(policy_of(policies))
    url = origin.plain_url("/echo")
    assert session.curl(url).status == 200
    answer = session.curl(url, "-H", "X-Debug: 1")
    assert answer.status == 403
    assert problem(answer)["constraint"] == "script_denied"
    assert "no debugging of plain.example" in answer.text
    assert session.row("request", constraint="script_denied")


def test_the_same_passes_without_the_script(make_session, policies, origin):
    session = make_session(policy_of(policies, script=None))
    url = origin.plain_url("/echo")
    assert session.curl(url, "-H", "X-Debug: 1").status == 200


def test_a_script_opens_nothing_that_the_rules_close(make_session, policies,
                                                     origin):
    session = make_session(policy_of(
        policies, "function decide() return 'allow' end"))
    assert session.curl(origin.plain_url("/echo")).status == 200
    assert session.curl(origin.plain_url("/other")).status == 403


@pytest.mark.parametrize("what", ["burn", "pattern", "eat", "wrong"])
def test_a_script_that_cannot_decide_is_a_refusal(make_session, policies,
                                                  origin, what):
    session = make_session(policy_of(policies))
    answer = session.curl(origin.plain_url(f"/echo?{what}"))
    assert answer.status == 503
    assert problem(answer)["constraint"] == "script_failed"
    # A process that was ended is followed by another.
    wait_until(lambda: session.curl(origin.plain_url("/echo")).status == 200)


def test_a_script_that_is_no_lua_refuses_all_and_names_the_line(
        make_session, policies, origin):
    session = make_session(policy_of(policies, "x = 1\nfunction decide(\n"))
    answer = session.curl(origin.plain_url("/echo"))
    assert answer.status == 503
    assert "script:" in answer.text


def test_a_script_ends_with_its_session(make_session, policies, origin,
                                        gateway):
    session = make_session(policy_of(policies))
    assert session.curl(origin.plain_url("/echo")).status == 200
    assert gateway.pid("script", session.id)
    session.close()
    wait_until(lambda: not gateway.pid("script", session.id))
