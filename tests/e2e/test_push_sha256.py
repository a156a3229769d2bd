"""Repositories whose ids are SHA-256: what streams through passes, and what
would have to be looked at is refused in words (git.md, "Pack checks")."""
import shutil
import subprocess

import gitwire
import pytest
from forge import git_env
from gateway import wait_until
from gitwire import pkt
from test_push import landed, refused

ALL = ["create", "fast-forward", "rewrite", "delete"]
OWN = "refs/heads/agent/1"


def only_sha1(done):
    said = "only sha1 repositories can be checked" in done.stderr
    return done if said else None


@pytest.fixture
def repo(forge):
    made = forge.repo()
    shutil.rmtree(made.path)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main",
                    "--object-format=sha256", made.path],
                   env=git_env(forge.dir), check=True)
    made.git("config", "http.receivepack", "true")
    tree = made.git("mktree", input="")
    made.git("update-ref", "refs/heads/main",
             made.git("commit-tree", "-m", "first", tree))
    return made


@pytest.fixture
def open_work(make_session, policies, repo):
    def make(**push):
        push.setdefault("branches", ["agent/1"])
        session = make_session(policies.make(repo=repo, push=push), repo)
        return session.clone()
    return make


def test_what_streams_passes(open_work, repo):
    work = open_work(verbs=ALL)
    for version in "012":
        work.git("-c", f"protocol.version={version}", "fetch", "origin")
    for name in "ab":
        tip = work.commit(name)
        assert len(tip) == 64
        landed(work.push("HEAD:agent/1"))
        assert repo.tip("agent/1") == tip
    refused(work.push("HEAD:agent/2"), "push_ref_not_allowed")
    landed(work.push("--delete", "agent/1"))
    assert repo.tip("agent/1") is None


@pytest.mark.parametrize("rule", [{"secrets": "deny"},
                                  {"protect": ["CODEOWNERS"]},
                                  {"limits": {"file": "1MiB"}}])
def test_what_is_looked_at_is_refused_in_words(open_work, repo, rule):
    work = open_work(verbs=ALL, **rule)
    work.commit()
    # The session's own secrets are known a moment later.
    done = wait_until(lambda: only_sha1(work.push("HEAD:agent/1")))
    refused(done, "push_pack_invalid")
    assert repo.tip("agent/1") is None
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")


def test_a_move_that_must_be_proven_is_refused_in_words(open_work, repo):
    work = open_work()
    tip = work.commit("a")
    landed(work.push("HEAD:agent/1"))
    work.commit("b")
    done = work.push("HEAD:agent/1")
    refused(done, "push_pack_invalid")
    assert only_sha1(done), done.stderr
    assert repo.tip("agent/1") == tip


def test_ids_of_another_width_are_refused(open_work, repo):
    work = open_work(verbs=ALL)
    tip = work.commit()
    pack = gitwire.pack(work, [tip])
    caps = "\0 report-status side-band-64k object-format="
    before = repo.refs()
    for old, new, kind in (("0" * 40, tip[:40], "sha1"),
                           ("0" * 40, tip, "sha256"),
                           ("0" * 64, tip, "sha1"),
                           ("0" * 64, tip[:40], "sha256")):
        body = pkt(f"{old} {new} {OWN}{caps}{kind}") + b"0000" + pack
        status, report = gitwire.push(work.session, body)
        assert status != 200 or not report.landed, (kind, report.lines)
        assert repo.refs() == before
    body = pkt(f"{'0' * 64} {tip} {OWN}{caps}sha256") + b"0000" + pack
    status, report = gitwire.push(work.session, body)
    assert status == 200 and report.landed == [OWN]
    assert repo.tip("agent/1") == tip
