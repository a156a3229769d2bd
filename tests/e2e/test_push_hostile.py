"""Packs that no git would make, where a pack is looked at: each is a named
refusal, upstream hears nothing of it, and the next push lands."""
import gitwire
import pytest
from gitwire import ZERO
from hostile_packs import PACKS

OWN = "refs/heads/agent/1"


@pytest.fixture
def checked(make_session, policies, repo):
    """A session whose packs are all looked at, and a copy of its work."""
    session = make_session(policies.make(
        repo=repo, push={"branches": ["agent/**"],
                         "limits": {"objects": 1000000}}), repo)
    return session, session.clone()


def push(session, tip, pack):
    head = gitwire.commands([(ZERO, tip, OWN)])
    return gitwire.push(session, head + pack)


@pytest.mark.parametrize("name", PACKS)
def test_a_hostile_pack_is_refused_by_name(checked, repo, name):
    session, work = checked
    constraint, make = PACKS[name]
    tip = work.commit("small")
    good = gitwire.pack(work, [tip], ["HEAD~1"])
    status, report = push(session, tip, make(good))
    assert status == 200
    assert report.refused[OWN].startswith(constraint + ":"), report.lines
    assert f"push refused: {constraint}" in report.text
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")
    row = session.row("push", allowed=False)
    assert row["constraint"] == constraint
    # The twin: the same push with the pack that git made.
    status, report = push(session, tip, good)
    assert status == 200 and report.landed == [OWN], report.lines
    assert repo.tip("agent/1") == tip
