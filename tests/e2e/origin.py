"""An upstream web server whose every behaviour a test can ask for."""
import hashlib
import http.server
import json
import os
import pathlib
import select
import socket
import ssl
import threading
import time
import urllib.parse

import reflection
import websocket

BLOCK = b"0123456789abcdef" * 4096


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    # Two small writes must not wait for each other.
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def _body(self):
        """The request's body as (length, digest); it is never held."""
        digest, length = hashlib.sha256(), 0
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                block = self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    break
                digest.update(block)
                length += size
        else:
            left = int(self.headers.get("Content-Length", 0))
            while left:
                block = self.rfile.read(min(left, 65536))
                if not block:
                    raise ConnectionError("the body was cut short")
                digest.update(block)
                length += len(block)
                left -= len(block)
        return length, digest.hexdigest()

    def _answer(self, body, status=200, kind="text/plain", **fields):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _echo(self, length, digest):
        seen = {"method": self.command, "path": self.path, "length": length,
                "digest": digest,
                "connection": self.server.number_of(self.connection),
                "headers": {k.lower(): v for k, v in self.headers.items()}}
        self._answer(json.dumps(seen).encode(), kind="application/json")

    def _big(self, size):
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        while size:
            block = BLOCK[:size]
            self.wfile.write(block)
            size -= len(block)

    def _chunked(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (b"one ", b"two ", b"three"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def _drip(self):
        """A byte every tenth of a second, until the other side is gone."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.server.dripping += 1
        try:
            for _ in range(600):
                self.wfile.write(b".")
                time.sleep(0.1)
        finally:
            self.server.dripping -= 1

    def _read_nothing(self):
        """Until the other side is gone."""
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP | select.POLLHUP)
        poll.poll(60000)
        self.close_connection = True

    def _raw(self, text):
        self.wfile.write(text)
        self.close_connection = True

    def _file(self, name):
        """What a test has put into the server's files."""
        path = pathlib.Path(self.server.files, urllib.parse.unquote(name))
        if path.is_dir():
            path /= "index.html"
        if path.is_file():
            kind = "text/html" if path.suffix == ".html" \
                else "application/octet-stream"
            self._answer(path.read_bytes(), kind=kind)
        else:
            self._answer(b"no such file\n", status=404)

    def _serve(self):
        self.server.requests.append(f"{self.command} {self.path}")
        word, _, rest = self.path[1:].split("?")[0].partition("/")
        if word == "deaf":
            self._read_nothing()
            return
        length, digest = self._body()
        if word == "big":
            self._big(int(rest))
        elif word == "chunked":
            self._chunked()
        elif word == "drip":
            self._drip()
        elif word == "status":
            self._answer(b"as asked\n", status=int(rest))
        elif word == "reflect":
            reflection.serve(self, rest)
        elif word == "two-lengths":
            self._raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                      b"Content-Length: 4\r\n\r\nabcd")
        elif word == "cut-short":
            self._raw(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc")
        elif word == "files":
            self._file(rest)
        elif word.startswith("@") and self.server.files:
            self._file(f"{word}/{rest}")
        elif self.server.files and not rest and \
                pathlib.Path(self.server.files, word).is_file():
            self._file(word)
        elif word == "ws":
            websocket.serve(self, rest, self.server.frames)
        elif word == "garbage":
            self._raw(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
        else:
            self._echo(length, digest)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, port, context=None):
        self.context = context
        self.requests = []
        self.frames = []
        self.files = ""
        self.connections = 0
        self.dripping = 0
        self._numbers = {}
        super().__init__((address, port), Handler)

    def number_of(self, connection):
        """Which connection was it? Equal numbers: the same one."""
        return self._numbers[id(connection)]

    def finish_request(self, request, client_address):
        if self.context:
            request.settimeout(30)
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except (ssl.SSLError, OSError):
                return
        self.connections += 1
        self._numbers[id(request)] = self.connections
        try:
            super().finish_request(request, client_address)
        except (OSError, ValueError):
            pass
        finally:
            request.close()

    def handle_error(self, request, client_address):
        pass


class Origin:
    """TLS on one port, chosen by name from certificates; plain HTTP on
    another."""

    def __init__(self, address, certificates):
        ports = (443, 80) if os.getuid() == 0 else (8443, 8080)
        self.address = address
        self.port, self.plain_port = ports
        self.suffix = "" if ports[0] == 443 else f":{ports[0]}"
        self.plain_suffix = "" if ports[1] == 80 else f":{ports[1]}"
        contexts = {name: self._context(path)
                    for name, path in certificates.items()}
        first = contexts["good.example"]

        def choose(connection, name, _):
            connection.context = contexts.get(name, first)
        first.sni_callback = choose
        self.tls = _Server(address, self.port, first)
        self.plain = _Server(address, self.plain_port)
        for server in (self.tls, self.plain):
            threading.Thread(target=server.serve_forever, args=(0.05,),
                             daemon=True).start()

    @staticmethod
    def _context(path):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.load_cert_chain(path)
        return context

    def serve_files(self, path):
        """Below /files/ (and what begins with @, and files at the top, as
        npm's registry has them), on both ports."""
        self.tls.files = self.plain.files = str(path)

    def stop(self):
        for server in (self.tls, self.plain):
            server.shutdown()
            server.server_close()

    def url(self, path="/", name="good.example"):
        return f"https://{name}{self.suffix}{path}"

    def plain_url(self, path="/", name="plain.example"):
        return f"http://{name}{self.plain_suffix}{path}"


def free_port(address):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]
