"""Commits and tags of a session, signed by a key that stays in the vault,
and verified by git and ssh-keygen, who know nothing of us."""
import hashlib
import json
import os
import signal
import subprocess

import pytest
from gateway import ApiError
from signing import Signer, allowed_signers, payload_of, verify
from waiting import wait_until

ROBOT = "Robot One <robot@example.com>"
SIGN = {"branches": ["${session.branch}"], "tags": ["v*"], "sign": "session"}
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def keygen(path, *options):
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "", "-f", path,
                    *(options or ["-t", "ed25519"])], check=True)
    public = path.with_name(path.name + ".pub").read_text()
    return path.read_text(), " ".join(public.split()[:2])


@pytest.fixture
def make_signer(make_session, gateway, policies):
    def make(repo, sign="session", **push):
        session = make_session(policies.make(
            repo=repo, push={**SIGN, "sign": sign, **push}), repo)
        return Signer(session, gateway.get(
            f"/v1/sessions/{session.id}")["signing"])
    return make


@pytest.fixture
def signer(make_signer, repo):
    return make_signer(repo)


def commit_of(who, other=None, more="", message="it is one\n"):
    return (f"tree {TREE}\nauthor {who} 1700000000 +0000\n"
            f"committer {other or who} 1700000000 +0000\n{more}\n{message}")


def tag_of(who, name="v1", message="it is one\n"):
    return (f"object {TREE}\ntype tree\ntag {name}\n"
            f"tagger {who} 1700000000 +0000\n\n{message}")


def post(session, data, *options):
    """Have data signed, as the program inside asks for it."""
    path = session.dir / "object"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return session.curl("http://sallyport.internal/sign", "--data-binary",
                        f"@{path}", "-H", "Content-Type: text/plain",
                        *options)


# ---- in a sandbox ----

SCRIPT = """
    git clone -q {url} work 2>&1 && cd work && echo 1 >f && git add f &&
    git commit -q -m 'it is signed' && git tag -m 'so is this' v1 &&
    git push -q origin HEAD:agent/1 v1 && cat /run/sallyport/allowed_signers
    git -c gpg.ssh.allowedSignersFile=/run/sallyport/allowed_signers \\
        log -1 --show-signature 2>&1
    git -c gpg.ssh.allowedSignersFile=/run/sallyport/allowed_signers \\
        verify-tag v1 2>&1
    git commit -q --allow-empty --author='Eve <e@x.example>' -m no && echo bad
    ls -l /run/sallyport; env
"""


def test_a_sandbox_commits_and_tags_with_a_signature(
        gateway, policies, repo, workspace, tmp_path):
    done = gateway.run(policies.make(repo=repo, push=SIGN),
                       SCRIPT.format(url=repo.url), workspace, repo=repo.url,
                       branch="agent/1")
    assert done.returncode == 0, done.stderr
    commit = repo.git("cat-file", "commit", "agent/1")
    email = commit.split("<")[1].split(">")[0]
    assert email.startswith("s-") and email.endswith("@sallyport.internal")
    session = email.partition("@")[0]
    assert f"committer sallyport <{email}>" in commit
    made, = [row for row in gateway.audit(session, "secret.changed")
             if row["method"] == "make"]
    allowed = allowed_signers(tmp_path, email, made["detail"])
    assert allowed.read_text() in done.stdout
    settings = ["-c", f"gpg.ssh.allowedSignersFile={allowed}"]
    repo.git(*settings, "verify-commit", "agent/1")
    repo.git(*settings, "verify-tag", "v1")
    log = repo.git(*settings, "log", "--show-signature", "-1", "agent/1")
    assert f'Good "git" signature for {email}' in log
    assert done.stdout.count(f'Good "git" signature for {email}') == 2
    for kind, name in (("commit", "agent/1"), ("tag", "v1")):
        payload, signature = payload_of(
            lambda *args: repo.git(*args) + "\n", kind, name)
        good = verify(tmp_path, allowed, email, payload, signature)
        assert good.returncode == 0, good.stderr + payload
        assert verify(tmp_path, allowed, email, payload + "x",
                      signature).returncode != 0
        use = [row for row in gateway.audit(session, "secret.use")
               if row["method"] == "SIGN" and
               row["path"] == ("commit" if kind == "commit"
                               else "refs/tags/v1")][0]
        digest = hashlib.sha512(payload.encode()).hexdigest()
        assert use["detail"] == f"{made['detail']} sha512:{digest}"
        assert use["credential"] == "session" and use["allowed"]
    # Another author's is not signed, and git says why.
    assert "bad" not in done.stdout.split()
    assert f"not signed: its author is not sallyport <{email}>" in done.stderr
    assert "PRIVATE KEY" not in done.stdout


def test_without_sign_git_is_as_it_was(gateway, policies, repo, workspace):
    script = SCRIPT.replace("allowed_signers\n", "x; true\n").format(
        url=repo.url)
    author = [word for who in ("AUTHOR", "COMMITTER")
              for what in ("NAME=a", "EMAIL=a@b")
              for word in ("-e", f"GIT_{who}_{what}")]
    done = gateway.run(
        policies.make(repo=repo, push={
            key: SIGN[key] for key in ("branches", "tags")}),
        script, workspace, repo=repo.url, branch="agent/1", options=author)
    assert done.returncode == 0, done.stderr
    assert "gpgsig" not in repo.git("cat-file", "commit", "agent/1")
    assert "bad" in done.stdout.split()
    assert "sallyport-sign" not in done.stdout
    assert "commit.gpgSign" not in done.stdout


# ---- what git asks for, and what it is refused ----

def test_what_real_git_makes_is_signed(signer, tmp_path):
    """Merges, merged tags, amended commits, another encoding, sha256."""
    for options in ([], ["--object-format=sha256"]):
        work = signer.init("work" + "".join(options)[-6:], *options)

        def git(*args, **env):
            return signer.git(*args, cwd=work, **env).stdout
        git("commit", "--allow-empty", "-m", "one")
        git("checkout", "-qb", "side")
        git("commit", "--allow-empty", "-m", "two")
        git("tag", "-m", "the side", "v1")
        git("checkout", "-q", "main")
        git("merge", "-q", "--no-ff", "v1")
        assert "mergetag object" in git("cat-file", "commit", "HEAD")
        git("-c", "i18n.commitEncoding=ISO-8859-1", "commit",
            "--allow-empty", "-m", "caf\u00e9")
        git("commit", "--amend", "--allow-empty", "--allow-empty-message",
            "-m", "")
        git("tag", "-a", "-m", "again", "v2", "HEAD^{tree}")
        log = git("log", "--format=%G? %GS", "--all")
        assert set(log.split("\n")) == {f"G {signer.email}", ""}, log
        for tag in ("v1", "v2"):
            git("verify-tag", tag)


def test_what_is_not_the_sessions_is_refused(signer, gateway):
    me = f"{signer.name} <{signer.email}>"
    eve = "Eve <eve@example.com>"
    twins = [commit_of(me), tag_of(me)]
    refused = {
        "other author": (commit_of(eve, me), "its author is not"),
        "other committer": (commit_of(me, eve), "its committer is not"),
        "other tagger": (tag_of(eve), "its tagger is not"),
        "no commit": ("hello\n", "where tree must"),
        "login": ("\x00\x00\x00\x20" + "x" * 32, "a NUL"),
        "two objects": (commit_of(me, message="")[:-1] + commit_of(me),
                        '"tree" stands where the message must'),
        "push certificate": ("certificate version 0.1\npusher x\n\n",
                             '"certificate" stands'),
        "signed already": (commit_of(me, more="gpgsig x\n"),
                           "a signature already"),
        "signed tag": (tag_of(me, message="-----BEGIN SSH SIGNATURE-----\n"),
                       "a signature already"),
        "foreign header": (commit_of(me, more="x-y z\n"), '"x-y" stands'),
        "tag of another name": (tag_of(me, "w1"),
                                "may not push a tag of this name"),
        "tag that is no ref": (tag_of(me, "v..1"),
                               "may not push a tag of this name"),
        "too large": (commit_of(me, message="m" * 1048576),
                      "at most 1048576 bytes"),
    }
    for what, (data, why) in refused.items():
        answer = post(signer.session, data)
        problem = answer.json
        large = what == "too large"
        assert answer.status == (413 if large else 403), what
        assert problem["constraint"] == (
            "body_too_large" if large else "sign_not_allowed"), what
        assert why in problem["detail"], (what, problem)
    for data in twins:
        answer = post(signer.session, data)
        assert answer.status == 200, answer.text
        assert answer.text.startswith("-----BEGIN SSH SIGNATURE-----\n")
    assert wait_until(lambda: len([
        row for row in signer.session.audit()
        if row.get("constraint") == "sign_not_allowed"]) ==
        len(refused) - 1)
    signed = [row for row in signer.session.audit("secret.use")
              if row["method"] == "SIGN"]
    assert len(signed) == len(twins)
    denials = signer.session.curl("http://sallyport.internal/denials").text
    assert '"constraint":"sign_not_allowed"' in denials
    get = signer.session.curl("http://sallyport.internal/sign")
    assert get.status == 405 and "Allow: POST" in get.head


def test_a_session_that_does_not_sign_says_so(session):
    answer = post(session, commit_of("a <a@b>"))
    assert answer.status == 403
    assert answer.json["constraint"] == "sign_not_allowed"
    assert "--no-gpg-sign" in answer.json["try"]
    shown = session.gateway.get(f"/v1/sessions/{session.id}")
    assert shown["signing"] is None


def test_ones_own_keys_sign_as_ever(signer, tmp_path):
    """A key in the sandbox is not ours: ssh-keygen signs with it. The
    session's, given as a text, is."""
    _, own = keygen(tmp_path / "own")
    work = signer.init()
    allowed_signers(signer.dir, signer.email, own, signer.key)

    def sign(key, message):
        signer.git("commit", "--allow-empty", "-m", message,
                   f"-S{key}", cwd=work)
        return signer.git("log", "-1", "--format=%G? %GF",
                          cwd=work).stdout.strip().split()
    ours = sign(f"key::{signer.key}", "by the session's")
    theirs = sign(tmp_path / "own", "by its own")
    assert ours[0] == theirs[0] == "G" and ours[1] != theirs[1]
    rows = [row for row in signer.session.audit("secret.use")
            if row["method"] == "SIGN"]
    assert len(rows) == 1


# ---- keys ----

def test_a_key_of_the_vault_signs_and_rotates(make_signer, gateway, repo,
                                              tmp_path):
    first, public = keygen(tmp_path / "first")
    second, rotated = keygen(tmp_path / "second")
    rsa, _ = keygen(tmp_path / "rsa", "-t", "rsa", "-b", "2048")
    gateway.put_secret("signer", first)
    signer = make_signer(repo, {"key": "signer", "author": ROBOT})
    assert signer.key == public and signer.name == "Robot One"
    work = signer.init()

    def commit():
        signer.git("commit", "--allow-empty", "-m", "one", cwd=work)
        return signer.git("log", "-1", "--format=%G? %GS",
                          cwd=work).stdout.split()
    assert commit() == ["G", "robot@example.com"]
    row = signer.session.row("secret.use", method="SIGN")
    assert row["credential"] == "signer"
    # What is unfit is refused while a session signs with it.
    done = gateway.cli("secret", "rotate", "signer", stdin=rsa)
    assert done.returncode != 0 and "no Ed25519 key" in done.stderr
    done = gateway.cli("secret", "rotate", "signer", stdin=second)
    assert done.returncode == 0, done.stderr
    allowed_signers(signer.dir, signer.email, rotated)
    assert commit() == ["G", "robot@example.com"]
    shown = gateway.cli("session", "show", signer.session.id)
    assert f'robot@example.com namespaces="git" {rotated}' in shown.stdout
    # The twin: nothing of it is left to sign with.
    gateway.cli("secret", "rm", "signer")
    done = signer.git("commit", "--allow-empty", "-m", "x", cwd=work,
                      check=False)
    assert done.returncode != 0 and "sallyport: not signed:" in done.stderr
    shown = json.loads(gateway.cli("session", "show", "-o", "json",
                                   signer.session.id).stdout)["signing"]
    assert shown["public_key"] is None and shown["why"], shown


def test_a_key_that_is_a_credential_is_no_policy(gateway, policies, repo,
                                                 tmp_path):
    policy = policies.make(repo=repo, push={**SIGN, "sign": {"key": "forge"}})
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(policy))
    done = gateway.cli("policy", "check", path)
    assert done.returncode == 3
    assert "is a credential's secret as well" in done.stderr


def test_each_session_has_a_key_of_its_own_and_it_ends_with_it(
        make_signer, gateway, forge):
    one, two = make_signer(forge.repo()), make_signer(forge.repo())
    assert one.key != two.key
    work = one.init()
    one.git("commit", "--allow-empty", "-m", "one", cwd=work)
    gateway.end(one.session.id)
    done = one.git("commit", "--allow-empty", "-m", "two", cwd=work,
                   check=False)
    assert done.returncode != 0 and "sallyport: not signed:" in done.stderr
    shown = gateway.get(f"/v1/sessions/{one.session.id}")
    assert shown["revoked"] and shown["signing"] is None
    work = two.init()
    two.git("commit", "--allow-empty", "-m", "two", cwd=work)
    two.git("verify-commit", "HEAD", cwd=work)


def test_a_vault_that_begins_again_makes_another_key(make_signer, gateway,
                                                     repo):
    signer = make_signer(repo)
    before = gateway.pid("vault")
    os.kill(before, signal.SIGKILL)

    def shown():
        try:
            now = gateway.get(f"/v1/sessions/{signer.session.id}")["signing"]
        except ApiError:
            return None  # it is not there yet
        return now if now and now["public_key"] not in (None, signer.key) \
            else None
    now = wait_until(shown)
    allowed_signers(signer.dir, signer.email, now["public_key"])
    work = signer.init()
    wait_until(lambda: signer.git(
        "commit", "--allow-empty", "-m", "one", cwd=work,
        check=False).returncode == 0)
    signer.git("verify-commit", "HEAD", cwd=work)
    made = wait_until(lambda: [
        row["detail"] for row in signer.session.audit("secret.changed")
        if row["method"] == "make"][1:])
    assert made == [now["public_key"]]
