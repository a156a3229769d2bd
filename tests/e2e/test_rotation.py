"""A secret, and the vault's key, are given another while requests go on: not
one of them fails, and what begins afterwards has the new value."""
import os
import threading

import pytest
from token_double import API, TokenDouble
from waiting import wait_until

PID = os.getpid()
OLD = "the-first-value-of-this-token"


@pytest.fixture(scope="module")
def double(pki, origin):
    double = TokenDouble(f"127.{64 + (PID >> 8) % 128}.{PID & 255}.21",
                         origin.port, pki[0][API])
    yield double
    double.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, double):
    gateway = make_gateway("rotate", secret=False, config={
        "dns": {"hosts": {API: double.address}}})
    gateway.put_secret("api", OLD)
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def session(make_session, policies, double):
    return make_session({
        "version": 1,
        "network": {"rules": [{"hosts": [API], "ports": [double.port],
                               "paths": ["/**"], "credential": "api",
                               "action": "allow"}],
                    "addresses": {"allow": [f"{double.address}/32"]}},
        "credentials": [{"name": "api", "secret": "api", "attach": "bearer",
                         "hosts": [API]}]})


class Client(threading.Thread):
    """Requests one after the other, until told to stop."""

    def __init__(self, session, port, path):
        super().__init__(daemon=True)
        self.session, self.port, self.path = session, port, path
        self.done, self.failures, self.stopping = 0, [], False

    def one(self, stream):
        stream.sendall(f"GET {self.path} HTTP/1.1\r\n"
                       f"Host: {API}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n{\"seen\": true}" not in answer:
            piece = stream.recv(65536)
            if not piece or b"egress denied" in answer:
                self.failures.append(answer)
                return
            answer += piece
        if b" 200 " not in answer.split(b"\r\n")[0]:
            self.failures.append(answer)
        self.done += 1

    def run(self):
        try:
            while not self.stopping:
                with self.session.connect_tls(API, self.port) as stream:
                    for _ in range(5):
                        self.one(stream)
        except Exception as error:  # pylint: disable=broad-except
            self.failures.append(repr(error))


@pytest.fixture
def load(session, double):
    clients = [Client(session, double.port, f"/load/{i}") for i in range(2)]
    for client in clients:
        client.start()
    wait_until(lambda: all(client.done for client in clients))
    yield clients
    before = [client.done for client in clients]
    wait_until(lambda: all(client.done > n or client.failures
                           for client, n in zip(clients, before)))
    for client in clients:
        client.stopping = True
    for client in clients:
        client.join(30)
        assert not client.is_alive() and not client.failures, client.failures


def test_no_request_fails_and_the_next_has_the_new_value(gateway, session,
                                                         double, load):
    for i in range(6):
        value = f"another-value-of-this-token-{i}"
        done = gateway.cli("secret", "rotate", "api", stdin=value + "\n")
        assert done.returncode == 0, done.stderr
        answer = session.curl(double.url(f"/after/{i}", API))
        assert answer.status == 200, answer.text
        assert double.token_of(f"/after/{i}") == f"Bearer {value}"
    row = wait_until(lambda: [
        row for row in gateway.audit(kind="secret.changed")
        if row["method"] == "rotate"])[-1]
    assert row["host"] == "api" and value not in str(row)


def test_no_request_fails_while_the_key_changes(gateway, session, double,
                                                load):
    file = gateway.state / "vault/vault.key"
    for i in range(4):
        before = file.read_bytes()
        done = gateway.cli("secret", "rotate", "--key")
        assert done.returncode == 0, done.stderr
        assert file.read_bytes() != before and len(before) == 32
        answer = session.curl(double.url(f"/key/{i}", API))
        assert answer.status == 200, answer.text
        wait_until(lambda: double.paths("/load/0"))


def test_the_next_start_has_the_new_key(own_gateway):
    own_gateway.put_secret("mine", "a-value")
    assert own_gateway.cli("secret", "rotate", "--key").returncode == 0
    pid = own_gateway.pid("vault")
    os.kill(pid, 9)
    wait_until(lambda: own_gateway.pid("vault") not in (None, pid))
    wait_until(own_gateway.is_ready)
    assert "mine" in wait_until(
        lambda: own_gateway.cli("secret", "list").stdout)


def test_what_is_not_there_is_not_rotated(gateway):
    done = gateway.cli("secret", "rotate", "nobody", stdin="x")
    assert done.returncode == 6 and "nobody" in done.stderr
    assert gateway.cli("secret", "rotate", "api", stdin="").returncode == 2
    assert gateway.cli("secret", "rotate").returncode == 2
    assert gateway.cli("secret", "rotate", "api", "--key",
                       stdin="x").returncode == 2
