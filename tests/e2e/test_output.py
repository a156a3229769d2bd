"""-o json and -o yaml: every command prints such a value, or refuses."""
import io
import itertools
import json
import re
import select
import subprocess
import tarfile

import pytest
from gateway import CLI
from host import Host
from test_approval import Curl, pending
from waiting import wait_until

# What refuses, with words that are right besides.
TEXT = {
    "sandbox cp": "a sb-x:b", "sandbox logs": "sb-x", "snapshot rm": "sn-x",
    "image rm": "x", "session revoke": "s-x", "sandbox discard": "s-x",
    "secret put": "x", "secret rotate": "x", "secret rm": "x", "mcp": "",
    "completion": "bash"}
# -o is one of the many that these do not have.
COMMANDS = {"run": "true", "srt": "true", "sandbox exec": "sb-x true"}
FILE = {"policy learn"}
# A value a line, maybe none.
ROWS = {"sandbox events", "audit tail", "audit search", "audit export",
        "push list", "approval watch"}


def run(host, *words, **more):
    return subprocess.run(
        [CLI, *map(str, words)], text=True, capture_output=True, check=False,
        env=host.env(), timeout=60,
        **{"input": "", "cwd": host.workspace, **host.gateway.as_user, **more})


class World:
    """What the words of a command are about; made when it is asked for."""

    def __init__(self, host, make_session, policies, origin, tmp_path):
        self.host = host
        self.origin = origin
        self.policy = tmp_path / "p.yaml"
        self.policy.write_text("version: 1\nname: p\n")
        self.make_session = lambda hold="30s": make_session(policies.make([
            policies.rule("good.example", methods=["POST"],
                          action="ask", hold=hold)]))
        self.curls = []

    def box(self):
        return self.host.create("--workspace", "-", "--timeout", "60")

    def paused(self):
        box = self.box()
        self.host.ok("pause", box)
        return box

    def kept(self):
        """Changes of an overlay."""
        work = self.policy.parent / "work"
        work.mkdir()
        self.policy.write_text("version: 1\nname: p\nfilesystem: "
                               "{workspace: {mode: overlay}}\n")
        done = run(self.host, "run", "--policy", self.policy, "--", "touch",
                   "new", cwd=work)
        return re.search("sandbox diff (s-.*)\n", done.stderr)[1]

    def proposal(self):
        session = self.make_session()
        self.curls.append(Curl(session, self.origin.url("/x"), "-d", "x=1"))
        return pending(self.host.gateway, session)["id"]

    def watched(self, words):
        """The first line of `approval watch`, which may not follow yet when
        something is asked for."""
        session = self.make_session(hold="100ms")
        numbers = itertools.count()
        with subprocess.Popen([CLI, *words], text=True, env=self.host.env(),
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              **self.host.gateway.as_user) as watch:
            def is_told():
                session.curl(self.origin.url(f"/{next(numbers)}"), "-d", "x")
                return select.select([watch.stdout], [], [], 0)[0]
            try:
                wait_until(is_told, every=0.3)
                return watch.stdout.readline()
            finally:
                watch.kill()

    def end(self):
        for curl in self.curls:
            curl.done()
        for box in self.host.list():
            self.host.run("kill", box["id"])


# What prints a value, with words for which there is one.
VALUES = {
    "sandbox create": lambda w: ["--workspace", "-"],
    "sandbox list": lambda w: [],
    "sandbox show": lambda w: [w.box()],
    "sandbox events": lambda w: [w.box()],
    "sandbox pause": lambda w: [w.box()],
    "sandbox resume": lambda w: [w.paused()],
    "sandbox renew": lambda w: [w.box(), "--timeout", "90"],
    "sandbox port": lambda w: [w.box(), "8000"],
    "sandbox kill": lambda w: [w.box()],
    "sandbox snapshot": lambda w: [w.box()],
    "snapshot list": lambda w: [],
    "image list": lambda w: [],
    "image pull": lambda w: ["small"],
    "config check": lambda w: ["--gateway", w.host.gateway.config],
    "config dump": lambda w: ["--host"],
    "config reload": lambda w: ["--host"],
    "session create": lambda w: ["--policy", w.policy],
    "session list": lambda w: [],
    "session show": lambda w: [w.make_session().id],
    "session renew": lambda w: [w.make_session().id, "--ttl", "900"],
    "session policy": lambda w: [w.make_session().id],
    "policy check": lambda w: [w.policy],
    "policy test": lambda w: ["--policy", w.policy, "GET",
                              "https://good.example/"],
    "policy diff": lambda w: [w.policy, w.policy],
    "policy explain": lambda w: ["--policy", w.policy],
    "policy show": lambda w: [w.policy],
    "sandbox diff": lambda w: [w.kept()],
    "sandbox commit": lambda w: [w.kept()],
    "secret list": lambda w: [],
    "approval list": lambda w: [],
    "approval approve": lambda w: [w.proposal()],
    "approval deny": lambda w: [w.proposal()],
    "approval watch": lambda w: [],
    "audit tail": lambda w: ["--session", w.make_session().id],
    "audit search": lambda w: [w.make_session().id],
    "audit export": lambda w: ["--session", w.make_session().id],
    "audit verify": lambda w: [],
    "push list": lambda w: [],
    "status": lambda w: [],
    "doctor": lambda w: [],
}
# YAML is made of the same values; these have a way of their own to it.
FORMS = [(command, "json") for command in VALUES] + [
    (command, "yaml") for command in VALUES
    if command in ROWS or command.startswith(("policy", "config"))]
CODES = {"policy test": (10,), "doctor": (0, 1)}


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    image = tmp_path_factory.mktemp("image") / "small.tar"
    with tarfile.open(image, "w") as tar:
        tar.addfile(tarfile.TarInfo("etc/name"), io.BytesIO())
    host = Host(gateway, tmp_path_factory.mktemp("host"),
                images={"small": str(image)}).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture
def world(host, make_session, policies, origin, tmp_path):
    world = World(host, make_session, policies, origin, tmp_path)
    yield world
    world.end()


def test_every_command_is_known_here_and_says_whether_it_prints_values():
    table = subprocess.run([CLI, "--help"], capture_output=True, text=True,
                           check=True).stdout.split("\n\n")[2]
    commands = {" ".join(line[:21].split()) for line in table.splitlines()}
    assert commands == {*TEXT, *COMMANDS, *FILE, *VALUES}
    for command in commands:
        helped = subprocess.run([CLI, *command.split(), "--help"], text=True,
                                capture_output=True, check=True).stdout
        usage = helped.split("\n\n")[0]
        assert ("[-o json|yaml]" in usage) == (command in VALUES), usage


@pytest.mark.parametrize("command, form", FORMS)
def test_what_has_a_value_prints_it(world, command, form):
    words = [*command.split(), *VALUES[command](world), "-o", form]
    if command == "approval watch":
        text = world.watched(words)
    else:
        done = run(world.host, *words)
        assert done.returncode in CODES.get(command, (0,)), done.stderr
        text = done.stdout
    assert text or command == "push list"
    if form == "yaml":
        assert not text or text.startswith("---\n"), text
        assert "{" not in "".join(re.findall("^.", text, re.M)), text
    elif command in ROWS:
        assert all(map(json.loads, text.splitlines())), text
    else:
        assert json.loads(text), text


@pytest.mark.parametrize("count", [1, 3])
def test_many_sandboxes_are_one_list(host, count):
    words = ["sandbox", "create", "--workspace", "-", "--timeout", "60",
             "--count", count]
    made = json.loads(run(host, *words, "-o", "json").stdout)
    assert len({box["id"] for box in made}) == count
    known = {box["id"] for box in host.list()}
    assert {box["id"] for box in made} <= known
    text = run(host, *words, "-o", "yaml").stdout
    assert text.count("---\n") == 1 and text.count("\n  id: ") == count, text
    # A table is told as it comes.
    assert len(run(host, *words).stdout.split()) == count


def test_a_list_of_sandboxes_has_those_that_were_made(host):
    done = run(host, "sandbox", "create", "--workspace", "-", "--image",
               "none", "--count", "2", "-o", "json")
    assert done.returncode != 0 and json.loads(done.stdout) == []
    assert done.stderr.count("image none") == 2, done.stderr


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("command", TEXT)
def test_what_has_none_refuses_to_print_one(host, command, form):
    words = [*command.split(), *TEXT[command].split()]
    done = run(host, *words, "-o", form, input="value")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == f"sallyport {command}: no -o {form}: " \
                          "this command prints no value\n"
    # Text is what it prints.
    done = run(host, *words, "-o", "table", input="value")
    assert done.returncode != 2, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_what_runs_commands_knows_no_such_option(host, command):
    done = run(host, *command.split(), "-o", "json",
               *COMMANDS[command].split())
    assert done.returncode == 2 and not done.stdout
    assert "invalid option -- 'o'" in done.stderr
