"""The execd endpoint of one sandbox, asked raw."""
import http.client
import json
import struct

import openapi
from api import Answer
from websocket import BINARY, CLOSE, PING, PONG, TEXT, Client, frame, \
    read_message


class Execd:
    def __init__(self, api, box):
        self.api = api
        self.prefix, self.headers = api.endpoint(box, 44772)

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.api.port,
                                          timeout=timeout)

    def open(self, method, path, body=None, token=None, timeout=60):
        """A connection whose answer's head was read, and that answer."""
        connection = self.connect(timeout)
        headers = dict(self.headers)
        if token is not None:
            headers = {name: token for name in headers}
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
        if openapi.find(method, self.prefix + path.partition("?")[0]):
            openapi.check(method, self.prefix + path, Answer(
                response.status, response.headers, text))
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


class Terminal:
    """The client of a terminal."""

    def __init__(self, execd, name, query="", early=b""):
        self.client = Client(
            execd.api.socket(), "127.0.0.1",
            f"{execd.prefix}/pty/{name}/ws{query}",
            [f"{name}: {value}" for name, value in execd.headers.items()],
            early)
        self.status = self.client.status
        self.output = b""
        self.replay = None
        self.code = self.closed = None

    def type(self, text):
        self.client.stream.sendall(frame(BINARY, b"\0" + text.encode()))

    def say(self, **control):
        self.client.stream.sendall(frame(TEXT, json.dumps(control).encode()))

    def hear(self):
        """The next control frame; output is put aside. None: closed."""
        while self.closed is None:
            opcode, data = read_message(self.client.stream)
            if opcode == TEXT:
                return json.loads(data)
            if opcode == CLOSE:
                self.closed = struct.unpack(">H", data[:2])[0]
            elif opcode == PING:
                self.client.stream.sendall(frame(PONG, data))
            elif data[0] in (1, 2):
                self.output += data[1:]
            elif data[0] == 3:
                self.replay = struct.unpack(">Q", data[1:9])[0], data[9:]
            if opcode == BINARY:
                return {"type": "output"}
        return None

    def until(self, what):
        """Hear until that is in the output."""
        while what.encode() not in self.output:
            assert self.hear(), self.output

    def wait(self, kind):
        """The next control frame of that type."""
        while True:
            heard = self.hear()
            assert heard, (kind, self.output)
            if heard["type"] == kind:
                return heard

    def wait_closed(self):
        while self.hear():
            pass
        return self.closed

    def close(self):
        self.client.stream.close()


def events_of(response):
    schema = openapi.DOCUMENT["components"]["schemas"]["Event"]
    for line in response:
        if line.strip():
            event = json.loads(line)
            assert not openapi.faults(event, schema), event
            yield event


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
