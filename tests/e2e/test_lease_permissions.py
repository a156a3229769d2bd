"""Leases with permissions: what a session may do is what both its policy and
its lease say; and what ends with it."""
import http.client
import json
import time

import gitwire
import pytest
from gateway import ApiError
from gitwire import ZERO


@pytest.fixture
def open_session(make_session, policies, repo):
    """The policy lets agent/* be pushed and tags, and reads."""
    def make(*permissions, push=None, other=None):
        push = push or {"branches": ["agent/*"], "tags": ["v*"],
                        "verbs": ["create", "fast-forward", "rewrite"]}
        policy = policies.make(repo=repo, push=push)
        if other:
            policy["git"].append({"repo": other.url, "credential": "forge",
                                  "read": True,
                                  "push": {"branches": ["agent/*"]}})
        return make_session(policy, repo,
                            permissions=list(permissions) or None)
    return make


def test_without_permissions_the_policy_alone_holds(open_session, repo):
    session = open_session()
    assert session.permissions == ["push:agent/*", "read:repo"]
    work = session.clone()
    tip = work.commit()
    assert work.push("HEAD:agent/7", "HEAD:refs/tags/v1").returncode == 0
    assert repo.tip("agent/7") == tip


def test_a_lease_bounds_what_the_policy_opens(open_session, repo, gateway):
    session = open_session("push:agent/1", "read:repo")
    assert session.permissions == ["push:agent/1", "read:repo"]
    work = session.clone()
    tip = work.commit()
    for ref in ("agent/2", "refs/tags/v1"):
        done = work.push(f"HEAD:{ref}")
        assert "push_ref_not_allowed" in done.stderr, done.stderr
        assert "this session may push: agent/1" in done.stderr
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip and not repo.tip("agent/2")
    row = session.row("admin", method="session.create")
    assert "lease push:agent/1 read:repo" in row["detail"]


def test_a_policy_bounds_what_the_lease_opens(open_session, repo):
    session = open_session("push:main", "push:agent/1", "pull:main")
    assert session.permissions == ["push:agent/1", "read:repo"]
    work = session.clone()
    work.commit()
    before = repo.tip("main")
    assert "push_ref_not_allowed" in work.push("HEAD:main").stderr
    assert repo.tip("main") == before


def test_permissions_are_shown_again(open_session, gateway):
    bound = open_session("push:agent/1", "read:repo")
    free = open_session()
    told = {bound.id: bound.permissions, free.id: free.permissions}
    assert told[free.id] == ["push:agent/*", "read:repo"]
    shown = json.loads(gateway.cli("session", "show", bound.id, "-o",
                                   "json").stdout)
    assert shown["permissions"] == told[bound.id]
    listed = json.loads(gateway.cli("session", "list", "-o", "json").stdout)
    listed = {row["id"]: row["permissions"] for row in listed["sessions"]}
    assert {name: listed[name] for name in told} == told
    text = gateway.cli("session", "show", bound.id).stdout
    assert "may      push:agent/1\nmay      read:repo\n" in text


def test_permissions_follow_a_changed_policy(open_session, policies, repo,
                                             gateway):
    session = open_session()
    other = policies.make(repo=repo, push={"branches": ["other/*"]})
    gateway.call("PUT", f"/v1/sessions/{session.id}/policy",
                 json.dumps({"policy": json.dumps(other)}))
    shown = json.loads(gateway.cli("session", "show", session.id, "-o",
                                   "json").stdout)
    assert shown["permissions"] == ["push:other/*", "read:repo"]


def test_who_may_only_read_pushes_nothing(open_session, repo):
    session = open_session("read:repo")
    assert session.permissions == ["read:repo"]
    work = session.clone()
    work.commit()
    done = work.push("HEAD:agent/1")
    assert done.returncode != 0 and "push_ref_not_allowed" in done.stderr
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")


def test_who_may_only_push_reads_nothing(open_session, repo):
    session = open_session("push:agent/1")
    done = session.git("clone", "-q", repo.url, "w", check=False)
    assert done.returncode != 0 and "fetch_not_allowed" in done.stderr


def test_other_repositories_are_in_no_lease(open_session, forge, repo):
    other = forge.repo()
    session = open_session("push:agent/1", "read:repo", other=other)
    done = session.git("clone", "-q", other.url, "w", check=False)
    assert "fetch_not_allowed" in done.stderr, done.stderr
    assert open_session(other=other).git("clone", "-q", other.url, "w")


def test_the_policy_in_words_knows_the_lease(open_session):
    words = open_session("push:agent/1").curl(
        "http://sallyport.internal/policy").text
    assert "no clone, no fetch" in words and "agent/*" not in words


@pytest.mark.parametrize("permissions", [
    [], ["push:"], ["push:agent/*"], ["push:refs/heads/../x"], ["write:repo"],
    ["read:other"], ["push:a b"], ["pull:"], [1], "read:repo",
    ["read:repo"] * 65])
def test_permissions_that_make_no_sense_are_refused(gateway, policies, repo,
                                                    permissions):
    with pytest.raises(ApiError) as refused:
        gateway.create(policies.make(repo=repo), repo.url, "agent/1",
                       permissions=permissions)
    assert refused.value.status == 422


def test_permissions_need_a_repository(gateway, policies):
    with pytest.raises(ApiError) as refused:
        gateway.create(policies.make(), permissions=["read:repo"])
    assert refused.value.status == 422


def test_the_command_line_gives_them(gateway, policies, repo, tmp_path):
    policy = tmp_path / "p.yaml"
    policy.write_text(json.dumps(policies.make(repo=repo)))
    args = ["session", "create", "--policy", policy, "--repo", repo.url,
            "--branch", "agent/1"]
    done = gateway.cli(*args, "--permission", "push:agent/1",
                       "--permission", "pull:main")
    assert done.returncode == 0, done.stderr
    assert "may      push:agent/1\nmay      read:repo\n" in done.stdout
    assert done.stderr == ""
    done = gateway.cli(*args, "--permission", "push:main")
    assert done.returncode == 0 and "may " not in done.stdout
    assert "this lease opens no repository" in done.stderr
    done = gateway.cli(*args, "--permission", "everything")
    assert done.returncode == 3 and "push:BRANCH" in done.stderr


# ---- the end ----

def test_a_push_that_streams_dies_with_its_lease(open_session, repo, gateway):
    """The pack goes straight to upstream (rewrites are allowed): half of it
    is there when the session ends."""
    session = open_session("push:agent/1", "read:repo")
    work = session.clone()
    tip = work.commit(content=bytes(range(256)) * 8000)
    body = (gitwire.commands([(ZERO, tip, "refs/heads/agent/1")])
            + gitwire.pack(work, [tip], ["origin/main"]))
    slow = gitwire.SlowPush(session)
    slow.send(body[:-10])
    session.row("secret.use", method="PUSH")  # upstream is being spoken to
    began = time.monotonic()
    gateway.end(session.id)
    try:
        answer = slow.finish()[1]
    except (OSError, ValueError, http.client.HTTPException):
        pass
    else:  # the courier, which held upstream, heard of the end first
        assert b"ng refs/heads/agent/1 upstream_closed: " in answer
    assert time.monotonic() - began < 30  # test_lease.py measures it
    assert "agent/1" not in str(repo.refs())
    # The twin: whose session lives, lands.
    work.session = open_session("push:agent/1", "read:repo")
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip
