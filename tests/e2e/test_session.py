"""The main job: `sallyport run` from end to end, and what holds in it."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from forge import CLEAN_GIT
from gateway import CLI, wait_until
from test_secrets import files_below, holds

GIT = " ".join(f"{k}={v}" for k, v in CLEAN_GIT.items()
               if not k.startswith("GIT_CONFIG"))


@pytest.fixture
def run(gateway, policies, workspace, repo):
    """Run a script in a sandbox with the rights to repo."""
    def run(script, policy=None, **options):
        policy = policy or policies.make(repo=repo)
        return gateway.run(policy, f"export {GIT}\n{script}", workspace,
                           repo=repo.url, branch="agent/1", **options)
    return run


# ---- the job ----

def test_an_agent_clones_commits_and_pushes_its_branch(run, repo):
    done = run(f"""set -e
        git clone -q {repo.url} w && cd w
        echo change >file && git add file && git commit -q -m change
        git push -q origin HEAD:agent/1
        git rev-parse HEAD""")
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == done.stdout.strip()


def test_its_push_to_main_is_refused_in_gits_words_and_on_stderr(run, repo):
    before = repo.tip("main")
    done = run(f"""git clone -q {repo.url} w && cd w
        echo change >file && git add file && git commit -q -m change
        git push origin HEAD:main""")
    assert done.returncode == 1
    assert "remote: sallyport: push refused: push_ref_not_allowed" in \
        done.stderr
    assert "sallyport: denied" in done.stderr
    assert repo.tip("main") == before


def test_what_a_session_finished_is_shown_by_the_cli(run, repo, gateway):
    done = run(f"""git clone -q {repo.url} w && cd w
        echo 1 >f && git add f && git commit -q -m x
        git push -q origin HEAD:agent/1""")
    assert done.returncode == 0, done.stderr
    pushes = gateway.cli("push", "list", "-o", "json").stdout
    rows = [json.loads(line) for line in pushes.splitlines()]
    assert any(row["path"] == "refs/heads/agent/1" and repo.tip("agent/1")
               == row["new_oid"] for row in rows)
    shown = gateway.cli("push", "list").stdout
    assert re.search(r" create github\.com(:\d+)? refs/heads/agent/1 ", shown)
    assert gateway.cli("status").returncode == 0


def test_the_token_is_nowhere_inside(run, repo, forge, workspace):
    done = run(f"""env; git clone -q {repo.url} w; cd w
        echo 1 >f; git add f; git commit -q -m x; git push origin HEAD:agent/1
        git push origin HEAD:main; git config -l --show-origin
        for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done
        find / -xdev -type f -newer /proc/1/stat 2>/dev/null
        tar -cf ../all.tar --ignore-failed-read /run /tmp /etc ~ . || true
        """)
    assert repo.tip("agent/1")
    assert not holds(done.stdout.encode() + done.stderr.encode(), forge.token)
    seen = 0
    for name, data in files_below(workspace):
        assert not holds(data, forge.token), name
        seen += len(data)
    assert seen > 10000


def test_the_placeholder_is_worthless(run, repo, forge, policies):
    """It has the shape of a token, and the forge does not take it."""
    policy = policies.make(repo=repo)
    policy["credentials"][0]["placeholder"] = {"env": ["GITHUB_TOKEN"]}
    done = run("printf %s \"$GITHUB_TOKEN\"", policy)
    assert done.stdout.startswith("ghp_") and len(done.stdout) == 40
    assert done.stdout != forge.token
    direct = subprocess.run(
        ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert",
         forge.dir / "ca.pem", "--resolve",
         f"github.com:{forge.port}:{forge.address}", "-u",
         f"x-access-token:{done.stdout}",
         f"{repo.url}/info/refs?service=git-upload-pack"],
        capture_output=True, text=True, check=True)
    assert direct.stdout == "401"


# ---- the way out ----

@pytest.fixture
def web(gateway, policies, workspace):
    def run(script, *rules, **options):
        rules = rules or (policies.rule("good.example", "plain.example",
                                        paths=["/**"]),)
        return gateway.run(policies.make(rules), script, workspace, **options)
    return run


def test_curl_reaches_an_allowed_host(web, origin):
    done = web(f"curl -sS {origin.url('/chunked')}")
    assert done.stdout == "one two three", done.stderr


def test_curl_is_told_why_a_blocked_host_is_blocked(web, origin):
    done = web(f"curl -sS {origin.url('/', 'other.example')}")
    assert json.loads(done.stdout)["constraint"] == "host_not_allowed"
    assert "sallyport: denied" in done.stderr
    assert "other.example" in done.stderr and "host_not_allowed" in done.stderr


def test_programs_that_know_no_proxy_are_caught(web, origin):
    done = web(f"env -u HTTPS_PROXY -u https_proxy curl --noproxy '*' -sS "
               f"{origin.url('/chunked')}")
    assert done.stdout == "one two three", done.stderr


def test_programs_that_know_no_proxy_are_refused_as_well(web, origin):
    done = web(f"curl --noproxy '*' -sS {origin.url('/', 'other.example')}")
    assert done.stdout == "" or "host_not_allowed" in done.stdout
    assert done.returncode != 0 or "host_not_allowed" in done.stdout
    assert "other.example" in done.stderr


JAVA = """
public class Get {
    public static void main(String[] args) throws Exception {
        System.out.print(new String(new java.net.URL(args[0]).openStream()
            .readAllBytes()));
    }
}
"""
FETCH = {
    "node": "node -e 'fetch(process.argv[1]).then(r => r.text())"
            ".then(console.log)'",
    "python": "/usr/bin/python3 -c 'import sys, urllib.request as u; "
              "print(u.urlopen(sys.argv[1]).read().decode())'",
    "java": "java Get.java",
}


@pytest.mark.parametrize("program", FETCH)
def test_programs_trust_the_gateway(web, origin, workspace, program):
    (workspace / "Get.java").write_text(JAVA)
    done = web(f"{FETCH[program]} {origin.url('/chunked')}")
    assert done.stdout.strip() == "one two three", done.stderr


def test_nothing_else_leads_out(web, origin, forge):
    """Neither addresses, nor other ports, nor UDP."""
    done = web(f"""
        curl -sS --noproxy '*' -m 5 -k https://{forge.address}:{forge.port}/
        echo exit $?
        curl -sS --noproxy '*' -m 5 http://127.0.0.1:22/ ; echo exit $?
        /usr/bin/python3 -c '
import socket
s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(3)
try:
    s.sendto(b"x", ("192.0.2.1", 443)); s.recv(10)
    print("answered")
except OSError as e:
    print("udp", type(e).__name__)
'""")
    assert "exit 0" not in done.stdout, done.stdout
    assert "answered" not in done.stdout and "udp" in done.stdout


# ---- the command ----

@pytest.mark.parametrize("script,code", [
    ("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143),
    ("kill -KILL $$", 137), ("no-such-program-anywhere", 127)])
def test_the_exit_code_is_the_commands(web, script, code):
    assert web(script).returncode == code


def test_a_command_that_is_not_there_is_127(web):
    assert web(["/no/such/program"]).returncode == 127


def test_stdin_stdout_and_arguments_pass(gateway, policies, workspace):
    path = gateway.dir / "policy.yaml"
    path.write_text(json.dumps(policies.make()))
    done = gateway.cli("run", "--policy", path, "--", "sh", "-c",
                       'cat; echo "$1" -o; echo err >&2', "sh", "--help",
                       stdin="given\n", cwd=workspace)
    assert done.stdout == "given\n--help -o\n"
    assert "err\n" in done.stderr


def test_options_set_the_environment(web):
    done = web("echo $A-$B", options=["-e", "A=1", "-e", "B=2"])
    assert done.stdout == "1-2\n"


def test_the_callers_secrets_stay_outside(web):
    done = web("env", MY_TOKEN="tok-123", AWS_SECRET_ACCESS_KEY="aws-123",
               SSH_AUTH_SOCK="/tmp/agent")
    assert "tok-123" not in done.stdout and "aws-123" not in done.stdout
    assert "SSH_AUTH_SOCK" not in done.stdout


def test_the_workspace_is_written_and_the_system_is_not(web, workspace):
    done = web("echo kept >kept; echo x >/etc/passwd")
    assert (workspace / "kept").read_text() == "kept\n"
    assert done.returncode != 0
    assert "write to /etc/passwd denied by filesystem" in done.stderr


def test_denials_in_the_sandbox_are_recorded(web, gateway):
    done = web("echo x >/etc/passwd; sleep 0.3")
    assert done.returncode == 0
    wait_until(lambda: [row for row in gateway.audit(kind="sandbox")
                        if "/etc/passwd" in json.dumps(row)])


def test_the_gateways_own_files_are_out_of_reach(web, gateway, workspace):
    """Below the user's home, too: its user is the command's."""
    done = web(f"cat {gateway.state}/vault/vault.key | wc -c; "
               f"ls -A {gateway.state}; cat {workspace}/../seen")
    assert done.stdout.split() == ["0"], done.stdout
    assert "Permission denied" in done.stderr or "No such" in done.stderr


def test_events_are_written_as_json_lines(web, origin, tmp_path):
    events = tmp_path / "events"
    done = web(f"curl -s {origin.url('/')} {origin.url('/', 'other.example')}",
               options=["--events", events])
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    assert {row["allowed"] for row in rows} == {True, False}, done.stderr


def test_each_denial_says_its_rule_and_what_to_do(gateway, policies,
                                                  workspace, tmp_path):
    """Files, system calls and connections in one stream; what the policy
    calls known is left out of it, and on record all the same."""
    script = """{ echo x >/etc/passwd; echo x >/etc/shadow-copy
        } 2>/dev/null; python3 -c 'import socket; socket.socket(40, 1)'
        curl -s -m 10 http://blocked.example/ ; curl -s -m 10 \\
            http://known.example/; true"""
    for known in ([], ["write to /etc/*-copy", "known.example"]):
        events = tmp_path / "events"
        policy = policies.make() | ({"ignore-violations": known}
                                    if known else {})
        done = gateway.run(policy, script, workspace,
                           options=["--events", events])
        rows = [json.loads(line) for line in
                events.read_text().splitlines()]
        denied = {(row["constraint"], row["rule"]): row.get("try", "")
                  for row in rows if not row["allowed"]}
        assert "workspace" in denied["filesystem", "filesystem.write"]
        assert "no policy" in denied["syscall", "built-in/syscalls"]
        assert any(constraint == "host_not_allowed" and "network.rules" in
                   text for (constraint, _), text in denied.items())
        assert "sandbox: filesystem.write: write to the workspace" \
            in done.stderr
        assert "socket denied by syscall (family 40" in done.stderr
        told = done.stderr + events.read_text()
        assert ("shadow-copy" in told) == (not known)
        assert ("known.example" in told) == (not known)
        assert "blocked.example" in told
    recorded = gateway.cli("audit", "tail", "-n", "200", "-o", "json").stdout
    assert recorded.count("shadow-copy") == 2
    assert "known.example" in recorded


def test_signals_reach_the_command(gateway, policies, workspace):
    path = gateway.dir / "policy.yaml"
    path.write_text(json.dumps(policies.make()))
    process = subprocess.Popen(
        [CLI, "run", "--policy", path, "--", "sh", "-c",
         "trap 'echo caught; exit 9' TERM; echo ready; "
         "while :; do sleep 0.1; done"], stdout=subprocess.PIPE, text=True,
        env=gateway.env(), cwd=workspace)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert (out, process.returncode) == ("caught\n", 9)


def test_a_killed_cli_leaves_nothing_behind(gateway, policies, workspace):
    path = gateway.dir / "policy.yaml"
    path.write_text(json.dumps(policies.make()))
    marker = f"sleep {os.getpid()}.5"
    process = subprocess.Popen(
        [CLI, "run", "--policy", path, "--", "sh", "-c",
         f"echo ready; {marker}"], stdout=subprocess.PIPE, text=True,
        env=gateway.env(), cwd=workspace)
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()

    def is_gone():
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True,
                                 text=True, check=True).stdout
        return marker not in running.splitlines()
    wait_until(is_gone)
    wait_until(lambda: not gateway.status()["sessions"])


def test_the_time_limit_holds(web, policies, gateway, workspace):
    policy = policies.make() | {"limits": {"time": "1s"}}
    began = time.monotonic()
    done = gateway.run(policy, "sleep 100", workspace)
    assert done.returncode != 0 and time.monotonic() - began < 60


def test_a_gateway_is_started_for_a_command(tmp_path, workspace):
    """None runs: one is, and ends two seconds after."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path),
           "SALLYPORT_RUN": str(tmp_path / "run"),
           "SALLYPORT_STATE": str(tmp_path / "state"),
           "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([CLI, "run", "--", "echo", "hello"], env=env,
                          capture_output=True, text=True, timeout=60,
                          cwd=workspace, check=False)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    wait_until(lambda: not (tmp_path / "run/control.sock").exists())


def test_without_a_gateway_other_commands_say_so(tmp_path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path),
           "SALLYPORT_RUN": str(tmp_path / "run")}
    done = subprocess.run([CLI, "status"], env=env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 4 and "control.sock" in done.stderr


def test_ten_sandboxes_at_once(gateway, policies, origin, tmp_path):
    path = gateway.dir / "policy.yaml"
    path.write_text(json.dumps(policies.make(
        [policies.rule("good.example", paths=["/**"])])))
    processes = []
    for index in range(10):
        place = tmp_path / f"w{index}"
        place.mkdir()
        processes.append(subprocess.Popen(
            [CLI, "run", "--policy", path, "--", "curl", "-sS",
             origin.url("/chunked")], stdout=subprocess.PIPE, text=True,
            env=gateway.env(), cwd=place))
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "one two three")


def test_doctor_says_what_this_host_lacks(gateway):
    done = gateway.cli("doctor", "-o", "json")
    assert done.returncode in (0, 1)
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert {"user namespaces", "Landlock", "nftables", "limits",
            "freezer"} == rows.keys()
    for limit in ("memory", "processes", "cpu"):
        assert f"limits.{limit}: " in rows["limits"]["text"]


def test_what_a_policy_limits_and_requires_holds(gateway, policies,
                                                 workspace):
    policy = policies.make() | {"limits": {"files": 64, "disk": "1MiB"}}
    done = gateway.run(policy, "ulimit -n; head -c 2000000 /dev/zero >/tmp/x",
                       workspace)
    assert done.stdout == "64\n" and done.returncode != 0
    done = gateway.run(policy | {"require": ["landlock-99"]}, "echo ran",
                       workspace)
    assert (done.returncode, done.stdout) == (125, "")
    assert "the policy requires landlock-99: this kernel" in done.stderr
    done = gateway.run(policy | {"require": ["landlock-1"]}, "echo ran",
                       workspace)
    assert done.stdout == "ran\n"


@pytest.mark.parametrize("args", [["run"], ["nonsense"], ["session"],
                                  ["secret", "put"], ["audit", "tail", "-n",
                                                      "x"]])
def test_wrong_usage_is_2(gateway, args):
    done = gateway.cli(*args)
    assert done.returncode == 2 and done.stderr


def test_status_tells_apart_what_has_ended(own_gateway, policies):
    one, _ = (own_gateway.create(policies.make()) for _ in range(2))
    for ended, says in (0, "2 sessions"), (1, "1 sessions and 1 that ended"):
        status = own_gateway.status()
        assert (status["sessions"], status["ended"]) == (2, ended)
        assert f", {says}, sockets in" in own_gateway.cli("status").stdout
        own_gateway.cli("session", "revoke", one["id"])
