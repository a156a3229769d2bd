"""gh, as Debian has it, with the preset github-cli: it works for the session's
own repository and branch, and says in its own words what it may not."""
import pytest
from github import acting, gateway, gh, github, policy_of, widgets  # noqa: F401

# Each line is run; what follows "#" must stand in what it printed.
AT_WORK = """
git clone -q "$REPO" work && cd work # 
git checkout -q -b agent/42 && echo more > more && git add more # 
git -c user.name=a -c user.email=a@example commit -q -m more # 
git push -q -u origin agent/42 # 
gh repo view # widgets
gh issue list # the first
gh issue view 1 # it breaks
gh issue comment 1 --body seen # issues/1#issuecomment
gh issue view 1 --comments # seen
gh pr create --title "more of it" --body "as asked" # /pull/3
gh pr view # more of it
gh pr list # agent/42
gh pr status # Checks passing
gh pr checks 3 # build
gh pr diff 3 # +a change
gh pr comment 3 --body done # pull/3#issuecomment
gh pr edit 3 --title "all of it" # /pull/3
gh pr review 3 --comment --body fine # 
gh pr ready 3 --undo 2>&1 # draft
gh pr ready 3 2>&1 # ready
gh pr close 3 2>&1 # Closed
gh pr reopen 3 2>&1 # Reopened
gh run list # success
gh run view 30 # main ci
gh api "repos/$NAME/pulls/3" --jq .head.ref # agent/42
gh api graphql -f query='{viewer{login}}' # agent
gh auth status 2>&1 | sed 's/ account / as /' # Logged in to github.com as agent
gh repo clone "$NAME" again -- -q && ls again # 
"""


@pytest.fixture
def work(acting, widgets):  # noqa: F811
    """A clone whose branch is pushed, an issue, somebody's pull request."""
    widgets.add("Issue", "the first", "it breaks")
    widgets.pull("other", title="another")

    def make(*rules):
        session = acting(*rules)
        made = session.clone()
        made.git("checkout", "-q", "-b", "agent/42")
        made.commit()
        made.push("HEAD:agent/42", "-u", check=True)
        return made
    return make


def test_gh_works_in_a_sandbox(gateway, widgets, repo, github,  # noqa: F811
                               workspace):
    widgets.add("Issue", "the first", "it breaks")
    widgets.pull("other", title="another")
    script = ["set -e", "export GH_CONFIG_DIR=/tmp/gh NO_COLOR=1"]
    lines = [line.rsplit("#", 1) if line.endswith("# ")
             else line.split(" # ", 1)
             for line in AT_WORK.strip("\n").splitlines()]
    for i, (command, _) in enumerate(lines):
        script += [f"echo @{i}", command]
    done = gateway.run(policy_of(repo), "\n".join(script), workspace,
                       repo=repo.url, branch="agent/42",
                       options=["-e", f"REPO={repo.url}",
                                "-e", f"NAME={repo.name}"])
    assert done.returncode == 0, done.stdout + done.stderr
    for i, (command, wanted) in enumerate(lines):
        said = done.stdout.split(f"@{i}\n", 1)[1].split(f"@{i + 1}\n", 1)[0]
        assert wanted.strip() in said, (command, said, done.stderr)
    pull = widgets.numbered(3)
    assert (pull["headRefName"], pull["title"]) == ("agent/42", "all of it")
    assert [one["body"] for one in pull["remarks"]] == ["done"]
    assert repo.tip("agent/42")
    assert github.token not in done.stdout + done.stderr


# What gh is asked for, and what must stand in what it says.
REFUSED = {
    "pr close 2": "is not a pull request from the branch agent/42",
    "pr edit 2 --title mine": "is not a pull request from the branch",
    "pr merge 2 --squash": "git push origin agent/42",
    "pr merge 2 --auto --merge": "a session merges nothing",
    "pr review 2 --approve": "a session approves nothing",
    "pr create --head main --title t --body b": "--head agent/42",
    "pr create --title 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 --body b":
        "a token or a secret",
    "issue create --title t --body b": "ask the session's owner",
    "issue close 1": "ask the session's owner",
    "release create v1 --notes n": "releases make tags",
    "repo fork --clone=false": "in its own repository alone",
    "repo edit --visibility public": "reads of its repository",
    "gist create file": "nothing elsewhere",
    "secret set NAME --body value": "keeps secret",
    "api -X POST repos/@/actions/runs/30/rerun": "rights that no session has",
    "api -X PUT repos/@/contents/file -f message=m": "git push origin",
    "api repos/@/git/refs -f ref=refs/heads/x -f sha=1": "git push origin",
    "api graphql -f query=mutation{createRef(input:{}){clientMutationId}}":
        "git push origin agent/42",
    "api repos/evil/widgets": "no rule allows this path",
    "api repos/@/dispatches -f event_type=deploy": "workflows",
}


def test_gh_says_why_it_may_not(work, repo, github):  # noqa: F811
    made = work()
    writes = [one for one in github.heard if one[0] != "GET"]
    for words, wanted in REFUSED.items():
        done = gh(made.session, *words.replace("@", repo.name).split(" "),
                  cwd=made.path, check=False)
        assert done.returncode == 1, (words, done.stdout)
        assert wanted in done.stderr, (words, done.stderr)
    more = [one for one in github.heard if one[0] != "GET"][len(writes):]
    assert all(one[1] == "api.github.com/graphql" and "mutation" not in one[2]
               for one in more), more


def test_gh_may_what_a_rule_opens(work, repo, widgets):  # noqa: F811
    """The twin, of REST and of GraphQL."""
    rule = {"hosts": ["api.github.com"], "ports": [443], "methods": ["POST"],
            "credential": "github", "action": "allow"}
    made = work({**rule, "name": "issues", "paths": ["/graphql"],
                 "body": {"graphql": {"operations": ["mutation"],
                                      "fields": ["closePullRequest"]}}},
                {**rule, "name": "fork",
                 "paths": [f"/repos/{repo.name}/dispatches"],
                 "body": {"json": [{"pointer": "/event_type",
                                    "equals": "deploy"}]}})
    api = ["api", f"repos/{repo.name}/dispatches", "-f"]
    gh(made.session, "pr", "close", "2", cwd=made.path)
    assert widgets.numbered(2)["state"] == "CLOSED"
    gh(made.session, *api, "event_type=deploy", cwd=made.path)
    done = gh(made.session, *api, "event_type=other", cwd=made.path,
              check=False)
    assert "workflows, deployments" in done.stderr


def test_an_id_says_nothing_so_github_is_asked(work, widgets,  # noqa: F811
                                               github):
    """Of a thing in another repository that the same token could write to."""
    other = github.repository("acme/secret-plans", lambda: {"main", "agent/42"})
    foreign = other.pull("agent/42", title="not ours")
    made = work()
    github.heard.clear()
    for thing, wanted in ((widgets.numbered(1), ""),
                          (foreign, "is not of acme/widgets-"),
                          ({"id": "PR_nobody"}, "nothing that this session")):
        text = ('mutation{addComment(input:{subjectId:"%s",body:"b"})'
                '{clientMutationId}}' % thing["id"])
        done = gh(made.session, "api", "graphql", "-f", f"query={text}",
                  cwd=made.path, check=not wanted)
        assert wanted in done.stderr, done.stderr
    asked = ["addComment" in one[2] for one in github.heard]
    assert asked == [False, True, False, False]
    assert not foreign["remarks"] and len(widgets.numbered(1)["remarks"]) == 1
    text = ('mutation{createPullRequest(input:{repositoryId:"%s",title:"t",'
            'baseRefName:"main",headRefName:"agent/42"}){clientMutationId}}'
            % other.id)
    done = gh(made.session, "api", "graphql", "-f", f"query={text}",
              cwd=made.path, check=False)
    assert f"{other.id} is not of" in done.stderr
    assert len(other.things) == 1


def test_an_error_of_github_is_its_own(work):
    """Not found, a pull request that is there already: as GitHub says it."""
    made = work()
    gh(made.session, "pr", "create", "--title", "t", "--body", "b",
       cwd=made.path)
    for words, wanted in {
            "pr view 99": "Could not resolve",
            "pr create --title t --body b": "already exists"}.items():
        done = gh(made.session, *words.split(" "), cwd=made.path, check=False)
        assert done.returncode == 1 and wanted in done.stderr, done.stderr
