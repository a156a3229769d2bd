"""A web server that keeps what it was sent and tells nobody: what reached
upstream is looked at by the tests alone. On /aws/... it is an AWS service
double: it verifies signatures by AWS's specification, with an
implementation of its own."""
import hashlib
import hmac
import http.server
import json
import re
import ssl
import threading
import urllib.parse

from origin import free_port


class Seen:
    """A request as it came."""

    def __init__(self, handler, body):
        self.method = handler.command
        self.target = handler.path
        self.fields = [(name.lower(), value)
                       for name, value in handler.headers.items()]
        self.headers = dict(self.fields)
        self.body = body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def _body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            if len(body) < length:
                self.server.cut.append(body)
                raise ConnectionError("the body was cut short")
            return body
        body = b""
        while True:
            line = self.rfile.readline()
            if not line:
                self.server.cut.append(body)
                raise ConnectionError("the body was cut short")
            size = int(line, 16)
            piece = self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return body
            body += piece
            self.server.come = body

    def _serve(self):
        seen = Seen(self, self._body())
        self.server.seen.append(seen)
        why = self.server.keys and fault(seen, self.server.keys)
        status = 403 if why else 200
        # What both kinds of AWS's protocols can read.
        answer = {"__type": why} if why else {}
        text = json.dumps(answer).encode() if self.command == "POST" else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve


class KeyedOrigin(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, pem):
        self.seen = []
        self.come = b""  # of a chunked body, so far
        self.cut = []  # bodies that ended before their end
        self.keys = {}  # access key id: (secret, token); none: no signatures
        super().__init__((address, free_port(address)), Handler)
        self.port = self.server_address[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self._context = context
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        request.settimeout(30)
        try:
            request = self._context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
        except (OSError, ValueError):
            pass
        finally:
            request.close()

    def handle_error(self, request, client_address):
        pass

    def stop(self):
        self.shutdown()
        self.server_close()


# ---- AWS Signature Version 4, as the documentation has it ----

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/,]+)/([^/,]+)/"
    r"aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$")


def _encoded(text):
    return urllib.parse.quote(text, safe="-_.~")


def _canonical_path(path, service):
    if service == "s3":
        path = urllib.parse.unquote(path)
    return "/".join(_encoded(part) for part in path.split("/"))


def _canonical_query(query):
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    return "&".join(f"{name}={value}" for name, value in sorted(
        (_encoded(name), _encoded(value)) for name, value in pairs))


def _mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def fault(seen, keys):
    """What is wrong with its signature; None: nothing."""
    found = AUTHORIZATION.match(seen.headers.get("authorization", ""))
    if not found:
        return "MissingAuthenticationToken"
    key_id, day, region, service, names, signature = found.groups()
    if key_id not in keys:
        return "InvalidClientTokenId"
    secret, token = keys[key_id]
    when = seen.headers.get("x-amz-date", "")
    if not when.startswith(day + "T"):
        return "SignatureDoesNotMatch: date"
    if token and seen.headers.get("x-amz-security-token") != token:
        return "InvalidToken"
    names = names.split(";")
    wanted = {"host"} | {name for name, _ in seen.fields
                         if name.startswith("x-amz-")}
    if not wanted <= set(names):
        return "SignatureDoesNotMatch: unsigned fields"
    payload = seen.headers.get("x-amz-content-sha256")
    digest = hashlib.sha256(seen.body).hexdigest()
    if payload not in (None, "UNSIGNED-PAYLOAD", digest):
        return "XAmzContentSHA256Mismatch"
    path, _, query = seen.target.partition("?")
    canonical = "\n".join([
        seen.method, _canonical_path(path, service), _canonical_query(query),
        *[f"{name}:" + ",".join(
            " ".join(value.split()) for field, value in seen.fields
            if field == name) for name in names],
        "", ";".join(names), payload or digest])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = _mac(b"AWS4" + secret.encode(), day)
    for part in (region, service, "aws4_request"):
        key = _mac(key, part)
    if not hmac.compare_digest(_mac(key, text).hex(), signature):
        return "SignatureDoesNotMatch"
    return None
