"""Every side door of GitHub's API (github_doors.txt) is shut, says why and
what to do instead, and reaches nobody; a rule that names it opens it."""
import http.client
import json
import pathlib

import pytest
from github import acting, gateway, github, widgets  # noqa: F401

DOORS = pathlib.Path(__file__).parent / "github_doors.txt"
MUTATION = "mutation M($input: Any!) {{ {}(input: $input) {{ id }} }}"


class Door:
    def __init__(self, line, repo):
        self.rule, what, body = (word.strip() for word in
                                 line.replace("@", repo).split("|", 2))
        self.method, self.url = what.split(" ", 1)
        self.body = body
        self.more = {}
        if self.method == "mutation":
            self.body = json.dumps({"query": MUTATION.format(self.url),
                                    "variables": {"input": json.loads(body)}})
            self.more = {"body": {"graphql": {"operations": ["mutation"],
                                              "fields": [self.url]}}}
            self.method, self.url = "POST", "api.github.com/graphql"
        self.host, _, path = self.url.partition("/")
        self.path = "/" + path

    def rule_for(self, name):
        return {"name": name, "hosts": [self.host], "ports": [443],
                "methods": [self.method], "paths": [self.path],
                "credential": "github", "action": "allow", **self.more}


@pytest.fixture
def doors(repo):
    lines = [line for line in DOORS.read_text().splitlines()
             if line and not line.startswith("#")]
    assert len(lines) > 150
    return [Door(line, repo.name) for line in lines]


class Links:
    """A connection for each host, as long as it lasts."""

    def __init__(self, session):
        self.session, self.links = session, {}

    def ask(self, door):
        """Its status and what it says."""
        link = self.links.setdefault(door.host,
                                     http.client.HTTPConnection(door.host))
        if not link.sock:
            link.sock = self.session.connect_tls(door.host, 443)
        link.request(door.method, door.path, door.body.encode() or None,
                     {"Content-Type": "application/json"} if door.body
                     else {})
        answer = link.getresponse()
        text = answer.read()
        if answer.will_close:
            link.close()
        return answer.status, text


@pytest.fixture
def asking(acting):  # noqa: F811
    made = []

    def make(*rules, **more):
        made.append(Links(acting(*rules, **more)))
        return made[-1]
    yield make
    for links in made:
        for link in links.links.values():
            link.close()


def test_every_door_is_shut_and_says_why(asking, doors, github):  # noqa: F811
    links = asking()
    github.heard.clear()
    for door in doors:
        status, text = links.ask(door)
        what = (door.method, door.url, door.body, status, text)
        assert status == 403, what
        said = json.loads(text)
        assert said["constraint"] == "denied_by_rule", what
        assert said["rule"] == f"github-cli/{door.rule}", what
        assert len(said["detail"]) > 20 and said["try"], what
        assert said["message"].startswith(f"egress denied: {said['detail']}")
        # Refs of whatever kind: what to type instead.
        if "push" in door.rule:
            assert "git push origin agent/42" in said["detail"], what
    assert github.heard == []


def test_a_rule_that_names_a_door_opens_it(asking, doors, github):  # noqa: F811
    # Each of them: tests/unit/policies/test_github_cli.c.
    doors = doors[::5]
    rules = {(door.method, door.url, str(door.more)): door
             for door in doors}
    links = asking(*[door.rule_for(f"open-{i}")
                     for i, door in enumerate(rules.values())])
    for door in doors:
        github.heard.clear()
        status, text = links.ask(door)
        assert status in (200, 201, 404, 422), (door.url, status, text)
        assert [one[:2] for one in github.heard] == [
            (door.method, door.url)], (door.url, text)


def test_only_the_repository_is_read(asking, repo, github):  # noqa: F811
    links = asking()
    ours, others = [
        f"raw.githubusercontent.com/{repo.name}/main/file",
        f"codeload.github.com/{repo.name}/tar.gz/main",
        f"api.github.com/repos/{repo.name}"], [
        "raw.githubusercontent.com/evil/widgets/main/file",
        "codeload.github.com/evil/widgets/tar.gz/main",
        "objects.githubusercontent.com/github-production-release-asset/1",
        "api.github.com/repos/evil/widgets",
        "api.github.com/repositories/1/contents/file"]
    for url in ours + others:
        github.heard.clear()
        status, text = links.ask(Door(f"x | GET {url} |", repo.name))
        assert status == (200 if url in ours else 403), (url, text)
        assert len(github.heard) == (url in ours), url
        if url in others:
            assert json.loads(text)["constraint"] in (
                "path_not_allowed", "host_not_allowed"), text


def test_the_public_ones_are_another_preset(asking, github):  # noqa: F811
    links = asking(extends=["github-cli", "github"])
    for url in ("raw.githubusercontent.com/evil/widgets/main/file",
                "objects.githubusercontent.com/release-asset/1"):
        status, _ = links.ask(Door(f"x | GET {url} |", ""))
        assert status == 200
