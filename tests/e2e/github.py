"""A gateway that finds GitHub's double and the forge, and sessions on it."""
import os
import subprocess

import pytest
from github_double import GitHubDouble, Ways
from pki import Authority

HOSTS = ["github.com", "api.github.com", "uploads.github.com",
         "raw.githubusercontent.com", "codeload.github.com",
         "objects.githubusercontent.com", "gist.github.com",
         "gist.githubusercontent.com", "ghcr.io", "npm.pkg.github.com"]
SERVED = [name for name in HOSTS if name != "github.com"]


@pytest.fixture(scope="module")
def github(forge, tmp_path_factory):
    pem = tmp_path_factory.mktemp("github") / "leaf.pem"
    authority = Authority("GitHub's double")
    pem.write_text(authority.leaf(*SERVED))
    double = GitHubDouble(forge.address, forge.token, pem)
    double.ca_pem = authority.pem()
    yield double
    double.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, forge, github):
    ways = Ways(forge.address, {
        "github.com:443": (forge.address, forge.port),
        **{f"{name}:443": (forge.address, github.port) for name in SERVED}})
    made = make_gateway("github", more_ca=github.ca_pem,
                        config={"upstream_proxy": {"url": ways.url}})
    yield made
    made.stop()
    made.check()
    ways.stop()


@pytest.fixture
def widgets(github, repo):
    """The repository on both: the forge's git, the double's API."""
    repo.url = f"https://github.com/{repo.name}"
    return github.repository(
        repo.name, lambda: {ref.removeprefix("refs/heads/")
                            for ref in repo.refs()})


def policy_of(repo, rules=(), extends=("github-cli",)):
    policy = {"version": 1, "extends": list(extends),
              "credentials": [{
                  "name": "github", "secret": "forge", "attach": "github",
                  "hosts": HOSTS,
                  "placeholder": {"env": ["GH_TOKEN"]}}],
              "git": [{"repo": repo.url, "credential": "github",
                       "read": True,
                       "push": {"branches": ["${session.branch}"]}}]}
    if rules:
        policy["network"] = {"rules": list(rules)}
    return policy


@pytest.fixture
def acting(make_session, widgets, repo):
    """A session whose policy has the preset, and rules before it."""
    def make(*rules, **more):
        return make_session(policy_of(repo, rules, **more), repo, "agent/42")
    return make


def gh(session, *words, cwd=None, check=True, **env):
    done = subprocess.run(
        ["gh", *map(str, words)], cwd=cwd or session.dir, text=True,
        capture_output=True, timeout=60, check=False,
        stdin=subprocess.DEVNULL,
        env={**session.git_env(), "GH_TOKEN": "ghp_" + "x" * 36,
             "SSL_CERT_FILE": str(session.ca), "NO_COLOR": "1",
             "GH_CONFIG_DIR": str(session.dir / "gh"),
             "TMPDIR": str(session.dir),  # it leaves a cache there
             "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1",
             "PATH": os.environ["PATH"], **env})
    if check:
        assert done.returncode == 0, done.stderr + done.stdout
    return done
