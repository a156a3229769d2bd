"""A session without a sandbox: its edge serves a listener on loopback, so
that plain curl, git and sockets can speak to it."""
import json
import os
import pathlib
import socket
import ssl
import subprocess

from forge import git_env
from gateway import wait_until
from wire import (LISTENER_DNS_TCP, LISTENER_DNS_UDP, LISTENER_TCP,
                  Attachment)


class Answer:
    """What curl got: the last response, those before it, and its exit."""

    def __init__(self, done, body):
        self.exit = done.returncode
        self.error = done.stderr
        self.body = body
        # Read as text: its lines end as Python's do.
        heads = [head for head in done.stdout.split("\n\n") if head]
        self.head = heads[-1] if heads else ""
        self.heads = heads
        self.status = int(self.head.split()[1]) if self.head else 0

    @property
    def text(self):
        return self.body.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.body)


class Session:
    def __init__(self, gateway, directory, policy, repo=None, branch="",
                 ttl=600, permissions=None):
        self.gateway = gateway
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(exist_ok=True)
        self.repo = repo
        made = gateway.create(policy, repo.url if repo else "", branch, ttl,
                              permissions=permissions)
        self.permissions = made["permissions"]
        self.id = made["id"]
        self.lease = made["lease"]
        self.placeholders = made["placeholders"]
        self.curl_options = ()  # before those of a call
        self.ca = self.dir / "session-ca.pem"
        self.ca.write_text(made["ca_pem"])
        self.attachment = Attachment(gateway.run_dir / "attach.sock")
        self.port = self._attach_tcp()
        self.proxy = f"http://127.0.0.1:{self.port}"
        (self.dir / "home").mkdir(exist_ok=True)
        (self.dir / "no-ca").mkdir(exist_ok=True)

    def _attach_tcp(self):
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            self.attachment.attach(self.id, LISTENER_TCP, listener)
            return listener.getsockname()[1]

    def attach_dns(self):
        """A UDP and a TCP port on which this session's DNS is served."""
        with socket.socket(type=socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", 0))
            self.attachment.attach(self.id, LISTENER_DNS_UDP, udp)
            udp_port = udp.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as tcp:
            self.attachment.attach(self.id, LISTENER_DNS_TCP, tcp)
            return udp_port, tcp.getsockname()[1]

    def close(self):
        self.attachment.close()

    def edge(self):
        return self.gateway.pid("edge", self.id)

    def audit(self, kind=""):
        return self.gateway.audit(self.id, kind)

    def row(self, kind, **wanted):
        """The newest record of a kind with these values; waits for it, as
        records are stored a moment after what they tell."""
        def look():
            return [row for row in self.audit(kind)
                    if all(row.get(k) == v for k, v in wanted.items())]
        return wait_until(look)[-1]

    # ---- curl ----

    def curl(self, url, *args, timeout=60):
        body = self.dir / "curl-body"
        body.write_bytes(b"")
        done = subprocess.run(
            ["curl", "-sS", "-x", self.proxy, "--cacert", self.ca, "-D", "-",
             "-o", body, "--suppress-connect-headers", *self.curl_options,
             *map(str, args), url],
            capture_output=True, text=True, timeout=timeout, check=False,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(self.dir)})
        return Answer(done, body.read_bytes())

    # ---- git ----

    def git_env(self):
        # Of the system's authorities none: git reads all of them each time,
        # which is two thirds of what a request of it takes.
        return {**git_env(self.dir / "home"), "HTTPS_PROXY": self.proxy,
                "GIT_SSL_CAINFO": str(self.ca),
                "GIT_SSL_CAPATH": str(self.dir / "no-ca")}

    def git(self, *args, cwd=None, check=True, timeout=120, **env):
        done = subprocess.run(["git", *map(str, args)], cwd=cwd or self.dir,
                              env={**self.git_env(), **env}, text=True,
                              capture_output=True, timeout=timeout,
                              check=False, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise AssertionError(f"git {args}: {done.stderr}{done.stdout}")
        return done

    def clone(self, *options, name="work"):
        self.git("clone", "-q", *options, self.repo.url, name)
        return Work(self, self.dir / name)

    # ---- plain sockets ----

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def connect_tls(self, host, port, name=None):
        """Through CONNECT; the TLS socket inside."""
        plain = self.connect()
        plain.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n"
                      f"Host: {host}:{port}\r\n\r\n".encode())
        head = read_head(plain)
        assert b" 200 " in head.split(b"\r\n")[0], head
        context = ssl.create_default_context(cafile=self.ca)
        return context.wrap_socket(plain, server_hostname=name or host)


class Work:
    """A working copy made through a session."""

    def __init__(self, session, path):
        self.session = session
        self.path = path

    def git(self, *args, **kwargs):
        return self.session.git(*args, cwd=self.path, **kwargs)

    def out(self, *args):
        return self.git(*args).stdout.strip()

    def commit(self, message="a change", name="file", content=None):
        content = message if content is None else content
        if isinstance(content, str):
            content = content.encode()
        (self.path / name).write_bytes(content)
        if len(content) > 1 << 20:  # random bytes; it would take long
            self.git("config", "core.compression", "0")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.out("rev-parse", "HEAD")

    def push(self, *refspecs, check=False, **kwargs):
        return self.git("push", "origin", *refspecs, check=check, **kwargs)


def read_head(stream):
    """A response's head from a socket, byte by byte: nothing beyond it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = stream.recv(1)
        if not byte:
            break
        head += byte
    return head
