"""The command line as people and scripts use it."""
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from gateway import BUILD, CLI, wait_until
from gateway import PROGRAM as GATEWAY
from host import PROGRAM as SERVICE

COMMANDS = ["run", "srt", "config check", "config dump",
            "config reload", "sandbox diff", "sandbox commit",
            "sandbox discard", "session create", "session list",
            "session show",
            "session renew", "session policy", "session revoke", "policy check", "policy test",
            "policy explain", "policy diff", "policy learn", "policy show",
            "secret put",
            "secret list", "secret rotate", "secret rm", "approval list", "approval approve",
            "approval deny", "approval watch", "audit tail", "audit verify",
            "push list", "status", "doctor", "completion"]


def plain(tmp_path, *words, program=CLI, **env):
    """The CLI without any gateway."""
    return subprocess.run(
        [program, *words], text=True, capture_output=True, check=False,
        stdin=subprocess.DEVNULL, timeout=30, cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "SALLYPORT_RUN": str(tmp_path / "none"),
             "SALLYPORT_STATE": str(tmp_path / "state"), **env})


# ---- usage ----

@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_and_says_its_usage(tmp_path, command):
    helped = plain(tmp_path, *command.split(), "--help")
    assert helped.returncode == 0
    assert helped.stdout.startswith(f"Usage: sallyport {command}")
    wrong = plain(tmp_path, *command.split(), "--nonsense")
    assert wrong.returncode == 2
    assert f"sallyport {command}: unrecognized option" in wrong.stderr
    assert f"Usage: sallyport {command}" in wrong.stderr


@pytest.mark.parametrize("words, begins", [
    ([], "Usage: sallyport <noun>"), (["run"], "Usage: sallyport run "),
    (["secret", "put"], "Usage: sallyport secret put "),
    (["secret"], "  sallyport secret put")])
def test_help_is_a_command_too(tmp_path, words, begins):
    done = plain(tmp_path, "help", *words)
    assert done.returncode == 0 and done.stdout.startswith(begins)
    with_option = plain(tmp_path, *words, "--help")
    assert done.stdout == with_option.stdout


@pytest.mark.parametrize("words, code", [
    (["help", "nonsense"], 2), (["help", "secret", "nonsense"], 2),
    (["version"], 0),
    (["nonsense"], 2), (["session"], 2), (["session", "nonsense"], 2),
    (["session", "--help"], 0), (["status", "-o", "xml"], 2),
    (["status", "more"], 2), ([], 2), (["--help"], 0), (["--version"], 0),
    (["run"], 2), (["srt"], 2), (["config", "check"], 2),
    (["srt", "-s", "nonexistent", "true"], 3),
    (["config", "check", "nonexistent"], 3), (["run", "--"], 2), (["run", "-e", "A", "true"], 2),
    (["audit", "tail", "--kind", "a b"], 2), (["audit", "tail", "-n", "0"], 2),
    (["policy", "check", "nonexistent.yaml"], 3),
    (["run", "--policy", "nonexistent.yaml", "true"], 3),
    (["run", "--workspace", "nonexistent", "true"], 3),
    (["run", "--events", "nonexistent/x", "true"], 3),
    (["audit", "export"], 4), (["audit", "search", "x"], 4),
    (["config", "dump"], 4), (["config", "reload"], 4), (["status"], 4), (["session", "list"], 4), (["audit", "verify"], 4),
    (["secret", "rm", "x"], 4), (["push", "list"], 4)])
def test_exit_codes_without_a_gateway(tmp_path, words, code):
    done = plain(tmp_path, *words)
    assert done.returncode == code, done.stderr
    assert done.stdout or done.stderr
    if code == 4:
        assert "start sallyport-gateway" in done.stderr


TEST = ["policy", "test", "--policy", "p.yaml"]
GET = ["GET", "https://a.example/"]
# What is to be read, in the place of None.
NAMED = [
    ["run", "--policy", None, "true"], ["run", "--settings", None, "true"],
    ["run", "--workspace", None, "true"], ["srt", "-s", None, "true"],
    ["policy", "check", None], ["policy", "check", "p.yaml", None],
    ["policy", "show", None], ["policy", "diff", "p.yaml", None],
    ["policy", "explain", "--policy", None],
    ["policy", "explain", "--guardrail", None],
    ["policy", "learn", "s-a", "--policy", None],
    ["policy", "test", "--policy", None, *GET],
    [*TEST, "--guardrail", None, *GET],
    [*TEST, "--body", None, "POST", "https://a.example/"],
    [*TEST, "--secret", None, *GET],
    ["session", "create", "--policy", None], ["session", "policy", "s-a", None],
    ["sandbox", "create", "--policy", None],
    ["sandbox", "create", "--workspace", None],
    ["config", "check", None], ["config", "check", "--settings", None],
    ["config", "check", "--gateway", None], ["config", "check", "--host", None],
    ["mcp", "--policy", None], ["mcp", "--workspace", None],
    ["mcp", "--listen", "127.0.0.1:0", "--token-file", None],
]


@pytest.mark.parametrize("words", NAMED, ids=[
    " ".join(word or "FILE" for word in words) for words in NAMED])
def test_a_named_file_that_can_not_be_read_is_one_exit_code(tmp_path, words):
    """`sandbox cp` needs a sandbox: test_host_files.py."""
    (tmp_path / "p.yaml").write_text("version: 1\nname: p\n")
    (tmp_path / "loop").symlink_to("loop")
    for name in "absent", "p.yaml/below", "loop":
        done = plain(tmp_path, *[name if word is None else word
                                 for word in words])
        assert done.returncode == 3, (name, done.stderr)
        assert name in done.stderr and "Usage" not in done.stderr


@pytest.mark.parametrize("words", [
    ["--help"], ["--version"], ["version"], ["help", "run"],
    ["sandbox", "--help"], ["run", "--help"], ["policy", "explain"],
    ["policy", "show", "p.yaml"], ["policy", "check", "p.yaml"],
    ["completion", "bash"], ["sandbox", "diff", "-o", "json"]])
def test_what_can_not_be_written_is_no_success(tmp_path, words):
    (tmp_path / "p.yaml").write_text("version: 1\nname: p\n")
    assert plain(tmp_path, *words).returncode == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [CLI, *words], stdout=full, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, check=False, timeout=30, cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
                 "SALLYPORT_RUN": str(tmp_path / "none"),
                 "SALLYPORT_STATE": str(tmp_path / "state")})
    assert done.returncode == 1 and done.stderr.startswith("sallyport: ")


@pytest.mark.parametrize("program, words", [
    (program, words) for program in (GATEWAY, SERVICE) for words in (
        "--help", "--version", "--dump", "--test")] + [
            (SERVICE, "--new-key"), (SERVICE, "--dump-states")])
def test_what_a_daemon_can_not_write_is_no_success(tmp_path, program, words):
    (tmp_path / "none.yaml").write_text("{}\n")
    for path, code, says in (
            ("/dev/null", 0, ""),
            ("/dev/full", 1, f"{program.name}: the standard output: "
             "No space left on device\n")):
        with open(path, "w") as out:
            done = subprocess.run(
                [program, "-c", "none.yaml", words], stdout=out,
                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                check=False, timeout=30, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (code, says), path


@pytest.mark.parametrize("words", [
    ["status"], ["audit", "tail"], ["audit", "tail", "--follow"],
    ["audit", "export"], ["audit", "export", "-o", "yaml"]])
def test_what_can_not_be_written_is_told_with_why(gateway, words):
    assert gateway.cli("run", "true").returncode == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [CLI, *words], stdout=full, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, check=False, timeout=30, cwd="/",
            env=gateway.env(), **gateway.as_user)
    assert (done.returncode, done.stderr) == (
        1, "sallyport: the standard output: No space left on device\n")


@pytest.mark.parametrize("words, says", [
    (["audit", "tail", "-n", "many"], "audit tail: 'many' is no value for -n\n"),
    (["session", "create", "--ttl=1w"], "--ttl: '1w' is no time: a whole "
     "number and s, m, h or d, like 90s, or of seconds alone\n"),
    (["session", "renew", "s-x", "--ttl", "1h30m"], "'1h30m' is no time"),
    (["session", "create", "--ttl", "500ms"], "'500ms' is no time"),
    (["session", "create", "--ttl", "0"],
     "--ttl: '0' is out of range: 1s to 7d\n"),
    (["session", "renew", "s-x", "--ttl", "8d"],
     "--ttl: '8d' is out of range: 1s to 7d\n"),
    (["sandbox", "renew", "sb-x", "--timeout", "-5"],
     "--timeout: '-5' is no time"),
    (["sandbox", "exec", "--timeout", "2y", "sb-x", "true"], "is no time"),
    (["sandbox", "exec", "--timeout", "366d", "sb-x", "true"],
     "'366d' is out of range: 1s to 365d\n"),
    (["sandbox", "create", "--timeout", "0"], "'0' is out of range: 1s to"),
    (["sandbox", "create", "--name", "n" * 64], "nnn' is no value"),
    (["run", "-e", "NAME", "true"], "run: -e NAME: NAME=VALUE\nUsage"),
    (["run", "--policy", "p", "--settings", "s", "true"],
     "--policy and --settings")])
def test_a_wrong_value_is_named(tmp_path, words, says):
    done = plain(tmp_path, *words)
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert "Usage: sallyport" in done.stderr
    assert "did you mean" not in done.stderr
    # Words that lack are no value of an option.
    assert "is no value" not in plain(tmp_path, *words[:2]).stderr


@pytest.mark.parametrize("program, words, meant", [
    (CLI, ["polcy", "check"], "sallyport policy"),
    (CLI, ["secret", "lst"], "sallyport secret list"),
    (CLI, ["run", "--polcy", "p", "true"], "--policy"),
    (CLI, ["session", "create", "--permision=x"], "--permission"),
    (CLI, ["policy", "test", "--heder", "x"], "--header"),
    (CLI, ["mcp", "--lisen", "x"], "--listen"),
    (GATEWAY, ["--confg", "x"], "--config"),
    (SERVICE, ["--new-kee"], "--new-key"),
    (CLI, ["nonsense"], None), (CLI, ["secret", "nonsense"], None),
    (CLI, ["secret"], None), (CLI, ["run", "--nonsense"], None),
    (CLI, ["run", "--policy"], None), (GATEWAY, ["--nonsense"], None),
    (SERVICE, ["--nonsense"], None)])
def test_what_was_probably_meant_is_named(tmp_path, program, words, meant):
    done = plain(tmp_path, *words, program=program)
    assert done.returncode == 2
    told = [line for line in done.stderr.splitlines() if "did you mean" in line]
    assert len(told) == (1 if meant else 0), done.stderr
    assert not meant or told[0].endswith(f": did you mean '{meant}'?")


def test_each_program_says_of_which_version_it_is(tmp_path):
    said = [plain(tmp_path, "--version", program=program)
            for program in (CLI, GATEWAY, SERVICE)]
    assert [done.returncode for done in said] == [0, 0, 0]
    words = [done.stdout.split() for done in said]
    assert [name for name, _ in words] == ["sallyport", "sallyport-gateway",
                                           "sallyport-host"]
    assert len({version for _, version in words}) == 1


@pytest.mark.parametrize("command", COMMANDS + [
    f"sandbox {verb}" for verb in (
        "create", "list", "show", "exec", "cp", "logs", "events", "pause",
        "resume", "renew", "port", "kill", "snapshot")] + [
    "image pull", "image rm", "image list", "snapshot rm", "snapshot list",
    "audit search", "audit export", "mcp"])
def test_a_wrong_usage_comes_with_its_reason(tmp_path, command):
    many = [] if command in ("run", "srt", "sandbox exec", "sandbox create",
                             "policy check", "sandbox commit", "mcp") \
        else ["one", "two", "three", "four"]
    wrong = 0
    for words in ([], many):
        done = plain(tmp_path, *command.split(), *words,
                     XDG_RUNTIME_DIR=str(tmp_path / "none"))
        if done.returncode != 2:
            continue
        wrong += 1
        reason, *rest = done.stderr.splitlines()
        assert reason.startswith(f"sallyport {command}: "), done.stderr
        assert rest[0].startswith("Usage: "), done.stderr
    assert wrong or not many


@pytest.mark.parametrize("words, says", [
    (["run", "--policy", "p"], "there is no command to run"),
    (["approval", "approve", "P-1"], "'P-1' is no id of an approval"),
    (["approval", "approve", "p-1", "p-2"], "'p-2' is one word too many"),
    (["approval", "approve", "--once", "--until", "x", "p-1"],
     "of --once, --session and --until one alone"),
    (["approval", "deny", ""], "'' is no id of an approval"),
    (["approval", "watch", "--state", "x"], "there is no --state here"),
    (["audit", "export", "-n", "5"], "there is no --count"),
    (["session", "create"], "--policy FILE is missing"),
    (["session", "renew", "s-1"], "--ttl TIME is missing"),
    (["session", "show", "S"], "'S' is no id of a session"),
    (["session", "policy", "s-1", "--expect", "x"], "a word more is needed"),
    (["sandbox", "renew", "sb-1"], "--timeout TIME is missing"),
    (["sandbox", "port", "sb-1", "0"], "'0' is no port"),
    (["sandbox", "cp", "a", "b"], "one must be ID:PATH"),
    (["sandbox", "exec", "sb-1"], "there is no command to run"),
    (["secret", "rm", "a b"], "'a b' is no name of a secret"),
    (["completion", "csh"], "there is no script for 'csh'"),
    (["config", "check", "--host", "--gateway", "x"], "one alone"),
    (["policy", "test", "GET", "https://a.example/"],
     "--policy FILE is missing"),
    (["policy", "test", "--policy", "p", "PUSH", "https://a.example/x"],
     "a word more is needed"),
    (["policy", "explain", "p.yaml"],
     "'p.yaml' is one word too many: the policy is given by --policy"),
    (["policy", "explain", "p.yaml", "q.yaml"], "is one word too many"),
    (["policy", "learn", "S"], "'S' is no id of a session"),
    (["mcp", "--idle", "1.5h"], "sallyport: --idle: '1.5h' is no time"),
    (["mcp", "--timeout", "0"], "--timeout: '0' is out of range: 1s to 365d"),
    (["mcp", "--idle", "5m"], "--token-file and --idle are for --listen")])
def test_the_word_that_is_wrong_is_named(tmp_path, words, says):
    done = plain(tmp_path, *words)
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[0], done.stderr
    assert "is no value" not in done.stderr


@pytest.mark.parametrize("program", [GATEWAY, SERVICE])
def test_a_daemon_says_how_its_file_is_named(tmp_path, program):
    done = plain(tmp_path, "gateway.yaml", program=program)
    assert done.returncode == 2
    assert "'gateway.yaml' is one word too many: a configuration is named " \
        "by -c" in done.stderr.splitlines()[0]


@pytest.mark.parametrize("env", [{}, {"SALLYPORT_HOST": "/nonexistent/s"}])
@pytest.mark.parametrize("words", [
    ["sandbox", "list"], ["image", "list"], ["config", "dump", "--host"]])
def test_without_the_service_it_is_said_what_to_start(tmp_path, words, env):
    done = plain(tmp_path, *words, **env,
                 XDG_RUNTIME_DIR=str(tmp_path / "none"))
    assert done.returncode == 4
    assert "sallyport-host" in done.stderr and "start it" in done.stderr


@pytest.mark.parametrize("noun", ["sandbox", "image"])
def test_a_socket_that_is_dead_is_not_waited_for(tmp_path, noun):
    """Whatever one's own daemon does, which is another one."""
    dead = tmp_path / "dead"
    dead.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(str(dead / "host.sock"))
    with starting_gateway(tmp_path / "none"):
        done = plain(tmp_path, noun, "list",
                     SALLYPORT_HOST=str(dead / "host.sock"))
    assert done.returncode == 4
    assert f"answers at {dead}/host.sock" in done.stderr
    assert "did not listen" not in done.stderr
    # Its twin: that one is just starting.
    with starting_gateway(tmp_path / "starting"):
        done = plain(tmp_path, noun, "list",
                     SALLYPORT_HOST=str(tmp_path / "starting/host.sock"))
    assert done.returncode == 4
    assert "did not listen within 3 s" in done.stderr


def test_the_service_is_missed_where_it_was_said_to_be(tmp_path):
    run = tmp_path / "run"
    done = plain(tmp_path, "sandbox", "list", SALLYPORT_RUN=str(run),
                 XDG_RUNTIME_DIR=str(tmp_path / "none"))
    assert done.returncode == 4 and f"no {run}/host.sock" in done.stderr


@pytest.mark.parametrize("words, code, says", [
    (["status"], 4, "no gateway answers"),
    # It would start one of its own, which has not the guardrail of root's.
    (["run", "--", "true"], *(
        (5, "is no directory of this user") if os.geteuid() == 0 else
        (4, "does not answer")))])
@pytest.mark.parametrize("is_new", [True, False])
def test_roots_gateway_that_just_starts_is_waited_for(is_new, words, code,
                                                      says):
    """By any user, who can not look whether its lock is held."""
    with tempfile.TemporaryDirectory() as place, \
            socket.socket(socket.AF_UNIX) as gateway:
        os.chmod(place, 0o755)
        lock = pathlib.Path(place, "lock")
        lock.touch(mode=0o600)
        if not is_new:
            os.utime(lock, (time.time() - 60, time.time() - 60))
        if os.geteuid() != 0:
            lock.chmod(0)
        process = subprocess.Popen(
            [CLI, *words], stderr=subprocess.PIPE, text=True, cwd="/",
            env={"PATH": os.environ["PATH"], "SALLYPORT_RUN": place},
            **({"user": 65534, "group": 65534, "extra_groups": []}
               if os.geteuid() == 0 else {}))
        with process:
            if not is_new:
                assert process.wait(30) == code
                assert says in process.stderr.read()
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.7)
            gateway.bind(f"{place}/control.sock")
            os.chmod(f"{place}/control.sock", 0o666)
            gateway.listen()
            gateway.settimeout(30)
            first = gateway.accept()[0]
            gateway.close()
            first.close()


@pytest.mark.parametrize("total, says", [
    (1, ""), (1001, "sallyport: these are the newest 1 of 1001\n")])
def test_sessions_that_are_not_listed_are_told_of(total, says):
    body = json.dumps({"sessions": [{"id": "s-one"}], "total": total})
    with tempfile.TemporaryDirectory() as place, \
            socket.socket(socket.AF_UNIX) as gateway:
        gateway.bind(f"{place}/control.sock")
        gateway.listen()
        gateway.settimeout(30)
        with subprocess.Popen(
                [CLI, "session", "list"], text=True, cwd="/",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={"PATH": os.environ["PATH"],
                     "SALLYPORT_RUN": place}) as process:
            asker = gateway.accept()[0]
            with asker:
                assert asker.recv(4096).startswith(b"GET /v1/sessions ")
                asker.sendall("HTTP/1.1 200 OK\r\nContent-Length: "
                              f"{len(body)}\r\nContent-Type: application/"
                              f"json\r\n\r\n{body}".encode())
                out, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and "s-one" in out
    assert errors == says


@pytest.mark.parametrize("mode, asked", [(0o000, "own"), (0o666, "other")])
def test_a_service_that_is_for_others_hides_not_ones_own(mode, asked):
    """Root's, beside the gateway that all use."""
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    with tempfile.TemporaryDirectory() as place, \
            contextlib.ExitStack() as stack:
        os.chmod(place, 0o755)
        sockets = {}
        for name, bits in (("other", mode), ("own", 0o666)):
            path = pathlib.Path(place, name, "sallyport", "host.sock")
            path.parent.mkdir(parents=True)
            sockets[name] = stack.enter_context(
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            sockets[name].bind(str(path))
            path.chmod(bits)
            sockets[name].listen()
        process = stack.enter_context(subprocess.Popen(
            [CLI, "sandbox", "list"], stderr=subprocess.DEVNULL, cwd="/",
            env={"PATH": os.environ["PATH"],
                 "SALLYPORT_RUN": f"{place}/other/sallyport",
                 "XDG_RUNTIME_DIR": f"{place}/own"},
            **(user if os.geteuid() == 0 else {})))
        ready, _, _ = select.select(list(sockets.values()), [], [], 30)
        assert ready == [sockets[asked]]
        ready[0].accept()[0].close()
        assert process.wait(30) != 0


@pytest.mark.parametrize("value, code", [("rel", 3), ("", 0), ("/tmp/x", 0)])
@pytest.mark.parametrize("name, program, words", [
    ("SALLYPORT_RUN", CLI, ["completion", "bash"]),
    ("SALLYPORT_RUN", GATEWAY, ["-t"]), ("SALLYPORT_RUN", SERVICE, ["-t"]),
    ("SALLYPORT_STATE", CLI, ["completion", "bash"]),
    ("SALLYPORT_STATE", GATEWAY, ["-t"])])
def test_a_directory_is_named_by_its_whole_path(tmp_path, name, program, words,
                                                value, code):
    """Where each would begin somewhere else nobody finds the other."""
    done = plain(tmp_path, *words, program=program, **{name: value})
    assert done.returncode == code, done.stderr
    assert (f"{name}: {value} is no absolute path" in done.stderr) == bool(code)


# What holds the run directory as a gateway does, listens once it is told to,
# and answers one request as `session list` wants it.
STARTING = """
import fcntl, os, socket, sys
locks = [open(name, "w") for name in ("lock", "host.lock")]
for lock in locks:
    fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
if not sys.stdin.readline():
    sys.exit()
server = socket.socket(socket.AF_UNIX)
server.bind("control.sock")
server.listen()
peer = server.accept()[0]
peer.recv(65536)
body = b'{"sessions":[],"total":0}'
peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\n"
             b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
"""


@contextlib.contextmanager
def starting_gateway(run):
    run.mkdir()
    with subprocess.Popen(["/usr/bin/python3", "-c", STARTING], cwd=run,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as gateway:
        assert gateway.stdout.readline() == "held\n"
        yield gateway
        gateway.stdin.close()


def test_a_gateway_that_is_just_starting_is_waited_for(tmp_path):
    run = tmp_path / "none"
    with starting_gateway(run) as gateway, subprocess.Popen(
            [CLI, "session", "list"], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={"SALLYPORT_RUN": str(run)}) as asking:
        # It has found no socket, and rests before each time it looks again.
        status = pathlib.Path(f"/proc/{asking.pid}/status")
        wait_until(lambda: int(re.search(
            r"^voluntary_ctxt_switches:\s+(\d+)$", status.read_text(),
            re.MULTILINE)[1]) > 10)
        gateway.stdin.write("listen\n")
        gateway.stdin.flush()
        out, err = asking.communicate(timeout=30)
        assert asking.returncode == 0 and out.startswith("ID"), err


@pytest.mark.parametrize("noun, says", [
    ("secret", "start sallyport-gateway"),
    ("sandbox", "sallyport-host does not run")])
def test_who_never_listens_is_waited_for_no_longer_than_that(tmp_path, noun,
                                                             says):
    with starting_gateway(tmp_path / "none"):
        done = plain(tmp_path, noun, "list")
    assert done.returncode == 4
    assert "did not listen within 3 s" in done.stderr and says in done.stderr
    # Its twin: nobody holds the directory.
    done = plain(tmp_path, noun, "list")
    assert done.returncode == 4 and "did not listen" not in done.stderr
    assert says in done.stderr


# ---- policies ----

@pytest.mark.parametrize("text, says", [
    ("run: /x\nguardrail: /nope\n", "g.yaml:2: guardrail: open /nope: "),
    ("tls: {min: '1.2',\n ca_bundle: /nope}\n",
     "g.yaml:2: CA bundle: open /nope: "),
    ("run: /x\nguardrail: GOOD\n", None)])
def test_a_file_that_is_missing_is_told_where_it_is_named(tmp_path, text, says):
    (tmp_path / "good.yaml").write_text("version: 1\n")
    (tmp_path / "g.yaml").write_text(
        text.replace("GOOD", str(tmp_path / "good.yaml")))
    done = plain(tmp_path, "config", "check", "g.yaml")
    assert done.returncode == (3 if says else 0), done.stderr
    assert (says or "") in done.stderr


@pytest.mark.parametrize("form", [(), ("-o", "json")], ids=["text", "json"])
@pytest.mark.parametrize("text, words, check", [
    ("version: 1\nnetwork: {}\n", ["config", "check"], "policy check"),
    ("version: 1\nnetwrk: {}\n", ["config", "check", "--host"],
     "policy check"),
    ("run: /x\nuid_range: 1\n", ["config", "check"], "config check --host"),
    ("run: /x\nstate: /y\n", ["policy", "check"], "config check --gateway"),
    ("images: {}\n", ["policy", "check"], "config check --host"),
    ('{"network": {"allowedDomains": []}}', ["policy", "check"],
     "config check --settings"),
    ("version: 1\n", ["config", "check", "--settings"], "policy check"),
    ('{"version": 1}', ["config", "check", "--settings"], None),
    ("version: 1\nnetwrk: {}\n", ["policy", "check"], None),
    ("stat: /y\nrun: /x\ndns: {}\n", ["config", "check"], None)])
def test_a_file_of_another_kind_is_sent_to_its_check(tmp_path, text, words,
                                                     check, form):
    (tmp_path / "f.yaml").write_text(text)
    done = plain(tmp_path, *words, *form, "f.yaml")
    assert done.returncode == 3
    found = re.findall("this looks like .*: sallyport ([a-z -]*) f.yaml",
                       done.stdout if form else done.stderr)
    assert found == ([check] if check else []), done
    if check:
        again = plain(tmp_path, *check.split(), *form, "f.yaml")
        assert "this looks like" not in again.stdout + again.stderr


@pytest.mark.parametrize("form", [(), ("-o", "json")], ids=["text", "json"])
@pytest.mark.parametrize("kind, text, wrong", [
    ([], "run: /x\nstate: /y\n", None),
    ([], "run: /x\nstat: /y\n", "stat"),
    (["--gateway"], "run: /x\nstate: /y\n", None),
    (["--gateway"], "run: /x\nstat: /y\n", "stat"),
    (["--host"], "workspaces: [/x]\nwork: 1\n", "work")])
def test_a_configuration_that_comes_by_a_pipe_is_checked(tmp_path, kind, text,
                                                         wrong, form):
    reads, writes = os.pipe()
    os.write(writes, text.encode())
    os.close(writes)
    with open(reads, "rb") as pipe:
        done = subprocess.run(
            [CLI, "config", "check", *kind, *form, "/dev/stdin"], stdin=pipe,
            text=True, capture_output=True, check=False, timeout=30,
            cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert done.returncode == (3 if wrong else 0), done
    report = json.loads(done.stdout)["report"] if form else done.stderr
    assert (f'unknown key "{wrong}"' in report) == bool(wrong), done


def test_a_policy_that_wants_values_says_which_options_give_them(tmp_path):
    (tmp_path / "p.yaml").write_text(
        'version: 1\ngit: [{repo: "${session.repo}", read: true}]\n')
    test = ["policy", "test", "--policy", "p.yaml", "GET", "https://a.example/"]
    done = plain(tmp_path, *test)
    assert done.returncode == 3 and "--repo URL" in done.stderr, done.stderr
    done = plain(tmp_path, *test, "--repo", "git@a.example:x")
    assert done.returncode == 3
    assert "--repo git@a.example:x is no https:// URL" in done.stderr
    done = plain(tmp_path, *test, "--repo", "https://a.example/x")
    assert done.returncode == 10 and "--repo URL" not in done.stderr


@pytest.mark.parametrize("hosts, places, says", [
    ("http://a.example", "body", "is a URL: write its host alone"),
    ("10.2.0.0/x", "body", "is not a range like"),
    ("a.example", "bdy", 'did you mean "body"'),
    ("a.example", "", "an empty list"),
    ("a.example", "body", None)])
def test_a_mistake_is_told_once_in_words_that_fit(tmp_path, hosts, places,
                                                  says):
    (tmp_path / "p.yaml").write_text(f"""version: 1
network: {{rules: [{{hosts: ["{hosts}"], action: allow}}]}}
credentials:
  - {{name: c, secret: s, attach: bearer, hosts: [a.example],
     placeholder: {{text: MY_API_KEY, in: [{places}]}}}}
""")
    done = plain(tmp_path, "policy", "check", "-o", "json", "p.yaml")
    checked, = json.loads(done.stdout)
    assert checked["errors"] == (1 if says else 0), checked["report"]
    assert (says or "") in checked["report"]


def test_a_file_whose_name_is_no_text_is_a_value_too(tmp_path):
    name = b"p\xff.yaml"
    path = os.fsencode(tmp_path) + b"/" + name
    with open(path, "w") as out:
        out.write("version: 1\nname: p\n")
    checked, = json.loads(plain(tmp_path, "policy", "check", "-o", "json",
                                name).stdout)
    assert checked["valid"] and checked["file"] == "p?.yaml"


def test_policy_check_and_test_without_a_gateway(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "version: 1\nname: p\nnetwork: {rules: [{hosts: [a.example], "
        "methods: [GET], action: allow}]}\n")
    (tmp_path / "bad.yaml").write_text("version: 1\nnmae: p\n")
    checked = plain(tmp_path, "policy", "check", "-o", "json", "p.yaml",
                    "bad.yaml")
    assert checked.returncode == 3
    good, bad = json.loads(checked.stdout)
    assert good["valid"] and not bad["valid"] and bad["errors"] == 1
    assert 'did you mean "name"' in bad["report"]
    for words, code in [(["GET", "https://a.example?x=1"], 0),
                        (["GET", "https://a.example#part"], 0),
                        (["POST", "https://a.example/"], 10),
                        (["get", "https://a.example/"], 10),
                        (["GET", "https://a.example/x%2fy"], 10),
                        (["GET", "https://b.example/"], 10),
                        (["GET", "https://u:p@a.example/"], 2),
                        (["GET", "a.example"], 2),
                        (["GET", "https://a.example/", "more"], 2),
                        (["PUSH", "https://a.example/x", "main"], 10)]:
        done = plain(tmp_path, "policy", "test", "--policy", "p.yaml", *words)
        assert done.returncode == code, (words, done)


# ---- what is ours and what is the command's ----

@pytest.mark.parametrize("words, out", [
    (["echo", "-o", "json"], "-o json\n"),
    (["--", "sh", "-c", "echo $0", "--help"], "--help\n"),
    (["-e", "A=1", "--", "sh", "-c", "echo $A"], "1\n"),
    (["-eA=1=2", "sh", "-c", "echo $A"], "1=2\n"),
    (["sh", "-c", "echo $0 $1", "--policy", "x"], "--policy x\n")])
def test_options_of_the_command_are_its_own(gateway, tmp_path, words, out):
    done = gateway.cli("run", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, out), done.stderr


@pytest.mark.parametrize("script, code", [
    ("exit 7", 7), ("kill -TERM $$", 143), ("exec /nonexistent", 127)])
def test_exit_codes_are_the_commands(gateway, tmp_path, script, code):
    done = gateway.cli("run", "--", "sh", "-c", script, cwd=tmp_path)
    assert done.returncode == code
    assert not any(s["revoked"] is False
                   for s in gateway.get("/v1/sessions")["sessions"])


def test_a_policy_with_a_long_path_in_another_directory(gateway, tmp_path):
    far = tmp_path / ("long" * 20)
    far.mkdir()
    (far / "p.yaml").write_text("version: 1\nname: p\n")
    work = tmp_path / "work"
    work.mkdir()
    done = gateway.cli("run", "--policy", far / "p.yaml", "--", "sh", "-c",
                       "pwd; echo x > made", cwd=work)
    assert (done.returncode, done.stdout) == (0, f"{work}\n"), done.stderr
    assert (work / "made").exists()


def test_variables_that_look_like_credentials_are_dropped_and_named(
        gateway, tmp_path):
    (tmp_path / "p.yaml").write_text(
        "version: 1\nname: p\nenvironment: {pass: [MY_TOKEN, MY_WORD]}\n")
    done = gateway.cli("run", "--policy", "p.yaml", "--", "sh", "-c",
                       "echo $MY_TOKEN,$MY_WORD", cwd=tmp_path,
                       MY_TOKEN="real", MY_WORD="fine")
    assert (done.returncode, done.stdout) == (0, ",fine\n"), done.stderr
    assert "variable MY_TOKEN is not passed" in done.stderr
    assert "MY_WORD" not in done.stderr


def test_an_overlay_keeps_what_a_run_changed(gateway, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("one\n")
    (work / ".agentignore").write_text("*.key\n")
    (work / "my.key").write_text("SECRET")
    policy = ("version: 1\nname: p\nfilesystem:\n"
              "  workspace: {mode: overlay}\n"
              "  ignore-files: [.agentignore]\n")
    (tmp_path / "p.yaml").write_text(policy)
    run = ["run", "--policy", tmp_path / "p.yaml", "--", "sh", "-c"]
    done = gateway.cli(*run, "echo more >> a; cat a my.key", cwd=work)
    assert done.stdout == "one\nmore\n", done.stderr
    assert (work / "a").read_text() == "one\n"
    told = re.search("1 change is kept: sallyport sandbox diff (s-.*)\n",
                     done.stderr)
    assert told, done.stderr
    assert "+more\n" in gateway.cli("sandbox", "diff", told[1]).stdout
    assert gateway.cli("sandbox", "commit", told[1]).returncode == 0
    assert (work / "a").read_text() == "one\nmore\n"
    # Nothing changed, nothing is kept.
    done = gateway.cli(*run, "cat a", cwd=work)
    assert done.stdout == "one\nmore\n" and "kept" not in done.stderr
    kept = json.loads(gateway.cli("sandbox", "diff", "-o", "json").stdout)
    assert kept == {"kept": []}


def test_the_policy_is_not_the_commands_to_change(gateway, tmp_path):
    text = "version: 1\nname: p\n"
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "other.yaml").write_text(text)
    done = gateway.cli("run", "--policy", "p.yaml", "--", "sh", "-c",
                       "echo x > p.yaml; rm -f p.yaml; mv p.yaml q; "
                       "echo x > other.yaml", cwd=tmp_path)
    assert (tmp_path / "p.yaml").read_text() == text
    assert "(protected)" in done.stderr
    assert (tmp_path / "other.yaml").read_text() == "x\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_are_nobody_elses(gateway, tmp_path,
                                                      closed):
    """A socket of ours must not take their place."""
    script = ("import os\nf = open('seen', 'w')\nfor n in 0, 1, 2:\n"
              "    print(os.readlink(f'/proc/self/fd/{n}'), file=f)\n")
    done = subprocess.run(
        ["sh", "-c", f'"$0" run /usr/bin/python3 -c "$1" {closed}', CLI,
         script], env=gateway.env(), cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 0
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen.count("/dev/null") >= closed.count("&-")
    assert not [name for name in seen if "socket" in name]


# ---- events ----

def test_denials_of_the_sandbox_are_recorded(gateway, tmp_path):
    done = gateway.cli("run", "--events", "events", "--", "sh", "-c",
                       "echo x > /etc/first; mkdir /usr/second; "
                       "touch \"/etc/$(printf '\\033[31m')\"",
                       cwd=tmp_path)
    assert "sandbox: write to /etc/first denied" in done.stderr
    rows = [json.loads(line)
            for line in (tmp_path / "events").read_text().splitlines()]
    seen = [row["detail"] for row in rows if row["activity"] == "sandbox"
            and row["allowed"] is False]
    assert seen[0] == "write to /etc/first denied by filesystem (read-only)"
    assert "creation of /usr/second denied" in seen[1]
    assert len(seen) == 3 and "\x1b" not in seen[2]
    stored = wait_until(lambda: len(seen) <= len(told := gateway.audit(
        session=rows[0]["session"], kind="sandbox")) and told)
    assert [row["detail"] for row in stored] == seen


def test_a_flood_of_denials_holds_nothing_up(gateway, tmp_path):
    script = ("i=0; while [ $i -lt 3000 ]; do : 2>/dev/null > /etc/x$i; "
              "i=$((i+1)); done; echo end")
    begin = time.monotonic()
    done = gateway.cli("run", "--", "bash", "-c", script, cwd=tmp_path)
    assert done.stdout == "end\n"
    assert time.monotonic() - begin < 30
    assert "more denials were not shown" in done.stderr


def test_events_that_can_not_be_written_are_told_once(gateway, tmp_path):
    said = {}
    for path in ("/dev/full", tmp_path / "events"):
        done = gateway.cli("run", "--events", path, "--", "sh", "-c",
                           "getent hosts a.example; getent hosts b.example",
                           cwd=tmp_path)
        said[path] = [line for line in done.stderr.splitlines()
                      if "--events" in line]
    assert list(said.values()) == [
        ["sallyport: --events: No space left on device: "
         "no more is written there"], []]


def test_events_are_not_written_through_a_link(gateway, tmp_path):
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "events").symlink_to("kept")
    done = gateway.cli("run", "--events", "events", "--", "true",
                       cwd=tmp_path)
    assert done.returncode == 3
    assert (tmp_path / "kept").read_text() == "kept"
    for path in "/dev/stdout", "-":
        done = gateway.cli("run", "--events", path, "--", "true", cwd=tmp_path)
        assert done.returncode == 0 and '"sequence"' in done.stdout
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("number, told", [
    (238, []),  # set_mempolicy: each ps tries it
    (101, ["sandbox: ptrace denied by syscall (not open to a sandbox)"])])
def test_what_programs_only_try_is_not_told(gateway, tmp_path, number, told):
    done = gateway.cli("run", "--", "python3", "-c", "import ctypes; "
                       f"print(ctypes.CDLL(None).syscall({number}, 0, 0, 0))",
                       cwd=tmp_path)
    assert done.stdout == "-1\n"
    assert [line for line in done.stderr.splitlines()
            if "by syscall" in line] == told


def test_a_denial_is_told_once_and_says_where(gateway, policies, tmp_path):
    done = gateway.run(
        policies.make(),
        "for i in 1 2 3; do curl -s https://blocked.example:8443/; done; "
        "curl -s --noproxy '*' https://other.example/; true", tmp_path)
    lines = [line for line in done.stderr.splitlines()
             if line.startswith("sallyport: denied ")]
    assert lines == [
        "sallyport: denied connection to blocked.example:8443: "
        "host_not_allowed (rule default)",
        "sallyport: denied look-up of other.example: host_not_allowed "
        "(rule default)"]


@pytest.fixture
def bare_gateway(make_gateway):
    """One whose vault has nothing."""
    gateway = make_gateway("bare", secret=False)
    yield gateway
    gateway.stop()
    gateway.check()


def test_what_the_gateway_could_not_do_is_told_of_the_last_request_too(
        bare_gateway, policies, repo, tmp_path):
    """The command ends as soon as it has the answer."""
    gateway = bare_gateway
    policy = policies.make(repo=repo)
    for _ in range(8):
        done = gateway.run(policy, f"exec git ls-remote {repo.url}", tmp_path,
                           repo.url, "agent/1")
        told = [line for line in done.stderr.splitlines()
                if line.startswith("sallyport: denied ")]
        assert len(told) == 1 and "credential_unavailable" in told[0], \
            done.stderr
    gateway.put_secret("forge", repo.forge.token)
    done = gateway.run(policy, f"exec git ls-remote {repo.url}", tmp_path,
                       repo.url, "agent/1")
    assert done.returncode == 0 and "denied" not in done.stderr


# ---- remotes ----

@pytest.mark.parametrize("remote", ["git@github.com:{name}",
                                    "ssh://git@github.com/{name}"])
def test_remotes_for_ssh_work_as_they_are(gateway, policies, repo, tmp_path,
                                          remote):
    done = gateway.run(policies.make(repo=repo),
                       f"git ls-remote {remote.format(name=repo.name)} HEAD",
                       tmp_path, repo.url, "agent/1")
    assert done.returncode == 0, done.stderr
    assert repo.tip("main") in done.stdout


def test_names_inside_are_its_own(gateway, tmp_path):
    done = gateway.cli("run", "--", "sh", "-c",
                       "getent ahosts $(hostname); cat /etc/hosts",
                       cwd=tmp_path)
    assert "127.0.0.1" in done.stdout
    assert "denied" not in done.stderr


# ---- ends ----

def start(gateway, tmp_path, *words, **popen):
    return subprocess.Popen([CLI, "run", *words], env=gateway.env(),
                            cwd=tmp_path, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **popen)


def open_sessions(gateway):
    return [s for s in gateway.get("/v1/sessions")["sessions"]
            if not s["revoked"]]


def groups(pid):
    # Not pathlib: a directory may go while it is looked at.
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if f"/sallyport-{pid}-" in path]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGKILL])
def test_an_early_end_leaves_nothing_behind(gateway, tmp_path, number):
    """Whenever it comes: before the gateway knows, and after."""
    for i in range(12):
        child = start(gateway, tmp_path, "--", "sleep", "1000")
        time.sleep(0.004 * i)
        child.send_signal(number)
        # stderr is closed only when everybody is gone.
        child.communicate(timeout=60)
        assert child.returncode in (-number, 128 + number)
    wait_until(lambda: not open_sessions(gateway))


def test_a_killed_caller_leaves_nothing_behind(gateway, tmp_path):
    (tmp_path / "p.yaml").write_text(
        "version: 1\nname: p\nlimits: {memory: 256MiB, processes: 50}\n")
    child = start(gateway, tmp_path, "--policy", "p.yaml", "--", "sh", "-c",
                  "echo ready; setsid sleep 1000 & sleep 1000")
    assert child.stdout.readline() == "ready\n"
    assert open_sessions(gateway)
    child.kill()
    child.communicate(timeout=60)
    wait_until(lambda: not open_sessions(gateway))
    wait_until(lambda: not groups(child.pid))


def test_what_the_caller_ignores_does_not_end_the_command(gateway, tmp_path):
    for ignored, code in [(True, 0), (False, 128 + signal.SIGHUP)]:
        child = start(gateway, tmp_path, "--", "sh", "-c",
                      f"echo ready; sleep {1 if ignored else 1000}",
                      preexec_fn=lambda ignored=ignored: signal.signal(
                          signal.SIGHUP, signal.SIG_IGN if ignored
                          else signal.SIG_DFL))
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGHUP)
        child.communicate(timeout=60)
        assert child.returncode == code


def test_five_at_once_are_five_sessions(gateway, tmp_path):
    children = []
    for i in range(5):
        path = tmp_path / str(i)
        path.mkdir()
        children.append(start(gateway, path, "--", "sh", "-c",
                              f"echo {i} > out; cat out"))
    for i, child in enumerate(children):
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (0, f"{i}\n"), err


# ---- a terminal ----

def read_until(fd, text, timeout=60):
    seen = b""
    end = time.monotonic() + timeout
    while text not in seen:
        ready, _, _ = select.select([fd], [], [], end - time.monotonic())
        assert ready, seen
        try:
            part = os.read(fd, 4096)
        except OSError:
            part = b""
        assert part, seen
        seen += part
    return seen


# A job that says when it is the terminal's.
IN_FRONT = (b"sh -c 'while [ $(ps -o tpgid= -p $$) -ne $$ ]; do sleep 0.05; "
            b"done; echo in front; exec sleep 100' ")


def test_an_interactive_shell_has_jobs(gateway, tmp_path):
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(CLI, ["sallyport", "run", "bash", "--norc", "-i"],
                  gateway.env(TERM="xterm", PS1="$ "))
    for typed, wanted in [
            (b"stty -echo; PS1=''; echo be''gin\r", b"begin"),
            (IN_FRONT + b"& jobs\r", b"Running"),
            (b"fg\r", b"in front\r\n"),
            (b"\x1a", b"Stopped"),
            (b"kill %1; wait; sh -c 'echo next; exec sleep 100'\r",
             b"next\r\n"),
            (b"\x03echo rc=$?\r", b"rc=130"),
            (b"echo x > /etc/x\r", b"write to /etc/x denied"),
            (b"exit 9\r", b"exit")]:
        os.write(fd, typed)
        read_until(fd, wanted)
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 9


# ---- completion ----

COMPLETE = """. <("$0" completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sallyport
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words):
    done = subprocess.run(["bash", "-c", COMPLETE, CLI, "sallyport", *words],
                          capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("words,wanted", [
    (["se"], {"session", "secret"}),
    (["session", "cr"], {"create"}),
    (["session", "create", "--po"], {"--policy"}),
    (["run", "--work"], {"--workspace"}),
    (["audit", "tail", "--fol"], {"--follow"}),
    (["run", "--policy", "x.ya"], set())])
def test_bash_completes_nouns_verbs_and_options(words, wanted):
    assert set(completed(*words)) == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_in_every_shells_completion(shell):
    text = subprocess.run([CLI, "completion", shell], capture_output=True,
                          text=True, check=True).stdout
    table = subprocess.run([CLI, "--help"], capture_output=True, text=True,
                           check=True).stdout
    for line in table.splitlines():
        if line.startswith("  ") and len(line) > 20:
            for word in line[:20].split():
                assert word in text


def test_completion_knows_three_shells():
    done = subprocess.run([CLI, "completion", "tcsh"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "bash|zsh|fish" in done.stderr


# ---- manual pages ----

def test_every_command_has_a_manual_page_that_groff_reads():
    names = ["-".join(["sallyport", *command.split()]) for command in COMMANDS]
    for name in ["sallyport", *names, "sallyport-gateway"]:
        page, = BUILD.glob(f"share/man/man[18]/{name}.[18]")
        done = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-ww",
                               page], capture_output=True, text=True,
                              check=True)
        assert done.stderr == ""
        shown = done.stdout
        assert shown.index("NAME") < shown.index("SYNOPSIS")
        assert name in shown and "SEE ALSO" in shown


# ---- policy diff ----

def test_diff_says_what_a_change_does(tmp_path):
    old = {"version": 1, "network": {"rules": [
        {"name": "api", "hosts": ["a.example"], "action": "allow"}]}}
    new = json.loads(json.dumps(old))
    new["network"]["rules"][0]["hosts"].append("b.example")
    new["limits"] = {"processes": 5}
    (tmp_path / "old").write_text(json.dumps(old))
    (tmp_path / "new").write_text(json.dumps(new))
    (tmp_path / "bad").write_text("version: 1\nnetwrok: {}\n")

    done = plain(tmp_path, "policy", "diff", "old", "new")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "added    network.rules[api].hosts: b.example",
        "added    limits: {processes: 5}"]
    done = plain(tmp_path, "policy", "diff", "old", "new", "-o", "json")
    assert done.returncode == 1
    value = json.loads(done.stdout)
    assert not value["same"] and value["changes"][0] == {
        "change": "added", "where": "network.rules[api].hosts",
        "before": None, "after": "b.example"}
    done = plain(tmp_path, "policy", "diff", "old", "old")
    assert done.returncode == 0 and not done.stdout
    done = plain(tmp_path, "policy", "diff", "old", "bad")
    assert done.returncode == 3 and "netwrok" in done.stderr
    assert plain(tmp_path, "policy", "diff", "old").returncode == 2


def test_the_command_has_nothing_that_looks_into_bodies(gateway):
    """`sallyport run` would wait for it; `policy test` has its own."""
    def functions(program):
        """Whether it is linked with a library or loads it."""
        return subprocess.run(["nm", program], text=True, check=True,
                              capture_output=True).stdout

    def uses(program):
        return {prefix for prefix in ("BrotliDecoder", "ZSTD_", "inflate",
                                      "EVP_")
                if re.search(rf" [UTt] {prefix}", functions(program))}
    assert uses(CLI) == set()
    assert uses(CLI.parent.parent / "libexec/sallyport/sallyport-policy") == {
        "BrotliDecoder", "ZSTD_", "inflate"}


def test_yaml_says_what_json_says(gateway, tmp_path):
    gateway.create("version: 1\nname: p\n")
    for words in (["status"], ["session", "list"], ["doctor"],
                  ["secret", "list"]):
        def agree(words=words):
            """Between the two a process may have begun or ended."""
            plain, text = (gateway.cli(*words, "-o", form).stdout
                           for form in ("json", "yaml"))
            assert text.startswith("---\n"), text
            keys = re.findall(r'^ *"([a-z_]+)":', plain, re.M)
            return keys and sorted(keys) == sorted(
                re.findall(r"^ *(?:- )?([a-z_]+):", text, re.M))
        wait_until(agree)
    rows, documents = (gateway.cli("audit", "tail", "-n", "2", "-o",
                                   form).stdout for form in ("json", "yaml"))
    assert len(rows.splitlines()) == 2 and documents.count("---\n") == 2
