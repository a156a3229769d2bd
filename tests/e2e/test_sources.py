"""Secrets that the vault does not keep: files, systemd credentials, programs
of the operator's."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from gateway import PROGRAM, ApiError, Gateway
from token_double import API, TokenDouble
from waiting import wait_until

PID = os.getpid()

SCRIPTS = {
    "well": "printf 'a-value-of-a-program\\n'",
    "moment": "date +moment-%s-%N",
    "who": "printf 'uid-%s-env-%s-fds-%s' \"$(id -u)\" "
           "\"$(env | cut -d= -f1 | sort | tr '\\n' .)\" "
           "\"$(readlink /proc/$$/fd/* | grep -v /who$ | "
           "sed 's/:.*//' | sort -u | tr '\\n' .)\"",
    "calls": "exec /usr/bin/python3 -c 'import ctypes, os, subprocess; "
             "libc = ctypes.CDLL(None, use_errno=True); "
             "traced = libc.ptrace(0, 0, 0, 0), ctypes.get_errno(); "
             "mounted = libc.umount2(b\"/none\", 0), ctypes.get_errno(); "
             "child = subprocess.run([\"/bin/true\"]).returncode; "
             "print(traced, mounted, child, sep=\"-\")' | tr -d ' '",
    "fails": "echo a-value; exit 3",
    "late": "echo a-value; sleep 60",
    "large": "head -c 20000 /dev/zero | tr '\\0' x",
    "endless": "yes",
    "silent": "true",
}


@pytest.fixture(scope="module")
def programs():
    """Where the user that they run as can find them."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sp-programs-",
                                              dir="/tmp"))
    directory.chmod(0o755)
    for name, text in SCRIPTS.items():
        path = directory / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    (directory / "open").write_text("#!/bin/sh\necho a-value\n")
    (directory / "open").chmod(0o777)
    yield directory
    shutil.rmtree(directory)


class WithCredentials(Gateway):
    def env(self, **more):
        return super().env(
            CREDENTIALS_DIRECTORY=str(self.dir / "credentials"), **more)


@pytest.fixture(scope="module")
def double(pki, origin):
    double = TokenDouble(f"127.{64 + (PID >> 8) % 128}.{PID & 255}.22",
                         origin.port, pki[0][API])
    yield double
    double.stop()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, pki, double, programs):
    directory = tmp_path_factory.mktemp("sources")
    secrets = {"file": {"file": str(directory / "token")},
               "systemd": {"credential": "token"}}
    for name in [*SCRIPTS, "open"]:
        secrets[name] = {"exec": [str(programs / name)]}
    secrets["moment"]["cache"] = "1s"
    secrets["late"]["timeout"] = secrets["endless"]["timeout"] = "1s"
    gateway = WithCredentials(directory, {API: double.address}, pki[1],
                              config={"secrets": secrets})
    gateway.token = directory / "token"
    gateway.token.write_text("the-value-in-the-file\n")
    gateway.token.chmod(0o600)
    (directory / "credentials").mkdir()
    (directory / "credentials/token").write_text("the-systemd-credential")
    (directory / "credentials/token").chmod(0o400)
    gateway.start()
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def session(make_session, double):
    def make(secret):
        return make_session({
            "version": 1,
            "network": {"rules": [{"hosts": [API], "ports": [double.port],
                                   "paths": ["/**"], "credential": "api",
                                   "action": "allow"}],
                        "addresses": {"allow": [f"{double.address}/32"]}},
            "credentials": [{"name": "api", "secret": secret,
                             "attach": "bearer", "hosts": [API]}]})
    return make


def carried(session, double, path):
    answer = session.curl(double.url(path, API))
    assert answer.status == 200, answer.text
    return double.token_of(path).removeprefix("Bearer ")


def test_a_file_is_read_and_read_again_when_it_changes(gateway, session,
                                                       double):
    made = session("file")
    assert carried(made, double, "/file/1") == "the-value-in-the-file"
    new = gateway.token.with_suffix(".new")
    new.write_text("another-value-in-the-file")
    new.chmod(0o600)
    new.rename(gateway.token)
    wait_until(lambda: carried(made, double, "/file/2") ==
               "another-value-in-the-file")


@pytest.mark.parametrize("spoil, words", [
    (lambda path: path.chmod(0o640), "0600"),
    (lambda path: path.write_text(""), "empty"),
    (lambda path: path.write_text("x" * 20000), "larger"),
    (lambda path: path.unlink(), "No such file"),
    (lambda path: (path.unlink(), os.mkfifo(path, 0o600)), "no file"),
    (lambda path: (path.unlink(), path.symlink_to("/etc/hostname")),
     "symbolic links")])
def test_a_file_that_is_not_as_it_must_be_is_refused(gateway, session, double,
                                                     spoil, words):
    made = session("file")
    url = double.url("/spoilt", API)
    spoil(gateway.token)
    try:
        answer = wait_until(lambda: next(
            (a for a in [made.curl(url)] if a.status != 200), None))
        assert answer.status == 502
        assert answer.json["constraint"] == "credential_unavailable"
        assert words in answer.text
    finally:
        gateway.token.unlink(missing_ok=True)
        gateway.token.write_text("the-value-in-the-file")
        gateway.token.chmod(0o600)
    wait_until(lambda: made.curl(url).status == 200)


def test_a_systemd_credential(session, double):
    assert carried(session("systemd"), double, "/systemd") == \
        "the-systemd-credential"


def test_a_program_says_it(session, double):
    assert carried(session("well"), double, "/well") == "a-value-of-a-program"


def test_what_a_program_said_holds_for_its_time(session, double):
    made = session("moment")
    first = carried(made, double, "/moment")
    wait_until(lambda: carried(made, double, "/moment") != first)


def test_a_program_has_nothing_of_ours(session, double):
    said = carried(session("who"), double, "/who")
    assert said.split("-env-")[1].startswith("HOME.LANG.PATH.PWD")
    assert said.endswith("-fds-/dev/null.pipe.") and \
        "CREDENTIALS" not in said
    if os.getuid() == 0:
        assert not said.startswith("uid-0-")


def test_a_program_gets_into_no_other_process(session, double):
    """Neither ptrace nor mounts, by whatever user; and it may start others."""
    assert carried(session("calls"), double, "/calls") == "(-1,1)-(-1,1)-0"


@pytest.mark.parametrize("name, words", [
    ("fails", "ended with code 3"), ("late", "did not end in time"),
    ("large", "larger than"), ("endless", "did not end in time"),
    ("silent", "empty"), ("open", "others may change")])
def test_a_program_that_does_not_do_well_is_named(session, double, name,
                                                  words):
    answer = session(name).curl(double.url(f"/bad/{name}", API))
    assert answer.status == 502
    assert answer.json["constraint"] == "credential_unavailable"
    assert words in answer.text and "a-value" not in answer.text
    assert not double.paths(f"/bad/{name}")


def test_what_comes_from_elsewhere_is_not_put(gateway):
    with pytest.raises(ApiError) as refused:
        gateway.put_secret("file", "x")
    assert refused.value.status == 400
    assert "gateway.yaml" in str(refused.value)


@pytest.mark.parametrize("text, words", [
    ("a: {file: relative}", "absolute path"),
    ("a: {file: /x, exec: [/bin/true]}", "one of"),
    ("a: {}", "one of"),
    ("a: {exec: []}", "absolute path of a program"),
    ("a: {exec: [true]}", "absolute path of a program"),
    ("a: {exec: [/bin/true], timeout: 60s}", "at most 10s"),
    ("a: {file: /x, cache: 5s}", "belong to exec"),
    ("a: {credential: ../x}", "letters"),
    ("a: {credential: sallyport-vault-key}", "no credential"),
    ("a: {oauth2: {token_url: http://idp/token, client: c}}", "https://"),
    ("a: {oauth2: {client: c}}", "token_url"),
    ("a: {github_app: {app: 1, installation: 2, key: k, "
     "permissions: {workflows: write}}}", "no permission"),
    ("a: {github_app: {app: 1, key: k}}", "installation"),
    ("{a: {oauth2: {token_url: https://i/t, client: b}}, b: {file: /x}}",
     "bought with")])
def test_the_configuration_is_checked(tmp_path, text, words):
    config = tmp_path / "gateway.yaml"
    if text.startswith("{"):
        config.write_text(f"secrets: {text}\n")
    else:
        config.write_text(f"secrets:\n  {text}\n")
    done = subprocess.run([PROGRAM, "-t", "-c", config], text=True,
                          capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 3
    assert words in done.stderr and f"{config}:" in done.stderr
    assert "^" in done.stderr


# ---- what a list says ----

def listed(gateway):
    done = gateway.cli("secret", "list", "-o", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["secrets"]
    return {row["name"]: row for row in rows}, done.stdout


def test_a_list_names_every_source_and_how_it_does(gateway, session, double):
    gateway.put_secret("kept", "a-value-of-the-vault")
    carried(session("well"), double, "/listed/well")
    session("fails").curl(double.url("/listed/fails", API))
    rows, text = listed(gateway)
    assert {name: row["source"] for name, row in rows.items()} == \
        {"file": "file", "systemd": "credential", "open": "exec",
         "kept": "vault", **{name: "exec" for name in SCRIPTS}}
    assert rows["kept"]["state"] == "kept" and rows["kept"]["created"]
    assert rows["well"]["state"] == "held" and rows["well"]["until"]
    assert rows["fails"]["state"] == "failed"
    assert "ended with code 3" in rows["fails"]["detail"]
    for value in ["a-value", "the-value", "the-systemd-credential"]:
        assert value not in text
    table = gateway.cli("secret", "list").stdout
    assert any(line.split()[:2] == ["fails", "exec"] and
               line.endswith("ended with code 3")
               for line in table.splitlines()), table
    assert "a-value" not in table
