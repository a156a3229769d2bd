"""A double of a forge with Git LFS, and of the storage behind it: git itself
is the real git http-backend, LFS is done here as the API's documents say
(batch, basic transfers, verify, locks). Two hosts on one port: the forge,
which wants its token (Basic), and the storage, which wants URLs that are
signed, end, and bring a header of their own."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time
import urllib.parse

TYPE = "application/vnd.git-lfs+json"
SECRET = b"of the storage"
TRANSFER_TOKEN = "transfer-token-4711"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def _body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                part = self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    return b"".join(parts)
                parts.append(part)
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        if len(body) != size:
            raise ConnectionError("the body was cut short")
        return body

    def _answer(self, status, body=b"", kind=TYPE, **fields):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _serve(self):
        host = self.headers["Host"].split(":")[0]
        double = self.server.double
        double.requests.append((host, self.command, self.path))
        if host == double.storage:
            self._storage(double)
        elif self.headers.get("Authorization") != double.basic:
            self._answer(401, {"message": "who are you?"},
                         WWW_Authenticate='Basic realm="git"')
        elif "/info/lfs/" in self.path:
            self._lfs(double)
        else:
            self._git(double)

    # ---- storage ----

    def _storage(self, double):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        oid = url.path.rsplit("/", 1)[1]
        if self.headers.get("X-Transfer") != TRANSFER_TOKEN or \
                self.headers.get("Authorization") or \
                query.get("sig") != double.sign(self.command, oid,
                                                query.get("until", "0")) or \
                int(query["until"]) < time.time():
            self._answer(403, b"<Error>AccessDenied</Error>", "text/xml")
            return
        self._object(double, oid, self.command)

    def _object(self, double, oid, method):
        if method == "PUT":
            body = self._body()
            if hashlib.sha256(body).hexdigest() != oid:
                self._answer(400, b"<Error>BadDigest</Error>", "text/xml")
                return
            double.objects[oid] = body
            self._answer(200)
        elif method == "GET" and oid in double.objects and double.chunked:
            data = double.objects[oid]
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (data[:1000], data[1000:]):
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        elif method == "GET" and oid in double.objects:
            self._answer(200, double.objects[oid], "application/octet-stream")
        else:
            self._answer(404)

    # ---- the forge ----

    def _lfs(self, double):
        path = urllib.parse.urlsplit(self.path).path
        base, rest = path.split("/info/lfs/")
        if rest.startswith("objects/") and self.command in ("GET", "PUT"):
            self._object(double, rest.split("/")[1], self.command)
            return
        body = json.loads(self._body() or b"{}")
        double.asked.append((rest, body))
        if rest == "objects/batch":
            self._batch(double, base, body)
        elif rest == "verify":
            known = len(double.objects.get(body["oid"], b"")) == body["size"]
            self._answer(200 if known else 422, {})
        else:
            self._locks(double, rest, body)

    def _batch(self, double, base, body):
        answer = double.batch(base, body)
        if isinstance(answer, tuple):
            self._answer(*answer)
        else:
            self._answer(200, answer)

    def _locks(self, double, rest, body):
        if rest == "locks/verify":
            self._answer(200, {"ours": list(double.locks.values()),
                               "theirs": []})
        elif rest == "locks" and self.command == "GET":
            self._answer(200, {"locks": list(double.locks.values())})
        elif rest == "locks":
            held = [lock for lock in double.locks.values()
                    if lock["path"] == body["path"]]
            if held:
                self._answer(409, {"lock": held[0],
                                   "message": "already created lock"})
                return
            lock = {"id": f"lock-{len(double.locks) + 1}",
                    "path": body["path"],
                    "locked_at": "2026-01-01T00:00:00Z",
                    "owner": {"name": "agent"}}
            double.locks[lock["id"]] = lock
            self._answer(201, {"lock": lock})
        else:
            lock = double.locks.pop(rest.split("/")[1], None)
            self._answer(200 if lock else 404,
                         {"lock": lock} if lock else
                         {"message": "no such lock"})

    def _git(self, double):
        url = urllib.parse.urlsplit(self.path)
        body = self._body()
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(double.dir),
               "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "x",
               "HOME": str(double.dir), "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_CONFIG_GLOBAL": "/dev/null",
               "PATH_INFO": url.path, "QUERY_STRING": url.query,
               "REQUEST_METHOD": self.command,
               "CONTENT_LENGTH": str(len(body)),
               "CONTENT_TYPE": self.headers.get("Content-Type", ""),
               "HTTP_CONTENT_ENCODING":
                   self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        done = subprocess.run(["git", "http-backend"], input=body, env=env,
                              capture_output=True, check=True)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(re.findall(rb"([^:\r\n]+): ([^\r\n]*)", head))
        status = int(fields.get(b"Status", b"200").split()[0])
        self._answer(status, rest, fields[b"Content-Type"].decode())

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _serve


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def finish_request(self, request, client_address):
        request.settimeout(30)
        try:
            with self.context.wrap_socket(request, server_side=True) as tls:
                super().finish_request(tls, client_address)
        except (OSError, ValueError):
            pass

    def handle_error(self, request, client_address):
        pass


class LfsDouble:
    """objects: what is stored; asked: (endpoint, JSON) of the LFS API;
    requests: (host, method, path) of all. spoil: a function that changes the
    answer to a batch."""

    def __init__(self, directory, address, token, certificate):
        self.dir = directory
        self.forge, self.storage = "lfs.example", "store.example"
        self.basic = "Basic " + base64.b64encode(
            f"x-access-token:{token}".encode()).decode()
        self.port = 443 if os.getuid() == 0 else 8444
        self.suffix = "" if self.port == 443 else f":{self.port}"
        self.reset()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server = _Server((address, self.port), Handler)
        self._server.context = context
        self._server.double = self
        threading.Thread(target=self._server.serve_forever,
                         daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def reset(self):
        self.objects, self.locks = {}, {}
        self.asked, self.requests = [], []
        self.at_home = False  # objects are kept by the forge itself
        self.echoes = False
        self.life = {"expires_in": 600}
        self.spoil = lambda answer: answer
        self.chunked = False  # what is downloaded comes without a length

    def url(self, name, host=None):
        return f"https://{host or self.forge}{self.suffix}/{name}"

    def put(self, data):
        oid = hashlib.sha256(data).hexdigest()
        self.objects[oid] = data
        return oid

    def stored(self):
        """What the storage or the forge was asked for an object."""
        return [request for request in self.requests
                if request[0] == self.storage or
                re.search(r"/info/lfs/objects/[0-9a-f]{64}", request[2])]

    @staticmethod
    def sign(method, oid, until):
        return hmac.new(SECRET, f"{method} {oid} {until}".encode(),
                        hashlib.sha256).hexdigest()

    def _action(self, base, method, oid):
        if self.at_home:
            # As Gitea does: what it was asked with is to be used again.
            header = {"Authorization": self.basic} if self.echoes else {}
            return {"href": self.url(f"{base[1:]}/info/lfs/objects/{oid}"),
                    "header": header, **self.life}
        until = str(int(time.time()) + 600)
        sig = self.sign(method, oid, until)
        return {"href": self.url(f"bucket/{oid}?until={until}&sig={sig}",
                                 self.storage),
                "header": {"X-Transfer": TRANSFER_TOKEN}, **self.life}

    def _object(self, base, operation, item):
        oid, made = item["oid"], dict(item)
        if operation == "download":
            if oid in self.objects:
                made["actions"] = {"download": self._action(base, "GET", oid)}
            else:
                made["error"] = {"code": 404, "message": "no such object"}
        elif oid not in self.objects:
            made["actions"] = {
                "upload": self._action(base, "PUT", oid),
                "verify": {"href": self.url(f"{base[1:]}/info/lfs/verify"),
                           **self.life}}
        return made

    def batch(self, base, body):
        return self.spoil({"transfer": "basic", "objects": [
            self._object(base, body["operation"], item)
            for item in body["objects"]]})
