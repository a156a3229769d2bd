"""Rules about who wrote the commits of a push, and what they say."""
import pytest

RULES = {"author": r"agent <agent@example>",
         "committer": r"(agent|GitHub) <[a-z@]+>",
         "subject": r"(feat|fix|docs)(\([a-z]+\))?: .{1,60}",
         "message": r"(?!.*wip).*", "max": 3}


@pytest.fixture
def open_work(make_session, policies, repo):
    def make(**rules):
        push = {"branches": ["${session.branch}"]}
        if rules:
            push["commits"] = rules
        session = make_session(policies.make(repo=repo, push=push), repo)
        return session.clone()
    return make


def test_commits_as_the_policy_wants_them_land(open_work, repo):
    work = open_work(**RULES)
    for message in ("feat: a", "fix(git): b\n\nwith a body\n", "docs: ç"):
        tip = work.commit(message)
    done = work.push("HEAD:agent/1")
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == tip
    tip = work.commit("fix: one more")
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip


WRONG = {
    "author": ("the author", {"GIT_AUTHOR_NAME": "root"}, "feat: a"),
    "a longer author": ("the author", {"GIT_AUTHOR_NAME": "not agent"},
                        "feat: a"),
    "address": ("the author", {"GIT_AUTHOR_EMAIL": "root@example"},
                "feat: a"),
    "committer": ("the committer", {"GIT_COMMITTER_NAME": "root"}, "feat: a"),
    "subject": ("the subject", {}, "a feat: a"),
    "no subject": ("the subject", {}, "feat:"),
    "a long subject": ("the subject", {}, "feat: " + "x" * 61),
    "message": ("the message", {}, "feat: a\n\nstill wip\n"),
}


@pytest.mark.parametrize("name", WRONG)
def test_another_commit_is_refused_by_name(open_work, repo, name):
    what, who, message = WRONG[name]
    work = open_work(**RULES)
    (work.path / "file").write_text(name)
    work.git("add", "-A")
    work.git("commit", "-q", "-m", message, **who)
    wrong = work.out("rev-parse", "HEAD")
    # A good one on top does not hide it.
    work.commit("fix: all is well")
    done = work.push("HEAD:agent/1")
    assert done.returncode == 1
    assert "push refused: push_commit_not_allowed" in done.stderr, done.stderr
    assert f"reason: commit {wrong[:12]} has {what} \"" in done.stderr
    assert repo.tip("agent/1") is None
    assert work.session.row("push", allowed=False)["constraint"] == \
        "push_commit_not_allowed"


@pytest.mark.parametrize("name", WRONG)
def test_the_same_commit_lands_without_the_rule(open_work, repo, name):
    _, who, message = WRONG[name]
    work = open_work()
    (work.path / "file").write_text(name)
    work.git("add", "-A")
    work.git("commit", "-q", "-m", message, **who)
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == work.out("rev-parse", "HEAD")


# What git shows of a commit is not what stands where the rule looks: a second
# author, in the same commit and beside it; the word that the rule forbids, in
# UTF-7; the line that it wants, behind git's end of the message.
FORGED = {
    "author": ("push_object_unsound",
               b"author root <root@example> 1700000000 +0000\n\nfeat: a\n"),
    "encoding": ("push_commit_not_allowed",
                 b"encoding UTF-7\n\nfeat: +AHc-ip\n"),
    "NUL": ("push_commit_not_allowed",
            b"\nfeat: a\0Signed-off-by: root\n"),
}


def forge(work, rest):
    who = b"agent <agent@example> 1700000000 +0000"
    text = (f"tree {work.out('rev-parse', 'HEAD^{tree}')}\n"
            f"parent {work.out('rev-parse', 'HEAD')}\n").encode() + (
        b"author " + who + b"\ncommitter " + who + b"\n" + rest)
    path = work.path.parent / "forged"
    path.write_bytes(text)
    return work.out("hash-object", "-t", "commit", "-w", "--literally",
                    str(path))


@pytest.mark.parametrize("name", FORGED)
def test_a_commit_that_git_shows_otherwise_is_refused(open_work, repo, name):
    constraint, rest = FORGED[name]
    work = open_work(**RULES)
    forged = forge(work, rest)
    done = work.push(f"{forged}:refs/heads/agent/1")
    assert f"push refused: {constraint}" in done.stderr, done.stderr
    assert repo.tip("agent/1") is None
    work.commit("feat: as it should be")
    assert work.push("HEAD:agent/1").returncode == 0


def test_git_shows_the_second_author(open_work, repo):
    """Without the rule it lands: what the test above is about."""
    work = open_work()
    forged = forge(work, FORGED["author"][1])
    assert work.push(f"{forged}:refs/heads/agent/1").returncode == 0
    assert repo.git("log", "-1", "--format=%an", "agent/1") == "root"


def test_too_many_commits_are_refused(open_work, repo):
    work = open_work(max=3)
    for i in range(4):
        tip = work.commit(f"{i}")
    done = work.push("HEAD:agent/1")
    assert done.returncode == 1 and "more than 3 commits" in done.stderr
    assert repo.tip("agent/1") is None
    assert work.push("HEAD~1:refs/heads/agent/1").returncode == 0
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip


def test_what_upstream_has_is_merged_whoever_wrote_it(open_work, repo):
    work = open_work(author="agent <agent@example>")
    work.commit("one")
    assert work.push("HEAD:agent/1").returncode == 0
    theirs = repo.git("-c", "user.name=else", "-c", "user.email=e@else",
                      "commit-tree", "-m", "theirs", "-p",
                      repo.tip("main"), repo.tip("main") + "^{tree}")
    repo.git("update-ref", "refs/heads/main", theirs)
    work.git("fetch", "-q", "origin", "main")
    work.git("merge", "-q", "-m", "merge", "FETCH_HEAD")
    done = work.push("HEAD:agent/1")
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == work.out("rev-parse", "HEAD")


def test_a_merged_commit_of_somebody_else_is_refused(open_work, repo):
    work = open_work(author="agent <agent@example>")
    work.commit("one")
    work.git("checkout", "-q", "-b", "aside", "origin/main")
    work.git("commit", "-q", "--allow-empty", "-m", "aside",
             GIT_AUTHOR_NAME="else")
    work.git("checkout", "-q", "main")
    work.git("merge", "-q", "-m", "merge", "aside")
    done = work.push("HEAD:agent/1")
    assert "push_commit_not_allowed" in done.stderr
    assert repo.tip("agent/1") is None
