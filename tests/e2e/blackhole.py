"""Run inside a network namespace where IPv6 leads nowhere: a gateway, a
session, a name with addresses of both families. Prints what came of it.

usage: blackhole.py DIRECTORY"""
import http.server
import json
import pathlib
import sys
import threading
import time

from dns_double import DnsDouble, addresses
from gateway import Gateway
from session import Session

HOLE = "2001:db8:1::2"
ADDRESS = "127.1.2.3"
PORT = 8080


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")


def main(directory):
    server = http.server.ThreadingHTTPServer((ADDRESS, PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    dns = DnsDouble("127.1.2.4", 5300)
    dns.names = {"both.example": addresses(HOLE, ADDRESS),
                 "hole.example": addresses(HOLE)}
    gateway = Gateway(directory, {}, "",
                      config={"dns": {"servers": [dns.where]}})
    (directory / "ca.pem").write_text(
        pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text())
    gateway.start()
    try:
        session = Session(gateway, directory / "s", {
            "version": 1, "network": {
                "rules": [{"hosts": ["both.example", "hole.example"],
                           "ports": [PORT], "action": "allow",
                           "paths": ["/**"]}],
                "addresses": {"allow": ["2001:db8:1::2/128",
                                        f"{ADDRESS}/32"]}}})
        said = {}
        for name in ("both", "hole"):
            began = time.monotonic()
            answer = session.curl(f"http://{name}.example:{PORT}/")
            said[name] = {"status": answer.status, "text": answer.text,
                          "seconds": time.monotonic() - began}
        session.close()
    finally:
        gateway.stop()
    gateway.check()
    print(json.dumps(said))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
