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


def ask(session, url, tries):
    """The last answer, and how long each took: the machine may be busy with
    others once, but not each time."""
    seconds = []
    while not seconds or (min(seconds) >= 5 and len(seconds) < tries):
        began = time.monotonic()
        answer = session.curl(url)
        seconds.append(time.monotonic() - began)
    return {"status": answer.status, "text": answer.text, "seconds": seconds}


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
        for name, tries in (("both", 3), ("hole", 1)):
            said[name] = ask(session, f"http://{name}.example:{PORT}/", tries)
        session.close()
    finally:
        gateway.stop()
    gateway.check()
    print(json.dumps(said))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
