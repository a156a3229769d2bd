"""How repositories are named, and how much of them there is: remotes for
ssh, submodules, other forges' paths, shallow and partial clones."""
import pytest

AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
          for what, value in (("NAME", "agent"), ("EMAIL", "agent@example"))}
SSH = ["git@github.com:{}", "git@github.com:{}.git", "git@github.com:/{}",
       "ssh://git@github.com/{}", "ssh://git@github.com/{}.git",
       "ssh://git@github.com:22/{}", "ssh://git@ssh.github.com:443/{}",
       "ssh://github.com/{}", "git+ssh://git@github.com/{}",
       "git://github.com/{}.git"]


@pytest.fixture
def run(gateway, workspace):
    """Run a script in a sandbox; its own branch is agent/1."""
    def run(policy, script, repo):
        done = gateway.run(
            policy, script, workspace, repo=repo.url, branch="agent/1",
            options=[word for item in AUTHOR.items()
                     for word in ("-e", "=".join(item))])
        return done.returncode, done.stdout, done.stderr
    return run


# ---- ssh ----

def test_remotes_for_ssh_work_as_they_are(run, policies, repo):
    script = "\n".join(f"git ls-remote '{url.format(repo.name)}' "
                       "refs/heads/main || echo failed" for url in SSH)
    status, out, err = run(policies.make(repo=repo), script, repo)
    assert status == 0, err
    assert out.split() == [repo.tip("main"), "refs/heads/main"] * len(SSH), \
        out + err


def test_a_clone_by_ssh_pushes_and_is_refused_as_any_other(run, policies,
                                                           repo):
    before = repo.tip("main")
    status, out, err = run(policies.make(repo=repo), f"""
        git clone -q git@github.com:{repo.name}.git work && cd work &&
        git remote get-url origin && git config remote.origin.url &&
        git commit -q --allow-empty -m one && git rev-parse HEAD &&
        git push -q origin HEAD:agent/1 && ! git push origin HEAD:main
    """, repo)
    assert status == 0, err
    rewritten, kept, tip = out.split()
    assert rewritten == repo.url + ".git"
    assert kept == f"git@github.com:{repo.name}.git"
    assert repo.tip("agent/1") == tip and repo.tip("main") == before
    assert "push refused: push_ref_not_allowed" in err


def test_ssh_to_another_host_goes_nowhere(run, policies, repo):
    status, _, err = run(policies.make(repo=repo), "GIT_SSH_COMMAND='ssh -o "
                         "BatchMode=yes -o ConnectTimeout=5' timeout 20 git "
                         "ls-remote git@forge.example:a/b", repo)
    assert status != 0
    assert "Could not read from remote repository" in err


# ---- submodules ----

def add_submodules(repo, urls, commit):
    """Put submodules into a repository on the forge, by name and URL."""
    text = "".join(f'[submodule "{name}"]\n\tpath = {name}\n\turl = {url}\n'
                   for name, url in urls.items())
    blob = repo.git("hash-object", "-w", "--stdin", input=text)
    lines = [f"100644 blob {blob}\t.gitmodules"]
    lines += [f"160000 commit {commit}\t{name}" for name in sorted(urls)]
    tree = repo.git("mktree", "--missing", input="\n".join(lines) + "\n")
    made = repo.git("commit-tree", "-m", "submodules", "-p", repo.tip("main"),
                    tree)
    repo.git("update-ref", "refs/heads/main", made)


@pytest.fixture
def family(forge, repo):
    """A repository with submodules that all are another one."""
    child = forge.repo()
    urls = {"https": child.url, "dots": f"../{child.name.split('/')[1]}",
            "scp": f"git@github.com:{child.name}.git",
            "ssh": f"ssh://git@github.com/{child.name}"}
    add_submodules(repo, urls, child.tip("main"))
    return repo, child, urls


def policy_of(policies, repo, *others):
    policy = policies.make(repo=repo)
    policy["git"] += [{"repo": other.url, "credential": "forge", "read": True}
                      for other in others]
    return policy


@pytest.mark.parametrize("url", ["https://github.com{}/{}",
                                 "git@github.com:{1}"])
def test_submodules_come_whatever_their_urls(run, policies, family, url):
    repo, child, urls = family
    status, out, err = run(policy_of(policies, repo, child), f"""
        git clone -q --recurse-submodules \
            {url.format(repo.forge.suffix, repo.name)} work && cd work &&
        git submodule foreach -q 'git rev-parse HEAD' &&
        git submodule update -q --remote
    """, repo)
    assert status == 0, err
    assert out.split() == [child.tip("main")] * len(urls)


def test_a_submodule_that_the_policy_does_not_name_is_refused(run, policies,
                                                              family):
    repo, child, _ = family
    status, _, err = run(policy_of(policies, repo), f"""
        git clone -q --recurse-submodules {repo.url} work
    """, repo)
    assert status != 0 and "403" in err
    assert not repo.forge.log_of(f"/{child.name}/")


# ---- renamed ----

@pytest.fixture
def renamed(repo):
    """What the forge says is the repository now, by its old name."""
    old = type(repo)(repo.forge, repo.name.replace("acme/", "renamed/"))
    return old, repo


def test_the_new_name_of_a_repository_is_said(make_session, policies,
                                              renamed):
    old, new = renamed
    session = make_session(policies.make(repo=old), old)
    for command in (["ls-remote", old.url], ["clone", old.url, "work"]):
        done = session.git(*command, check=False)
        assert done.returncode != 0
        assert ("remote: reason: github.com says that this repository is now "
                f"{new.url}\n") in done.stderr, done.stderr
        assert f"git: - repo: {new.url})" in done.stderr
    assert not new.forge.log_of(f"GET /{new.name}/")
    row = session.row("response", allowed=False)
    assert row["constraint"] == "git_not_allowed"


def test_a_push_to_the_old_name_hears_the_new_one(make_session, policies,
                                                  renamed):
    old, new = renamed
    policy = policies.make(repo=new)
    policy["git"].append(dict(policy["git"][0], repo=old.url))
    work = make_session(policy, new).clone()
    work.git("commit", "-q", "--allow-empty", "-m", "one")
    other = make_session(policies.make(repo=old), old)
    done = other.git("push", old.url, "HEAD:agent/1", cwd=work.path,
                     check=False)
    assert done.returncode != 0
    assert f"says that this repository is now {new.url}\n" in done.stderr
    assert "agent/1" not in "".join(new.refs())


def test_git_goes_there_where_the_policy_names_both(make_session, policies,
                                                    renamed):
    old, new = renamed
    policy = policies.make(repo=old)
    policy["git"].append(dict(policy["git"][0], repo=new.url))
    session = make_session(policy, old)
    done = session.git("clone", old.url, "work")
    assert "redirecting to" in done.stderr
    tip = session.git("-C", "work", "rev-parse", "HEAD").stdout.strip()
    assert tip == new.tip("main")


# ---- forges ----

PATHS = {"GitLab": "group/sub/deep-{}/project", "Gitea": "owner/project-{}",
         "Bitbucket": "scm/KEY/project-{}", "Bitbucket's people":
         "scm/~agent/project-{}", "SourceHut": "~agent/project-{}",
         "Azure": "org/project-{}/_git/name", "dots": "a.b/c.d-{}.e"}


@pytest.fixture
def elsewhere(forge, make_session, policies, request):
    """A repository of forge.example with such a path, and a session."""
    repo = forge.repo(PATHS[request.param].format(forge._made))
    repo.url = f"https://forge.example{forge.suffix}/{repo.name}"
    policy = policies.make(repo=repo)
    policy["credentials"][0]["hosts"] = ["forge.example"]
    return make_session(policy, repo), repo


@pytest.mark.parametrize("elsewhere", PATHS, indirect=True)
def test_other_forges_paths_are_repositories(elsewhere):
    session, repo = elsewhere
    work = session.clone()
    tip = work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip
    done = work.push("HEAD:main")
    assert "push refused: push_ref_not_allowed" in done.stderr
    for spelling in (".git", "/", ".git/"):
        session.git("ls-remote", repo.url + spelling)


@pytest.mark.parametrize("elsewhere", ["GitLab"], indirect=True)
def test_paths_beside_a_repository_are_others(elsewhere):
    session, repo = elsewhere
    parent, name = repo.name.rsplit("/", 1)
    for path in (parent, f"{repo.name}/x", f"{repo.name}.wiki",
                 f"{repo.name}.git.git", f"{repo.name}/-/x",
                 f"{parent}/-/{name}", f"-/{repo.name}", f"x/{repo.name}",
                 f"{parent}/{name.upper()}", parent.upper() + "/" + name,
                 f"{parent}//{name}", f"{repo.name};x", f"{repo.name}%20",
                 f"{parent}%2f{name}"):
        url = f"https://forge.example{repo.forge.suffix}/{path}"
        answer = session.curl(f"{url}/info/refs?service=git-upload-pack",
                              "--path-as-is")
        assert answer.status in (400, 403), path
    # Lines of other repositories may still come.
    mine = parent.rpartition("/")[2]
    assert not [line for line in repo.forge.log() if mine in line.lower()]
    session.git("ls-remote", repo.url)


# ---- a part of the history, or of the files ----

@pytest.fixture
def deep(repo):
    """A repository of some commits, each with a file of its own."""
    for i in range(6):
        repo.commit("main", f"commit {i}", {f"f{i}": f"{i}\n" * 50})
    return repo


@pytest.mark.parametrize("options", [
    ["--depth", "2"], ["--filter=blob:none"], ["--filter=tree:0"],
    ["--filter=blob:limit=10"], ["--depth", "1", "--filter=blob:none"],
    ["--filter=blob:none", "--sparse"], ["--single-branch", "--depth", "3"]])
def test_a_part_of_a_repository_is_pushed_from(deep, session, options):
    work = session.clone(*options)
    first = work.commit("one")
    assert work.push("HEAD:agent/1").returncode == 0
    second = work.commit("two")
    assert work.push("HEAD:agent/1").returncode == 0
    assert deep.tip("agent/1") == second
    done = work.push("HEAD:main")
    assert "push refused: push_ref_not_allowed" in done.stderr
    work.git("reset", "-q", "--hard", first)
    work.commit("aside", "aside")
    done = work.push("--force", "HEAD:agent/1")
    assert "push refused: push_not_fast_forward" in done.stderr
    assert deep.tip("agent/1") == second


def test_a_shallow_clone_is_deepened(deep, session):
    work = session.clone("--depth", "1")

    def count():
        return int(work.out("rev-list", "--count", "HEAD"))
    assert count() == 1
    work.git("fetch", "-q", "--deepen", "2")
    assert count() == 3
    work.git("fetch", "-q", "--depth", "4")
    assert count() == 4
    work.git("fetch", "-q", "--unshallow")
    assert count() == 7
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0


def test_a_partial_clone_fetches_what_it_lacks(deep, session):
    work = session.clone("--filter=blob:none", "--no-checkout")
    assert work.out("cat-file", "-p", "HEAD:f3") == "\n".join(["3"] * 50)
    assert work.out("show", "HEAD~2:f1").startswith("1\n")


def test_a_stale_push_is_told_to_fetch_first(deep, session):
    """git itself sees it where it asks for the refs; where the ref moves
    behind its back, the gateway does (test_push.py)."""
    work = session.clone()
    first = work.commit("one")
    assert work.push("HEAD:agent/1").returncode == 0
    deep.commit("agent/1", "theirs", {"theirs": "1"}, [first])
    work.commit("two")
    done = work.push("HEAD:agent/1")
    assert done.returncode == 1 and "fetch first" in done.stderr
    work.git("pull", "-q", "--rebase", "origin", "agent/1")
    assert work.push("HEAD:agent/1").returncode == 0
