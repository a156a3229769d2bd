"""A web server for canaries: it remembers what it got, and sends it back in
whatever form it is asked for. It asks for a client certificate as well."""
import http.server
import json
import ssl
import threading

import reflection
from origin import free_port


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def _answer(self, status, body, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields = {k.lower(): v for k, v in self.headers.items()}
        peer = self.connection.getpeercert()
        self.server.seen.append({"path": self.path, "fields": fields,
                                 "body": body, "peer": peer})
        words = self.path.split("?")[0].split("/")
        way, form = words[2], words[3] if len(words) > 3 else ""
        if way == "dead":
            self.close_connection = True
        elif way == "401":
            self._answer(401, b"not you\n", WWW_Authenticate="Bearer")
        elif way == "reflect" and form == "header":
            self._answer(200, b"look above\n",
                         X_Was=fields.get("authorization", self.path))
        elif way == "reflect":
            text = json.dumps([self.path, fields, body.decode()])
            for value in [self.path, *fields.values(), body.decode()]:
                text += f"\n<{reflection.FORMS[form](value)}>"
            self._answer(500 if form == "hex" else 200, text.encode())
        else:
            self._answer(200, b"well\n")

    do_GET = do_POST = do_HEAD = _serve


class Upstream(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, pem, clients):
        self.seen = []
        super().__init__((address, free_port(address)), Handler)
        self.port = self.server_address[1]
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pem)
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self._context.load_verify_locations(cadata=clients)
        threading.Thread(target=self.serve_forever, args=(0.05,),
                         daemon=True).start()

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

    def of(self, path):
        """What came with a path that begins so."""
        return [seen for seen in list(self.seen)
                if seen["path"].startswith(path)]

    def stop(self):
        self.shutdown()
        self.server_close()
