"""Secrets in a push, and objects that git's own fsck would not take."""
import subprocess

import pytest
from gateway import wait_until
from test_push import landed, refused

KEY = ("-----BEGIN OPENSSH PRIVATE KEY-----\n"
       "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\n"
       "c2gtZWQyNTUxOQAAACDt3bqk0cS1Jw0Zl2gK8m5yQv7nX4pT6uRr9eHhYc1dWAAA\n"
       "-----END OPENSSH PRIVATE KEY-----\n")


@pytest.fixture
def work_with(make_session, policies, repo):
    def make(**push):
        push.setdefault("branches", ["${session.branch}"])
        session = make_session(policies.make(repo=repo, push=push), repo)
        return session.clone()
    return make


@pytest.fixture
def work(work_with):
    """One whose session's own secrets are known: they come a moment later."""
    work = work_with(branches=["${session.branch}", "ready/*"],
                     secrets="deny")
    work.commit("nothing")
    names = iter(range(1000))
    wait_until(lambda: work.push(
        f"HEAD:ready/{next(names)}").returncode == 0)
    return work


def secrets_of(repo):
    token = repo.forge.token
    return {"key": KEY, "own": token,
            "own in hex": f"see {token.encode().hex()} there",
            "binary": "\0\1\2" + KEY + "\0"}


@pytest.mark.parametrize("kind", ["key", "own", "own in hex", "binary"])
def test_a_secret_is_refused(work, repo, kind):
    secret = secrets_of(repo)[kind]
    work.commit(name="notes.txt", content=secret)
    work.git("rm", "-q", "notes.txt")
    work.git("commit", "-q", "-m", "gone")
    done = work.push("HEAD:agent/1")
    refused(done, "push_secret")
    assert "notes.txt holds: " in done.stderr, done.stderr
    assert secret not in done.stderr
    assert repo.tip("agent/1") is None


@pytest.mark.parametrize("kind", ["key", "own", "own in hex", "binary"])
def test_without_the_rule_it_is_text_like_any(work_with, repo, kind):
    work = work_with()
    tip = work.commit(name="notes.txt", content=secrets_of(repo)[kind])
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_a_secret_in_a_message_is_refused(work, repo):
    work.commit(f"see {repo.forge.token}", content="another")
    done = work.push("HEAD:agent/1")
    refused(done, "push_secret")
    assert "commit " in done.stderr and repo.forge.token not in done.stderr


TOKEN = "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"


def test_a_secret_in_a_name_is_refused(work_with, repo):
    """A new branch's, though nothing is left to send."""
    work = work_with(branches=["**"], secrets="deny", verbs=["create"])
    tip = work.commit("nothing")
    wait_until(lambda: work.push(
        "HEAD:refs/heads/agent/1").returncode == 0)
    before = repo.refs()
    for secret in (repo.forge.token, TOKEN):
        done = work.push(f"HEAD:refs/heads/agent/{secret}")
        refused(done, "push_secret")
        assert "the name of a ref" in done.stderr
        assert repo.refs() == before
    landed(work.push("HEAD:refs/heads/agent/2"))
    assert repo.tip("agent/2") == tip


def test_without_the_rule_it_is_a_name_like_any(work_with, repo):
    work = work_with(branches=["**"], verbs=["create"])
    tip = work.commit("nothing")
    landed(work.push(f"HEAD:refs/heads/agent/{TOKEN}"))
    assert repo.tip(f"agent/{TOKEN}") == tip


def test_other_text_passes(work, repo):
    tip = work.commit(content="ghp_ is how a token begins\n" * 10000)
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


# ---- git's own rules ----

BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def made(work, kind, content):
    """An object of the client's repository, however odd."""
    done = subprocess.run(
        ["git", "hash-object", "-t", kind, "--literally", "-w", "--stdin"],
        cwd=work.path, input=content, env=work.session.git_env(),
        capture_output=True, check=True)
    return done.stdout.decode().strip()


def entry(mode, name, oid=BLOB):
    return mode + b" " + name + b"\0" + bytes.fromhex(oid)


TREES = {
    "git": [entry(b"100644", b".git")],
    "git on hfs": [entry(b"100644", b".g\xe2\x80\x8cit")],
    "git on ntfs": [entry(b"100644", b"git~1")],
    "dots": [entry(b"100644", b"..")],
    "padded": [entry(b"0100644", b"a")],
    "order": [entry(b"100644", b"b"), entry(b"100644", b"a")],
    "twice": [entry(b"100644", b"a"), entry(b"100644", b"a")],
    "nothing": [entry(b"160000", b"a", "0" * 40)],
    "link": [entry(b"120000", b".gitmodules")],
}
MODULES = {
    "ext": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c id\n',
    "option": '[submodule "x"]\n\tpath = x\n\turl = -u./run\n',
    "update": '[submodule "x"]\n\tpath = x\n\turl = ../x\n\tupdate = !id\n',
    "name": '[submodule "../x"]\n\tpath = x\n\turl = ../x\n',
    "no host": '[submodule "x"]\n\tpath = x\n\turl = https:///a.example/x\n',
    "another host": '[submodule "x"]\n\tpath = x\n\turl = ..//a.example/x\n',
    "CR": '[submodule "x"]\n\tpath = "x\r"\n\turl = ../x\n',
}
SOUND = '[submodule "x"]\n\tpath = x\n\turl = https://github.com/a/b\n'


def push_tree(work, entries):
    made(work, "blob", b"")
    tree = made(work, "tree", b"".join(entries))
    tip = work.out("commit-tree", "-p", "HEAD", "-m", "odd", tree)
    return work.push(f"{tip}:refs/heads/agent/1"), tip


@pytest.mark.parametrize("kind", TREES)
def test_an_unsound_tree_is_refused(work_with, repo, kind):
    work = work_with(limits={"objects": 1000})
    done, _ = push_tree(work, TREES[kind])
    refused(done, "push_object_unsound")
    assert repo.tip("agent/1") is None


def test_a_sound_tree_passes(work_with, repo):
    work = work_with(limits={"objects": 1000})
    done, tip = push_tree(work, [entry(b"100644", b".gitmodule"),
                                 entry(b"100644", b"a")])
    landed(done)
    assert repo.tip("agent/1") == tip


@pytest.mark.parametrize("kind", MODULES)
def test_modules_that_run_something_are_refused(work_with, repo, kind):
    work = work_with(limits={"objects": 1000})
    work.commit(name=".gitmodules", content=MODULES[kind])
    refused(work.push("HEAD:agent/1"), "push_object_unsound")
    assert repo.tip("agent/1") is None


def test_modules_that_run_nothing_pass(work_with, repo):
    work = work_with(limits={"objects": 1000})
    tip = work.commit(name=".gitmodules", content=SOUND)
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_modules_are_read_though_upstream_has_them_by_another_name(
        work_with, repo):
    """git leaves out of a pack what it knows that upstream has."""
    work = work_with(limits={"objects": 1000})
    tip = work.commit(name="x.txt", content=MODULES["ext"])
    landed(work.push("HEAD:agent/1"))
    work.git("mv", "x.txt", ".gitmodules")
    work.git("commit", "-q", "-m", "renamed")
    refused(work.push("HEAD:agent/1"), "push_object_unsound")
    assert repo.tip("agent/1") == tip


def test_modules_that_stay_do_not_hinder_what_comes_after(work_with, repo):
    work = work_with(limits={"objects": 1000})
    work.commit(name=".gitmodules", content=SOUND)
    landed(work.push("HEAD:agent/1"))
    tip = work.commit(name="after")
    landed(work.push("HEAD:agent/1"))
    assert repo.tip("agent/1") == tip


def test_a_commit_of_nobody_is_refused(work_with, repo):
    work = work_with(limits={"objects": 1000})
    tree = work.out("rev-parse", "HEAD^{tree}")
    commit = made(work, "commit", f"tree {tree}\nauthor <a@b> 1 +0000\n"
                  "committer C <a@b> 1 +0000\n\nx\n".encode())
    refused(work.push(f"{commit}:refs/heads/agent/1"), "push_object_unsound")


def test_a_placeholder_is_no_secret(make_session, policies, repo):
    """It looks like a token of GitHub, and is worth nothing."""
    policy = policies.make(repo=repo, push={
        "branches": ["${session.branch}", "ready/*"], "secrets": "deny"})
    policy["credentials"][0]["placeholder"] = {"env": ["GITHUB_TOKEN"]}
    session = make_session(policy, repo)
    theirs = make_session(policy, repo).placeholders["GITHUB_TOKEN"]
    worthless = session.placeholders["GITHUB_TOKEN"]
    assert worthless.startswith("ghp_") and worthless != theirs
    work = session.clone()
    work.commit("nothing")
    names = iter(range(1000))
    wait_until(lambda: work.push(
        f"HEAD:ready/{next(names)}").returncode == 0)
    work.commit(name="env.txt", content=f"GITHUB_TOKEN={worthless}\n",
                message=f"set {worthless}")
    landed(work.push("HEAD:agent/1"))
    # Another session's looks the same, and who is to know.
    work.commit(name="env.txt", content=f"GITHUB_TOKEN={theirs}\n")
    refused(work.push("HEAD:agent/1"), "push_secret")
