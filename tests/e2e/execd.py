"""The execd endpoint of one sandbox, asked raw."""
import hashlib
import hmac
import http.client
import json
import socket


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def api_config(key="a key for tests"):
    """What host.yaml needs for the API: (port, settings)."""
    port = free_port()
    return port, {"listen": [f"127.0.0.1:{port}"],
                  "api_keys": ["sha256:" + hashlib.sha256(
                      key.encode()).hexdigest()]}


class Execd:
    def __init__(self, host, port, box):
        secret = (host.dir / "host/api.key").read_bytes()
        self.token = hmac.new(secret, f"execd/{box}".encode(),
                              "sha256").hexdigest()
        self.port = port
        self.prefix = f"/sandboxes/{box}/execd"

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=timeout)

    def open(self, method, path, body=None, token=None, timeout=60):
        """A connection whose answer's head was read, and that answer."""
        connection = self.connect(timeout)
        headers = {"X-EXECD-ACCESS-TOKEN":
                   self.token if token is None else token}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body)
            headers["Content-Type"] = "application/json"
        connection.request(method, self.prefix + path, data, headers)
        return connection, connection.getresponse()

    def ask(self, method, path, body=None, **more):
        """(status, fields, text)"""
        connection, response = self.open(method, path, body, **more)
        text = response.read()
        connection.close()
        return response.status, response.headers, text

    def json(self, method, path, body=None, status=200):
        got, _, text = self.ask(method, path, body)
        assert got == status, (got, text)
        return json.loads(text) if text else None

    def stream(self, path, body):
        """The events of a stream, as they come."""
        connection, response = self.open("POST", path, body)
        try:
            if response.status != 200:
                raise AssertionError((response.status, response.read()))
            yield from events_of(response)
        finally:
            connection.close()

    def run(self, command, path="/command", **more):
        """Run to the end: (exit code as told, stdout lines, stderr lines)"""
        return told(self.stream(path, {"command": command, **more}))


def events_of(response):
    for line in response:
        if line.strip():
            yield json.loads(line)


def told(events):
    out = {"stdout": [], "stderr": []}
    code = None
    for event in events:
        if event["type"] in out:
            out[event["type"]].append(event["text"])
        elif event["type"] == "execution_complete":
            assert code is None
            code = 0
        elif event["type"] == "error":
            assert code is None
            code = int(event["error"]["evalue"])
    return code, out["stdout"], out["stderr"]
