"""A gateway that `sallyport run` starts in place of one that was there: with
the same configuration, or not at all, and after the other has stopped."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import time

import pytest
from gateway import PROGRAM
from waiting import wait_until

STOP_MAX_S = 13


@pytest.fixture
def web(policies):
    return policies.make([policies.rule("good.example", "plain.example",
                                        paths=["/**"])])


@pytest.fixture
def make(make_gateway):
    made = []

    def make_one(**config):
        made.append(make_gateway("start", config=config))
        return made[-1]
    yield make_one
    for gateway in made:
        gateway.stop()
        # One that a run started ends two seconds after.
        wait_until(lambda: is_free(gateway), 30)
        gateway.check()


def is_free(gateway):
    """No gateway has the directory."""
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import fcntl, sys\n"
         "with open(sys.argv[1], 'r+') as file:\n"
         "    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
         gateway.run_dir / "lock"], stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


@pytest.fixture
def guardrail(tmp_path, policies):
    path = tmp_path / "guardrail.yaml"
    path.write_text(json.dumps({"version": 1, "network": {
        "rules": [{"hosts": ["good.example"], "ports": policies.ports,
                   "action": "allow"}], "addresses": policies.addresses}}))
    return path


def nobody_listens(gateway):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(gateway.run_dir / "control.sock")) != 0


def fetched(gateway, web, origin, workspace):
    done = gateway.run(web, ["curl", "-s", "-o", "/dev/null", "-w",
                             "%{http_code}", origin.plain_url(
                                 "/", "plain.example")], workspace)
    assert done.stdout, done.stderr
    return done.stdout


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL],
                         ids=["stopped", "killed"])
@pytest.mark.parametrize("is_guarded, status", [(True, "403"),
                                                (False, "200")],
                         ids=["guarded", "not"])
def test_an_operators_guardrail_outlives_the_gateway(
        make, web, origin, workspace, guardrail, end, is_guarded, status):
    gateway = make(**{"guardrail": str(guardrail)} if is_guarded else {})
    assert fetched(gateway, web, origin, workspace) == status
    gateway.process.send_signal(end)
    gateway.process.wait(20)
    if end == signal.SIGKILL:
        gateway.process = None
    # Its processes end a moment later.
    wait_until(lambda: nobody_listens(gateway))
    # Also for the one after the one that was started for a command.
    for _ in range(2):
        assert fetched(gateway, web, origin, workspace) == status
        wait_until(lambda: is_free(gateway), 30)


def test_without_its_configuration_none_is_started(make, web, workspace):
    gateway = make()
    left = gateway.run_dir / "configuration"
    assert left.read_text() == str(gateway.config)
    assert left.stat().st_mode & 0o777 == 0o600
    gateway.stop()
    gateway.config.rename(gateway.dir / "elsewhere")
    done = gateway.run("version: 1\nname: p\n", "echo hello", workspace)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{gateway.config} can not be read" in done.stderr
    assert f"or remove {left}" in done.stderr
    left.unlink()
    done = gateway.run("version: 1\nname: p\n", "echo hello", workspace)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "gone"])
def test_a_command_can_not_change_what_the_next_one_is_started_with(
        make, workspace, is_there):
    gateway = make()
    named, other = workspace / "gateway.yaml", workspace / "other.yaml"
    # One that stands in the workspace, where its operator works.
    (gateway.run_dir / "configuration").write_text(str(named))
    if is_there:
        named.write_text(gateway.config.read_text())
        other.write_text("y")
    done = gateway.run("version: 1\nname: p\n",
                       "rm -f gateway.yaml; echo x > gateway.yaml;"
                       "mv other.yaml gateway.yaml; echo x > other.yaml", workspace)
    assert done.returncode == 0, done.stderr
    assert other.read_text() == "x\n"
    assert named.exists() == is_there
    if is_there:
        assert named.read_text() == gateway.config.read_text()


def test_one_that_stops_is_waited_for(make, workspace):
    """It is held up by its ledger."""
    gateway = make()
    ledger = os.pidfd_open(gateway.pid("ledger"))
    signal.pidfd_send_signal(ledger, signal.SIGSTOP)
    try:
        gateway.process.terminate()
        wait_until(lambda: not (gateway.run_dir / "control.sock").exists())
        assert gateway.process.poll() is None
        done = gateway.run("version: 1\nname: p\n", "echo hello", workspace)
        assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
        gateway.process.wait(20)
    finally:
        # It would be there for ever.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(ledger, signal.SIGKILL)
        os.close(ledger)


def test_one_that_runs_is_not(make):
    gateway = make()
    other = gateway.dir / "other.yaml"
    other.write_text(gateway.config.read_text())
    began = time.monotonic()
    done = subprocess.run([PROGRAM, "-c", other], check=False,
                          capture_output=True, text=True, env=gateway.env(),
                          timeout=60)
    assert done.returncode == 1 and "running already" in done.stderr
    assert time.monotonic() - began < STOP_MAX_S
    # What the second one was told is not what the next one is.
    assert (gateway.run_dir / "configuration").read_text() == \
        str(gateway.config)
