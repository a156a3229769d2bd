"""The real token goes to the forge, and nowhere else."""
import base64
import contextlib
import fcntl
import os
import pathlib
import pty
import signal
import subprocess
import termios

import pytest

from gateway import CLI, wait_until


def spellings(token):
    """How a token could be written down."""
    plain = token.encode()
    yield plain
    yield plain.hex().encode()
    yield plain.hex().upper().encode()
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + plain)
        # Without what depends on the neighbours.
        yield text[4 if shift else 0:-4]
    basic = base64.b64encode(b"x-access-token:" + plain)
    yield basic[20:-4]


def holds(data, token):
    return any(text in data for text in spellings(token))


def files_below(*paths):
    for path in paths:
        for name in pathlib.Path(path).rglob("*"):
            if name.is_file() and not name.is_symlink():
                yield name, name.read_bytes()


def test_the_search_itself_finds_tokens():
    token = "ghp_0123456789abcdef"
    pair = base64.b64encode(f"x-access-token:{token}".encode())
    for text in (token.encode(), token.encode().hex().encode(), pair,
                 base64.b64encode(b"ab" + token.encode() + b"cd"),
                 base64.b64encode(b"a" + token.encode() + b"bc")):
        assert holds(b"-- " + text + b" --", token)
    assert not holds(b"ghp_ is a prefix of tokens", token)


def test_the_token_reaches_the_forge_and_no_file(own_gateway, make_session,
                                                 policies, repo, forge):
    """At rest it is sealed; logs, ledger and sockets never see it."""
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    own_gateway.stop()
    assert any(b"auth=basic" in line.encode() for line in
               forge.heard(repo.name))
    seen = 0
    for name, data in files_below(own_gateway.dir, session.dir):
        assert not holds(data, forge.token), name
        seen += 1
    assert seen > 20
    key = list(own_gateway.state.rglob("vault.key"))
    assert len(key) == 1 and key[0].stat().st_mode & 0o777 == 0o600
    assert own_gateway.state.stat().st_mode & 0o777 == 0o700


def test_no_process_that_parses_holds_it(own_gateway, make_session, policies,
                                         repo, forge):
    """Only where we may look: root reads its processes' memory."""
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    looked_at = set()
    for process in own_gateway.status()["processes"]:
        try:
            for data in parts_of(process):
                assert not holds(data, forge.token), process["role"]
        except (FileNotFoundError, ProcessLookupError):
            continue  # a packcheck ends when nobody wants it any more
        looked_at.add(process["role"])
    assert {"edge", "control", "ledger", "dialer", "minter", "vault",
            "courier"} <= looked_at


def parts_of(process):
    """What may be looked at of it."""
    proc = pathlib.Path(f"/proc/{process['pid']}")
    yield (proc / "cmdline").read_bytes()
    if os.getuid() == 0:
        yield (proc / "environ").read_bytes()
        if process["role"] not in ("vault", "courier"):
            yield from memory_of(process["pid"])


def memory_of(pid):
    """What is mapped and writable, mapping by mapping."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps.splitlines():
            where, rights, *_ = line.split()
            start, end = (int(x, 16) for x in where.split("-"))
            # Larger ones are a sanitizer's shadow.
            if not rights.startswith("rw") or end - start > 64 << 20:
                continue
            try:
                memory.seek(start)
                yield memory.read(end - start)
            except OSError:
                pass


def test_the_cli_never_shows_a_value(own_gateway):
    value = "ghp_" + "s3cr3t" * 6
    done = own_gateway.cli("secret", "put", "mine", stdin=value + "\n")
    assert done.returncode == 0, done.stderr
    listed = own_gateway.cli("secret", "list")
    assert "mine" in listed.stdout and value not in listed.stdout
    assert own_gateway.cli("secret", "rm", "mine").returncode == 0
    assert "mine" not in own_gateway.cli("secret", "list").stdout
    assert own_gateway.cli("secret", "rm", "mine").returncode == 6


@pytest.mark.parametrize("words, verb", [
    (["rm", "x"], "secret.remove"), (["rotate", "x"], "secret.rotate")])
def test_a_change_is_on_record_as_it_went(own_gateway, words, verb):
    def rows():
        return [(row["activity"], row["allowed"], row["method"])
                for row in own_gateway.audit() if row["host"] == "x"]

    done = own_gateway.cli("secret", *words, stdin="another")
    assert done.returncode == 6 and "no secret x" in done.stderr
    assert wait_until(rows) == [("admin", False, verb)]
    row = own_gateway.audit(kind="admin")[-1]
    assert row["constraint"] == "credential_unavailable"
    assert row["detail"] == (
        f"uid {os.getuid()}: the vault has no secret x")
    own_gateway.put_secret("x", "a-value")
    assert own_gateway.cli("secret", *words, stdin="another").returncode == 0
    # The two processes' rows come in any order.
    assert sorted(wait_until(lambda: len(rows()) == 5 and rows())) == sorted([
        ("admin", False, verb),
        ("admin", True, "secret.put"), ("secret.changed", True, "put"),
        ("admin", True, verb), ("secret.changed", True, verb.split(".")[1])])


def wait_for(master, word):
    told = b""
    while word not in told:
        told += os.read(master, 4096)
    return told


def shows_what_is_typed(master):
    return bool(termios.tcgetattr(master)[3] & termios.ECHO)


@pytest.mark.parametrize("verb", ["put", "rotate"])
def test_a_value_that_is_typed_is_not_shown(own_gateway, verb):
    """Nor in the lines that a terminal remembers."""
    own_gateway.put_secret("typed", "before")
    master, slave = pty.openpty()
    with subprocess.Popen([CLI, "secret", verb, "typed"],
                          env=own_gateway.env(), stdin=slave, stdout=slave,
                          stderr=slave, **own_gateway.as_user) as running:
        told = wait_for(master, b"Ctrl-D\r\n")
        assert not shows_what_is_typed(master)
        os.write(master, b"s3cr3t\n\x04")
        assert running.wait(30) == 0
    os.close(slave)
    assert shows_what_is_typed(master)
    # What was told before the end is read; then there is an end (EIO).
    with contextlib.suppress(OSError):
        while more := os.read(master, 4096):
            told += more
    os.close(master)
    assert b"not shown" in told and b"s3cr3t" not in told


def own_a_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # A job in the background of a script starts with them ignored.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("key, number", [(b"\x03", signal.SIGINT),
                                         (b"\x1c", signal.SIGQUIT)])
def test_who_does_not_type_it_after_all_has_a_terminal_as_before(
        own_gateway, key, number):
    master, slave = pty.openpty()
    with subprocess.Popen([CLI, "secret", "put", "typed"],
                          env=own_gateway.env(), stdin=slave, stdout=slave,
                          stderr=slave, start_new_session=True,
                          preexec_fn=own_a_terminal,
                          **own_gateway.as_user) as running:
        wait_for(master, b"Ctrl-D\r\n")
        os.write(master, b"s3c")
        assert not shows_what_is_typed(master)
        os.write(master, key)
        assert running.wait(30) == -number
    assert shows_what_is_typed(master)
    os.close(slave)
    os.close(master)


def test_the_clients_own_credentials_are_dropped(session, repo, forge):
    """A stranger's token would otherwise push as the stranger."""
    answer = session.curl(repo.url + "/info/refs?service=git-upload-pack",
                          "-u", "x-access-token:stolen")
    assert answer.status == 200
    assert "user=x-access-token" in forge.heard(repo.name)[-1]


def test_a_bearer_for_the_api(make_session, policies, forge, repo):
    policy = policies.make([policies.rule("api.github.com", methods=["GET"],
                                          credential="forge")], repo=repo)
    session = make_session(policy, repo)
    # No other test asks so, whose line might be there first.
    url = f"https://api.github.com{forge.suffix}/zen?with={session.id}"
    assert session.curl(url).status == 200
    assert "auth=bearer" in forge.heard(f"/zen?with={session.id}")[-1]
    row = session.row("secret.use", host="api.github.com")
    assert row["credential"] == "forge"


def test_without_the_credential_the_forge_says_no(make_session, policies,
                                                  forge):
    session = make_session(policies.make(
        [policies.rule("api.github.com", methods=["GET"])]))
    assert session.curl(
        f"https://api.github.com{forge.suffix}/zen").status == 401


def test_a_secret_that_is_not_there_is_named(make_session, policies, repo):
    policy = policies.make(repo=repo)
    policy["credentials"][0]["secret"] = "nobody-put-it"
    session = make_session(policy, repo)
    answer = session.curl(repo.url + "/info/refs?service=git-upload-pack")
    assert answer.status == 502
    words, what = answer.body.split(b"\n")[:2]  # plain text, for git
    assert words == b"sallyport: credential_unavailable"
    assert b"nobody-put-it" in what


def test_a_reflected_token_is_not_passed_on(make_session, policies, gateway,
                                            origin):
    token = "ghp_reflected0123456789abcdef0123456789"
    gateway.put_secret("reflected", token)
    policy = policies.make([policies.rule("good.example", credential="c")])
    policy["credentials"] = [{"name": "c", "secret": "reflected",
                              "attach": "bearer", "hosts": ["good.example"]}]
    session = make_session(policy)
    answer = session.curl(origin.url("/reflect"))
    assert not holds(answer.body, token)
    assert session.curl(origin.url("/status/200")).status == 200


def test_a_credential_never_goes_over_plain_http(make_session, policies,
                                                 gateway, origin):
    gateway.put_secret("plain", "ghp_plain0123456789")
    rule = policies.rule("good.example", credential="c")
    policy = policies.make([rule])
    policy["credentials"] = [{"name": "c", "secret": "plain",
                              "attach": "bearer", "hosts": ["good.example"]}]
    answer = make_session(policy).curl(origin.plain_url("/", "good.example"))
    assert answer.status == 403
    assert answer.json["constraint"] == "scheme_not_allowed"


@pytest.mark.parametrize("name", ["a/b", "..", "", "a b", "x" * 200],
                         ids=repr)
def test_names_of_secrets_are_names(gateway, name):
    done = gateway.cli("secret", "put", name, stdin="value")
    assert done.returncode in (2, 3) and done.stderr
    assert gateway.get("/v1/secrets")["secrets"][0]["name"] == "forge"
