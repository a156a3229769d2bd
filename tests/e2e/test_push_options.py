"""git push -o, signed pushes, and what else stands beside the refs."""
import gitwire
import pytest
from gitwire import ZERO

OWN = "refs/heads/agent/1"
HOOK = """#!/bin/sh
i=0
while [ $i -lt "${GIT_PUSH_OPTION_COUNT:-0}" ]; do
    eval "echo \\"\\$GIT_PUSH_OPTION_$i\\"" >>"$GIT_DIR/options"
    i=$((i + 1))
done
"""


@pytest.fixture
def offered(repo):
    """A repository whose upstream takes options, and keeps them."""
    repo.git("config", "receive.advertisePushOptions", "true")
    hook = repo.path / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)

    def options():
        path = repo.path / "options"
        return path.read_text().splitlines() if path.exists() else []
    return options


@pytest.fixture
def open_work(make_session, policies, repo):
    def make(*options):
        push = {"branches": ["${session.branch}"]}
        if options:
            push["options"] = list(options)
        session = make_session(policies.make(repo=repo, push=push), repo)
        return session.clone()
    return make


def push(work, *options):
    words = [word for option in options for word in ("-o", option)]
    return work.git("push", *words, "origin", "HEAD:agent/1", check=False)


def test_options_that_the_policy_names_arrive(open_work, offered, repo):
    work = open_work(r"ci\.skip", r"merge_request\.(create|target=\w+)")
    tip = work.commit()
    done = push(work, "ci.skip", "merge_request.target=main")
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == tip
    assert offered() == ["ci.skip", "merge_request.target=main"]
    # With a pack that is looked at: the second push proves its way.
    tip = work.commit("two")
    done = push(work, "merge_request.create")
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == tip
    assert offered() == ["ci.skip", "merge_request.target=main",
                         "merge_request.create"]


@pytest.mark.parametrize("options", [
    ["ci.skip2"], ["ciXskip"], ["x ci.skip"], [" ci.skip"],
    ["merge_request.merge_when_pipeline_succeeds"],
    ["merge_request.target=main merge_request.create"],
    ["ci.skip", "merge_request.title=x"], ["ci.skíp"]])
def test_other_options_are_refused_by_name(open_work, offered, repo, options):
    work = open_work(r"ci\.skip", r"merge_request\.(create|target=\w+)")
    work.commit()
    done = push(work, *options)
    assert done.returncode == 1
    assert "push refused: push_option_not_allowed" in done.stderr
    assert f"the session may not push with -o {options[-1]}" in done.stderr
    assert "[remote rejected]" in done.stderr
    assert repo.tip("agent/1") is None and offered() == []
    row = work.session.row("push", allowed=False)
    assert row["constraint"] == "push_option_not_allowed"


def test_no_option_passes_a_policy_without_them(open_work, offered, repo):
    work = open_work()
    work.commit()
    done = push(work, "ci.skip")
    assert done.returncode == 1
    assert "push refused: push_option_not_allowed" in done.stderr
    assert repo.tip("agent/1") is None
    assert push(work).returncode == 0


def test_git_is_told_when_upstream_takes_none(open_work, repo):
    work = open_work("ci.skip")
    work.commit()
    done = push(work, "ci.skip")
    assert done.returncode != 0
    assert "does not support push options" in done.stderr


def test_options_by_hand(open_work, offered, repo):
    """Lists as no client writes them: an empty one says nothing, what is no
    line of text is refused, and none stands without its capability."""
    work = open_work(".*")
    tip = work.commit()
    head = gitwire.commands([(ZERO, tip, OWN)],
                            gitwire.CAPS + " push-options")
    plain = gitwire.commands([(ZERO, tip, OWN)])
    pack = gitwire.pack(work, [tip], ["origin/main"])
    options = gitwire.pkt("a=b")
    for body in (head, head + options, head + b"0001",
                 head + gitwire.pkt("a\nb") + b"0000",
                 head + gitwire.pkt("a\0b") + b"0000",
                 head + gitwire.pkt("") + b"0000",
                 head + gitwire.pkt("x" * 1025) + b"0000",
                 head + options * 65 + b"0000",
                 head + options + b"0000" + options + b"0000",
                 plain + options + b"0000"):
        status, report = gitwire.push(work.session, body + pack)
        assert status == 200 and not report.landed, body
    assert repo.tip("agent/1") is None and offered() == []
    status, report = gitwire.push(work.session, head + b"0000" + pack)
    assert report.landed == [OWN] and offered() == []


# ---- signed pushes ----

def test_a_signed_push_is_refused_with_a_reason(open_work, repo):
    work = open_work()
    tip = work.commit()
    repo.git("config", "receive.certNonceSeed", "seed")
    done = work.git("push", "--signed", "origin", "HEAD:agent/1", check=False)
    assert done.returncode != 0
    assert "does not support --signed push" in done.stderr
    body = (gitwire.pkt("push-cert\0 " + gitwire.CAPS)
            + gitwire.pkt("certificate version 0.1\n")
            + gitwire.pkt(f"{ZERO} {tip} {OWN}\n")
            + gitwire.pkt("push-cert-end\n") + b"0000")
    _, answer = gitwire.push(work.session, body)
    assert repo.tip("agent/1") is None
    # A push that is only signed if the other side can is not.
    done = work.git("push", "--signed=if-asked", "origin", "HEAD:agent/1",
                    check=False)
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == tip


# ---- atomic ----

def test_an_atomic_push_upstream_refuses_lands_not_at_all(
        make_session, policies, repo):
    """One of two refs is refused by upstream itself; each is told of."""
    session = make_session(policies.make(repo=repo, push={
        "branches": ["agent/**"]}), repo)
    work = session.clone()
    work.commit()
    hook = repo.path / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/agent/no ]\n')
    hook.chmod(0o755)
    done = work.push("--atomic", "HEAD:agent/1", "HEAD:agent/no")
    assert done.returncode == 1
    assert done.stderr.count("[remote rejected]") == 2, done.stderr
    assert repo.tip("agent/1") is None
    done = work.push("HEAD:agent/1", "HEAD:agent/no")
    assert done.stderr.count("[remote rejected]") == 1, done.stderr
    assert repo.tip("agent/1") and not repo.tip("agent/no")
