"""What a push holds: limits, protected paths, secrets, git's own rules."""
import os

import pytest
from test_push import landed, refused

MIB = 1024 * 1024


@pytest.fixture
def work_with(make_session, policies, repo):
    """A working copy of a session whose pushes have these rules."""
    def make(**push):
        push.setdefault("branches", ["${session.branch}", "agent/2"])
        session = make_session(policies.make(repo=repo, push=push), repo)
        return session.clone()
    return make


def refused_unseen(repo, done, constraint, *words):
    """Refused for that, and upstream has heard nothing of it."""
    refused(done, constraint)
    assert f"({constraint}: " in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert repo.tip("agent/1") is None
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")


# ---- limits ----

LIMITS = {
    "pack": ({"pack": "64KiB"}, {"pack": "1MiB"}),
    "file": ({"file": "99KiB"}, {"file": "100KiB"}),
    "objects": ({"objects": 2}, {"objects": 3}),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_push_beyond_a_limit_is_refused(work_with, repo, limit):
    work = work_with(limits=LIMITS[limit][0])
    work.commit(name="big.bin", content=os.urandom(100 * 1024))
    words = ["big.bin has 102400 bytes"] if limit == "file" else []
    refused_unseen(repo, work.push("HEAD:agent/1"), "push_too_large", *words)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_push_within_a_limit_lands(work_with, repo, limit):
    work = work_with(limits=LIMITS[limit][1])
    tip = work.commit(name="big.bin", content=os.urandom(100 * 1024))
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_a_file_that_a_later_commit_removes_counts(work_with, repo):
    work = work_with(limits={"file": "1KiB"})
    work.commit(name="big.bin", content=os.urandom(2048))
    work.git("rm", "-q", "big.bin")
    work.git("commit", "-q", "-m", "gone")
    refused_unseen(repo, work.push("HEAD:agent/1"), "push_too_large",
                   "big.bin")


def test_limits_hold_for_updates_as_well(work_with, repo):
    work = work_with(limits={"file": "1KiB"})
    tip = work.commit("small")
    landed(work.push("HEAD:agent/1"))
    work.commit(content=os.urandom(2048))
    refused(work.push("HEAD:agent/1"), "push_too_large")
    assert repo.tip("agent/1") == tip
    work.git("reset", "-q", "--hard", tip)
    tip = work.commit("small as well")
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_every_ref_of_a_push_hears_why(work_with, repo):
    work = work_with(limits={"file": "1KiB"})
    work.commit(content=os.urandom(2048))
    done = work.push("HEAD:agent/1", "HEAD:agent/2")
    refused_unseen(repo, done, "push_too_large")
    assert done.stderr.count("(push_too_large: file has 2048 bytes") == 2


def test_a_delete_is_not_looked_at(work_with, repo):
    work = work_with(verbs=["create", "delete"], limits={"pack": "1KiB"})
    work.commit("small")
    landed(work.push("HEAD:agent/1"))
    landed(work.push("--delete", "agent/1"))
    assert repo.tip("agent/1") is None
