"""Terminals and contexts of code are their sandbox's: they outlive the process
that serves the API, and the daemon, and end with the sandbox."""
import pathlib
import re
import time

import pytest
from api import Api
from api_ends import ENDS, come_back, kill_api
from execd import Execd, Terminal, events_of
from waiting import wait_until
from websocket import BINARY, PING, frame, read_message


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("residents")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture
def box(host):
    box = host.create("--workspace", "-")
    yield box
    host.run("kill", box)


def runs_anywhere(words):
    """Is there a process on the host with that in its command line?"""
    def words_of(process):
        try:
            return (process / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            return b""
    return any(words in words_of(path).decode(errors="replace")
               for path in pathlib.Path("/proc").glob("[0-9]*"))


# ---- terminals ----

def open_pty(execd, **body):
    return execd.json("POST", "/pty", body, 201)["session_id"]


def look(execd, name, query="", tries=True):
    """A client of it, once whoever was there before is known to be gone."""
    terminal = None

    def is_free():
        nonlocal terminal
        terminal = Terminal(execd, name, query)
        return terminal.status != 409 or not tries
    wait_until(is_free)
    if terminal.status == 101:
        terminal.wait("connected")
    return terminal


def pid_in(terminal):
    terminal.type("echo pid=$$=\n")
    while not (found := re.search(rb"pid=(\d+)=", terminal.output)):
        assert terminal.hear(), terminal.output
    return int(found[1])


@pytest.mark.parametrize("query", ["", "?pty=0"], ids=["pty", "pipe"])
@pytest.mark.parametrize("end", ENDS)
def test_a_terminal_goes_on_with_what_it_wrote_when(host, box, end, query):
    execd = Execd(host, box)
    name = open_pty(execd)
    terminal = look(execd, name, query)
    pid = pid_in(terminal)
    terminal.type("A='x y'; (until [ -e go ]; do sleep 0.05; "
                  "done; echo mean''while; touch done) & cd /tmp\n")
    terminal.type("echo re''ady\n")
    terminal.until("ready")
    offset = len(terminal.output)
    work = pathlib.Path(host.show(box)["workspace"])
    ENDS[end](host)
    (work / "go").touch()
    wait_until((work / "done").exists)
    come_back(host)
    assert execd.json("GET", f"/pty/{name}")["running"]
    again = look(execd, name, f"{query or '?pty=1'}&since={offset}")
    start, replay = again.replay
    assert start == offset and b"meanwhile" in replay
    assert b"pid=" not in replay
    assert pid_in(again) == pid
    again.type("echo \"$A $PWD\"; exit 7\n")
    again.until("x y /tmp")
    assert again.wait("exit")["exit_code"] == 7
    assert execd.json("GET", f"/pty/{name}")["running"] is False
    assert execd.ask("DELETE", f"/pty/{name}")[0] == 200
    assert execd.ask("GET", f"/pty/{name}")[0] == 404


def test_one_that_ended_meanwhile_is_replayed_and_starts_anew(host, box):
    execd = Execd(host, box)
    name = open_pty(execd, command="echo here; until [ -e go ]; do "
                                   "sleep 0.05; done; echo last; exit 3")
    look(execd, name).until("here")
    kill_api(host)
    pathlib.Path(host.show(box)["workspace"], "go").touch()
    come_back(host)
    wait_until(lambda: not execd.json("GET", f"/pty/{name}")["running"])
    terminal = look(execd, name)
    assert terminal.replay == (0, b"here\r\nlast\r\n")
    assert terminal.wait("exit")["exit_code"] == 3
    assert terminal.output == b"here\r\nlast\r\n"


def test_more_than_is_kept_is_written_without_anybody(host, box):
    """It does not wait for a client that is gone with the API."""
    execd = Execd(host, box)
    name = open_pty(execd, command="until [ -e go ]; do sleep 0.05; done; "
                                   "yes | head -c 3000000; sleep 74.5")
    look(execd, name, "?pty=0")
    kill_api(host)
    pathlib.Path(host.show(box)["workspace"], "go").touch()
    come_back(host)
    wait_until(lambda: execd.json(
        "GET", f"/pty/{name}")["output_offset"] == 3000000)
    start, replay = look(execd, name).replay
    assert start == 3000000 - 256 * 1024
    assert replay == b"y\n" * (128 * 1024)


def test_a_terminal_ends_with_its_sandbox_and_nothing_stays(host, box):
    execd = Execd(host, box)
    names = [open_pty(execd, command=f"echo up; sleep 75.{n}; true")
             for n in (5, 6)]
    terminals = [look(execd, name) for name in names]
    for terminal in terminals:
        terminal.until("up")
    kill_api(host)
    come_back(host)
    seen = look(execd, names[0])
    # Its twin: they were there after the API's end.
    assert runs_anywhere("sleep 75.5") and runs_anywhere("sleep 75.6")
    host.ok("kill", box)
    assert seen.wait("exit")["exit_code"] == -1
    wait_until(lambda: not runs_anywhere("sleep 75.5")
               and not runs_anywhere("sleep 75.6"))


@pytest.mark.parametrize("make,path,most", [
    ("/pty", "/pty/{}", 16), ("/code/context", "/code/contexts/{}", 8)])
def test_so_many_are_there_and_no_more_also_after(host, box, make, path, most):
    execd = Execd(host, box)
    body, status = ({}, 201) if make == "/pty" else (
        {"language": "python"}, 200)

    def add():
        got, _, text = execd.ask("POST", make, body)
        return got, text
    names = [execd.json("POST", make, body, status) for _ in range(most)]
    names = [name.get("session_id", name.get("id")) for name in names]
    kill_api(host)
    come_back(host)
    got, text = add()
    assert got == 429 and str(most).encode() in text
    assert execd.ask("DELETE", path.format(names[0]))[0] == 200
    assert add()[0] == status and add()[0] == 429
    other = Execd(host, host.create("--workspace", "-"))
    assert other.ask("POST", make, body)[0] == status


def test_nobody_else_looks_at_one_or_ends_it(host, box):
    ours = Execd(host, box)
    theirs = Execd(host, host.create("--workspace", "-"))
    pty = open_pty(ours)
    look(ours, pty).close()
    context = ours.json("POST", "/code/context", {"language": "python"})["id"]
    kill_api(host)
    come_back(host)
    for who, good in ((theirs, False), (ours, True)):
        assert look(who, pty, "?takeover=1").status == (101 if good else 404)
        assert who.json("GET", "/code/contexts") == (
            [{"id": context, "language": "python"}] if good else [])
        got = who.ask("POST", "/code", {"context": {"id": context},
                                        "code": "1"})[0]
        assert got == (200 if good else 404)
        for method, path in (("GET", f"/pty/{pty}"),
                             ("DELETE", f"/code?id={context}"),
                             ("GET", f"/code/contexts/{context}"),
                             ("DELETE", f"/code/contexts/{context}"),
                             ("DELETE", f"/pty/{pty}")):
            assert who.ask(method, path)[0] == (200 if good else 404), path
    # A kind's id is none of the other's.
    pty = open_pty(ours)
    assert ours.ask("GET", f"/code/contexts/{pty}")[0] == 404
    assert ours.ask("GET", f"/pty/{pty}")[0] == 200


@pytest.mark.parametrize("name", [
    "pty-", "pty-" + "a" * 26, "x" * 300, "pty-" + "%c3%a9" * 14, "%20"])
def test_an_id_of_nothing_is_none(host, box, name):
    execd = Execd(host, box)
    for method, path in (("GET", f"/pty/{name}"), ("DELETE", f"/pty/{name}"),
                         ("GET", f"/code/contexts/{name}"),
                         ("DELETE", f"/code/contexts/{name}"),
                         ("DELETE", f"/code?id={name}")):
        assert execd.ask(method, path)[0] == 404
    assert execd.ask("POST", "/code", {"context": {"id": "x" * 300},
                                       "code": "1"})[0] == 404


def test_a_bad_handshake_sends_nobody_away(host, box):
    execd = Execd(host, box)
    name = open_pty(execd)
    one = look(execd, name)
    connection = execd.connect()
    connection.request("GET", f"{execd.prefix}/pty/{name}/ws?takeover=1",
                       headers={**execd.headers, "Upgrade": "websocket",
                                "Connection": "Upgrade"})
    assert connection.getresponse().status == 400
    connection.close()
    one.type("echo st''ill\n")
    one.until("still")
    # Its twin, whose handshake is good.
    look(execd, name, "?takeover=1")
    assert one.wait_closed() == 4001


def test_what_is_typed_with_the_handshake_arrives(host, box):
    """It does not wait for more to come, as the answer to a ping."""
    execd = Execd(host, box)
    terminal = Terminal(execd, open_pty(execd),
                        early=frame(BINARY, b"\0echo e''arly\n"))
    heard = b""
    while b"early" not in heard:
        opcode, data = read_message(terminal.client.stream)
        assert opcode != PING
        heard += data
    terminal.close()


# ---- contexts ----

def run(execd, code, context=None):
    """(outputs, error) of a cell."""
    body = {"code": code}
    if context:
        body["context"] = {"id": context}
    outputs, error = [], None
    for event in execd.stream("/code", body):
        if event["type"] in ("stdout", "result"):
            outputs.append(event.get("text") or event["results"]["text/plain"])
        elif event["type"] == "error":
            error = event["error"]["ename"]
    return outputs, error


def new_context(execd):
    return execd.json("POST", "/code/context", {"language": "python"})["id"]


def begun(execd, context, code, first=""):
    """A cell that runs, after `first` and `up`."""
    connection, response = execd.open("POST", "/code", {
        "context": {"id": context},
        "code": f"{first}\nprint('up')\n{code}"})
    for event in events_of(response):
        if event["type"] == "stdout":
            return connection, response
    raise AssertionError("it ended")


@pytest.mark.parametrize("end", ENDS)
def test_a_context_keeps_its_variables_when(host, box, end):
    execd = Execd(host, box)
    idle, busy = new_context(execd), new_context(execd)
    assert run(execd, "x = 1\nimport os\nos.getpid()")[1] is None
    pid = run(execd, "os.getpid()")[0]
    assert run(execd, "x = 2", idle) == ([], None)
    assert run(execd, "x = 3", busy) == ([], None)
    # It says much, of which a part is on its way.
    connection, response = begun(
        execd, busy, "import time\nwhile True:\n"
                     "    print('y' * 5000)\n    time.sleep(0.001)", "x = 4")
    ENDS[end](host)
    response.close()
    connection.close()
    come_back(host)
    assert {one["id"] for one in execd.json("GET", "/code/contexts")} > {
        idle, busy}
    assert run(execd, "print(x)\nos.getpid()") == (["1\n"] + pid, None)
    assert run(execd, "x", idle) == (["2"], None)
    # What ran there was interrupted, and nothing of it is told to others.
    assert run(execd, "x", busy) == (["4"], None)
    assert run(execd, "1 / 0", idle) == ([], "ZeroDivisionError")
    assert execd.ask("DELETE", "/code/contexts")[0] == 200
    assert execd.json("GET", "/code/contexts") == []


def test_a_cell_that_is_not_interrupted_keeps_its_context(host, box):
    execd = Execd(host, box)
    context = new_context(execd)
    workspace = pathlib.Path(host.show(box)["workspace"])
    connection, response = begun(
        execd, context, "import os, time\nn = 0\nwhile True:\n    try:\n"
        "        open('caught', 'w').close()\n"
        "        if os.path.exists('go'):\n            break\n"
        "        time.sleep(0.05)\n    except KeyboardInterrupt:\n"
        "        n += 1\n")
    # Before that the interrupt would end it.
    wait_until((workspace / "caught").exists)
    kill_api(host)
    response.close()
    connection.close()
    come_back(host)
    got, _, text = execd.ask("POST", "/code", {
        "context": {"id": context}, "code": "touched = 1"})
    assert got == 409 and b"runs something" in text
    (workspace / "go").touch()
    # What was refused was never run.
    assert run(execd, "n > 0, 'touched' in globals()", context) == (
        ["(True, False)"], None)


def test_what_nobody_waits_for_can_still_be_interrupted(host, box):
    """Its client has gone, and it did not heed that."""
    execd = Execd(host, box)
    context = new_context(execd)
    work = pathlib.Path(host.show(box)["workspace"])
    connection, response = begun(
        execd, context, "import time\nn = 0\nwhile n < 2:\n    try:\n"
        "        open(f'n{n}', 'w').close()\n        time.sleep(300)\n"
        "    except KeyboardInterrupt:\n        n += 1\n")
    wait_until((work / "n0").exists)
    response.close()
    connection.close()
    wait_until((work / "n1").exists)
    assert execd.ask("DELETE", f"/code?id={context}")[0] == 200
    assert run(execd, "n", context) == (["2"], None)


def test_a_context_whose_client_left_meanwhile_is_none(host, box):
    """Wherever it was: asked for, made, taken, started."""
    execd = Execd(host, box)
    for tenths in range(60):
        connection = execd.connect()
        connection.request("POST", f"{execd.prefix}/code/context",
                           '{"language": "python"}',
                           {**execd.headers,
                            "Content-Type": "application/json"})
        time.sleep(tenths / 10000)
        connection.close()
    wait_until(lambda: execd.json("GET", "/code/contexts") == [])
    # Its twin: who waits gets one.
    context = new_context(execd)
    assert run(execd, "1", context) == (["1"], None)


@pytest.mark.parametrize("end", ENDS)
def test_a_context_that_was_being_started_is_none_when(host, end):
    """Nobody has heard of it, so nobody could use it."""
    box = host.create("--workspace", "-", "-e", "PYTHONPATH=.")
    execd = Execd(host, box)
    context = new_context(execd)
    work = pathlib.Path(host.show(box)["workspace"])
    (work / "IPython.py").write_text(
        "open('up', 'w').close()\nimport time\ntime.sleep(78.5)\n")
    connection = execd.connect()
    connection.request("POST", f"{execd.prefix}/code/context",
                       '{"language": "python"}',
                       {**execd.headers, "Content-Type": "application/json"})
    wait_until((work / "up").exists)
    assert len(execd.json("GET", "/code/contexts")) == 2
    ENDS[end](host)
    connection.close()
    come_back(host)
    # Its twin was told to somebody.
    wait_until(lambda: execd.json("GET", "/code/contexts") == [
        {"id": context, "language": "python"}])
    assert run(execd, "1", context) == (["1"], None)
    host.ok("kill", box)


def test_a_context_ends_with_its_sandbox_and_nothing_stays(host, box):
    execd = Execd(host, box)
    run(execd, "import subprocess\n"
               "subprocess.Popen(['sleep', '76.5']).poll()")
    kill_api(host)
    come_back(host)
    connection, response = begun(execd, new_context(execd),
                                 "import time\ntime.sleep(90)")
    assert runs_anywhere("sleep 76.5")
    host.ok("kill", box)
    last = list(events_of(response))[-1]
    assert last["error"]["ename"] == "KernelError"
    connection.close()
    wait_until(lambda: not runs_anywhere("sleep 76.5"))


def test_of_one_that_rests_it_is_known_what_there_is(host, box):
    execd = Execd(host, box)
    pty = open_pty(execd)
    look(execd, pty).close()
    if host.run("pause", box).returncode == 0:
        assert execd.json("GET", f"/pty/{pty}")["running"]
        assert execd.json("GET", "/code/contexts") == []
        assert execd.ask("POST", "/code", {"code": "1"})[0] == 409
        host.ok("resume", box)
    assert run(execd, "1") == (["1"], None)
