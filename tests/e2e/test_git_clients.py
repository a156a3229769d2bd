"""Git clients that are not git, and git, in a sandbox as they come: each
clones, fetches and pushes what is allowed, and shows why the rest is not."""
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

SOURCES = pathlib.Path(__file__).parent / "git_clients"
JARS = ":".join(f"/usr/share/java/{name}.jar" for name in [
    "org.eclipse.jgit", "javaewah", "slf4j-api", "slf4j-nop"])
CLIENTS = {
    "git": "sh client/with_git.sh",
    "libgit2": "/usr/bin/python3 client/with_libgit2.py",
    "dulwich": "/usr/bin/python3 client/with_dulwich.py",
    "isomorphic-git": "node client/with_isomorphic.cjs",
    "JGit": f"java -XX:TieredStopAtLevel=1 -cp client:{JARS} WithJGit",
}
# What they work on: two branches, a tag of each kind.
PREPARE = """
git -C work checkout -q -b mine
for n in 1 2; do
    echo $n > work/new-$n
    git -C work add -A
    git -C work commit -q -m "change $n"
    git -C work branch mine-$n
done
git -C work tag light
git -C work tag -a -m one v1
git init -q other
git -C other remote add origin "$(git -C work config remote.origin.url)"
"""
STEPS = {
    "own": ["refs/heads/mine-1:refs/heads/agent/1"],
    "forward": ["refs/heads/mine-2:refs/heads/agent/1"],
    "main": ["refs/heads/mine-2:refs/heads/main"],
    "tag": ["refs/tags/v1:refs/tags/v1"],
    "light tag": ["refs/tags/light:refs/tags/light"],
    "several": ["refs/heads/mine-1:refs/heads/agent/2",
                "refs/heads/mine-2:refs/heads/agent/3"],
    "mixed": ["refs/heads/mine-1:refs/heads/agent/4",
              "refs/heads/mine-2:refs/heads/other"],
}
FETCHED = "refs/heads/agent/1:refs/remotes/origin/agent/1"
AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
          for what, value in (("NAME", "agent"), ("EMAIL", "agent@example"))}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The clients' programs, made once: a directory to copy."""
    path = tmp_path_factory.mktemp("clients") / "client"
    shutil.copytree(SOURCES, path)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline",
                    "--ignore-scripts", "--fetch-retries", "5"], cwd=path,
                   check=True, capture_output=True, timeout=300)
    subprocess.run(["javac", "-cp", JARS, "WithJGit.java"], cwd=path,
                   check=True, timeout=300)
    return path


class Run:
    """What a client did in one sandbox: of each step its exit and its words;
    of the forge its refs after it."""

    def __init__(self, gateway, policy, repo, workspace, client):
        def shell(*operations):
            words = " -- ".join(shlex.join(words) for words in operations)
            return f"{CLIENTS[client]} {words}\n"
        pushes = [["push", "work", repo.url, *specs]
                  for specs in STEPS.values()]
        fetch = ["fetch", "other", repo.url, FETCHED]
        script = (shell(["clone", repo.url, "work"]) + PREPARE
                  + shell(*pushes, fetch)
                  + "git -C other rev-parse --verify refs/remotes/origin/agent/1\n"
                  + "git -C work rev-parse mine-1 mine-2 v1 light")
        done = gateway.run(
            policy, script, workspace, repo=repo.url, branch="agent/1",
            options=[word for item in AUTHOR.items()
                     for word in ("-e", "=".join(item))])
        self.all = done.stdout + done.stderr
        parts = re.split(r"^exit (\d+)\n", done.stdout, flags=re.M)
        names = ["clone", *STEPS, "fetch"]
        assert len(parts) == 2 * len(names) + 1, self.all
        self.exits = dict(zip(names, map(int, parts[1::2])))
        self.words = dict(zip(names, parts[0::2]))
        self.fetched, *self.oids = parts[-1].split()
        self.refs = repo.refs()


@pytest.fixture(scope="module", params=CLIENTS)
def client(request):
    return request.param


@pytest.fixture(scope="module")
def make_run(client, programs, gateway, forge, policies, tmp_path_factory):
    def make(**push):
        workspace = tmp_path_factory.mktemp("workspace")
        (workspace / "client").mkdir()
        shutil.copytree(programs, workspace / "client", dirs_exist_ok=True)
        repo = forge.repo()
        policy = policies.make(repo=repo, push=push)
        return Run(gateway, policy, repo, workspace, client)
    return make


@pytest.fixture(scope="module")
def narrow(make_run):
    return make_run(branches=["agent/*"])


@pytest.fixture(scope="module")
def wide(make_run):
    return make_run(branches=["agent/*", "main", "other"], tags=["*"])


def test_it_clones_and_pushes_its_branch(narrow):
    for step in ("clone", "own", "forward"):
        assert narrow.exits[step] == 0, narrow.all
    assert narrow.refs["refs/heads/agent/1"] == narrow.oids[1]


def test_it_fetches_what_was_pushed(narrow):
    assert narrow.exits["fetch"] == 0, narrow.all
    assert narrow.fetched == narrow.oids[1]


@pytest.mark.parametrize("step, ref", [
    ("main", "refs/heads/main"), ("tag", "refs/tags/v1"),
    ("light tag", "refs/tags/light")])
def test_it_shows_why_a_ref_is_refused(narrow, step, ref):
    assert narrow.exits[step] == 1, narrow.all
    assert "push_ref_not_allowed" in narrow.words[step], narrow.all
    assert "agent/*" in narrow.words[step], narrow.all
    assert narrow.refs.get(ref) not in narrow.oids


def test_it_pushes_several_refs(narrow):
    assert narrow.exits["several"] == 0, narrow.all
    assert narrow.refs["refs/heads/agent/2"] == narrow.oids[0]
    assert narrow.refs["refs/heads/agent/3"] == narrow.oids[1]


def test_it_shows_why_one_of_several_is_refused(narrow, client):
    assert narrow.exits["mixed"] == 1, narrow.all
    assert "push_ref_not_allowed" in narrow.words["mixed"], narrow.all
    assert "refs/heads/other" not in narrow.refs
    # One of them at a time is all that it can.
    assert ("refs/heads/agent/4" in narrow.refs) == (
        client == "isomorphic-git")


def test_it_pushes_all_of_it_where_the_policy_says_so(wide):
    assert not any(wide.exits.values()), wide.all
    first, second, tag, light = wide.oids
    assert wide.refs | {
        "refs/heads/main": second, "refs/heads/other": second,
        "refs/heads/agent/4": first, "refs/tags/v1": tag,
        "refs/tags/light": light} == wide.refs
