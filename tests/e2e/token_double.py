"""A double of three servers on one TLS port: an API that wants a token and
remembers what it got, an OAuth 2.0 token endpoint (RFC 6749), and the part of
GitHub's API that gives installation tokens. It answers as they document."""
import base64
import http.server
import json
import secrets
import ssl
import threading
import time
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

# Names that the API and the token endpoints are reached by.
API = "good.example"
ISSUER = "other.example"


class Heard:
    def __init__(self, handler, body):
        self.method = handler.command
        self.path = handler.path
        self.authorization = handler.headers.get("Authorization", "")
        self.kind = handler.headers.get("Content-Type", "")
        self.body = body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, status, body, kind="application/json"):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        length = int(self.headers.get("Content-Length", 0))
        heard = Heard(self, self.rfile.read(length).decode())
        double = self.server.double
        with double.lock:
            double.heard.append(heard)
        if heard.path == "/token":
            double.issue(self, heard)
        elif heard.path.startswith(("/app/", "/repos/")) or \
                heard.path == "/installation/token":
            double.github(self, heard)
        else:
            self.answer(200, {"seen": True})

    do_GET = do_HEAD = do_POST = do_DELETE = serve


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, context, double):
        self.context = context
        self.double = double
        super().__init__(address, Handler)

    def finish_request(self, request, client_address):
        request.settimeout(30)
        try:
            request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
        except (OSError, ValueError):
            pass
        finally:
            request.close()

    def handle_error(self, request, client_address):
        pass


def _decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class TokenDouble:
    """mode: how /token and /app answer; "" is well."""

    def __init__(self, address, port, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.lock = threading.Lock()
        self.heard = []
        self.mode = ""
        self.heard_out = threading.Event()
        self.lifetime = 3600
        self.client = ("client", "s3cret-of-the-client")
        self.refresh = None  # the refresh token that is good now
        self.rotates = True
        self.issued = []  # tokens, the newest last
        self.revoked = []
        self.app_key = None  # public
        self.faults = []
        self.let_go = threading.Event()
        self.held = None  # until this is set nobody hears what was issued
        self.address = address
        self.port = port
        self._server = _Server((address, port), context, self)
        threading.Thread(target=self._server.serve_forever,
                         daemon=True).start()

    def stop(self):
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()

    def url(self, path, name=ISSUER):
        port = "" if self.port == 443 else f":{self.port}"
        return f"https://{name}{port}{path}"

    def paths(self, path):
        with self.lock:
            return [heard for heard in self.heard if heard.path == path]

    def token_of(self, path):
        """What the newest request for a path carried."""
        return self.paths(path)[-1].authorization

    # ---- what goes wrong ----

    def spoil(self, handler, good):
        """True when this answer was spoiled as the mode says; good is the
        status of one that is well."""
        if self.mode == "slow":
            self.let_go.wait(60)
            return True
        if self.mode == "refused":
            handler.answer(401, {"error": "invalid_client",
                                 "error_description": "no \x1b[31m idea"})
        elif self.mode == "garbage":
            handler.answer(good, b"{\"access_token\": \"abc\", ")
        elif self.mode == "html":
            handler.answer(good, b"<html>hello</html>", "text/html")
        elif self.mode == "huge":
            handler.answer(good, b"{\"access_token\": \"" + b"x" * 1000000 +
                           b"\"}")
        elif self.mode == "redirect":
            handler.send_response(302)
            handler.send_header("Location", "https://good.example/token")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif self.mode == "twice":
            handler.answer(200, b'{"access_token": "a-token-of-many", '
                           b'"access_token": "b-token-of-many", '
                           b'"token_type": "bearer", "expires_in": 60}')
        else:
            return False
        return True

    # ---- OAuth 2.0 ----

    def _check_client(self, heard, form):
        if heard.authorization:
            pair = base64.b64decode(heard.authorization.split()[1]).decode()
            given = tuple(map(urllib.parse.unquote_plus, pair.split(":")))
        else:
            given = (form.get("client_id"), form.get("client_secret"))
        return given == self.client

    def issue(self, handler, heard):
        if self.spoil(handler, 200):
            return
        form = dict(urllib.parse.parse_qsl(heard.body, strict_parsing=True))
        if heard.method != "POST" or \
                heard.kind != "application/x-www-form-urlencoded" or \
                not self._check_client(heard, form):
            handler.answer(401, {"error": "invalid_client"})
            return
        answer = {"token_type": "Bearer", "expires_in": self.lifetime}
        with self.lock:
            if form["grant_type"] == "refresh_token":
                if form["refresh_token"] != self.refresh:
                    handler.answer(400, {"error": "invalid_grant"})
                    return
                if self.rotates:
                    self.refresh = "refresh-" + secrets.token_hex(16)
                    answer["refresh_token"] = self.refresh
            elif form["grant_type"] != "client_credentials":
                handler.answer(400, {"error": "unsupported_grant_type"})
                return
            token = "access-" + secrets.token_hex(20)
            self.issued.append(token)
        answer["access_token"] = token
        if self.mode == "wrong-type":
            answer["token_type"] = "mac"
        if self.mode == "expired":
            answer["expires_in"] = 0
        if self.mode == "newline":
            answer["access_token"] = "a-token\r\nX-Injected: yes"
        if self.held:
            self.held.wait(60)
        handler.answer(200, answer)

    # ---- a GitHub App ----

    def _jwt_fault(self, heard):
        """Why the JWT is none, or None."""
        kind, _, text = heard.authorization.partition(" ")
        parts = text.split(".")
        if kind != "Bearer" or len(parts) != 3:
            return "no JWT"
        head, claims = json.loads(_decoded(parts[0])), \
            json.loads(_decoded(parts[1]))
        try:
            self.app_key.verify(_decoded(parts[2]),
                                ".".join(parts[:2]).encode(),
                                padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return "the signature is wrong"
        now = time.time()
        if head["alg"] != "RS256" or str(claims["iss"]) != "4711":
            return f"{head} {claims}"
        if not now - 120 < claims["iat"] < now - 30:
            return f"iat {claims['iat'] - now}"
        if not now < claims["exp"] <= claims["iat"] + 660 or \
                claims["exp"] > now + 600:
            return f"exp {claims['exp'] - now}"
        return None

    def _installation(self, handler, heard):
        """Of a repository: the app is installed for all of acme's, and by
        another installation for those of zeta."""
        owner = heard.path.split("/")[2]
        number = {"acme": 42, "zeta": 43}.get(owner)
        if heard.method != "GET" or not number:
            handler.answer(404, {"message": "Not Found"})
        else:
            handler.answer(200, {"id": number, "app_id": 4711,
                                 "account": {"login": owner}})

    def github(self, handler, heard):
        if heard.path == "/installation/token":
            if self.mode == "mute":
                self.heard_out.wait(300)
                return
            token = heard.authorization.removeprefix("Bearer ")
            with self.lock:
                self.revoked.append(token)
            handler.send_response(204)
            handler.end_headers()
            return
        is_question = heard.path.startswith("/repos/")
        if self.spoil(handler, 200 if is_question else 201):
            return
        fault = self._jwt_fault(heard)
        if fault:
            self.faults.append(fault)
            handler.answer(401, {"message": "A JSON web token could not be "
                                            "decoded"})
            return
        if is_question:
            self._installation(handler, heard)
            return
        wanted = json.loads(heard.body)
        token = "ghs_" + secrets.token_hex(18)
        with self.lock:
            self.issued.append(token)
        end = time.gmtime(time.time() + self.lifetime)
        handler.answer(201, {
            "token": token,
            "expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", end),
            "permissions": wanted.get("permissions", {}),
            "repository_selection": "selected",
            "repositories": [{"name": n, "full_name": f"acme/{n}"}
                             for n in wanted.get("repositories", [])]})
