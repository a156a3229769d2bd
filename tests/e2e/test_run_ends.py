"""`sallyport run` beside a control that is restarted, killed while it starts,
and with a stderr that nobody reads."""
import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess

import pytest
from gateway import ApiError, CLI, wait_until

LIMITED = "version: 1\nname: p\nlimits: {memory: 256MiB, processes: 50}\n"


@pytest.fixture
def start():
    """Start a run, which ends with the test."""
    children = []

    def start_one(gateway, workspace, policy, script, **popen):
        path = gateway.dir / "policy.yaml"
        path.write_text(json.dumps(policy))
        children.append(subprocess.Popen(
            [CLI, "run", "--policy", path, "--", "sh", "-c", script],
            env=gateway.env(), cwd=workspace, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True,
            **{"stderr": subprocess.PIPE, **popen}))
        return children[-1]
    yield start_one
    for child in children:
        with child:
            child.kill()


def restart_control(gateway):
    old = gateway.pid("control")
    os.kill(old, signal.SIGKILL)

    def is_back():
        try:
            return gateway.is_ready() and gateway.pid("control") != old
        except (OSError, ValueError, ApiError, http.client.HTTPException):
            return False
    wait_until(is_back, 30)


def open_sessions(gateway):
    return [s for s in gateway.get("/v1/sessions")["sessions"]
            if not s["revoked"]]


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def test_denials_are_told_when_control_was_restarted(
        own_gateway, policies, origin, workspace, start):
    """The one that was told before is not told again."""
    child = start(own_gateway, workspace, policies.make(), f"""
        curl -s {origin.plain_url('/', 'other.example')} >/dev/null
        echo ready
        while [ ! -e go ]; do sleep 0.05; done
        curl -s {origin.plain_url('/', 'plain.example')} >/dev/null""")
    assert child.stdout.readline() == "ready\n"
    wait_until(lambda: [row for row in own_gateway.audit()
                        if "other.example" in row.get("host", "")])
    restart_control(own_gateway)
    (workspace / "go").touch()
    _, err = child.communicate(timeout=60)
    assert err.count("denied") == 2, err
    assert "plain.example" in err and "end the session" not in err
    wait_until(lambda: not open_sessions(own_gateway))


def test_a_run_that_is_killed_when_control_was_restarted_ends_its_session(
        own_gateway, policies, workspace, start):
    child = start(own_gateway, workspace, policies.make(),
                  "echo ready; sleep 1000")
    assert child.stdout.readline() == "ready\n"
    restart_control(own_gateway)
    assert open_sessions(own_gateway)
    child.kill()
    child.communicate(timeout=60)
    wait_until(lambda: not open_sessions(own_gateway), 30)


def groups(pid):
    # Not pathlib: a directory may go while it is looked at.
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if f"/sallyport-{pid}-" in path]


class DeafGateway:
    """It makes a session, and then accepts nobody on control.sock, as its
    queue is full."""

    def __init__(self, directory):
        self.control = self._listen(directory / "control.sock",
                                    socket.SOCK_STREAM)
        self.attach = self._listen(directory / "attach.sock",
                                   socket.SOCK_SEQPACKET)
        self.filler = socket.socket(socket.AF_UNIX)

    @staticmethod
    def _listen(path, kind):
        listener = socket.socket(socket.AF_UNIX, kind)
        listener.bind(str(path))
        listener.listen(0)
        listener.settimeout(30)
        return listener

    def create(self, state):
        client, _ = self.control.accept()
        self.filler.connect(self.control.getsockname())
        client.recv(65536)
        body = json.dumps({"id": "s-deaf", "lease": "l", "ca_pem": "",
                           "ca_pkcs12": "", "state": str(state)})
        client.sendall(b"HTTP/1.1 201 Created\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body)
                       + body.encode())
        return client


def test_a_run_that_is_killed_while_it_starts_leaves_no_cgroup(
        tmp_path, workspace):
    """After its sandbox was begun, whatever the gateway does."""
    for name in ("run", "state"):
        (tmp_path / name).mkdir()
    deaf = DeafGateway(tmp_path / "run")
    (workspace / "p.yaml").write_text(LIMITED)
    child = subprocess.Popen(
        [CLI, "run", "--policy", "p.yaml", "--", "sleep", "1000"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "SALLYPORT_RUN": str(tmp_path / "run")}, cwd=workspace,
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with deaf.create(tmp_path / "state"):
            # The sandbox was begun before this.
            deaf.attach.accept()
            child.kill()
            child.wait()
            wait_until(lambda: not groups(child.pid), 30)
    finally:
        child.kill()
        child.wait()


def test_a_run_whose_stderr_nobody_reads_ends(own_gateway, policies, origin,
                                              workspace, start):
    """Full from the beginning: nothing can ever be told."""
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    assert os.write(writer, b"x" * size) == size
    os.set_blocking(writer, True)
    child = start(own_gateway, workspace, policies.make(),
                  f"curl -s {origin.plain_url('/', 'other.example')}; exit 5",
                  stderr=writer)
    os.close(writer)
    try:
        child.communicate(timeout=60)
        assert child.returncode == 5
        wait_until(lambda: not open_sessions(own_gateway))
    finally:
        os.close(reader)


# ---- a gateway that is busy ----

def test_a_run_waits_for_its_turn_and_says_so(make_gateway, policies,
                                              workspace, start):
    gateway = make_gateway("one", limits={"sessions": 1})
    first = start(gateway, workspace, policies.make(), """
        echo ready
        while [ ! -e go ]; do sleep 0.05; done""")
    assert first.stdout.readline() == "ready\n"
    second = start(gateway, workspace, policies.make(), "echo its turn")
    told = second.stderr.readline()
    assert "waiting for a turn, at most 20 s" in told, told
    (workspace / "go").touch()
    assert first.wait(60) == 0
    out, err = second.communicate(timeout=60)
    assert (second.returncode, out, err) == (0, "its turn\n", "")
    # Alone it waits for nothing.
    third = start(gateway, workspace, policies.make(), "echo at once")
    assert third.communicate(timeout=60) == ("at once\n", "")
    gateway.stop()
    gateway.check()


def test_a_run_that_waits_can_be_interrupted(make_gateway, policies,
                                             workspace, start):
    gateway = make_gateway("two", limits={"sessions": 1})
    first = start(gateway, workspace, policies.make(), """
        echo ready
        while [ ! -e go ]; do sleep 0.05; done""")
    assert first.stdout.readline() == "ready\n"
    second = start(gateway, workspace, policies.make(), "echo never")
    assert "waiting for a turn" in second.stderr.readline()
    second.send_signal(signal.SIGTERM)
    assert second.communicate(timeout=15)[0] == ""
    assert second.returncode != 0
    (workspace / "go").touch()
    assert first.wait(60) == 0
    gateway.stop()
    gateway.check()
