"""Upstream proxies for the tests: tinyproxy and microsocks, which see names
that are the tests' own, and a double that answers what it is told."""
import os
import shutil
import socket
import subprocess
import threading

from gateway import wait_until

USER, PASSWORD = "corp", "open-sesame-4711"


def gateway_behind(make_gateway, name, url, secret="proxy", **more):
    settings = {"url": url, "no_proxy": ["other.example", "127.0.0.0/8"],
                **more}
    if secret:
        settings["secret"] = secret
    gateway = make_gateway(name, config={"upstream_proxy": settings})
    gateway.put_secret("proxy", f"{USER}:{PASSWORD}")
    gateway.put_secret("wrong", f"{USER}:no")
    return gateway


def _is_listening(address, port):
    try:
        socket.create_connection((address, port), 1).close()
        return True
    except OSError:
        return False


class _Program:
    """A proxy in a mount namespace of its own, with its own /etc/hosts."""

    def __init__(self, directory, address, port, hosts):
        self.dir, self.address, self.port = directory, address, port
        self.dir.mkdir()
        (self.dir / "hosts").write_text(
            "".join(f"{to} {name}\n" for name, to in hosts.items()))
        self.log_path = self.dir / "log"
        unshare = ["unshare", "-m"] if os.getuid() == 0 else [
            "unshare", "-rm"]
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [*unshare, "sh", "-c",
                 'mount --bind "$0" /etc/hosts && exec "$@"',
                 self.dir / "hosts", *self.command()], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL)
        wait_until(lambda: _is_listening(address, port))

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


class Tinyproxy(_Program):
    scheme = "http"

    def command(self):
        config = self.dir / "tinyproxy.conf"
        config.write_text(
            f"Port {self.port}\nListen {self.address}\nTimeout 60\n"
            f"MaxClients 100\nLogLevel Info\nAllow 127.0.0.0/8\n"
            f"BasicAuth {USER} {PASSWORD}\n")
        return [shutil.which("tinyproxy"), "-d", "-c", config]

    def asked_for(self, host):
        return f"CONNECT {host}:" in self.log()


class Microsocks(_Program):
    scheme = "socks5"

    def command(self):
        return [shutil.which("microsocks"), "-i", self.address, "-p",
                str(self.port), "-u", USER, "-P", PASSWORD]

    def asked_for(self, host):
        return f"connected to {host}:" in self.log()


class Double:
    """Not a proxy: answers each connection as self.answer says, a function
    of the socket."""

    def __init__(self, address, port):
        self.answer = None
        self.seen = []
        self.listener = socket.create_server((address, port), backlog=50)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(stream,),
                             daemon=True).start()

    def _one(self, stream):
        try:
            stream.settimeout(30)
            self.seen.append(stream.recv(65536))
            if self.answer:
                self.answer(stream)
        except OSError:
            pass
        finally:
            stream.close()

    def stop(self):
        self.listener.close()
