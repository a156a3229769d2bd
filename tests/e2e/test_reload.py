"""SIGHUP: the gateway reads its configuration again, and all of the new one
holds, or all of the old one."""
import json
import pathlib
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from gateway import ApiError, wait_until

READ = "the configuration was read again, and holds"
KEPT = "the configuration stays as it was: "
SIZE = 8 * 1024 * 1024


def reload(gateway, change=None, text=None):
    """Change the file, and say so; what the gateway said."""
    before = gateway.log().count(READ), gateway.log().count(KEPT)
    if change:
        settings = json.loads(gateway.config.read_text())
        change(settings)
        text = json.dumps(settings)
    if text:
        gateway.config.write_text(text)
    gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: (gateway.log().count(READ),
                        gateway.log().count(KEPT)) != before)
    return gateway.log().count(READ) > before[0]


def pids(gateway):
    return {p["role"]: p["pid"] for p in gateway.status()["processes"]
            if p["role"] not in ("edge", "packcheck")}


@pytest.fixture
def session(own_gateway, make_session, policies, repo):
    return make_session(policies.make(repo=repo), repo, on=own_gateway)


def test_names_and_limits_hold_without_a_restart(
        own_gateway, make_session, policies, repo, session):
    before = pids(own_gateway)
    policy = policies.make(repo=repo)
    other = make_session(policy, repo, on=own_gateway)
    work = session.clone()

    def change(settings):
        settings["dns"]["hosts"]["github.com"] = "127.0.0.3"
        settings["limits"] = {"sessions": 2}
    good = own_gateway.config.read_text()
    assert reload(own_gateway, change)
    with pytest.raises(ApiError):
        make_session(policy, repo, on=own_gateway)
    # Nothing listens there; who has a connection keeps it.
    done = other.git("ls-remote", repo.url, check=False)
    assert done.returncode != 0
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    assert reload(own_gateway, text=good)
    assert other.git("ls-remote", repo.url).returncode == 0
    make_session(policy, repo, on=own_gateway)
    assert pids(own_gateway) == before


def test_roots_of_upstreams_are_read_again(
        own_gateway, make_session, policies, repo, session):
    assert session.git("ls-remote", repo.url).returncode == 0
    roots = own_gateway.dir / "ca.pem"
    good = roots.read_text()
    strange = pathlib.Path(
        "/etc/ssl/certs/ca-certificates.crt").read_text()
    roots.write_text(strange[:strange.index("-----END") + 26])
    assert reload(own_gateway)
    fresh = make_session(policies.make(repo=repo), repo, on=own_gateway)
    refused = fresh.git("ls-remote", repo.url, check=False)
    assert refused.returncode != 0
    roots.write_text(good)
    assert reload(own_gateway)
    assert fresh.git("ls-remote", repo.url).returncode == 0


@pytest.mark.parametrize("is_other", [True, False], ids=["other", "same"])
def test_what_is_kept_open_was_verified_by_the_roots_that_hold(
        own_gateway, make_session, policies, repo, origin, is_other):
    """With a credential, without one, and what runs meanwhile."""
    session = make_session(policies.make(
        [policies.rule("good.example", paths=["/**"])], repo=repo), repo,
        on=own_gateway)
    url = origin.url("/echo")
    kept = session.curl(url).json["connection"]
    assert session.curl(url).json["connection"] == kept
    assert session.git("ls-remote", repo.url).returncode == 0
    roots = own_gateway.dir / "ca.pem"
    good = roots.read_text()
    strange = pathlib.Path(
        "/etc/ssl/certs/ca-certificates.crt").read_text()
    asked = origin.tls.requests.count(f"GET /big/{SIZE}")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(session.curl, origin.url(f"/big/{SIZE}"),
                              "--limit-rate", SIZE // 4)
        # It is on record before it has a connection.
        wait_until(lambda: origin.tls.requests.count(f"GET /big/{SIZE}")
                   > asked)
        roots.write_text(strange[:strange.index("-----END") + 26]
                         if is_other else good)
        assert reload(own_gateway)
        whole = running.result(60)
    assert whole.status == 200 and len(whole.body) == SIZE
    # The client has all of it a moment before the connection is free again.
    session.row("response", path=f"/big/{SIZE}")
    answer = session.curl(url)
    if is_other:
        assert answer.json["constraint"] == "tls_upstream_invalid"
        assert session.git("ls-remote", repo.url,
                           check=False).returncode != 0
    else:
        assert answer.json["connection"] == kept
        assert session.git("ls-remote", repo.url).returncode == 0
    # Nor is a session of TLS resumed that was verified by others.
    roots.write_text(good)
    assert reload(own_gateway)
    assert session.curl(url).status == 200
    assert session.git("ls-remote", repo.url).returncode == 0


def test_what_is_wrong_or_needs_a_restart_changes_nothing(own_gateway,
                                                          session):
    good = own_gateway.config.read_text()
    assert not reload(own_gateway, text=good[:-3] + ",\n\"limit\": 1}")
    assert "error" in own_gateway.log().split(KEPT)[-1].splitlines()[0]

    def state(settings):
        settings["state"] += "-other"
        settings["dns"]["servers"] = ["127.0.0.9"]
    own_gateway.config.write_text(good)
    assert not reload(own_gateway, state)
    assert "only a restart changes: state, dns.servers" in own_gateway.log()
    own_gateway.config.write_text(good)
    assert session.git("ls-remote", session.repo.url).returncode == 0
    assert reload(own_gateway)

    def is_recorded(text):
        return any(row["detail"].startswith(text)
                   for row in own_gateway.audit()
                   if row.get("activity") == "process")
    # After the log's line.
    wait_until(lambda: is_recorded("configuration reloaded"))
    wait_until(lambda: is_recorded(
        "configuration not reloaded: only a restart"))


def test_a_file_with_a_secret_is_read_again(own_gateway, make_session,
                                            policies, repo):
    file = own_gateway.dir / "forge.token"
    file.write_text("wrong\n")
    file.chmod(0o600)

    def source(settings):
        settings["secrets"] = {"forge": {"file": str(file)}}
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    assert session.git("ls-remote", repo.url).returncode == 0
    assert reload(own_gateway, source)
    assert session.git("ls-remote", repo.url, check=False).returncode != 0
    file.write_text(repo.forge.token)
    assert reload(own_gateway)
    assert session.git("ls-remote", repo.url).returncode == 0
