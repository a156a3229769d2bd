"""Every name of tests/unit/policies/ref_names.txt, verb by verb, over the
wire: none escapes, and each refusal names its rule."""
import http.client
import re

import gitwire
import pytest
from forge import SOURCE
from gitwire import CAPS, ZERO, pkt

TABLE = SOURCE / "tests/unit/policies/ref_names.txt"
PUSH = {"branches": ["agent/1", "work/**", "feat-*"], "tags": ["v*"]}
ALL = ["create", "fast-forward", "rewrite", "delete"]


def names(*kinds):
    rows = [line.split(b" ", 1) for line in TABLE.read_bytes().splitlines()
            if not line.startswith(b"#")]
    assert len(rows) >= 300
    return [re.sub(rb"\\x(..)", lambda m: bytes.fromhex(m[1].decode()), name)
            for kind, name in rows if kind.decode() in kinds]


class Target:
    """A session, a repository, and an update for each verb."""

    def __init__(self, session, repo):
        self.session = session
        self.repo = repo
        work = session.clone()
        main = repo.tip("main")
        first, second = work.commit("one"), work.commit("two")
        work.git("tag", "-a", "-m", "one", "signed")
        tag = work.out("rev-parse", "signed")
        work.git("reset", "-q", "--hard", main)
        aside = work.commit("aside", "aside")
        self.tip = first
        self.verbs = {"create": (ZERO, first), "fast-forward": (first, second),
                      "rewrite": (first, aside), "delete": (first, ZERO),
                      "tag": (ZERO, tag)}
        self.pack = gitwire.pack(work, [second, aside, tag], [main])
        self.stream = session.connect_tls("github.com", repo.forge.port)
        self.stream.settimeout(60)

    def push(self, updates):
        """On one connection; the answer as it came."""
        lines = [b"%s %s %s" % (old.encode(), new.encode(), name)
                 for old, new, name in updates]
        lines[0] += b"\0 " + CAPS.encode()
        body = b"".join(map(pkt, lines)) + b"0000"
        if any(new != ZERO for _, new, _ in updates):
            body += self.pack
        self.stream.sendall(
            (f"POST /{self.repo.name}/git-receive-pack HTTP/1.1\r\n"
             f"Host: github.com{self.repo.forge.suffix}\r\n"
             f"Content-Type: {gitwire.TYPE}\r\n"
             f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        answer = http.client.HTTPResponse(self.stream)
        answer.begin()
        return answer.status, answer.read()


@pytest.fixture
def make_target(make_session, policies, repo):
    made = []

    def make(*verbs):
        session = make_session(policies.make(
            repo=repo, push=PUSH | {"verbs": list(verbs)}), repo)
        made.append(Target(session, repo))
        return made[-1]
    yield make
    for target in made:
        target.stream.close()


def test_no_invalid_name_passes_and_each_is_told_why(make_target):
    target = make_target(*ALL)
    before = target.repo.refs()
    invalid = names("invalid")
    for verb, (old, new) in target.verbs.items():
        for name in invalid:
            status, answer = target.push([(old, new, name)])
            assert status == 200, (verb, name)
            assert b"push_malformed: a ref name is not valid" in answer, (
                verb, name, answer)
    assert target.repo.refs() == before
    assert not target.repo.forge.log_of(
        f"POST /{target.repo.name}/git-receive-pack")


def test_no_foreign_name_passes_and_each_is_told_why(make_target):
    target = make_target(*ALL)
    before = target.repo.refs()
    foreign = names("foreign")
    for old, new in target.verbs.values():
        status, answer = target.push([(old, new, name) for name in foreign])
        report = gitwire.Report(answer)
        assert status == 200 and not report.landed
        assert set(report.refused) == {name.decode() for name in foreign}
        for reason in report.refused.values():
            assert reason.startswith("push_ref_not_allowed: "), reason
    assert target.repo.refs() == before


def test_own_names_pass_with_the_right_verb(make_target):
    target = make_target(*ALL)
    own = names("branch", "tag")
    branches = names("branch")
    for verb, updated in [("create", own), ("fast-forward", own),
                          ("delete", own), ("create", branches),
                          ("rewrite", branches)]:
        old, new = target.verbs[verb]
        if verb == "delete":
            old = target.verbs["fast-forward"][1]
        _, answer = target.push([(old, new, name) for name in updated])
        report = gitwire.Report(answer)
        assert set(report.landed) == {n.decode() for n in updated}, (
            report.lines, report.text)
        there = target.repo.refs()
        assert all(there.get(n.decode(), ZERO) == new for n in updated)


def test_own_names_are_refused_with_another_verb(make_target):
    target = make_target("create")
    own = names("branch", "tag")
    _, answer = target.push([(*target.verbs["create"], name) for name in own])
    assert len(gitwire.Report(answer).landed) == len(own)
    before = target.repo.refs()
    for verb in ("fast-forward", "rewrite", "delete"):
        old, new = target.verbs[verb]
        _, answer = target.push([(old, new, name) for name in own])
        refused = gitwire.Report(answer).refused
        assert set(refused) == {name.decode() for name in own}
        for reason in refused.values():
            assert reason.startswith("push_verb_not_allowed: "), reason
    assert target.repo.refs() == before
