"""`policy learn`: what a session did becomes the policy of the next one."""
import json
import urllib.parse

import pytest
from gateway import wait_until


@pytest.fixture
def wide(policies, tmp_path):
    """A policy as a file, and what is learnt of a session under it."""
    class Wide:
        def __init__(self, rules=(), **more):
            self.policy = policies.make(rules, **more)
            self.path = tmp_path / "wide.yaml"
            self.path.write_text(json.dumps(self.policy, indent=1))

        def learn(self, session, *options):
            done = session.gateway.cli("policy", "learn", session.id,
                                       "--policy", self.path, *options)
            assert done.returncode == 0, done.stderr
            return done.stdout
    return Wide


def ended(session, **wanted):
    """The record of a request's end is there: so are those before it."""
    session.row("response", **wanted)


def check(gateway, tmp_path, text):
    path = tmp_path / "learned.yaml"
    path.write_text(text)
    done = gateway.cli("policy", "check", path)
    assert done.returncode == 0, done.stderr
    return path


def test_the_same_requests_pass_again_and_no_others(
        gateway, wide, make_session, policies, origin, tmp_path):
    ran = wide([policies.rule("good.example", "plain.example",
                              methods=["GET", "POST"])])
    asked = [(origin.url("/echo/a"),), (origin.url("/echo/b"), "-d", "x"),
             (origin.plain_url("/echo/c"),)]
    others = [(origin.url("/echo/a"), "-d", "x"), (origin.url("/echo/b"),),
              (origin.url("/echo/other"),),
              (origin.plain_url("/echo/a", "plain.example"),)]
    session = make_session(ran.policy)
    for request in asked:
        assert session.curl(*request).status == 200
    ended(session, path="/echo/c")
    text = ran.learn(session)
    assert "*" not in text
    check(gateway, tmp_path, text)
    again = make_session(text)
    for request in asked:
        assert again.curl(*request).status == 200, text
    for request in others:
        assert again.curl(*request).status == 403, text
        assert session.curl(*request).status == 200
    # What was refused now was not asked for then: learnt, it is the same.
    again.row("request", path="/echo/other")
    assert ran.learn(again).split("\nversion", 1)[1].split("# left", 1)[0] \
        == text.split("\nversion", 1)[1]


def test_many_paths_become_one_with_a_star(gateway, wide, make_session,
                                           policies, origin, tmp_path):
    ran = wide([policies.rule("good.example", methods=["GET"],
                              paths=["/echo/**"])])
    session = make_session(ran.policy)
    for number in range(9):
        assert session.curl(origin.url(f"/echo/{number}/x")).status == 200
    ended(session, path="/echo/8/x")
    text = ran.learn(session)
    assert '- "/echo/*/x" # 9 paths differed here\n' in text
    again = make_session(text)
    assert again.curl(origin.url("/echo/new/x")).status == 200
    assert again.curl(origin.url("/echo/new/y")).status == 403


def test_what_a_person_allowed_is_allowed(gateway, wide, make_session,
                                          policies, origin):
    ran = wide([policies.rule("good.example", methods=["GET", "POST"],
                              action="ask", hold="200ms")])
    session = make_session(ran.policy)
    url = origin.url("/echo/asked")
    answer = session.curl(url, "-d", "x")
    assert answer.json["constraint"] == "approval_pending"
    assert gateway.cli("approval", "approve",
                       answer.json["proposal"]).returncode == 0
    assert session.curl(url, "-d", "x").status == 200
    ended(session, path="/echo/asked", status=200)
    again = make_session(ran.learn(session))
    assert again.curl(url, "-d", "x").status == 200
    assert again.curl(url).status == 403


def test_refusals_are_learnt_when_that_is_asked_for(
        gateway, wide, make_session, policies, origin):
    ran = wide([policies.rule("good.example", methods=["GET"],
                              paths=["/echo/known"])])
    session = make_session(ran.policy)
    assert session.curl(origin.url("/echo/known")).status == 200
    assert session.curl(origin.url("/echo/wanted")).status == 403
    assert session.curl(origin.url("/a;b")).status == 400
    session.row("request", constraint="path_ambiguous")
    text = ran.learn(session)
    assert "/echo/wanted" not in text and "# left out: 2 refusals" in text
    text = ran.learn(session, "--denied")
    assert "# was refused: path_not_allowed" in text
    again = make_session(text)
    assert again.curl(origin.url("/echo/known")).status == 200
    assert again.curl(origin.url("/echo/wanted")).status == 200
    assert again.curl(origin.url("/echo/other")).status == 403


def test_conditions_of_the_rules_are_kept(gateway, wide, make_session,
                                          policies, origin):
    ran = wide([policies.rule(
        "good.example", methods=["POST"], name="own",
        body={"json": [{"pointer": "/base", "equals": "main"}]})])
    session = make_session(ran.policy)

    def post(where, base):
        return where.curl(origin.url("/echo/pulls"), "-H",
                          "Content-Type: application/json", "-d",
                          json.dumps({"base": base})).status
    assert post(session, "main") == 200 and post(session, "other") == 403
    session.row("request", constraint="body_not_allowed")
    again = make_session(ran.learn(session))
    assert post(again, "main") == 200 and post(again, "other") == 403


def test_a_tunnel_is_learnt_as_one(gateway, wide, make_session, policies,
                                   origin):
    ran = wide([policies.rule("good.example"), policies.rule("*")])
    session = make_session(ran.policy)
    tunnel = (origin.url("/echo"), "--cacert", gateway.dir / "ca.pem")
    assert session.curl(*tunnel).status == 200
    ended(session, host="good.example")
    text = ran.learn(session)
    assert "nobody looked into" in text and "plain.example" not in text
    again = make_session(text)
    assert again.curl(*tunnel).status == 200
    assert again.curl(origin.plain_url("/echo")).status == 403
    assert session.curl(origin.plain_url("/echo")).status == 200


def test_a_repository_is_learnt_with_its_branches(gateway, policies, wide,
                                                  make_session, repo):
    ran = wide(repo=repo, push={"branches": ["**"],
                                "verbs": ["create", "fast-forward"]})
    session = make_session(ran.policy, repo)
    work = session.clone(name="first")
    work.commit()
    assert work.push("HEAD:refs/heads/agent/1").returncode == 0
    path = urllib.parse.urlsplit(repo.url).path
    ended(session, path=f"{path}/git-receive-pack")
    text = ran.learn(session)
    assert "-\n" not in text
    again = make_session(text, repo)
    work = again.clone(name="second")
    work.commit()
    assert work.push("HEAD:refs/heads/agent/2").returncode != 0
    assert "push_ref_not_allowed" in {
        row.get("constraint") for row in wait_until(
            lambda: again.audit("push"))}
    other = make_session(ran.policy, repo).clone(name="third")
    other.commit()
    assert other.push("HEAD:refs/heads/agent/2").returncode == 0


def test_a_refused_clone_is_learnt_as_a_repository(gateway, policies, wide,
                                                   make_session, forge, repo):
    """On a host that the policy knows, and on one that it does not."""
    ran = wide(repo=repo)
    session = make_session(ran.policy, repo)
    other = forge.repo()
    elsewhere = f"https://blocked.example{forge.suffix}/acme/widgets"
    for url in (other.url, elsewhere):
        assert session.git("ls-remote", url, check=False).returncode != 0
    session.row("request", host="blocked.example", allowed=False)
    text = ran.learn(session, "--denied")
    for url, why in ((other.url, "path_not_allowed"),
                     (elsewhere, "host_not_allowed")):
        assert (f'  - repo: "{url}"\n    read: true # was refused: {why}\n'
                in text), text
    assert "/info/refs" not in text
    again = make_session(text, repo)
    done = again.git("ls-remote", other.url, check=False)
    # The forge's own word: it lets nobody read without a credential.
    assert "wants a credential (401), and the policy has none" in done.stderr


def test_nobody_inside_writes_the_policy(gateway, wide, make_session,
                                         policies, origin, tmp_path):
    ran = wide([policies.rule("good.example", methods=["GET"])])
    session = make_session(ran.policy)
    hostile = ["/*", "/**", "/%22%0a-%20x", "/a:%20b", "/%23", "/$%7Bx%7D",
               "/'%22", "/a\"b", "/{a,b}", "/[x]", "/-", "/%E2%80%A8"]
    for number, path in enumerate(hostile):
        session.curl(origin.url(f"/echo/{number}") + path, "--globoff",
                     "--path-as-is")
    assert session.curl(origin.url("/echo/end")).status == 200
    ended(session, path="/echo/end")
    text = ran.learn(session)
    check(gateway, tmp_path, text)
    assert "# left out: no path of a policy, or one with a '*'" in text
    rules = [line for line in text.splitlines()
             if line.startswith("        - ")]
    assert '        - "/echo/end"' in rules
    assert all(line.startswith('        - "/echo') and "*" not in line
               for line in rules)
    again = make_session(text)
    assert again.curl(origin.url("/echo/end")).status == 200
    assert again.curl(origin.url("/echo/x")).status == 403


def test_learn_writes_a_file_and_says_what_it_cannot(gateway, wide,
                                                     make_session, policies,
                                                     origin, tmp_path):
    ran = wide([policies.rule("good.example", methods=["GET"])])
    session = make_session(ran.policy)
    assert session.curl(origin.url("/echo/a")).status == 200
    ended(session, path="/echo/a")
    out = tmp_path / "out.yaml"
    assert ran.learn(session, "-o", out) == ""
    assert out.read_text() == ran.learn(session)
    for options, code in [(["s-none"], 6), ([], 2), (["s/../x"], 2),
                          ([session.id, "-o", "json"], 2),
                          ([session.id, "--policy", tmp_path / "no"], 3),
                          ([session.id, "-o", tmp_path], 1)]:
        done = gateway.cli("policy", "learn", *options)
        assert done.returncode == code and done.stderr, options
        assert done.stdout == ""
    done = gateway.cli("policy", "learn", session.id,
                       SALLYPORT_RUN=str(tmp_path))
    assert done.returncode == 4
