"""Clone and fetch of the session's repository, and of nothing else."""
import gitwire
import pytest

V2 = "version=2"


@pytest.mark.parametrize("version", ["0", "1", "2"])
def test_clone_in_every_protocol_version(session, repo, version):
    session.git("-c", f"protocol.version={version}", "clone", "-q", repo.url,
                "work")
    tip = session.git("-C", "work", "rev-parse", "HEAD").stdout.strip()
    assert tip == repo.tip("main")
    assert session.row("request", method="GET")["allowed"]


def test_fetch_brings_what_is_new(work, repo):
    made = repo.commit("main", "a second", {"more": "1"})
    work.git("pull", "-q", "origin", "main")
    assert work.out("rev-parse", "HEAD") == made


@pytest.mark.parametrize("options", [["--depth", "1"],
                                     ["--filter=blob:none", "--no-checkout"],
                                     ["--single-branch"], ["--mirror"]])
def test_partial_clones(session, repo, options):
    repo.commit("main", "a second", {"more": "1"})
    session.git("clone", "-q", *options, repo.url, "work")
    tip = session.git("-C", "work", "rev-parse", "main").stdout.strip()
    assert tip == repo.tip("main")


def test_a_large_request_of_a_fetch_is_gzipped_and_passes(work, session,
                                                          repo):
    """git gzips what it asks above 1 KiB: many refs to fetch do that."""
    repo.git("update-ref", "--stdin", input="".join(
        f"create refs/heads/b{i} {repo.commit('tmp', str(i), {'n': str(i)})}\n"
        for i in range(40)))
    done = work.git("fetch", "origin", "+refs/heads/*:refs/remotes/origin/*",
                    GIT_TRACE_CURL="1", GIT_TRACE_CURL_NO_DATA="1")
    assert "content-encoding: gzip" in done.stderr.lower()
    assert work.out("rev-parse", "origin/b39") == repo.refs()["refs/heads/b39"]


@pytest.mark.parametrize("spelling", ["{}.git", "{}/", "{}.git/"])
def test_other_spellings_of_the_same_repository(session, repo, spelling):
    session.git("ls-remote", spelling.format(repo.url))


def test_github_ignores_case(session, repo):
    """The policy does too; the forge does not, and says so itself."""
    upper = repo.url.replace("acme/widgets", "ACME/widgets")
    done = session.git("ls-remote", upper, check=False)
    assert done.returncode != 0 and "not found" in done.stderr
    assert session.row("request", method="GET")["allowed"]


def test_another_repository_is_refused(session, forge):
    other = forge.repo()
    done = session.git("ls-remote", other.url, check=False)
    assert done.returncode != 0
    assert "403" in done.stderr
    assert "remote: sallyport: path_not_allowed" in done.stderr
    assert f"remote:   no rule allows this path: GET /{other.name}/info/" \
        in done.stderr
    assert not forge.log_of(f"/{other.name}/")


def test_a_host_is_refused_in_words_that_git_shows(session, forge):
    """Other clients of the same host get JSON as ever."""
    url = f"https://blocked.example{forge.suffix}/acme/widgets"
    done = session.git("clone", "-q", url, "work", check=False)
    assert done.returncode != 0
    assert "remote: sallyport: host_not_allowed" in done.stderr
    assert "remote: allowed: github.com" in done.stderr
    for path, is_git in (("/info/refs?service=git-upload-pack", True),
                         ("/info/refs?service=git-receive-pack", True),
                         ("/info/refs", False), ("/x?service=git", False)):
        answer = session.curl(url + path)
        assert answer.status == 403
        is_json = answer.text.startswith("{")
        assert is_json != is_git, (path, answer.body)


def test_another_repository_passes_where_the_policy_names_it(
        make_session, policies, forge):
    other = forge.repo()
    session = make_session(policies.make(repo=other), other)
    session.git("ls-remote", other.url)


def test_reading_is_refused_where_only_pushing_is_open(make_session, policies,
                                                       repo):
    session = make_session(policies.make(repo=repo, read=False), repo)
    done = session.git("ls-remote", repo.url, check=False)
    assert done.returncode != 0
    assert "remote: sallyport: fetch_not_allowed" in done.stderr
    assert f"remote: this session's repository: {repo.url}" in done.stderr
    answer = session.curl(repo.url + "/git-upload-pack", "-d", "0000")
    assert answer.status == 403
    assert answer.json["constraint"] == "fetch_not_allowed"
    assert not repo.forge.log_of(f"/{repo.name}/")


def test_pushing_is_refused_where_only_reading_is_open(make_session, policies,
                                                       repo):
    policy = policies.make(repo=repo)
    del policy["git"][0]["push"]
    session = make_session(policy, repo)
    work = session.clone()
    work.commit()
    done = work.push("HEAD:agent/1")
    assert done.returncode != 0
    assert "sallyport: push_ref_not_allowed" in done.stderr
    status, answer = gitwire.push(session, gitwire.commands(
        [(gitwire.ZERO, repo.tip("main"), "refs/heads/agent/1")]))
    assert status == 403 or not answer.landed
    assert not repo.forge.log_of("git-receive-pack HTTP") or all(
        repo.name not in line for line in repo.forge.log_of("receive-pack"))


@pytest.mark.parametrize("path", ["/HEAD", "/objects/info/packs",
                                  "/info/refs", "/config"])
def test_dumb_http_is_refused(session, repo, path):
    answer = session.curl(repo.url + path)
    assert answer.status == 403
    assert not repo.forge.log_of(f"GET /{repo.name}{path}")


def test_the_refusal_of_dumb_http_says_so(session, repo):
    answer = session.curl(repo.url + "/info/refs")
    assert "git_dumb_http" in answer.text


@pytest.mark.parametrize("query", ["service=git-upload-pack&service=git-receive"
                                   "-pack", "service=git-upload-archive",
                                   "service=git-upload-pack&x=1"])
def test_an_ambiguous_question_is_refused(session, repo, query):
    answer = session.curl(f"{repo.url}/info/refs?{query}")
    assert answer.status == 403
    assert not repo.forge.log_of(f"GET /{repo.name}/info/refs")


@pytest.mark.parametrize("path", ["/../widgets", "//x", "/%2e%2e/x",
                                  ";x/info/refs?service=git-upload-pack"])
def test_tricks_with_the_path_are_refused(session, repo, path):
    answer = session.curl(repo.url + path, "--path-as-is")
    assert answer.status in (400, 403)
    assert not repo.forge.log_of(f"/{repo.name}")


def test_packfile_uris_and_bundle_uris_are_not_advertised(session, repo):
    repo.git("config", "uploadpack.advertiseBundleURIs", "true")
    repo.git("config", "uploadpack.blobPackfileUri", f"{'0' * 40} {'1' * 40} "
             "https://elsewhere.example/pack")
    answer = session.curl(repo.url + "/info/refs?service=git-upload-pack",
                          "-H", f"Git-Protocol: {V2}")
    assert answer.status == 200 and "fetch=" in answer.text
    assert "packfile-uris" not in answer.text
    assert "bundle-uri" not in answer.text
