"""The push lane, with real git and by hand, against a real forge."""
import gzip
import os
import re

import gitwire
import pytest
from gateway import memory_peak
from gitwire import ZERO

MIB = 1024 * 1024
OWN = "refs/heads/agent/1"


def refused(done, constraint):
    assert done.returncode == 1, done.stderr
    assert f"remote: sallyport: push refused: {constraint}" in done.stderr
    assert "[remote rejected]" in done.stderr, done.stderr


def landed(done):
    assert done.returncode == 0, done.stderr


@pytest.fixture
def open_work(make_session, policies, repo):
    """A working copy of a session with the push rights that are given."""
    def make(*clone_options, **push):
        push.setdefault("branches", ["${session.branch}"])
        session = make_session(policies.make(repo=repo, push=push), repo)
        return session.clone(*clone_options)
    return make


# ---- branches ----

def test_own_branch_is_created_and_recorded(work, session, repo):
    tip = work.commit()
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip
    row = session.row("push", path=OWN)
    assert row["allowed"] and row["method"] == "create"
    assert row["new_oid"] == tip
    report = session.row("push.report", path=OWN)
    assert report["allowed"] and report["method"] == "ok"


def test_git_speaks_http_1_1(work):
    """libcurl 7.88's long uploads over HTTP/2 at times never end. test_h2.py
    has what other clients speak."""
    done = work.git("ls-remote", "origin", GIT_CURL_VERBOSE="1")
    assert re.search("ALPN.* offer(s|ing) h2", done.stderr), done.stderr
    assert "HTTP/1.1 200" in done.stderr and "HTTP/2" not in done.stderr


def test_own_branch_is_fast_forwarded(work, session, repo):
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    tip = work.commit("two")
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip
    assert session.row("push", new_oid=tip)["method"] == "fast-forward"


def test_main_is_refused_with_the_reason_and_what_to_type(work, session,
                                                          repo):
    before = repo.tip("main")
    work.commit()
    done = work.push("HEAD:main")
    refused(done, "push_ref_not_allowed")
    assert "this session may push: agent/1 (create, fast-forward)" in \
        done.stderr
    assert "try: git push origin HEAD:agent/1" in done.stderr
    assert repo.tip("main") == before
    row = session.row("push", allowed=False)
    assert row["path"] == "refs/heads/main"
    assert row["constraint"] == "push_ref_not_allowed"
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")


def test_main_is_pushed_where_the_policy_says_so(open_work, repo):
    work = open_work(branches=["main"])
    tip = work.commit()
    landed(work.push("HEAD:main"))
    assert repo.tip("main") == tip


@pytest.mark.parametrize("ref", ["refs/heads/agent/10", "refs/heads/Agent/1",
                                 "refs/heads/agent/1/x", "refs/notes/commits",
                                 "refs/pull/1/head", "refs/for/agent/1",
                                 "refs/replace/x", "refs/meta/config"])
def test_other_refs_are_refused(work, repo, ref):
    before = repo.refs()
    work.commit()
    refused(work.push(f"HEAD:{ref}"), "push_ref_not_allowed")
    assert repo.refs() == before


def test_rewrite_is_refused(work, repo):
    tip = work.commit("one")
    landed(work.push("HEAD:agent/1"))
    work.git("commit", "-q", "--amend", "-m", "another")
    done = work.push("--force", "HEAD:agent/1")
    refused(done, "push_not_fast_forward")
    assert "try: git pull --rebase origin agent/1" in done.stderr
    assert repo.tip("agent/1") == tip


def test_rewrite_passes_where_the_policy_says_so(open_work, repo):
    work = open_work(verbs=["create", "fast-forward", "rewrite"])
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    work.git("commit", "-q", "--amend", "-m", "another")
    landed(work.push("--force", "HEAD:agent/1"))
    assert repo.tip("agent/1") == work.out("rev-parse", "HEAD")


def test_delete_is_refused(work, repo):
    tip = work.commit()
    landed(work.push("HEAD:agent/1"))
    done = work.push("--delete", "agent/1")
    assert done.returncode == 1
    assert repo.tip("agent/1") == tip


def test_delete_is_refused_by_the_gateway_too(work, session, repo):
    """git does not even ask: delete-refs is not advertised. A client that
    asks all the same hears no."""
    tip = work.commit()
    landed(work.push("HEAD:agent/1"))
    status, report = gitwire.push(session,
                                  gitwire.commands([(tip, ZERO, OWN)]))
    assert status == 200 and OWN in report.refused
    assert "push_verb_not_allowed" in report.text
    assert f"  {OWN}: the session may not delete it" in report.text
    assert 'push.verbs has no "delete"' in report.refused[OWN]
    assert "reason:" not in report.text
    assert repo.tip("agent/1") == tip


def test_delete_passes_where_the_policy_says_so(open_work, repo):
    work = open_work(verbs=["create", "delete"])
    work.commit()
    landed(work.push("HEAD:agent/1"))
    landed(work.push("--delete", "agent/1"))
    assert repo.tip("agent/1") is None


def test_create_is_refused_where_only_updates_are_allowed(open_work, repo):
    work = open_work(verbs=["fast-forward"])
    work.commit()
    done = work.push("HEAD:agent/1")
    refused(done, "push_verb_not_allowed")
    assert "the session may not create it" in done.stderr
    assert repo.tip("agent/1") is None


def test_a_push_with_a_foreign_ref_is_refused_whole(work, repo):
    before = repo.refs()
    work.commit()
    done = work.push("HEAD:agent/1", "HEAD:main")
    refused(done, "push_ref_not_allowed")
    assert done.stderr.count("[remote rejected]") == 2
    assert repo.refs() == before


def test_both_refs_land_where_both_are_allowed(open_work, repo):
    work = open_work(branches=["agent/*"])
    tip = work.commit()
    landed(work.push("HEAD:agent/1", "HEAD:agent/2"))
    assert repo.tip("agent/1") == repo.tip("agent/2") == tip


def test_an_atomic_push_is_refused_as_one(work, repo):
    work.commit()
    done = work.push("--atomic", "HEAD:agent/1", "HEAD:main")
    assert done.returncode == 1
    assert "atomic push failed" in done.stderr
    assert repo.tip("agent/1") is None


def test_an_atomic_push_of_allowed_refs_lands(open_work, repo):
    work = open_work(branches=["agent/*"])
    tip = work.commit()
    landed(work.push("--atomic", "HEAD:agent/1", "HEAD:agent/2"))
    assert repo.tip("agent/2") == tip


# ---- tags ----

def test_tags_are_refused(work, repo):
    work.git("tag", "v1")
    refused(work.push("v1"), "push_ref_not_allowed")
    assert "refs/tags/v1" not in repo.refs()


def test_tags_pass_where_the_policy_says_so(open_work, repo):
    work = open_work(tags=["v*"])
    work.git("tag", "-a", "-m", "one", "v1")
    landed(work.push("v1"))
    assert "refs/tags/v1" in repo.refs()


# ---- what proves a fast-forward ----

def test_a_branch_moves_to_a_commit_that_upstream_has(work, repo):
    """The pack is empty: the proof is fetched."""
    first = work.commit("one")
    landed(work.push("HEAD:agent/1"))
    made = repo.commit("other", "theirs", {"theirs": "1"}, [first])
    work.git("fetch", "-q", "origin", "other")
    landed(work.push(f"{made}:agent/1"))
    assert repo.tip("agent/1") == made


def test_a_branch_moves_over_commits_that_upstream_has(work, repo):
    first = work.commit("one")
    landed(work.push("HEAD:agent/1"))
    middle = repo.commit("other", "theirs", {"theirs": "1"}, [first])
    work.git("fetch", "-q", "origin", "other")
    work.git("reset", "-q", "--hard", middle)
    tip = work.commit("mine on theirs", "mine")
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_no_branch_moves_sideways_over_commits_that_upstream_has(work, repo):
    first = work.commit("one")
    landed(work.push("HEAD:agent/1"))
    aside = repo.commit("other", "theirs", {"theirs": "1"}, [repo.tip("main")])
    work.git("fetch", "-q", "origin", "other")
    refused(work.push("--force", f"{aside}:agent/1"), "push_not_fast_forward")
    assert repo.tip("agent/1") == first


def test_main_is_merged_into_the_branch(work, repo):
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    repo.commit("main", "upstream's", {"upstream": "1"})
    work.git("fetch", "-q", "origin", "main")
    work.git("merge", "-q", "-m", "merge", "FETCH_HEAD")
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == work.out("rev-parse", "HEAD")


def test_a_stale_push_says_fetch_first(work, session, repo):
    first = work.commit("one")
    landed(work.push("HEAD:agent/1"))
    theirs = repo.commit("agent/1", "theirs", {"theirs": "1"}, [first])
    mine = work.commit("two")
    body = (gitwire.commands([(first, mine, OWN)])
            + gitwire.pack(work, [mine], [first]))
    status, report = gitwire.push(session, body)
    assert status == 200 and "fetch first" in report.refused[OWN]
    assert "push_stale" in report.text
    assert repo.tip("agent/1") == theirs


def test_the_same_push_lands_when_it_is_not_stale(work, session, repo):
    first = work.commit("one")
    landed(work.push("HEAD:agent/1"))
    mine = work.commit("two")
    body = (gitwire.commands([(first, mine, OWN)])
            + gitwire.pack(work, [mine], [first]))
    status, report = gitwire.push(session, body)
    assert status == 200 and report.landed == [OWN]
    assert repo.tip("agent/1") == mine


def test_a_shallow_clone_pushes(open_work, repo):
    repo.commit("main", "a second", {"more": "1"})
    work = open_work("--depth", "1")
    assert (work.path / ".git/shallow").exists()
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    tip = work.commit("two")
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


# ---- bodies ----

def test_a_gzipped_push_lands(work, session, repo):
    tip = work.commit()
    body = (gitwire.commands([(ZERO, tip, OWN)])
            + gitwire.pack(work, [tip], ["origin/main"]))
    status, report = gitwire.push(session, gzip.compress(body), "gzip")
    assert status == 200 and report.landed == [OWN]
    assert repo.tip("agent/1") == tip


def test_a_gzipped_push_to_main_is_refused(work, session, repo):
    tip, before = work.commit(), repo.tip("main")
    body = (gitwire.commands([(before, tip, "refs/heads/main")])
            + gitwire.pack(work, [tip], ["origin/main"]))
    status, report = gitwire.push(session, gzip.compress(body), "gzip")
    assert status == 200 and "refs/heads/main" in report.refused
    assert "push_ref_not_allowed" in report.text
    assert repo.tip("main") == before


MALFORMED = {
    "upper-case length": lambda b: b[:4].upper() + b[4:],
    "capabilities twice": lambda b: b,
    "a second list after the flush": lambda b: b,
    "0001 as the end": lambda b: b.replace(b"0000PACK", b"0001PACK", 1),
    "bytes before the pack": lambda b: b.replace(b"0000PACK", b"0000XPACK"),
}


def _spoil(kind, update, body):
    if kind == "capabilities twice":
        second = f"{update[0]} {update[1]} refs/heads/agent/1x\0 caps"
        return body.replace(b"0000PACK", gitwire.pkt(second) + b"0000PACK")
    if kind == "a second list after the flush":
        foreign = f"{update[0]} {update[1]} refs/heads/main"
        return body.replace(b"0000PACK",
                            b"0000" + gitwire.pkt(foreign) + b"0000PACK")
    return MALFORMED[kind](body)


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_not_strict_is_refused(work, session, repo, kind):
    tip = work.commit(content="x" * 100)
    update = (ZERO, tip, OWN)
    body = (gitwire.commands([update])
            + gitwire.pack(work, [tip], ["origin/main"]))
    # A length with a letter in it, so that there is a case to change.
    assert body[:4] != body[:4].upper()
    spoiled = _spoil(kind, update, body)
    assert spoiled != body
    before = repo.refs()
    status, report = gitwire.push(session, spoiled)
    assert status != 200 or not report.landed
    assert repo.refs() == before
    status, report = gitwire.push(session, body)
    assert status == 200 and report.landed == [OWN]


def test_a_damaged_pack_never_lands(work, session, repo):
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    first, tip = repo.tip("agent/1"), work.commit("two", content="y" * 5000)
    pack = bytearray(gitwire.pack(work, [tip], [first]))
    pack[len(pack) // 2] ^= 0xff
    status, report = gitwire.push(
        session, gitwire.commands([(first, tip, OWN)]) + bytes(pack))
    assert status == 200 and not report.landed
    assert "push_pack_invalid" in report.text
    assert repo.tip("agent/1") == first


def test_a_push_above_a_mebibyte_probes_first(work, session, repo):
    tip = work.commit(content=os.urandom(3 * MIB))
    done = work.push("HEAD:agent/1", GIT_CURL_VERBOSE="1",
                     GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="http.version",
                     GIT_CONFIG_VALUE_0="HTTP/1.1")
    landed(done)
    assert "Transfer-Encoding: chunked" in done.stderr
    assert repo.tip("agent/1") == tip
    assert all(row["allowed"] for row in session.audit("request"))


def test_300_mb_are_streamed_in_bounded_memory(work, session, repo, gateway):
    tip = work.commit(content=os.urandom(300 * MIB))
    pids = {"edge": session.edge(), "courier": gateway.pid("courier")}
    before = {role: memory_peak(pid) for role, pid in pids.items()}
    landed(work.git("-c", "core.compression=0", "push", "origin",
                    "HEAD:agent/1", check=False, timeout=300))
    assert repo.tip("agent/1") == tip
    for role, pid in pids.items():
        assert memory_peak(pid) - before[role] < 64 * MIB, role


def test_60_mb_are_refused_without_being_cut_off(work, repo):
    work.commit(content=os.urandom(60 * MIB))
    before = repo.refs()
    done = work.git("-c", "core.compression=0", "push", "origin", "HEAD:main",
                    check=False)
    refused(done, "push_ref_not_allowed")
    assert repo.refs() == before


def test_60_mb_more_are_proven(work, repo):
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    tip = work.commit("two", content=os.urandom(60 * MIB))
    landed(work.git("-c", "core.compression=0", "push", "origin",
                    "HEAD:agent/1", check=False))
    assert repo.tip("agent/1") == tip


# ---- many ----

def test_1000_refs_are_pushed_at_once(open_work, repo):
    work = open_work(branches=["agent/**"])
    tip = work.commit()
    landed(work.push(*[f"HEAD:agent/b{i}" for i in range(1000)]))
    names = [ref for ref in repo.refs() if ref.startswith("refs/heads/agent/")]
    assert len(names) == 1000
    assert repo.tip("agent/b999") == tip


def test_1000_refs_with_a_foreign_one_are_refused(open_work, repo):
    work = open_work(branches=["agent/**"])
    before = repo.refs()
    work.commit()
    done = work.push(*[f"HEAD:agent/b{i}" for i in range(1000)], "HEAD:main")
    refused(done, "push_ref_not_allowed")
    assert repo.refs() == before


def test_1000_foreign_refs_are_hidden_and_still_spare_bytes(work, session,
                                                            repo):
    tip = repo.tip("main")
    repo.git("update-ref", "--stdin", input="".join(
        f"create refs/heads/theirs/{i} {tip}\n" for i in range(1000)))
    answer = session.curl(repo.url + "/info/refs?service=git-receive-pack")
    assert answer.status == 200
    assert "theirs" not in answer.text and "refs/heads/main" not in answer.text
    assert f"{tip} .have" in answer.text
    work.commit()
    landed(work.push("HEAD:agent/1"))
    sizes = [int(line.split()[-4]) for line in
             repo.forge.heard(f"POST /{repo.name}/git-receive-pack")]
    assert max(sizes) < 4000, "the whole history was sent"


# ---- clients that go away ----

def test_a_client_that_vanishes_leaves_nothing(work, session, repo):
    tip = work.commit(content=os.urandom(4 * MIB))
    body = (gitwire.commands([(ZERO, tip, OWN)])
            + gitwire.pack(work, [tip], ["origin/main"]))
    slow = gitwire.SlowPush(session)
    slow.send(body[:len(body) // 2])
    slow.close()
    row = session.row("push.report", path=OWN)
    assert not row["allowed"] and row["method"] == "unknown"
    assert repo.tip("agent/1") is None
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_a_client_that_vanishes_while_its_pack_is_spooled(work, session,
                                                          repo):
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    first = repo.tip("agent/1")
    tip = work.commit("two", content=os.urandom(4 * MIB))
    body = (gitwire.commands([(first, tip, OWN)])
            + gitwire.pack(work, [tip], [first]))
    slow = gitwire.SlowPush(session)
    slow.send(body[:len(body) // 2])
    slow.close()
    assert repo.tip("agent/1") == first
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip
