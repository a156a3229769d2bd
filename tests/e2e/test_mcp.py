"""sallyport mcp: the tools that an agent gets, by the unmodified SDK of npm
and message by message."""
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

import pytest
from gateway import CLI
from host import OVER, Host
from waiting import wait_until, while_it_lives

SOURCES = pathlib.Path(__file__).parent / "mcp"
MAX_LINE = 4 << 20


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture(scope="module")
def policy(policies, tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(json.dumps(policies.make([
        policies.rule("good.example", name="read", methods=["GET"]),
        policies.rule("good.example", name="release", methods=["POST"],
                      action="ask", hold="1ms")])))
    return path


class Mcp:
    """A server, spoken to line by line."""

    def __init__(self, host, *options):
        self.process = subprocess.Popen(
            [CLI, "mcp", *map(str, options)], env=host.env(),
            cwd=host.workspace, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **host.gateway.as_user)
        self.last = 0
        self.told = {}
        self.rest = b""

    def write(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method, params=None):
        self.last += 1
        self.write(json.dumps(
            {"jsonrpc": "2.0", "id": self.last, "method": method,
             **({} if params is None else {"params": params})}).encode())
        return self.last

    def read(self):
        while b"\n" not in self.rest:
            assert select.select([self.process.stdout], [], [], 60)[0]
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            assert piece, self.process.stderr.read()
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def answer(self, number):
        while number not in self.told:
            message = self.read()
            self.told[message["id"]] = message
        return self.told.pop(number)

    def ask(self, method, params=None):
        return self.answer(self.send(method, params))

    def start(self, tool, **arguments):
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        return self.answer(self.start(tool, **arguments))["result"]

    def ok(self, tool, **arguments):
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        return result.get("structuredContent") or result["content"][0]["text"]

    def fails(self, tool, **arguments):
        result = self.call(tool, **arguments)
        assert result["isError"], result
        return result["content"][0]["text"]

    def end(self):
        if not self.process.stdout.closed:
            # It may have ended with a line half read.
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.stdout.close()
            with self.process.stderr as errors:
                self.errors = errors.read().decode()
        return self.process.wait(60), self.errors


@pytest.fixture
def serve(host):
    made = []

    def make(*options):
        made.append(Mcp(host, *options))
        return made[-1]
    yield make
    for mcp in made:
        assert mcp.end() == (0, "")


@pytest.fixture(scope="module")
def mcp(host, policy):
    """One with a sandbox that tests share which leave it as it was."""
    made = Mcp(host, "--policy", policy, "--workspace", "-")
    made.box = made.ok("sandbox_create", name="shared")["id"]
    yield made
    assert made.end() == (0, "")


# ---- the SDK ----

@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    """Where the unmodified SDK is, with our clients."""
    path = tmp_path_factory.mktemp("sdk")
    shutil.copytree(SOURCES, path, dirs_exist_ok=True)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline",
                    "--ignore-scripts", "--fetch-retries", "5"], cwd=path,
                   check=True, capture_output=True, timeout=300)
    return path


def test_the_sdk_of_npm_uses_each_tool(host, policy, sdk):
    calls = [
        ("sandbox_create", {"name": "by-sdk", "env": {"WORD": "hello"}}),
        ("command_run", {"command": "echo $WORD; cat; echo no >&2; exit 3",
                         "stdin": "given\n"}),
        ("file_write", {"path": "deep/er/note", "content": "größer\n"}),
        ("file_read", {"path": "deep/er/note"}),
        ("file_list", {"path": "deep/er"}),
        ("sandbox_events", {}), ("sandbox_list", {}), ("policy_explain", {}),
        ("policy_test", {"method": "GET", "url": "https://good.example/"}),
        ("policy_test", {"method": "GET", "url": "https://evil.example/"}),
        ("sandbox_kill", {})]
    done = subprocess.run(
        ["node", "client.mjs", str(CLI), "mcp", "--policy", str(policy),
         "--workspace", "-"], input=json.dumps(calls), cwd=sdk,
        env=host.env(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["server"]["name"] == "sallyport"
    assert "sandbox_create" in told["instructions"]
    assert {tool["name"] for tool in told["tools"]} >= {
        name for name, _ in calls}
    results = told["results"]
    assert not any(result["isError"] for result in results), results
    texts = [result["content"][0]["text"] for result in results]
    values = [result.get("structuredContent") for result in results]
    assert values[0]["state"] == "Running"
    assert values[1] == {"exit_code": 3, "stdout": "hello\ngiven\n",
                         "stderr": "no\n", "truncated": False,
                         "timed_out": False}
    assert texts[3] == "größer\n"
    assert "note" in texts[4] and "Running" in texts[5]
    assert [box["id"] for box in values[6]["sandboxes"]] == [values[0]["id"]]
    assert "good.example" in texts[7]
    assert (values[8]["verdict"], values[9]["verdict"]) == ("allow", "deny")
    assert host.state(values[0]["id"]) in OVER


def test_the_sdk_of_npm_speaks_http(host, policy, sdk):
    server = subprocess.Popen(
        [CLI, "mcp", "--listen", "127.0.0.1:0", "--policy", str(policy),
         "--workspace", "-"], env=host.env(), cwd=host.workspace,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **host.gateway.as_user)
    try:
        url = server.stdout.readline().strip()
        token = server.stdout.readline().split()[-1]
        calls = [
            ("sandbox_create", {"name": "by-http"}),
            ("command_run", {"command": "cat; exit 3", "stdin": "given\n"}),
            ("policy_test", {"method": "GET",
                             "url": "https://evil.example/"}),
            ("sandbox_kill", {})]
        done = subprocess.run(
            ["node", "http.mjs", url, token], input=json.dumps(calls),
            cwd=sdk, env={"PATH": os.environ["PATH"]}, capture_output=True,
            text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["server"]["name"] == "sallyport" and told["session"]
        assert "command_run" in {tool["name"] for tool in told["tools"]}
        values = [one["structuredContent"] for one in told["results"]]
        assert (values[1]["exit_code"], values[1]["stdout"]) == (3, "given\n")
        assert values[2]["verdict"] == "deny"
        assert told["together"]["stdout"] == "went\n"
        assert told["cancelled"] == "cancelled"
        assert told["afterwards"] == 404, told["errors"]
        wait_until(lambda: host.state(told["box"]) in OVER)
    finally:
        server.terminate()
        errors = server.communicate(timeout=120)[1]
    assert (server.returncode, errors) == (0, "")


# ---- what an agent may not ----

def test_only_its_own_sandboxes_are_in_reach(host, mcp):
    other = host.create("--workspace", "-", "--name", "other")
    for tool, more in (("command_run", {"command": "true"}),
                       ("file_read", {"path": "/etc/hostname"}),
                       ("file_write", {"path": "x", "content": ""}),
                       ("sandbox_events", {}), ("sandbox_kill", {})):
        assert "there is no sandbox" in mcp.fails(tool, sandbox=other, **more)
    assert host.state(other) == "Running"
    listed = {box["id"] for box in mcp.ok("sandbox_list")["sandboxes"]}
    assert mcp.box in listed and other not in listed
    host.ok("kill", other)
    # The twin.
    assert mcp.ok("command_run", sandbox=mcp.box,
                  command="true")["exit_code"] == 0


@pytest.mark.parametrize("name,more,words", [
    ("sandbox_create", {"policy": "/dev/null"}, "no argument policy"),
    ("sandbox_create", {"workspace": "/"}, "no argument workspace"),
    ("sandbox_create", {"name": 1}, "name must be a string"),
    ("sandbox_create", {"env": {"A=B": "x"}}, "env must hold"),
    ("sandbox_create", {"env": {"A": "x\0y"}}, "env must hold"),
    ("sandbox_create", {"env": {str(i): "" for i in range(65)}},
     "at most 64"),
    ("command_run", {}, "command is missing"),
    ("command_run", {"command": "a\0b"}, "without NUL"),
    ("command_run", {"command": "x" * 65537}, "at most 65536"),
    ("command_run", {"command": "true", "timeout_seconds": 3601},
     "from 0 to 3600"),
    ("command_run", {"command": "true", "timeout_seconds": 0}, "1 to 3600"),
    ("command_run", {"command": "true", "timeout_seconds": -1}, "from 0"),
    ("command_run", {"command": "true", "sandbox": "--help"},
     "there is no sandbox"),
    ("file_read", {"path": "/nonexistent"}, "nonexistent"),
    ("file_read", {"path": "/etc/shadow"}, "shadow"),
    ("file_read", {"path": "/bin/sh"}, "no text"),
    ("file_read", {"path": "/"}, "is there, and no directory"),
    ("file_write", {"path": "/etc/hostname", "content": ""}, "hostname"),
    ("proposal_show", {"proposal": "../policy"}, "no id"),
])
def test_what_is_refused_says_why(mcp, name, more, words):
    assert words in mcp.fails(name, **more)


def test_a_command_reaches_what_the_policy_allows_alone(mcp, origin):
    run = "curl -sS --max-time 20 -o /dev/null -w %{http_code} "
    done = mcp.ok("command_run", command=run + origin.url("/x"))
    assert done["stdout"] == "200", done
    done = mcp.ok("command_run", command=run + "https://evil.example/")
    assert "403" in done["stdout"] + done["stderr"], done


def test_a_person_is_asked_and_the_agent_sees_the_answer(gateway, mcp,
                                                         origin):
    asked = mcp.ok("proposal_create", method="POST",
                   url=origin.url("/release"), why="to release it")
    assert asked["state"] == "pending"
    done = gateway.cli("approval", "approve", asked["id"])
    assert done.returncode == 0
    shown = mcp.ok("proposal_show", proposal=asked["id"], wait_seconds=30)
    assert shown["state"] == "approved"


# ---- commands ----

def test_a_command_reads_what_it_is_given(mcp):
    for size in (0, 1, 100, 1 << 20) * 3:
        done = mcp.ok("command_run", command="wc -c", stdin="x" * size)
        assert done["stdout"] == f"{size}\n"


def test_a_command_is_killed_when_its_time_is_over(mcp):
    def killed(seconds):
        done = mcp.ok("command_run", command="echo a; sleep 1000",
                      timeout_seconds=seconds)
        assert done["stdout"] == "a\n" and done["exit_code"] != 0
    while_it_lives(killed, (1, 8))


def test_what_a_command_writes_is_bounded(mcp):
    done = mcp.ok("command_run", command="head -c 3000000 /dev/zero | tr "
                  "'\\0' a")
    assert done["truncated"] and done["stdout"] == "a" * (1 << 20)


def test_what_is_no_text_is_made_one(mcp):
    done = mcp.ok("command_run", command=r"printf 'a\377ä\000c'")
    assert done["stdout"] == "a?ä\0c"


@pytest.mark.parametrize("size,words", [
    (1 << 20, None), ((1 << 20) + 1, "larger than 1 MiB"),
    (5 << 20, "larger than 1 MiB")])
def test_what_is_read_of_a_file_is_bounded(mcp, size, words):
    mcp.ok("command_run", command=f"head -c {size} /dev/zero | tr '\\0' a "
           "> large")
    if words:
        assert words in mcp.fails("file_read", path="large")
    else:
        assert mcp.ok("file_read", path="large") == "a" * size


def test_a_cancelled_call_ends_its_command(mcp):
    mcp.ok("file_write", path="stays", content="")
    number = mcp.start("command_run",
                       command="echo $$ > began; sleep 1000 # cancelled")
    wait_until(lambda: not mcp.call("file_read", path="began")["isError"])
    mcp.write(json.dumps({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": number}}).encode())
    wait_until(lambda: mcp.ok(
        "command_run", command="kill -0 $(cat began)")["exit_code"] != 0)
    assert number not in mcp.told


def test_calls_run_at_the_same_time(mcp):
    second = mcp.start("command_run",
                       command="while ! [ -e go ]; do sleep 0.01; done")
    assert mcp.ok("command_run", command="touch go")["exit_code"] == 0
    assert mcp.answer(second)["result"]["structuredContent"]["exit_code"] == 0


def test_more_calls_than_may_run_are_refused(mcp):
    held = [mcp.start("command_run", command="while ! [ -e free ]; do "
                      "sleep 0.05; done") for _ in range(16)]
    assert "too many calls" in mcp.fails("sandbox_list")
    for number in held[:1]:
        mcp.write(json.dumps({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": number}}).encode())
    assert mcp.ok("command_run", command="touch free")["exit_code"] == 0
    for number in held[1:]:
        assert not mcp.answer(number)["result"]["isError"]


# ---- messages ----

@pytest.mark.parametrize("line,code", [
    (b"x", -32700), (b"{", -32700), (b'{"a":1,"a":2}', -32700),
    (b"[" * 100000, -32700),
    (b"[]", -32600), (b"1", -32600), (b"{}", -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":"p","method":"ping","params":[]}', -32600),
    (b'{"jsonrpc":"2.0","id":"p","method":"nothing"}', -32601),
    (b'{"jsonrpc":"2.0","id":"p","method":"tools/call"}', -32602),
    (b'{"jsonrpc":"2.0","id":"p","method":"tools/call",'
     b'"params":{"name":"nothing"}}', -32602),
])
def test_a_message_that_is_none_is_refused(mcp, line, code):
    mcp.write(line)
    assert mcp.read()["error"]["code"] == code
    assert mcp.ask("ping")["result"] == {}


def test_what_asks_for_no_answer_gets_none(mcp):
    mcp.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\r')
    mcp.write(b"")
    mcp.write(b'{"jsonrpc":"2.0","id":7,"result":{}}')
    mcp.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
              b'"params":{"requestId":"none"}}')
    assert mcp.ask("ping")["result"] == {}


@pytest.mark.parametrize("wanted,got", [
    ("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"),
    ("1999-01-01", "2025-06-18"), (None, "2025-06-18")])
def test_a_revision_that_both_know_is_spoken(mcp, wanted, got):
    answer = mcp.ask("initialize", {"protocolVersion": wanted})
    assert answer["result"]["protocolVersion"] == got


def test_a_line_that_is_too_long_ends_it(host):
    mcp = Mcp(host)
    try:
        mcp.write(b'"' + b"x" * (MAX_LINE + 1))
    except BrokenPipeError:
        pass
    assert mcp.process.wait(60) == 0
    mcp.end()


# ---- the end ----

@pytest.mark.parametrize("end", ["close", "terminate", "in a call"])
def test_its_sandboxes_end_with_the_client(host, serve, end):
    mcp = serve("--workspace", "-")
    boxes = [mcp.ok("sandbox_create")["id"] for _ in range(2)]
    if end == "terminate":
        mcp.process.terminate()
        mcp.process.wait(60)
    elif end != "close":
        mcp.start("command_run", sandbox=boxes[0], command="sleep 1000")
    mcp.end()
    for box in boxes:
        assert host.state(box) in OVER


def test_one_that_is_still_made_ends_with_the_client_too(host, serve):
    before = {box["id"] for box in host.list()}
    mcp = serve("--workspace", "-")
    mcp.start("sandbox_create")
    assert mcp.end()[0] == 0
    made = [box for box in host.list() if box["id"] not in before]
    assert len(made) == 1 and made[0]["state"] in OVER, made


def test_those_that_are_made_at_once_are_no_more_than_may_be(serve):
    mcp = serve("--workspace", "-")
    mcp.ok("sandbox_create")
    started = [mcp.start("sandbox_create") for _ in range(16)]
    answers = [mcp.answer(number)["result"] for number in started]
    assert [answer["isError"] for answer in answers].count(False) == 15
    assert len(mcp.ok("sandbox_list")["sandboxes"]) == 16


def test_sandboxes_are_kept_when_that_is_said(host, serve):
    mcp = serve("--workspace", "-", "--keep", "--timeout", "600")
    box = mcp.ok("sandbox_create")["id"]
    mcp.end()
    assert host.state(box) == "Running" and host.show(box)["expires"]
    host.ok("kill", box)


@pytest.mark.parametrize("options", [["--nothing"], ["--timeout", "0"],
                                     ["--timeout", "x"], ["word"]])
def test_wrong_options_are_told(host, options):
    done = subprocess.run([CLI, "mcp", *options], env=host.env(),
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 2 and "--help" in done.stderr


@pytest.mark.parametrize("words, code, says", [
    (["--timeout", "long"], 2, "--timeout: 'long' is no time: "),
    (["more"], 2, "what is 'more'?"),
    (["--policy", "nowhere.yaml"], 3, "--policy nowhere.yaml: No such file"),
    (["--workspace", "/nowhere"], 3, "--workspace /nowhere: No such file"),
    (["--workspace", "-"], 1, "the standard input is a file")])
def test_what_is_wrong_is_said_at_the_start(host, words, code, says):
    with open(__file__) as source, tempfile.TemporaryDirectory() as place:
        done = subprocess.run([CLI, "mcp", *words], text=True, stdin=source,
                              env=host.env() | {"TMPDIR": place}, timeout=30,
                              cwd=host.workspace, capture_output=True,
                              check=False)
        assert not os.listdir(place)
    assert done.returncode == code and says in done.stderr, done.stderr
    assert "[warn]" not in done.stderr
