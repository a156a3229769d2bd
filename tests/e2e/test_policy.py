"""Policies that are wrong are refused, with every error in its place."""
import json

import pytest

GOOD = """\
version: 1
network:
  rules:
    - name: read
      hosts: [example.com]
      methods: [GET]
      action: allow
"""
WRONG = {
    "an unknown key": (GOOD.replace("hosts:", "host:"), ":5:7:", "hosts"),
    "a key that is not supported yet": (
        GOOD + "guardrail: x.yaml\n", ":8:1:", "not supported yet"),
    "bad YAML": (GOOD.replace("[GET]", "[GET"), ":", ""),
    "an anchor": (GOOD.replace("[GET]", "&a [GET]"), ":6:", "anchor"),
    "a key twice": (GOOD + "version: 1\n", ":8:", ""),
    "a public suffix": (GOOD.replace("example.com", '"*.co.uk"'), ":5:",
                        "suffix"),
    "a rule without an action": (GOOD.replace("      action: allow\n", ""),
                                 ":4:", "action"),
    "no version": (GOOD.replace("version: 1\n", ""), ":1:", "version"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_check_names_the_place_and_shows_a_caret(gateway, tmp_path, kind):
    text, place, word = WRONG[kind]
    path = tmp_path / "p.yaml"
    path.write_text(text)
    done = gateway.cli("policy", "check", path)
    assert done.returncode == 3
    assert f"{path}{place}" in done.stderr, done.stderr
    assert "^" in done.stderr
    assert word in done.stderr


def test_check_accepts_the_same_without_the_error(gateway, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD)
    done = gateway.cli("policy", "check", path)
    assert done.returncode == 0 and "ok" in done.stdout


def test_check_finds_every_error_at_once(gateway, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("hosts:", "host:")
                    .replace("[GET]", "[FETCH]"))
    done = gateway.cli("policy", "check", path)
    assert done.returncode == 3 and done.stderr.count("^") >= 2


def test_a_near_miss_is_told(gateway, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("hosts:", "hostss:"))
    done = gateway.cli("policy", "check", path)
    assert "did you mean" in done.stderr and "hosts" in done.stderr


def test_run_refuses_a_wrong_policy_before_anything_starts(gateway,
                                                           workspace):
    marker = workspace / "marker"
    done = gateway.run(GOOD.replace("hosts:", "host:"), ["touch", str(marker)],
                       workspace)
    assert done.returncode == 3 and "^" in done.stderr
    assert not marker.exists()


def test_a_session_with_a_wrong_policy_is_refused_by_the_api(gateway):
    from gateway import ApiError
    with pytest.raises(ApiError) as caught:
        gateway.create(GOOD.replace("hosts:", "host:"))
    assert caught.value.status == 422
    assert "^" in json.loads(caught.value.problem)["errors"]
    assert gateway.create(GOOD)["id"].startswith("s-")


TESTS = [("GET", "https://example.com/", 0, "allow"),
         ("POST", "https://example.com/", 10, "method_not_allowed"),
         ("GET", "https://example.org/", 10, "host_not_allowed"),
         ("GET", "https://example.com:8/", 10, "port_not_allowed"),
         ("GET", "http://example.com/a", 0, "allow")]


@pytest.mark.parametrize("method,url,code,text", TESTS)
def test_policy_test_says_what_would_be_decided(gateway, tmp_path, method,
                                                url, code, text):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD)
    done = gateway.cli("policy", "test", "--policy", path, method, url)
    assert done.returncode == code, done.stderr
    assert text in done.stdout


@pytest.mark.parametrize("url,code,text", [
    ("https://bücher.example/", 0, "allow by read"),
    ("https://BÜCHER.example:443/x", 0, "allow by read"),
    ("https://xn--bcher-kva.example/", 0, "allow by read"),
    ("https://bücher.example./", 0, "allow by read"),
    ("wss://bücher.example/feed", 10, "websocket_not_allowed"),
    ("https://büecher.example/", 10, "host_not_allowed"),
    ("https://bücher.example:8/", 10, "port_not_allowed"),
    ("https://bü..example/", 2, "is no host")])
def test_policy_test_takes_the_names_that_a_rule_takes(gateway, tmp_path, url,
                                                       code, text):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("example.com", "bücher.example"))
    done = gateway.cli("policy", "test", "--policy", path, "GET", url)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert text in done.stdout + done.stderr


BEYOND = """\
version: 1
network:
  rules:
    - {name: cdn, hosts: ["*.cdn.example"], action: allow}
    - {name: near, hosts: [10.1.2.3, 10.1.2.4, "fd00::7"], action: allow}
    - {name: forge, hosts: [git.example], action: allow}
  addresses: {allow: [10.1.2.4/32]}
git:
  - {repo: "https://git.example/o/read", read: true}
  - {repo: "https://git.example/o/write", read: true,
     push: {branches: [x]}}
"""
SERVICE = "info/refs?service=git-receive-pack"


@pytest.mark.parametrize("method, url, code, text", [
    ("GET", "https://a.cdn.example/", 0, "allow by cdn"),
    ("GET", f"https://{'a' * 49}.cdn.example/", 10, "host_not_allowed"),
    ("GET", "http://10.1.2.4/", 0, "allow by near"),
    ("GET", "http://10.1.2.3/", 10, "address_forbidden"),
    ("GET", "http://[fd00::7]/", 10, "address_forbidden"),
    ("GET", "https://a.cdn.example/?q=a%20b", 0, "allow by cdn"),
    ("GET", "https://a.cdn.example/?q=a b", 10, "request_malformed"),
    ("GET", "https://a.cdn.example:65535/", 10, "port_not_allowed"),
    ("GET", "https://a.cdn.example:99999/", 2, "from 1 to 65535"),
    ("POST", "https://git.example/o/other/git-receive-pack", 0,
     "allow by forge"),
    ("POST", "https://git.example/o/read/git-receive-pack", 10,
     "push_ref_not_allowed"),
    ("GET", f"https://git.example/o/read/{SERVICE}", 10,
     "push_ref_not_allowed"),
    ("GET", f"https://git.example/o/write/{SERVICE}", 0, "PUSH URL REF"),
    ("GET", "https://git.example/o/write/HEAD", 10, "git_dumb_http"),
    ("GET", "https://git.example/o/write/info/refs?x=1", 10,
     "git_not_allowed"),
])
def test_policy_test_knows_what_is_asked_beside_the_rules(
        gateway, tmp_path, method, url, code, text):
    path = tmp_path / "p.yaml"
    path.write_text(BEYOND)
    done = gateway.cli("policy", "test", "--policy", path, method, url)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert text in done.stdout + done.stderr


@pytest.mark.parametrize("header, code, text", [
    ("X-A: 1", 0, "allow by read"),
    ("Host: Example.com", 0, "allow by read"),
    ("Host: other.example", 10, "host_mismatch"),
    ("Connection: X-A", 10, "request_malformed"),
    ("Transfer-Encoding: gzip", 10, "request_malformed"),
    ("Content_Type: text/plain", 10, "request_malformed"),
    ("Upgrade: h2c", 10, "upgrade_not_supported"),
    ("X-A: " + 9000 * "a", 10, "request_too_large"),
])
def test_policy_test_reads_the_head_as_the_gateway_does(
        gateway, tmp_path, header, code, text):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD)
    done = gateway.cli("policy", "test", "--policy", path, "--header", header,
                       "GET", "https://example.com/")
    assert done.returncode == code, (done.stdout, done.stderr)
    assert text in done.stdout


@pytest.mark.parametrize("preset,url", [
    ("github", "https://github.com/"), ("npm", "https://registry.npmjs.org/x"),
    ("pypi", "https://pypi.org/simple/"), ("debian", "http://deb.debian.org/")])
def test_presets(gateway, tmp_path, preset, url):
    path = tmp_path / "p.yaml"
    path.write_text(f"version: 1\nextends: [{preset}]\n")
    assert gateway.cli("policy", "test", "--policy", path, "GET",
                       url).returncode == 0
    assert gateway.cli("policy", "test", "--policy", path, "DELETE",
                       url).returncode == 10


def test_gateway_yaml_is_checked_like_a_policy(gateway, tmp_path):
    import subprocess
    from gateway import PROGRAM
    path = tmp_path / "gateway.yaml"
    path.write_text("dns: {host: {}}\n")
    done = subprocess.run([PROGRAM, "-t", "-c", path], capture_output=True,
                          text=True, check=False, env=gateway.env())
    assert done.returncode == 3 and "^" in done.stderr
    path.write_text("dns: {hosts: {a.example: 192.0.2.1}}\n")
    done = subprocess.run([PROGRAM, "-t", "-c", path], capture_output=True,
                          text=True, check=False, env=gateway.env())
    assert done.returncode == 0


@pytest.mark.parametrize("body, exit_code, word", [
    ('{"base": "main"}', 0, "allow by pull"),
    ('{"base": "other"}', 10, "body_not_allowed"),
    ('{"base": "main"', 10, "body_unreadable"),
])
def test_policy_test_looks_into_a_body(gateway, tmp_path, body, exit_code,
                                       word):
    policy = {"version": 1, "network": {"rules": [
        {"name": "pull", "hosts": ["api.example"], "methods": ["POST"],
         "headers": {"accept": "application/.*"},
         "body": {"json": [{"pointer": "/base", "equals": "main"}]},
         "action": "allow"}]}}
    path = tmp_path / "p.yaml"
    path.write_text(json.dumps(policy, indent=1))
    (tmp_path / "body").write_text(body)
    done = gateway.cli("policy", "test", "--policy", path,
                       "--header", "Accept: application/json",
                       "--header", "Content-Type: application/json",
                       "--body", tmp_path / "body",
                       "POST", "https://api.example/pulls")
    assert done.returncode == exit_code
    assert word in done.stdout
    assert "body: looked into" in done.stdout


WEB_SOCKETS = """\
version: 1
network:
  rules:
    - {name: live, hosts: [a.example], paths: ["/live"], websocket: {},
       action: allow}
    - {name: rest, hosts: [a.example], action: allow}
"""
UPGRADE = ["--header", "upgrade: WebSocket"]


@pytest.mark.parametrize("words, code, text", [
    (["GET", "wss://a.example/live"], 0, "allow by live"),
    (["GET", "ws://a.example/live"], 0, "allow by live"),
    ([*UPGRADE, "GET", "https://a.example/live"], 0, "allow by live"),
    (["GET", "wss://a.example/other"], 10, "websocket_not_allowed"),
    ([*UPGRADE, "GET", "https://a.example/other"], 10,
     "websocket_not_allowed"),
    (["GET", "https://a.example/other"], 0, "allow by rest"),
    (["POST", "wss://a.example/live"], 2, ""),
    (["GET", "ftp://a.example/live"], 2, ""),
])
def test_policy_test_knows_a_websocket(gateway, tmp_path, words, code, text):
    path = tmp_path / "p.yaml"
    path.write_text(WEB_SOCKETS)
    done = gateway.cli("policy", "test", "--policy", path, *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert text in done.stdout


@pytest.mark.parametrize("url, said", [("https://a.example/x", True),
                                       ("https://b.example/x", False)])
def test_policy_test_says_that_a_script_decides_too(gateway, tmp_path, url,
                                                    said):
    path = tmp_path / "p.yaml"
    path.write_text(WEB_SOCKETS + "  script: |\n    function decide(r)\n"
                    "      return 'deny', 'never'\n    end\n")
    done = gateway.cli("policy", "test", "--policy", path, "GET", url)
    assert ("script: not asked here" in done.stdout) == said, done.stdout


COMMANDS = """\
version: 1
filesystem: {hide: ["**/.env"]}
commands: {allow: [git], deny: [sudo]}
"""


@pytest.mark.parametrize("line, verdict, constraint", [
    ("ls -l | wc -l", "allow", "none"),
    ("git push --force", "allow", "none"),
    ("rm -rf build", "ask", "approval_pending"),
    ("ls; env X=1 sudo ls", "deny", "command_not_allowed"),
    ("cat config/.env", "deny", "filesystem"),
    ("cat 'x", "ask", "approval_pending"),
])
def test_a_command_line_is_judged(gateway, tmp_path, line, verdict,
                                  constraint):
    path = tmp_path / "p.yaml"
    path.write_text(COMMANDS)
    done = gateway.cli("policy", "test", "--policy", path, "-o", "json",
                       "--command", line)
    said = json.loads(done.stdout)
    assert done.returncode == (0 if verdict == "allow" else 10)
    assert (said["verdict"], said["constraint"]) == (verdict, constraint)
    path.write_text("version: 1\n")
    done = gateway.cli("policy", "test", "--policy", path, "--command", line)
    assert done.returncode == 0 and "no line is judged" in done.stdout


@pytest.mark.parametrize("extends", [
    [], ["npm"], ["debian", "pypi", "npm"], ["github"], ["github-cli"]],
    ids=" ".join)
def test_what_is_shown_means_the_same_without_presets(gateway, tmp_path,
                                                      extends):
    path, shown = tmp_path / "p.yaml", tmp_path / "shown.yaml"
    path.write_text(GOOD + json.dumps({"extends": extends})[1:-1] + """
credentials:
  - {name: github, secret: github, attach: github,
     hosts: [github.com, api.github.com]}
git:
  - {repo: "${session.repo}", credential: github, read: true}
filesystem: {hide: ["~/.ssh", "**/*.pem"]}
commands: {deny: [id], "autonomy": full}
limits: {memory: 1GiB}
""")
    done = gateway.cli("policy", "show", path)
    assert done.returncode == 0, done.stderr
    assert "extends" not in done.stdout
    shown.write_text(done.stdout)

    def words(of):
        done = gateway.cli("policy", "explain", "--policy", of, "--repo",
                           "https://github.com/acme/widgets", "--branch",
                           "agent/1")
        assert done.returncode == 0, done.stderr
        return done.stdout
    before = words(path)
    for name in extends:
        assert f"`{name}/" in before
        before = before.replace(f"`{name}/", f"`{name}.")
    assert words(shown) == before
    # Shown again it is the same, but for where its rules came from.
    assert gateway.cli("policy", "show", shown).stdout.splitlines() == [
        line for line in done.stdout.splitlines()
        if not line.startswith("    #")]


def test_what_is_wrong_is_not_shown(gateway, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("hosts:", "host:"))
    done = gateway.cli("policy", "show", path)
    assert done.returncode == 3 and not done.stdout
    assert f"{path}:5:7" in done.stderr
    assert gateway.cli("policy", "show").returncode == 2
