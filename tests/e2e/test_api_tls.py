"""The HTTP API over TLS: certificate and key of host.yaml, read again on a
hangup."""
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess

import pytest
from api import Api, install_sdk
from host import PROGRAM
from pki import Authority
from taint import memory_of
from waiting import wait_until


class TlsApi(Api):
    scheme = "https"

    def __init__(self, gateway, directory, **config):
        self.ca = Authority()
        (directory / "ca.pem").write_text(self.ca.pem())
        self.tree = directory / "tree"
        self.tree.mkdir()
        self.cert = self.tree / "cert.pem"
        self.secret = self.tree / "key.pem"
        self.renew()
        super().__init__(gateway, directory, tls={
            "certificate": str(self.cert), "key": str(self.secret)}, **config)

    def renew(self, *names, **more):
        """Another certificate and its key; False: the key stays."""
        key, mark, cert = self.ca.leaf(*names, "127.0.0.1", **more).partition(
            "-----BEGIN CERT")
        self.cert.write_text(mark + cert)
        self.secret.write_text(key)
        self.secret.chmod(0o600)

    def context(self):
        return ssl.create_default_context(cafile=self.dir / "ca.pem")

    def connection(self, timeout):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=timeout, context=self.context())

    def shown(self):
        """The names of the certificate that a new connection is shown."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as plain, \
                self.context().wrap_socket(
                    plain, server_hostname="127.0.0.1") as stream:
            return [value for kind, value in
                    stream.getpeercert()["subjectAltName"] if kind == "DNS"]

    def hang_up(self, times):
        """Have the files read again; the log tells what came of it."""
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log().count("certificate is ") +
                   self.log().count("no new certificate") == times)


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = TlsApi(gateway, tmp_path_factory.mktemp("tls")).start()
    yield api
    api.stop()
    api.check()


def test_it_is_served_over_tls_and_nothing_else(api):
    assert api.call("GET", "/health", key=None).status == 200
    assert api.call("GET", "/v1/sandboxes").status == 200
    assert api.call("GET", "/v1/sandboxes", key=None).status == 401
    with socket.create_connection(("127.0.0.1", api.port), 30) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        try:
            while piece := plain.recv(4096):
                got += piece
        except ConnectionResetError:
            pass
        assert b"HTTP/1.1" not in got and b"healthy" not in got


@pytest.mark.parametrize("version, works", [
    (ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_2, True),
    (ssl.TLSVersion.TLSv1_1, False)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_versions(api, version, works):
    context = api.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", api.port), 30) as plain:
        if not works:
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                context.wrap_socket(plain, server_hostname="127.0.0.1")
            return
        with context.wrap_socket(plain,
                                 server_hostname="127.0.0.1") as stream:
            assert stream.selected_alpn_protocol() == "http/1.1"
            assert stream.version() == version.name.replace("_", ".")


def test_who_says_nothing_or_nonsense_disturbs_nobody(api):
    idle = [api.socket() for _ in range(20)]
    for number, stream in enumerate(idle):
        if number % 2:
            stream.sendall(b"\x16\x03\x01\xff\xff" + os.urandom(300))
    assert api.call("GET", "/health", key=None).status == 200
    for stream in idle:
        stream.close()
    pid, = api.api_pids()
    assert api.call("GET", "/health", key=None).status == 200
    assert api.api_pids() == [pid]


def test_the_sdk_works_over_it(api, tmp_path):
    said = api.node(install_sdk(tmp_path), """
const box = await Sandbox.create({ connectionConfig: connection,
  image: "host", entrypoint: ["tail", "-f", "/dev/null"],
  timeoutSeconds: 600, resource: { cpu: "1", memory: "512Mi" } });
const run = await box.commands.run("echo inside; exit 3");
await box.files.writeFiles([{ path: "big", data: "x".repeat(3000000) }]);
const big = (await box.files.readFile("big")).length;
await box.kill();
console.log(JSON.stringify({ code: run.exitCode, big,
  text: run.logs.stdout.map(l => l.text) }));
""", env={"NODE_EXTRA_CA_CERTS": str(api.dir / "ca.pem")})
    assert said == {"code": 3, "big": 3000000, "text": ["inside"]}


def test_a_hangup_shows_another_certificate_and_a_bad_one_never(api):
    done = api.log().count("a certificate is ")
    kept = api.connection(60)
    kept.request("GET", "/health")
    assert kept.getresponse().read()
    api.renew("second.example")
    assert api.shown() == []
    api.hang_up(done + 1)
    assert api.shown() == ["second.example"]
    # What goes on goes on.
    kept.request("GET", "/health")
    assert kept.getresponse().status == 200
    kept.close()
    # A key of another certificate; then one that others may read.
    other = api.ca.leaf("third.example", "127.0.0.1")
    api.secret.write_text(other.partition("-----BEGIN CERT")[0])
    api.hang_up(done + 2)
    assert api.shown() == ["second.example"]
    api.renew("third.example")
    api.secret.chmod(0o604)
    api.hang_up(done + 3)
    assert api.shown() == ["second.example"]
    api.secret.chmod(0o600)
    api.hang_up(done + 4)
    assert api.shown() == ["third.example"]


def test_an_api_that_is_started_again_shows_it_too(api):
    old, = api.api_pids()
    before = api.shown()
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: old not in api.api_pids() and api.is_healthy())
    assert api.shown() == before


def test_one_that_is_started_without_serves_once_there_is_a_good_one(api):
    before = api.shown()
    said = api.log().count("no new certificate")
    old, = api.api_pids()
    api.secret.chmod(0o604)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: api.log().count("no new certificate") > said)
    with pytest.raises(OSError):
        api.call("GET", "/health", key=None, timeout=1)
    api.secret.chmod(0o600)
    api.process.send_signal(signal.SIGHUP)
    wait_until(api.is_healthy)
    assert api.shown() == before


def test_the_key_is_not_readable_inside(api):
    box = api.create("--workspace", api.tree)
    assert "BEGIN CERTIFICATE" in api.exec(box, "cat", "cert.pem").stdout
    for command in ("cat key.pem", f"cat {api.secret}",
                    "cp key.pem copy", "mv key.pem away", "ln key.pem link",
                    "rm -f key.pem", "echo x > key.pem"):
        done = api.exec(box, "sh", "-c", command)
        assert done.returncode != 0, (command, done)
        assert "PRIVATE" not in done.stdout
    assert "PRIVATE" not in api.exec(
        box, "sh", "-c", "cat * /proc/*/environ 2>/dev/null").stdout
    assert "PRIVATE" in api.secret.read_text()
    assert api.run("kill", box).returncode == 0


def test_nor_is_one_that_is_put_in_its_place_meanwhile(api):
    """As those who renew certificates do: the file is another then."""
    box = api.create("--workspace", api.tree)
    renewed = api.dir / "renewed.pem"
    renewed.write_text(api.secret.read_text())
    renewed.chmod(0o600)
    renewed.rename(api.secret)
    for command in ("cat key.pem", f"cat {api.secret}", "cat ./x/../key.pem",
                    "cp key.pem copy", "ln key.pem link", "mv key.pem away",
                    "echo x > key.pem"):
        done = api.exec(box, "sh", "-c", f"mkdir -p x; {command}")
        assert done.returncode != 0, (command, done)
        assert "PRIVATE" not in done.stdout
    assert "BEGIN CERTIFICATE" in api.exec(box, "cat", "cert.pem").stdout
    assert "PRIVATE" in api.secret.read_text()
    assert api.run("kill", box).returncode == 0


@pytest.mark.parametrize("change, told", [
    (lambda api: api.secret.chmod(0o644), "others can not read"),
    (lambda api: api.secret.chmod(0o620), "others can not read"),
    (lambda api: api.secret.unlink(), "open "),
    (lambda api: api.cert.unlink(), "open "),
    (lambda api: (api.cert.unlink(), os.mkfifo(api.cert)), "must be a file"),
    (lambda api: (api.secret.unlink(), api.secret.mkdir()), "must be a file"),
    (lambda api: None, None)],
    ids=["read by others", "written by a group", "no key", "no certificate",
         "a pipe", "a directory", "as it should be"])
def test_a_key_that_is_not_ours_alone_is_no_configuration(
        gateway, tmp_path, change, told):
    api = TlsApi(gateway, tmp_path)
    change(api)
    done = subprocess.run([PROGRAM, "-c", api.config, "-t"], timeout=60,
                          capture_output=True, text=True)
    assert (done.returncode, told is None or told in done.stderr) == (
        3 if told else 0, True), done


def vault_with(value):
    return json.dumps({
        "credentials": [{"name": "k", "source": {"type": "inline",
                                                 "value": value}}],
        "bindings": [{"name": "b", "match": {"hosts": ["v.example"]},
                      "auth": {"type": "bearer", "credential": "k"}}]})


# How much more a body is said to have than comes, what it ends with instead,
# and what stands before it.
@pytest.mark.parametrize("missing, end, before", [
    (0, "}", ""), (0, "", ""), (10, "}", ""), (0, "}", " " * 30000)],
    ids=["one that is taken", "no JSON", "one that is cut off", "a large one"])
def test_no_value_stays_in_memory(api, missing, end, before):
    box = api.make(networkPolicy={"egress": [
        {"action": "allow", "target": "v.example"}]})
    path, token = api.endpoint(box, 18080)
    value = f"canary-{os.urandom(8).hex()}"
    body = (before + vault_with(value)[:-1] + end).encode()
    head = [f"POST {path}/credential-vault HTTP/1.1", "Host: x",
            "Content-Type: application/json", "Connection: close",
            f"Content-Length: {len(body) + missing}",
            *(f"{name}: {text}" for name, text in token.items())]
    with api.context().wrap_socket(api.socket(),
                                   server_hostname="127.0.0.1") as stream:
        stream.sendall("\r\n".join([*head, "", ""]).encode() + body)
        if not missing:
            answer = stream.recv(65536)
            assert b" 201 " in answer if end else b" 400 " in answer

    def is_wiped():
        return not any(value.encode() in memory for pid in (
            *api.api_pids(), api.process.pid, api.supervisors()[box])
            for memory in memory_of(pid))
    # What was cut off is let go of when its connection is.
    wait_until(is_wiped, 20)
    api.call("DELETE", f"/v1/sandboxes/{box}")
