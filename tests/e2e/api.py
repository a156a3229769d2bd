"""The HTTP API of the tests' own service of sandboxes, and clients of it: raw
requests, and programs that use the unmodified SDK of OpenSandbox."""
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess

from gateway import BUILD
from host import PROGRAM, Host
from waiting import wait_until

SDK = pathlib.Path(__file__).parent / "opensandbox"
API_PROGRAM = "sallyport-api"
KEY = "OPEN-SANDBOX-API-KEY"


_ports = []  # what keeps them ours


def free_port():
    """One that nobody is given who asks for any, be it while the service that
    has it was stopped, and that no other run of the tests takes."""
    given = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    first = int(given.split()[0])
    for port in random.sample(range(first - 10000, first), 1000):
        ours = socket.socket(socket.AF_UNIX)
        try:
            ours.bind(f"\0sallyport-tests-port-{port}")
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            ours.close()
            continue
        _ports.append(ours)
        return port
    raise AssertionError("there is no port")


def install_npm(source, directory):
    """What the lock file of a directory names, from npm's registry."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, directory)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline",
                    "--ignore-scripts", "--fetch-retries", "5"],
                   cwd=directory, check=True, capture_output=True, timeout=300)
    return directory


def install_sdk(directory):
    """The SDK of npm, for programs in that directory."""
    return install_npm(SDK, directory)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:500]}>"


class Api(Host):
    """A service that listens; key is what lets in."""

    scheme = "http"

    def __init__(self, gateway, directory, **config):
        self.key, line = subprocess.run(
            [PROGRAM, "--new-key"], check=True, capture_output=True,
            text=True).stdout.split()
        self.port = free_port()
        super().__init__(gateway, directory,
                         listen=[f"127.0.0.1:{self.port}"], api_keys=[line],
                         **config)

    # ---- the process ----

    def api_pids(self):
        """Those of this service's daemon."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                text = path.read_text()
            except OSError:
                continue
            name = text[text.index("(") + 1:text.rindex(")")]
            fields = text[text.rindex(")") + 2:].split()
            if name == API_PROGRAM[:15] and fields[0] != "Z" and \
                    int(fields[1]) == self.process.pid:
                found.append(int(path.parent.name))
        return found

    def start(self):
        super().start()
        wait_until(self.is_healthy)
        return self

    def is_healthy(self):
        try:
            return self.call("GET", "/health", key=None).status == 200
        except OSError:
            return False

    # ---- requests ----

    def connection(self, timeout):
        return http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=timeout)

    def call(self, method, path, body=None, headers=(), key=True,
             timeout=60):
        """One request; body: bytes, or what becomes JSON. key: True is the
        right one, None none."""
        connection = self.connection(timeout)
        headers = dict(headers)
        if key:
            headers[KEY] = self.key if key is True else key
        if isinstance(body, (dict, list, str)):
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body).encode()
        try:
            # It may be answered before all of it came, and is cut off then.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def make(self, **more):
        """A sandbox, made through the API; its id."""
        answer = self.call("POST", "/v1/sandboxes", {
            "image": {"uri": "host"},
            "entrypoint": ["tail", "-f", "/dev/null"],
            "resourceLimits": {"cpu": "1", "memory": "512Mi"}, **more})
        assert answer.status == 202, (answer, self.log()[-3000:])
        return answer.json["id"]

    def endpoint(self, box, port):
        """(path, headers) of what is at a port of a sandbox: 44772 execd,
        18080 egress."""
        answer = self.call("GET", f"/v1/sandboxes/{box}/endpoints/{port}")
        assert answer.status == 200, answer
        host, slash, path = answer.json["endpoint"].partition("/")
        assert host == f"127.0.0.1:{self.port}"
        return slash + path, answer.json["headers"]

    def inside(self, method, box, path, body=None, port=44772, headers=(),
               **more):
        """A request to an endpoint of a sandbox, with its token."""
        prefix, token = self.endpoint(box, port)
        return self.call(method, prefix + path, body,
                         {**token, **dict(headers)}, key=None, **more)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    # ---- the SDK ----

    def node(self, directory, script, *words, timeout=120, env=None):
        """Run a module with the SDK (install_sdk() of the directory); what it
        prints is JSON. Its `connection` is a ConnectionConfig for us."""
        path = pathlib.Path(directory) / "program.mjs"
        path.write_text(
            'import * as sdk from "@alibaba-group/opensandbox";\n'
            "const { Sandbox, SandboxManager, ConnectionConfig } = sdk;\n"
            "const connection = new ConnectionConfig({\n"
            f'  domain: "127.0.0.1:{self.port}", protocol: "{self.scheme}",\n'
            f'  apiKey: {json.dumps(self.key)} }});\n' + script)
        done = subprocess.run(["node", path, *words], cwd=directory,
                              capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, **(env or {})})
        assert done.returncode == 0, (done.stdout, done.stderr,
                                      self.log()[-3000:])
        return json.loads(done.stdout)


__all__ = ["Api", "BUILD", "KEY", "free_port", "install_sdk"]
