"""/code: Python in a sandbox that keeps its variables."""
import json
import os
import pathlib
import re
import signal
import threading
import time

import pytest
from api import Api
from execd import Execd, events_of
from waiting import wait_until


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("code")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture(scope="module")
def execd(host):
    return Execd(host, host.create("-e", "PATH=/usr/bin:/bin"))


def run(execd, code, context=None):
    """The events but for pings, by kind."""
    body = {"code": code, "context": {"language": "python"}}
    if context:
        body["context"]["id"] = context
    events = [event for event in execd.stream("/code", body)
              if event["type"] != "ping"]
    assert events[0]["type"] == "init"
    got = {"stdout": "", "stderr": "", "result": []}
    for event in events[1:]:
        if event["type"] in ("stdout", "stderr"):
            got[event["type"]] += event["text"]
        elif event["type"] == "result":
            got["result"].append(event["results"])
        else:
            got[event["type"]] = event.get("error", event.get(
                "execution_count", True))
    assert ("error" in got) != ("execution_complete" in got), events
    return got


def test_variables_are_kept_and_results_are_told(execd):
    assert run(execd, "x = 20\nprint('one')\nx + 1") == {
        "stdout": "one\n", "stderr": "", "result": [{"text/plain": "21"}],
        "execution_count": 1, "execution_complete": True}
    got = run(execd, "import sys, os\nprint(x, file=sys.stderr)\n"
                     "from IPython.display import HTML, display\n"
                     "display(HTML('<b>bold</b>'))\nx * 2")
    assert got["stderr"] == "20\n"
    assert got["result"][0]["text/html"] == "<b>bold</b>"
    assert got["result"][1] == {"text/plain": "40"}
    assert got["execution_count"] == 2
    assert run(execd, "sum(range(10)); None")["result"] == []


def test_errors_are_pythons_own(execd):
    got = run(execd, "print('before')\n1 / 0")
    assert got["stdout"] == "before\n"
    assert got["error"]["ename"] == "ZeroDivisionError"
    assert got["error"]["evalue"] == "division by zero"
    assert "1 / 0" in got["error"]["traceback"][0]
    assert run(execd, "def")["error"]["ename"] == "SyntaxError"
    assert run(execd, "input()")["error"]["ename"] in ("EOFError",
                                                       "StdinNotImplementedError")
    assert "execution_complete" in run(execd, "1")


def test_a_nul_in_what_is_said_costs_no_event(execd):
    got = run(execd, "print('a\\0b')\nraise ValueError('c\\0d')")
    assert got["stdout"] == "a\ufffdb\n"
    assert got["error"]["evalue"] == "c\ufffdd"
    assert run(execd, "'e\\0f'")["result"] == [{"text/plain": "'e\\x00f'"}]


@pytest.mark.parametrize("code", [
    "builtins.len = None", "builtins.isinstance = None", "del builtins.str",
    "builtins.Exception = builtins.BaseException = None",
    "del builtins.__import__", "vars(builtins).clear()",
    "import json; json.dumps = json.loads = None"])
def test_builtins_that_a_cell_spoils_cost_no_variables(execd, code):
    run(execd, "import builtins\nkept = 42")
    run(execd, code)
    got = run(execd, "print('said')\nkept")
    assert (got["stdout"], got["result"]) == ("said\n", [
        {"text/plain": "42"}])
    assert "execution_complete" in got


def test_what_is_too_large_for_an_event_costs_no_variables(execd):
    assert "execution_complete" in run(execd, "kept = 42")
    for code in ("'x' * 5_000_000", "'\u20ac' * 3_000_000"):
        text, = [one["text/plain"] for one in run(execd, code)["result"]]
        assert text[1:9] in ("x" * 8, "\u20ac" * 8) and len(text) > 100_000
        assert text.endswith("00002 characters)")
    got = run(execd, "raise ValueError('\u20ac' * 3_000_000)")["error"]
    assert got["ename"] == "ValueError" and got["evalue"][:8] == "\u20ac" * 8
    assert got["evalue"].endswith("(3000000 characters)")
    # A part of a picture is none.
    results = [one for size in (2, 6) for one in run(
        execd, "from IPython.display import display\ndisplay({'image/png': "
        f"'a' * {size} * 1_000_000, 'text/plain': 'it'}}, raw=True)")["result"]]
    assert [set(one) for one in results] == [{"image/png", "text/plain"},
                                             {"text/plain"}]
    # What a cell does to the streams is its own.
    run(execd, "import sys\nold = sys.stdout\nsys.stdout = None")
    run(execd, "sys.stdout = old")
    assert run(execd, "print(kept)")["stdout"] == "42\n"


def test_what_programs_write_is_told_too(execd):
    got = run(execd, "import os, time\nos.system('echo from a program')\n"
                     "time.sleep(0.3)\nprint('\\udc80\\u00e4')")
    assert "from a program\n" in got["stdout"] and "?\u00e4" in got["stdout"]


def test_contexts_are_apart_and_can_be_deleted(host, execd):
    one = execd.json("POST", "/code/context", {"language": "python"})
    two = execd.json("POST", "/code/context", {"language": "python"})
    assert one["language"] == "python" and one["id"] != two["id"]
    run(execd, "y = 1", one["id"])
    assert run(execd, "y", two["id"])["error"]["ename"] == "NameError"
    assert run(execd, "y", one["id"])["result"] == [{"text/plain": "1"}]
    listed = execd.json("GET", "/code/contexts?language=python")
    assert one in listed and two in listed
    assert execd.json("GET", f"/code/contexts/{one['id']}") == one
    other = Execd(host, host.create())
    assert other.ask("GET", f"/code/contexts/{one['id']}")[0] == 404
    assert execd.ask("DELETE", f"/code/contexts/{one['id']}")[0] == 200
    assert execd.ask("GET", f"/code/contexts/{one['id']}")[0] == 404
    assert execd.ask("DELETE", "/code/contexts?language=python")[0] == 200
    assert execd.json("GET", "/code/contexts") == []


def begun(execd, context, code):
    """A cell that runs: its connection and answer, after `up`."""
    connection, response = execd.open("POST", "/code", {
        "context": {"id": context}, "code": "print('up')\n" + code})
    for event in events_of(response):
        if event["type"] == "stdout":
            return connection, response
    raise AssertionError("it ended")


def test_a_cell_is_interrupted_and_its_context_goes_on(execd):
    context = execd.json("POST", "/code/context",
                         {"language": "python"})["id"]
    run(execd, "z = 5", context)
    connection, response = begun(execd, context,
                                 "import time\ntime.sleep(90)")
    assert execd.ask("POST", "/code", {"context": {"id": context},
                                       "code": "1"})[0] == 409
    assert execd.ask("DELETE", f"/code?id={context}")[0] == 200
    last = [event for event in events_of(response)][-1]
    assert last["error"]["ename"] == "KeyboardInterrupt"
    connection.close()
    assert run(execd, "z", context)["result"] == [{"text/plain": "5"}]
    # So is one whose client goes away.
    connection, response = begun(execd, context, "time.sleep(91)")
    response.close()
    connection.close()
    wait_until(lambda: execd.ask("POST", "/code", {
        "context": {"id": context}, "code": "1"})[0] == 200)


def test_an_interrupt_is_for_what_ran_when_it_was_asked_for(host):
    """Process 1, which sends it, is late: the next cell is later."""
    box = host.create("--workspace", "-", "-e", "PATH=/usr/bin:/bin")
    execd = Execd(host, box)
    context = execd.json("POST", "/code/context",
                         {"language": "python"})["id"]
    work = pathlib.Path(host.show(box)["workspace"])
    connection, response = begun(
        execd, context, "import os, time\n"
        "while not os.path.exists('go'):\n    time.sleep(0.01)")
    first = host.show(box)["pid"]
    os.kill(first, signal.SIGSTOP)
    assert execd.ask("DELETE", f"/code?id={context}")[0] == 200
    (work / "go").touch()
    assert [event["type"] for event in events_of(response)][-1] == (
        "execution_complete")
    connection.close()
    got = []
    thread = threading.Thread(target=lambda: got.append(run(
        execd, "open('next', 'w').close()\ntime.sleep(2)\n7", context)))
    thread.start()
    # Time for the next one to begin, where nothing holds it up.
    for _ in range(20):
        if not (work / "next").exists():
            time.sleep(0.05)
    os.kill(first, signal.SIGCONT)
    thread.join()
    assert got[0].get("error") is None, got
    assert got[0]["result"] == [{"text/plain": "7"}]
    # Its twin: what runs is interrupted.
    connection, response = begun(execd, context, "time.sleep(90)")
    assert execd.ask("DELETE", f"/code?id={context}")[0] == 200
    assert list(events_of(response))[-1]["error"]["ename"] == (
        "KeyboardInterrupt")
    connection.close()
    host.ok("kill", box)


def test_a_context_that_ends_says_so(execd):
    context = execd.json("POST", "/code/context",
                         {"language": "python"})["id"]
    got = run(execd, "import os; os._exit(3)", context)
    assert got["error"]["ename"] == "KernelError"
    assert execd.ask("GET", f"/code/contexts/{context}")[0] == 404


def test_contexts_are_bounded_and_languages_known(host, execd):
    status, _, text = execd.ask("POST", "/code/context", {"language": "go"})
    assert status == 501 and "python" in json.loads(text)["message"]
    for body in ({}, {"code": 5}, {"code": ""}, {"code": "1", "context": 5},
                 {"code": "x" * 600000}):
        assert execd.ask("POST", "/code", body)[0] == 400
    assert execd.ask("POST", "/code", {
        "code": "1", "context": {"id": "py-unknown"}})[0] == 404
    other = Execd(host, host.create())
    results = []

    def make():
        results.append(other.ask("POST", "/code/context",
                                 {"language": "python"})[0])
    threads = [threading.Thread(target=make) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200] * 8 + [429] * 2


def test_without_ipython_it_says_what_to_install(host):
    execd = Execd(host, host.create("-e", "PYTHONPATH=."))
    assert execd.run("echo 'raise ImportError(1)' > IPython.py")[0] == 0
    status, _, text = execd.ask("POST", "/code", {"code": "1"})
    assert status == 501 and "python3-ipython" in json.loads(text)["message"]
    # A twin: what lies in the workspace is not taken for it.
    execd = Execd(host, host.create())
    assert execd.run("echo 'raise ImportError(1)' > IPython.py; "
                     "echo N = 4 > mine.py")[0] == 0
    assert run(execd, "import mine; mine.N")["result"] == [{"text/plain": "4"}]


def test_a_context_holds_nothing_of_the_hosts(execd):
    """G13: no directory, no socket of the service's."""
    got = run(execd, "import os\nfor fd in os.listdir('/proc/self/fd'):\n"
              "    try:\n"
              "        print(os.readlink(f'/proc/self/fd/{fd}'))\n"
              "    except OSError:\n        pass")
    held = got["stdout"].split()
    assert len(held) >= 3, got
    assert [to for to in held
            if not re.fullmatch(r"/dev/null|pipe:\[\d+\]", to)] == []
