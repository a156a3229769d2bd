"""What a push holds: limits, protected paths, secrets, git's own rules."""
import json
import os
import subprocess

import gitwire
import pytest
from gitwire import ZERO
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


# ---- protected paths ----

WORKFLOW = ".github/workflows/ci.yml"
PROTECT = [".github/workflows/**", "CODEOWNERS", "**/secret.txt"]


@pytest.fixture
def guarded(repo, work_with):
    """A working copy of a repository with protected files in it."""
    def make(protect=tuple(PROTECT), start="agent/1", **push):
        seed(repo)
        if start:
            repo.git("update-ref", f"refs/heads/{start}", "main")
        push.setdefault("verbs", ["create", "fast-forward", "rewrite",
                                  "delete"])
        work = work_with(**({"protect": list(protect)} if protect else {}),
                         **push)
        if start:
            work.git("checkout", "-q", start)
        return work
    return make


def seed(repo):
    """main with files at the protected paths, made on the forge."""
    def tree(lines):
        return repo.git("mktree", input="".join(lines))
    blob = repo.git("hash-object", "-w", "--stdin", input="as it was\n")
    flows = tree([f"100644 blob {blob}\tci.yml\n"])
    github = tree([f"040000 tree {flows}\tworkflows\n"])
    docs = tree([f"100644 blob {blob}\treadme\n",
                 f"100644 blob {blob}\tsecret.txt\n"])
    top = tree([f"040000 tree {github}\t.github\n",
                f"100644 blob {blob}\tCODEOWNERS\n",
                f"040000 tree {docs}\tdocs\n", f"100644 blob {blob}\tfile\n"])
    made = repo.git("commit-tree", "-m", "seed", "-p", repo.tip("main"), top)
    repo.git("update-ref", "refs/heads/main", made)


def edit(work):
    (work.path / WORKFLOW).write_text("something else\n")


def remove(work):
    work.git("rm", "-q", WORKFLOW)


def move(work):
    work.git("mv", "CODEOWNERS", "owners")


def move_directory(work):
    work.git("mv", ".github", "github")


def add(work):
    (work.path / ".github/workflows/new.yml").write_text("new\n")


def add_twin(work):
    (work.path / "codeowners").write_text("new\n")


def add_deep(work):
    (work.path / "a/b").mkdir(parents=True)
    (work.path / "a/b/secret.txt").write_text("new\n")


def change_mode(work):
    (work.path / "CODEOWNERS").chmod(0o755)


def link_file(work):
    (work.path / "CODEOWNERS").unlink()
    (work.path / "CODEOWNERS").symlink_to("file")


def link_directory(work):
    work.git("mv", ".github/workflows", "flows")
    (work.path / ".github").mkdir(exist_ok=True)
    (work.path / ".github/workflows").symlink_to("../flows")


def file_for_directory(work):
    work.git("rm", "-q", "-r", ".github/workflows")
    (work.path / ".github").mkdir(exist_ok=True)
    (work.path / ".github/workflows").write_text("a file\n")


CHANGES = [edit, remove, move, move_directory, add, add_twin, add_deep,
           change_mode, link_file, link_directory, file_for_directory]


def commit_all(work):
    work.git("add", "-A")
    work.git("commit", "-q", "-m", "a change")
    return work.out("rev-parse", "HEAD")


@pytest.mark.parametrize("change", CHANGES)
def test_a_protected_path_stays_as_it_is(guarded, repo, change):
    work = guarded()
    before = repo.tip("agent/1")
    change(work)
    made = commit_all(work)
    done = work.push("HEAD:agent/1")
    refused(done, "push_path_protected")
    assert f"commit {made[:12]} changes " in done.stderr, done.stderr
    assert repo.tip("agent/1") == before
    done = work.push("HEAD:agent/2")
    refused(done, "push_path_protected")
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")


def test_what_is_not_protected_may_change(guarded, repo):
    """All the changes at once, without the rule."""
    work = guarded(protect=None)
    for change in (edit, move, add, add_deep):
        change(work)
    tip = commit_all(work)
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_other_paths_may_change(guarded, repo):
    work = guarded()
    (work.path / "docs/readme").write_text("news\n")
    (work.path / "docs/more").mkdir()
    (work.path / "docs/more/page").write_text("news\n")
    (work.path / ".github/other.yml").write_text("news\n")
    tip = commit_all(work)
    landed(work.push("HEAD:agent/1"))
    landed(work.push("HEAD:agent/2"))
    assert repo.tip("agent/1") == repo.tip("agent/2") == tip


def test_a_change_that_is_taken_back_counts(guarded, repo):
    work = guarded()
    edit(work)
    made = commit_all(work)
    work.git("revert", "--no-edit", "HEAD")
    for branch in ("agent/1", "agent/2"):
        done = work.push(f"HEAD:{branch}")
        refused(done, "push_path_protected")
        assert made[:12] in done.stderr, done.stderr
    assert not repo.forge.log_of(f"POST /{repo.name}/git-receive-pack")


def test_a_merge_brings_no_change_in(guarded, repo):
    """Nor does a commit that upstream has already."""
    work = guarded()
    other = repo.commit("other", "theirs", {"CODEOWNERS": "them\n"},
                        parents=[repo.tip("main")])
    work.git("fetch", "-q", "origin", "other")
    done = work.push(f"{other}:agent/1")
    refused(done, "push_path_protected")
    assert f"commit {other[:12]} changes CODEOWNERS" in done.stderr
    work.commit("mine")
    work.git("merge", "-q", "--no-edit", other)
    refused(work.push("HEAD:agent/1"), "push_path_protected")


def test_an_update_goes_on_from_its_own_tip(guarded, repo):
    """Twice in a row, and forced as well."""
    work = guarded(start=None)
    work.commit("one")
    landed(work.push("HEAD:agent/1"))
    work.commit("two")
    landed(work.push("HEAD:agent/1"))
    work.git("commit", "-q", "--amend", "-m", "three")
    landed(work.push("--force", "HEAD:agent/1"))
    assert repo.tip("agent/1") == work.out("rev-parse", "HEAD")


def test_a_tag_is_looked_at_as_well(guarded, repo):
    work = guarded(tags=["v*"])
    edit(work)
    commit_all(work)
    work.git("tag", "-a", "-m", "one", "v1")
    refused(work.push("v1"), "push_path_protected")
    work.git("tag", "-a", "-m", "two", "v2", "HEAD~1")
    landed(work.push("v2"))
    assert list(repo.refs()).count("refs/tags/v2") == 1


# ---- where a push begins ----

def outside(repo):
    """A commit that no branch or tag leads to, but what anybody may propose:
    on one that changed a protected path."""
    made = repo.commit("theirs", "theirs", {"CODEOWNERS": "them\n"},
                       parents=[repo.tip("main")])
    made = repo.commit("theirs", "more of theirs", {"file": "theirs\n"},
                       parents=[made])
    repo.git("update-ref", "refs/pull/7/head", made)
    repo.git("update-ref", "-d", "refs/heads/theirs")
    return made


def take_up(work, commit):
    work.git("fetch", "-q", "origin", commit)
    work.git("checkout", "-q", commit)


def test_no_branch_begins_beside_upstream_s_own(guarded, repo):
    work = guarded(start=None)
    made = outside(repo)
    take_up(work, made)
    refused_unseen(repo, work.push("HEAD:refs/heads/agent/2"),
                   "push_path_protected", made[:12])
    work.commit("mine")
    refused_unseen(repo, work.push("HEAD:refs/heads/agent/2"),
                   "push_path_protected", made[:12])
    # Somebody who may made it upstream's own.
    repo.git("update-ref", "refs/heads/theirs", made)
    landed(work.push("HEAD:refs/heads/agent/2"))


def test_no_branch_goes_on_beside_upstream_s_own(guarded, repo):
    """Nor is it merged in: what the merge changes is not all that it
    brings."""
    work = guarded()
    made = outside(repo)
    work.git("fetch", "-q", "origin", made)
    work.git("merge", "-q", "--no-edit", "-s", "ours", made)
    done = work.push("HEAD:agent/1")
    refused(done, "push_path_protected")
    assert f"its base, commit {made[:12]}" in done.stderr, done.stderr
    # Somebody who may made it upstream's own.
    repo.git("update-ref", "refs/tags/theirs", made)
    landed(work.push("HEAD:agent/1"))


def test_a_branch_begins_there_without_the_rule(guarded, repo):
    work = guarded(protect=None, start=None)
    take_up(work, outside(repo))
    landed(work.push("HEAD:refs/heads/agent/2"))
    tip = work.commit("mine")
    landed(work.push("HEAD:agent/2"))
    assert repo.tip("agent/2") == tip


def test_a_branch_begins_where_main_was(guarded, repo):
    """git sends all of main's commits then: it does not know what leads to
    them now."""
    work = guarded(start=None)
    repo.commit("main", "theirs", {"CODEOWNERS": "them\n"})
    repo.commit("main", "more of theirs", {"file": "theirs\n"})
    tip = work.commit("mine")
    landed(work.push("HEAD:agent/2"))
    assert repo.tip("agent/2") == tip
    work.git("checkout", "-q", tip)
    edit(work)
    made = commit_all(work)
    repo.git("update-ref", "-d", "refs/heads/agent/2")
    done = work.push("HEAD:refs/heads/agent/1")
    refused(done, "push_path_protected")
    assert f"commit {made[:12]} changes {WORKFLOW}" in done.stderr, done.stderr


def test_no_branch_goes_on_to_another_s_change(guarded, repo):
    """git sends upstream's own commit: it does not know what leads to it. The
    branch has what stands there all the same."""
    work = guarded()
    old = repo.tip("agent/1")
    made = repo.commit("theirs", "theirs", {"CODEOWNERS": "them\n"},
                       parents=[old])
    take_up(work, made)
    repo.commit("theirs", "more of theirs", {"file": "theirs\n"})
    done = work.push("HEAD:agent/1")
    refused(done, "push_path_protected")
    assert f"commit {made[:12]} changes CODEOWNERS" in done.stderr, done.stderr
    assert repo.tip("agent/1") == old
    landed(work.push("HEAD:refs/heads/agent/2"))


# ---- the guardrail's ----

@pytest.fixture(scope="module")
def guarded_gateway(make_gateway, policies, tmp_path_factory):
    path = tmp_path_factory.mktemp("guardrail") / "guardrail.yaml"
    path.write_text(json.dumps({
        "version": 1,
        "network": {"addresses": policies.addresses},
        "git": [{"repo": "${session.repo}", "read": True,
                 "push": {"branches": ["agent/*"], "protect": ["CODEOWNERS"],
                          "limits": {"file": "1KiB"}}}]}))
    gateway = make_gateway("guarded", config={"guardrail": str(path)})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def work_on(make_session, policies, repo):
    def make(gateway):
        session = make_session(policies.make(
            repo=repo, push={"branches": ["agent/*"],
                             "protect": ["docs/**"]}), repo, on=gateway)
        return session.clone()
    return make


def test_the_guardrail_protects_beside_the_policy(work_on, guarded_gateway,
                                                  repo):
    seed(repo)
    work = work_on(guarded_gateway)
    work.commit(name="CODEOWNERS", content="mine")
    refused_unseen(repo, work.push("HEAD:agent/1"), "push_path_protected",
                   "CODEOWNERS")
    work.git("reset", "-q", "--hard", "HEAD~1")
    work.commit(name="docs/readme", content="mine")
    refused_unseen(repo, work.push("HEAD:agent/1"), "push_path_protected",
                   "docs/readme")
    work.git("reset", "-q", "--hard", "HEAD~1")
    work.commit(name="file", content=os.urandom(2048))
    refused_unseen(repo, work.push("HEAD:agent/1"), "push_too_large", "file")


def test_without_the_guardrail_the_policy_alone_counts(work_on, gateway,
                                                       repo):
    seed(repo)
    work = work_on(gateway)
    work.commit(name="CODEOWNERS", content="mine")
    tip = work.commit(name="file", content=os.urandom(2048))
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


# ---- around a protected path ----

def test_a_commit_that_no_ref_names_is_not_planted(guarded, repo):
    """Else it is upstream's own when the next push begins a branch at it."""
    work = guarded(start=None)
    base = work.out("rev-parse", "HEAD")
    good = work.commit("innocent")
    work.git("checkout", "-q", "-b", "evil", base)
    edit(work)
    bad = commit_all(work)
    command = gitwire.commands([(ZERO, good, "refs/heads/agent/1")])
    _, report = gitwire.push(
        work.session, command + gitwire.pack(work, [good, bad], [base]))
    assert report.refused and "push_path_protected" in str(report.lines)
    _, report = gitwire.push(
        work.session, command + gitwire.pack(work, [good], [base]))
    assert report.landed, "the twin: what the ref leads to"


@pytest.mark.parametrize("line,lands", [("note x", False), ("tagger a <a@b> "
                                        "1700000000 +0000", True)])
def test_a_tag_that_cannot_be_read_hides_no_commit(guarded, repo, line, lands):
    work = guarded(tags=["v*"])
    base = work.out("rev-parse", "HEAD")
    if lands:
        tip = work.commit("innocent")
    else:
        edit(work)
        tip = commit_all(work)
    tag = subprocess.run(
        ["git", "hash-object", "-t", "tag", "-w", "--literally", "--stdin"],
        cwd=work.path, env=work.session.git_env(), text=True, check=True,
        input=f"object {tip}\ntype commit\ntag v1\n{line}\n\nwords\n",
        capture_output=True).stdout.strip()
    _, report = gitwire.push(
        work.session, gitwire.commands([(ZERO, tag, "refs/tags/v1")])
        + gitwire.pack(work, [tag], [base]))
    assert report.landed if lands else report.refused, report.lines
