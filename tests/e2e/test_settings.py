"""Settings of sandbox-runtime (srt): as its own documentation shows them, by
`run --settings`, by `srt` and by `config check`."""
import json
import os
import pathlib
import subprocess

import pytest
from gateway import CLI

# The complete example of its documentation.
DOCUMENTED = {
    "network": {
        "allowedDomains": ["github.com", "*.github.com", "lfs.github.com",
                           "api.github.com", "npmjs.org", "*.npmjs.org"],
        "deniedDomains": ["malicious.com"],
        "allowUnixSockets": ["/var/run/docker.sock"],
        "allowLocalBinding": False},
    "filesystem": {
        "denyRead": ["~/.ssh"], "allowRead": [],
        "allowWrite": [".", "src/", "test/"],
        "denyWrite": [".env", "config/production.json"]},
    "ignoreViolations": {"*": ["/usr/bin", "/System"],
                         "git push": ["/usr/bin/nc"]},
    "enableWeakerNestedSandbox": False,
    "enableWeakerNetworkIsolation": False,
    "allowAppleEvents": False}
NOTHING = {"network": {"allowedDomains": [], "deniedDomains": []},
           "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}


@pytest.fixture
def srt(gateway, workspace, tmp_path):
    """Run `sallyport srt` under settings, or `run --settings`."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("key of home")
    if os.geteuid() == 0:
        for path in (home, home / ".ssh", home / ".ssh/id"):
            os.chown(path, workspace.stat().st_uid, -1)

    def run(settings, *words, verb=("srt", "-s"), **env):
        path = tmp_path / "settings.json"
        path.write_text(settings if isinstance(settings, str)
                        else json.dumps(settings))
        return gateway.cli(*verb, path, *words, cwd=workspace,
                           HOME=str(home), **env)
    return run


def both(**more):
    settings = json.loads(json.dumps(NOTHING))
    settings["filesystem"].update(more)
    return settings


def test_the_documented_example_holds(srt, workspace):
    (workspace / "config").mkdir()
    (workspace / ".env").write_text("old")
    (workspace / "config/production.json").write_text("old")
    done = srt(DOCUMENTED, "-c", """
        echo new > allowed && cat allowed
        echo new > .env || echo env kept
        echo new > config/production.json || echo config kept
        echo new > /etc/srt-test || echo etc kept
        cat ~/.ssh/id || echo key hidden""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == [
        "new", "env kept", "config kept", "etc kept", "key hidden", ""]
    assert (workspace / "allowed").read_text() == "new\n"
    assert (workspace / ".env").read_text() == "old"
    assert "note: network.allowedDomains: stricter" in done.stderr


@pytest.mark.parametrize("deny", [["private/"], ["**/key"], []])
def test_what_is_not_readable_is_hidden_and_nothing_else(srt, workspace,
                                                         deny):
    (workspace / "private").mkdir()
    (workspace / "private/key").write_text("key")
    (workspace / ".env").write_text("old")
    done = srt(both(denyRead=deny, allowWrite=["."]), "-c",
               "echo new > .env; cat private/key || echo hidden")
    assert done.stdout == ("hidden\n" if deny else "key"), done.stderr
    assert (workspace / ".env").read_text() == "new\n"


def test_nothing_is_written_where_nothing_is_allowed(srt, workspace):
    done = srt(NOTHING, "touch", "x")
    assert done.returncode == 1
    assert not (workspace / "x").exists()


def test_run_takes_settings_too(srt, workspace):
    done = srt(both(allowWrite=["."]), "--", "touch", "x",
               verb=("run", "--settings"))
    assert done.returncode == 0, done.stderr
    assert (workspace / "x").exists()


def test_words_and_lines_are_run_as_srt_does(srt):
    done = srt(NOTHING, "printf", "%s|", "a b", "$HOME", "-d")
    assert done.stdout == "a b|$HOME|-d|", done.stderr
    done = srt(NOTHING, "-c", "echo $((1 + 2)); exit 7")
    assert (done.returncode, done.stdout) == (7, "3\n")
    assert srt(NOTHING, "type", "cd").returncode == 0


def test_the_environment_passes_less_its_secrets(srt):
    settings = {**NOTHING, "credentials": {"envVars": [
        {"name": "MINE", "mode": "deny"}]}}
    env = {"CI_MODE": "1", "MINE": "m", "A_TOKEN": "t"}
    done = srt(settings, "env", **env)
    names = {line.split("=")[0] for line in done.stdout.splitlines()}
    assert "CI_MODE" in names and not names & {"MINE", "A_TOKEN"}
    done = srt(NOTHING, "env", **env)
    assert "MINE=m\n" in done.stdout and "A_TOKEN" not in done.stdout


def test_domains_are_opened_and_closed(srt, origin):
    url = origin.plain_url("/echo", "plain.example")
    port = origin.plain_port
    address = f"{origin.address}:{port}"
    settings = json.loads(json.dumps(NOTHING))
    code = f"curl -s -o /dev/null -w %{{http_code}} {url}"
    assert srt(settings, "-c", code).stdout == "403"
    settings["network"]["allowedDomains"] = [f"plain.example:{port}"]
    assert srt(settings, "-c", code).stdout in ("403", "502"), \
        "names do not lead to this host"
    settings["network"]["allowedDomains"].append(address)
    assert srt(settings, "-c", code).stdout == "200"
    settings["network"]["deniedDomains"] = ["plain.example"]
    assert srt(settings, "-c", code).stdout == "403"


def test_default_settings_are_in_home(srt, gateway, workspace, tmp_path):
    home = tmp_path / "home"
    done = gateway.cli("srt", "touch", "x", cwd=workspace, HOME=str(home))
    assert done.returncode == 1 and not (workspace / "x").exists()
    (home / ".srt-settings.json").write_text(
        json.dumps(both(allowWrite=["."])))
    done = gateway.cli("srt", "touch", "x", cwd=workspace, HOME=str(home))
    assert done.returncode == 0, done.stderr
    (home / ".srt-settings.json").write_text("")
    done = gateway.cli("srt", "touch", "y", cwd=workspace, HOME=str(home))
    assert done.returncode == 3 and not (workspace / "y").exists()


@pytest.mark.parametrize("settings, words", [
    ("", "1:"), ("{", "1:"), ({**NOTHING, "networks": {}}, "unknown key"),
    ({**NOTHING, "enableWeakerNestedSandbox": True}, "no weaker sandbox"),
    ({**NOTHING, "network": {**NOTHING["network"], "httpProxyPort": 1}},
     "the gateway is the proxy"),
    (both(denyRead=["/x[ab]"]), "cannot be enforced"),
    ({**NOTHING, "network": {**NOTHING["network"],
                             "allowedDomains": ["*.com"]}}, "suffix")])
def test_what_is_wrong_runs_nothing_and_is_told(srt, workspace, settings,
                                                words):
    done = srt(settings, "touch", "x")
    assert done.returncode == 3 and words in done.stderr, done.stderr
    checked = srt(settings, verb=("config", "check"))
    assert checked.returncode == 3 and words in checked.stderr
    assert checked.stdout == ""
    assert not list(pathlib.Path(workspace).iterdir())


def test_config_check_prints_the_policy(srt, gateway, tmp_path):
    done = srt(DOCUMENTED, verb=("config", "check"))
    assert done.returncode == 0, done.stderr
    path = tmp_path / "p.yaml"
    path.write_text(done.stdout)
    assert gateway.cli("policy", "check", path).returncode == 0
    said = json.loads(srt(DOCUMENTED, "-o", "json",
                          verb=("config", "check")).stdout)
    assert said["valid"] and "stricter" in said["notes"]


def test_violations_are_ignored_by_command(srt):
    for name, is_told in (("touch", False), ("*", False), ("npm", True)):
        settings = {**NOTHING, "ignoreViolations": {name: ["/etc/srt-x"]}}
        done = srt(settings, "touch", "/etc/srt-x")
        assert done.returncode == 1
        assert ("/etc/srt-x denied" in done.stderr) is is_told, done.stderr


# Says when what it reaches has become 200, then when it is 403 again.
WATCH = """
ls /proc/self/fd | tr '\\n' ' '; echo
for code in 200 403; do
    until [ "$(curl -s -o /dev/null -w %{{http_code}} {url})" = $code ]
    do sleep 0.05; done
    echo $code
done
"""


def test_a_control_channel_changes_what_may_be_reached(gateway, origin, srt,
                                                       workspace, tmp_path):
    srt(NOTHING, "true")
    read, write = os.pipe()
    process = subprocess.Popen(
        [CLI, "srt", "-s", tmp_path / "settings.json", "--control-fd",
         str(read), "-c", WATCH.format(
             url=origin.plain_url("/echo", "plain.example"))],
        cwd=workspace, env=gateway.env(HOME=str(tmp_path / "home")),
        pass_fds=[read], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **gateway.as_user)
    os.close(read)
    try:
        assert str(read) not in process.stdout.readline().split()
        port = origin.plain_port
        opened = json.loads(json.dumps(NOTHING))
        opened["network"]["allowedDomains"] = [
            f"plain.example:{port}", f"{origin.address}:{port}"]
        opened["filesystem"]["allowWrite"] = ["/tmp"]
        for line in ("no settings", json.dumps(opened)):
            os.write(write, line.encode() + b"\n")
        assert process.stdout.readline() == "200\n", process.stderr.read()
        os.write(write, json.dumps(NOTHING).encode())
        os.close(write)
        assert process.stdout.readline() == "403\n"
        assert process.wait(60) == 0
        assert "a line is dropped" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", ["1", "-3", "x", "99", ""])
def test_a_control_channel_that_is_none_runs_nothing(srt, workspace, number):
    done = srt(NOTHING, "--control-fd", number, "touch", "x")
    assert done.returncode in (1, 2) and "--control-fd" in done.stderr
    assert not list(pathlib.Path(workspace).iterdir())
