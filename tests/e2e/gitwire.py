"""Pushes made by hand: what clients other than git send, and what no client
would."""
import http.client
import re
import subprocess
import time

ZERO = "0" * 40
CAPS = "report-status side-band-64k object-format=sha1 agent=hand/1"
TYPE = "application/x-git-receive-pack-request"


def pkt(line):
    if isinstance(line, str):
        line = line.encode()
    return b"%04x" % (len(line) + 4) + line


def commands(updates, caps=CAPS):
    """updates: (old, new, ref); the command list with its flush."""
    lines = [f"{old} {new} {ref}".encode() for old, new, ref in updates]
    lines[0] += b"\0 " + caps.encode()
    return b"".join(pkt(line) for line in lines) + b"0000"


def pack(work, tips, without=()):
    """A thick pack of what tips reach and `without` do not."""
    revisions = "\n".join([*tips, *(f"^{name}" for name in without)]) + "\n"
    return subprocess.run(["git", "pack-objects", "--revs", "--stdout", "-q"],
                          cwd=work.path, input=revisions.encode(),
                          env=work.session.git_env(), check=True,
                          capture_output=True).stdout


class Report:
    """An answer to a push: what git would show of it."""

    def __init__(self, body):
        self.text = ""  # side-band 2
        plain = b""
        while body:
            length = int(body[:4], 16)
            if length == 0:
                body = body[4:]
                continue
            band, data, body = body[4], body[5:length], body[length:]
            if band == 1:
                plain += data
            elif band == 2:
                self.text += data.decode()
        self.lines = [line[4:].decode().rstrip("\n") for line in
                      _packets(plain)]
        self.refused = {m[1]: m[2] for line in self.lines
                        if (m := re.match(r"ng (\S+) (.*)", line))}
        self.landed = [line[3:] for line in self.lines
                       if line.startswith("ok ")]


def _packets(data):
    while data:
        length = int(data[:4], 16)
        if length == 0:
            return
        yield data[:length]
        data = data[length:]


class SlowPush:
    """A push in pieces over a TLS connection through the gateway."""

    def __init__(self, session, encoding=None):
        repo = session.repo
        host = f"github.com{repo.forge.suffix}"
        self.socket = session.connect_tls("github.com", repo.forge.port)
        self.socket.settimeout(60)
        head = (f"POST /{repo.name}/git-receive-pack HTTP/1.1\r\n"
                f"Host: {host}\r\nContent-Type: {TYPE}\r\n"
                "User-Agent: JGit/6\r\n")
        if encoding:
            head += f"Content-Encoding: {encoding}\r\n"
        self.socket.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n"
                            b"\r\n")

    def send(self, data, piece=65536, pause=0):
        for start in range(0, len(data), piece):
            part = data[start:start + piece]
            self.socket.sendall(b"%x\r\n" % len(part) + part + b"\r\n")
            if pause:
                time.sleep(pause)

    def finish(self):
        """The answer's status and body."""
        self.socket.sendall(b"0\r\n\r\n")
        answer = http.client.HTTPResponse(self.socket)
        answer.begin()
        return answer.status, answer.read()

    def close(self):
        self.socket.close()


def push(session, body, encoding=None):
    """A whole push at once: (status, Report)."""
    slow = SlowPush(session, encoding)
    try:
        slow.send(body)
        status, answer = slow.finish()
    finally:
        slow.close()
    return status, Report(answer) if status == 200 else answer.decode()
