"""Canary secrets of every attach kind, used, reflected, rotated and refused;
then everything that can be read but the vault, the courier and the exchange:
no canary, in any form."""
import base64
import hashlib
import hmac
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pytest
import reflection
import taint
import token_double
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from forge import SOURCE
from gateway import CLI, Gateway
from origin import free_port
from pki import Authority
from sandbox_tool import ORDINARY_UID, USERS
from session import Session
from taint import MARK, Search, Sweep, canary
from taint_upstream import Upstream
from token_double import API, ISSUER, TokenDouble
from waiting import wait_until

HOST = "plain.example"
PID = os.getpid()
# Who may hold secrets; the exchange those of a purchase.
HOLDERS = ("sallyport-vault", "sallyport-courier", "sallyport-exchange")
ID = "AKIDTAINT0123456"
PLANTED = "planted-" + os.urandom(12).hex()
ALNUM = MARK + "sigv4" + os.urandom(8).hex() + MARK
ATTACH = {
    "bearer": {"attach": "bearer"},
    "long": {"attach": "bearer", "scrub": True},
    "basic": {"attach": "basic", "username": "robot"},
    "header": {"attach": "header", "scrub": True,
               "header": {"name": "X-Api-Key", "format": "token %s"}},
    "query": {"attach": "query", "query": {"name": "key"}},
    "sigv4": {"attach": "sigv4", "sigv4": {"region": "eu-central-1",
                                           "service": "sqs"}},
    "placeholder": {"attach": "placeholder", "placeholder": {
        "env": ["PLACEHOLDER"],
        "in": ["header", "basic", "query", "path", "body"]}},
    "certificate": {"attach": "certificate"},
    "file": {"attach": "bearer"},
    "exec": {"attach": "bearer"},
    "oauth": {"attach": "bearer"},
    "refreshed": {"attach": "bearer"},
    "app": {"attach": "bearer"},
}
VALUES = {
    **{kind: canary(kind) for kind in ("bearer", "basic", "header", "query",
                                       "placeholder", "file", "exec")},
    "long": canary("long", 6000),
    "sigv4": f"{ID}:{ALNUM}:{MARK}token{MARK}",
    "rotated": canary("rotated"),
}


def pem_of(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()).decode()


def signing_key():
    """As ssh-keygen writes one, and what is secret of it: its seed, and the
    lines in which that stands."""
    key = ed25519.Ed25519PrivateKey.generate()
    seed = key.private_bytes(
        serialization.Encoding.Raw, serialization.PrivateFormat.Raw,
        serialization.NoEncryption())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption()).decode()
    lines = text.strip().split("\n")[1:-1]
    whole = base64.b64decode("".join(lines))
    first = whole.index(seed) * 4 // 3 // len(lines[0])
    last = (whole.index(seed) + len(seed)) * 4 // 3 // len(lines[0])
    return text, {"the signer's seed": seed} | {
        f"the signer's line {i}": lines[i] for i in range(first, last + 1)
        if len(lines[i]) >= 16}


def scalar(number):
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


class TaintedTokens:
    """secrets, to the token double: its tokens are canaries."""
    @staticmethod
    def token_hex(count):
        return MARK + os.urandom(count).hex() + MARK


class World:
    """One gateway, all that was done with it, and all that it showed."""

    def __init__(self, user, root, parts):
        self.user, self.root = user, root
        self.__dict__.update(parts)
        self.shown = {}  # surface: [(what, bytes)]
        self.private = rsa.generate_private_key(65537, 2048)
        self.certificate = self.clients.leaf("robot", usage=False)
        key = serialization.load_pem_private_key(
            self.certificate.encode(), None)
        wanted = {"a canary": MARK, "the forge's token": self.forge.token,
                  "the certificate's key": scalar(
                      key.private_numbers().private_value)}
        for name, pem in (("certificate", self.certificate),
                          ("app", pem_of(self.private))):
            lines = pem.split("-----BEGIN PRIVATE KEY-----")[1].split("\n")
            wanted |= {f"{name}'s line {i}": lines[i] for i in (1, 2)}
        for name in ("d", "p", "q"):
            wanted[f"the app's {name}"] = scalar(
                getattr(self.private.private_numbers(), name))
        self.signer, secret = signing_key()
        self.search = Search(**wanted, **secret)
        self.sweep = Sweep(self.search)
        self.dead = free_port(self.upstream.server_address[0])
        self.closed = []
        self._number = 0

    # ---- what is looked at ----

    def show(self, surface, what, data):
        data = data if isinstance(data, bytes) else str(data).encode()
        self.shown.setdefault(surface, []).append((what, data))

    def found(self, surface):
        return [f"{name} in {what}" for what, data in self.shown[surface]
                for name in self.search.find(data)]

    # ---- the gateway ----

    def give(self):
        if self.user == "ordinary" and os.geteuid() == 0:
            for path in [self.root, *self.root.rglob("*")]:
                os.chown(path, ORDINARY_UID, ORDINARY_UID,
                         follow_symlinks=False)

    def start(self):
        self.began = time.time()
        for name, text, mode in (
                ("token", VALUES["file"], 0o600),
                ("program", "#!/bin/sh\ncat <<'END'\n" + VALUES["exec"] +
                 "\nEND\n", 0o755)):
            path = self.root / name
            path.write_text(text)
            path.chmod(mode)
        (self.root / "gw").mkdir()
        issuer = self.tokens.url("/token")
        hosts = {name: self.forge.address
                 for name in ("github.com", "api.github.com")}
        hosts |= {HOST: self.upstream.server_address[0],
                  API: self.tokens.address, ISSUER: self.tokens.address}
        self.gateway = Gateway(self.root / "gw", hosts,
                               self.forge.ca_pem + self.pki[1], config={
            "secrets": {
                "file": {"file": str(self.root / "token")},
                "exec": {"exec": [str(self.root / "program")]},
                "oauth": {"oauth2": {"token_url": issuer,
                                     "client": "client"}},
                "refreshed": {"oauth2": {"token_url": issuer,
                                         "client": "client",
                                         "refresh_token": "refresh"}},
                "app": {"github_app": {
                    "app": 4711, "installation": 42, "key": "app-key",
                    "api": self.tokens.url("")}}}})
        if self.user == "ordinary" and os.geteuid() == 0:
            self.gateway.as_user = {"user": ORDINARY_UID,
                                    "group": ORDINARY_UID,
                                    "extra_groups": []}
        self.give()
        self.gateway.start()

    def put_secrets(self):
        self.tokens.client = ("client", MARK + "of-the-client" + MARK)
        self.tokens.refresh = MARK + "first-refresh" + MARK
        self.tokens.app_key = self.private.public_key()
        put = self.gateway.put_secret
        for kind in ("bearer", "long", "basic", "header", "query", "sigv4"):
            put(kind, VALUES[kind])
        self.cli("secret", "put", "placeholder", stdin=VALUES["placeholder"])
        self.cli("secret", "put", "certificate", stdin=self.certificate)
        self.cli("secret", "put", "app-key", stdin=pem_of(self.private))
        put("client", ":".join(self.tokens.client))
        put("refresh", self.tokens.refresh)
        put("forge", self.forge.token)
        self.cli("secret", "put", "signer", stdin=self.signer)

    def cli(self, *args, **options):
        done = self.gateway.cli(*args, **options)
        self.show("commands", " ".join(map(str, args)),
                  done.stdout + done.stderr)
        return done

    # ---- sessions ----

    def policy(self):
        rules = [{"name": kind, "hosts": [HOST], "action": "allow",
                  "ports": [self.upstream.port, self.dead],
                  "paths": [f"/{kind}/**"], "credential": kind}
                 for kind in ATTACH]
        rules += [{"hosts": ["api.github.com"], "methods": ["GET"],
                   "ports": [self.forge.port], "credential": "forge",
                   "action": "allow"},
                  {"hosts": [HOST], "ports": [self.upstream.port],
                   "methods": ["POST"], "paths": ["/body/**"],
                   "body": {"secrets": "deny"}, "action": "allow"}]
        addresses = [self.forge.address, self.upstream.server_address[0]]
        made = [{"name": kind, "secret": kind, "hosts": [HOST], **attach}
                for kind, attach in ATTACH.items()]
        made.append({"name": "forge", "secret": "forge", "attach": "github",
                     "hosts": ["github.com", "api.github.com"]})
        app = f"https://{HOST}:{self.upstream.port}/acme/of-the-app"
        return {
            "version": 1,
            "network": {"rules": rules, "addresses": {
                "allow": [f"{address}/32" for address in addresses]}},
            "credentials": made,
            "git": [{"repo": self.repo.url, "credential": "forge",
                     "read": True,
                     "push": {"branches": ["${session.branch}"],
                              "secrets": "deny",
                              "sign": {"key": "signer",
                                       "author": "agent <agent@example>"}}},
                    {"repo": app, "credential": "app", "read": True}],
            "environment": {"set": {"PLANTED": PLANTED}}}

    def session(self):
        self._number += 1
        return Session(self.gateway, self.root / f"s{self._number}",
                       self.policy(), self.repo, "agent/1")

    def url(self, path, port=None):
        return f"https://{HOST}:{port or self.upstream.port}{path}"

    def ask(self, session, path, *args, port=None):
        answer = session.curl(self.url(path, port), *args)
        self.show("answers", path, answer.error.encode() + b"\n".join(
            head.encode() for head in answer.heads) + answer.body)
        return answer

    def use(self, session, kinds=tuple(ATTACH)):
        """Requests of each kind, those that go wrong as well."""
        for kind in kinds:
            args = []
            if kind == "placeholder":
                worthless = session.placeholders["PLACEHOLDER"]
                args = ["-H", f"X-Key: {worthless}", "-u", f"a:{worthless}",
                        "-d", worthless]
            path = f"/{kind}/well"
            answer = self.ask(session, path, *args)
            assert answer.status == 200, (kind, answer.text)
            assert self.upstream.of(path), kind
            self.ask(session, f"/{kind}/reflect/header", *args)
        assert self.ask(session, "/bearer/401").status == 401
        assert self.ask(session, "/bearer/dead").status == 502
        assert self.ask(session, "/bearer/x", port=self.dead).status == 502
        assert self.ask(session, "/nothing").status == 403
        answer = self.ask(session, "/body/x", "-H",
                          "Content-Type: text/plain", "-d", "nothing")
        assert answer.status == 200, answer.text

    def use_git(self, session):
        work = session.clone(name=f"work{self._number}")
        work.commit(f"change {self._number}")
        self.show("answers", "push", str(work.push("HEAD:agent/1")))
        assert self.repo.tip("agent/1") == work.out("rev-parse", "HEAD")
        refused = work.push("HEAD:main")
        assert refused.returncode != 0
        self.show("answers", "refused push", str(refused))
        api = f"https://api.github.com{self.forge.suffix}/zen"
        assert session.curl(api).status == 200

    def add_signing_key(self):
        """What SigV4 makes of a secret for a day."""
        seen = self.upstream.of("/sigv4/well")[-1]["fields"]
        assert seen["authorization"].startswith("AWS4-HMAC-SHA256"), seen
        key = b"AWS4" + ALNUM.encode()
        for part in (seen["x-amz-date"][:8], "eu-central-1", "sqs",
                     "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
            self.search.add("the signing key", key)


INSIDE = r"""
git clone -q -b agent/1 $REPO w && cd w && echo 1 >f && git add f
git commit -q -m 'from inside' && git push -q origin HEAD:agent/1
echo pushed=$?; git push origin HEAD:main; cd ..
for kind in $KINDS; do
	curl -sS -i -u "a:$PLACEHOLDER" "$URL/$kind/{$WAYS}"
done
env
touch ready
while [ ! -e go ]; do sleep 0.05; done
/usr/bin/python3 look.py
"""
LOOK = r"""
import os, stat
out = open("dump", "wb")
own = os.fstat(out.fileno())

def put(what, data):
    out.write(b"\n== " + what.encode(errors="replace") + b"\n" + data)

def put_file(path, limit=4 << 20):
    try:
        info = os.stat(path)
        if stat.S_ISREG(info.st_mode) and info.st_size < limit and \
                (info.st_dev, info.st_ino) != (own.st_dev, own.st_ino):
            with open(path, "rb") as file:
                put(path, file.read(limit))
    except OSError:
        pass

def put_memory(pid):
    with open(f"/proc/{pid}/maps") as maps, \
            open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            where, rights, *_ = line.split()
            start, end = (int(x, 16) for x in where.split("-"))
            if rights.startswith("rw") and end - start <= 64 << 20:
                try:
                    put(f"memory of {pid} {where}",
                        os.pread(memory.fileno(), end - start, start))
                except OSError:
                    pass

for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "maps", "status", "mountinfo"):
        put_file(f"/proc/{pid}/{name}")
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            put(f"{pid} {fd}", os.readlink(f"/proc/{pid}/fd/{fd}").encode())
            put_file(f"/proc/{pid}/fd/{fd}")
    except OSError:
        pass
    try:
        put_memory(pid)
    except OSError:
        pass
began = float(os.environ["BEGAN"])
for folder, folders, files in os.walk("/"):
    # The host's programs, and what is being built there meanwhile.
    skipped = ("proc", "sys", "usr") if folder == "/" else ("build",)
    folders[:] = [f for f in folders if f not in skipped and
                  os.path.join(folder, f) != os.environ["SOURCE"]]
    for name in files:
        path = os.path.join(folder, name)
        try:
            info = os.lstat(path)
            if stat.S_ISREG(info.st_mode) and (
                    info.st_ctime >= began or
                    path.startswith(("/run/", "/etc/", "/dev/shm/"))):
                put_file(path)
        except OSError:
            pass
"""


def in_a_sandbox(world):
    workspace = world.root / "workspace"
    workspace.mkdir()
    (workspace / "look.py").write_text(LOOK)
    policy = world.policy()
    policy["environment"]["set"] |= {
        "REPO": world.repo.url, "URL": world.url(""),
        "KINDS": " ".join(ATTACH), "WAYS": ",".join(
            ["well", "401", "dead", "reflect/header"] +
            [f"reflect/{form}" for form in reflection.FORMS]),
        "BEGAN": str(world.began), "SOURCE": str(SOURCE),
        "GIT_AUTHOR_NAME": "agent", "GIT_AUTHOR_EMAIL": "agent@example",
        "GIT_COMMITTER_NAME": "agent",
        "GIT_COMMITTER_EMAIL": "agent@example"}
    world.give()
    done = []
    runner = threading.Thread(target=lambda: done.append(world.gateway.run(
        policy, INSIDE, workspace, repo=world.repo.url, branch="agent/1",
        timeout=300)))
    runner.start()
    wait_until(lambda: (workspace / "ready").exists() or done, 150)
    assert not done, done
    if os.geteuid() == 0:
        runs = [pid for pid, name in taint.family(PID).items()
                if name == CLI.name]
        world.sweep.take(world.gateway.process.pid, *runs)
    (workspace / "go").touch()
    runner.join(150)
    assert done and done[0].returncode == 0, done
    assert "pushed=0" in done[0].stdout, done[0].stdout + done[0].stderr
    assert "gpgsig" in world.repo.git("cat-file", "commit", "agent/1")
    world.show("sandbox", "stdout", done[0].stdout)
    world.show("sandbox", "stderr", done[0].stderr)
    for path in workspace.rglob("*"):
        if path.is_file() and not path.is_symlink():
            world.show("sandbox", path.name, path.read_bytes())


class Events(threading.Thread):
    """Hears /v1/events until the gateway ends."""

    def __init__(self, gateway):
        super().__init__(daemon=True)
        self.heard = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(gateway.run_dir / "control.sock"))
        self.socket.sendall(b"GET /v1/events HTTP/1.1\r\n"
                            b"Host: localhost\r\n\r\n")
        self.start()

    def run(self):
        with self.socket:
            while piece := self.socket.recv(65536):
                self.heard += piece


def ask_everything(world, session):
    for path in ("/v1/status", "/v1/sessions", f"/v1/sessions/{session.id}",
                 "/v1/secrets", "/v1/audit?limit=20000", "/v1/audit/verify",
                 "/v1/ca"):
        world.show("api", path, world.gateway.call("GET", path))
    assert world.gateway.get("/v1/audit/verify")["intact"]
    for args in (["status"], ["status", "-o", "json"], ["secret", "list"],
                 ["session", "list"], ["session", "show", session.id],
                 ["audit", "tail"], ["audit", "verify"], ["push", "list"],
                 ["policy", "explain", "--policy",
                  world.gateway.dir / "policy.yaml", "--repo",
                  world.repo.url, "--branch", "agent/1"]):
        assert world.cli(*args).returncode == 0, args


def live(world):
    """A gateway's life, from its start to its end."""
    world.start()
    world.put_secrets()
    events = Events(world.gateway)
    session = world.session()
    world.use(session)
    world.use_git(session)
    world.add_signing_key()
    in_a_sandbox(world)
    done = world.cli("secret", "rotate", "bearer", stdin=VALUES["rotated"])
    assert done.returncode == 0, done.stderr
    assert world.cli("secret", "rotate", "--key").returncode == 0
    world.use(session, ["bearer", "oauth"])
    seen = world.upstream.of("/bearer/well")[-1]["fields"]
    assert seen["authorization"] == "Bearer " + VALUES["rotated"]
    ask_everything(world, session)
    if os.geteuid() == 0:
        world.sweep.take(world.gateway.process.pid)
    else:
        nobody_may_look(world)
    session.close()
    world.gateway.stop()
    events.join(30)
    world.show("api", "events", events.heard)
    world.gateway.start()
    session = world.session()
    world.use(session, ["bearer", "refreshed", "certificate"])
    # Its connection is kept while the courier is looked at.
    assert world.ask(session, "/certificate/well").status == 200
    if os.geteuid() == 0:
        world.sweep.take(world.gateway.process.pid)
    session.close()
    world.gateway.stop()
    world.gateway.check()


def nobody_may_look(world):
    """Who may not look into memory proves that nobody like him may."""
    for process in world.gateway.status()["processes"]:
        with pytest.raises(PermissionError):
            pathlib.Path(f"/proc/{process['pid']}/mem").open("rb").close()
        world.closed.append(process["role"])


@pytest.fixture(scope="module", params=USERS)
def world(request, forge, pki):
    middle = f"127.{64 + (PID >> 8) % 128}.{PID & 255}"
    root = pathlib.Path(tempfile.mkdtemp(prefix="sp-taint-"))
    root.chmod(0o755)
    clients = Authority("client CA")
    upstream = Upstream(f"{middle}.31", pki[0][HOST], clients.pem())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_double, "secrets", TaintedTokens)
        tokens = TokenDouble(f"{middle}.32", free_port(f"{middle}.32"),
                             pki[0][API])
        made = World(request.param, root, {
            "forge": forge, "pki": pki, "clients": clients,
            "upstream": upstream, "tokens": tokens, "repo": forge.repo()})
        try:
            live(made)
            yield made
        finally:
            if made.gateway.process.poll() is None:
                made.gateway.stop()
            tokens.stop()
            upstream.stop()
            shutil.rmtree(root)


# ---- the search itself ----

@pytest.mark.parametrize("form", taint.forms(MARK.encode()))
def test_the_search_finds_each_form(form):
    search = Search(canary=MARK)
    text = taint.forms(MARK.encode())[form]
    assert search.find(b"-- " + text + b" --")
    assert not search.find(b"-- " + text[:-2] + b"  --")


def test_the_search_finds_base64_beside_anything():
    search = Search(canary=MARK)
    for i in range(3):
        text = "x" * i + MARK
        for end in ("", "y", "yz"):
            data = taint.base64.b64encode((text + end).encode())
            assert search.find(b"--" + data), (i, end)


def test_the_search_finds_what_a_process_holds(tmp_path):
    """In its memory, its environment, its arguments, its open files."""
    (tmp_path / "file").write_text(MARK)
    script = ("import sys; x = sys.stdin.readline()[::-1]; "
              "f = open('file'); print('ready', flush=True); "
              "sys.stdin.readline()")
    with subprocess.Popen(
            ["python3", "-c", script, MARK], stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, cwd=tmp_path, env={"A": MARK}) as child:
        child.stdin.write(MARK + "\n")
        child.stdin.flush()
        assert child.stdout.readline() == "ready\n"
        sweep = Sweep(Search(canary=MARK))
        sweep.take(child.pid)
        child.stdin.close()
    found = " ".join(sum(sweep.holders().values(), []))
    for words in ("canary (reversed) in memory", "canary (plain) in environ",
                  "canary (plain) in cmdline", "canary (plain) in fd/3"):
        assert words in found, found


# ---- what the run showed ----

def test_each_secret_reached_upstream(world):
    """Else there would be nothing to look for."""
    for kind in ("bearer", "long", "file", "exec"):
        seen = world.upstream.of(f"/{kind}/well")[0]["fields"]
        assert seen["authorization"] == f"Bearer {VALUES[kind]}"
    for kind in ("oauth", "refreshed", "app"):
        seen = world.upstream.of(f"/{kind}/well")[0]["fields"]
        assert seen["authorization"].removeprefix("Bearer ") in \
            world.tokens.issued
    assert world.upstream.of("/certificate/well")[0]["peer"]
    placed = world.upstream.of("/placeholder/well")[0]
    assert placed["fields"]["x-key"] == VALUES["placeholder"]


@pytest.mark.parametrize("surface", ["answers", "commands", "api",
                                     "sandbox"])
def test_nothing_that_was_shown_has_a_canary(world, surface):
    assert not world.found(surface)
    assert sum(len(data) for _, data in world.shown[surface]) > 2000


def test_all_of_a_sandbox_was_looked_at(world):
    """What was put there, is found in each place."""
    dump = dict(world.shown["sandbox"])["dump"]
    search = Search(planted=PLANTED)
    parts = dump.split(b"\n== ")
    places = {part.split(b"\n")[0].split(b" ")[0] for part in parts
              if search.find(part)}
    assert b"memory" in places
    assert any(place.endswith(b"/environ") for place in places), places
    assert any(part.startswith(b"/etc/") for part in parts)


def test_no_file_has_a_canary(world):
    """The log, the ledger, the sealed vault, the run's directory."""
    names = []
    for path in world.gateway.dir.rglob("*"):
        if path.is_file() and not path.is_symlink():
            names.append(str(path))
            assert not world.search.find(path.read_bytes()), path
    for name in ("/log", "vault.key", "vault.db", "ledger.db"):
        assert any(path.endswith(name) for path in names), names


def test_no_process_but_the_holders_has_a_canary(world):
    if os.geteuid() != 0:  # nobody_may_look() is the proof
        assert {"control", "ledger", "dialer", "minter",
                "edge"} <= set(world.closed)
        return
    assert not world.sweep.holders(*HOLDERS)
    read = world.sweep.read
    for role in ("gateway", "control", "ledger", "dialer", "minter", "edge"):
        assert read[f"sallyport-{role}"] > 100000, read
    assert read["sallyport"] > 100000, read
    for name, limit in world.sweep.cores.items():
        if name.startswith("sallyport-"):
            assert limit == ["0", "0"], name


def test_the_holders_have_what_is_theirs(world):
    """The control: by the same way of looking the canaries are found."""
    if os.geteuid() != 0:
        assert {"vault", "courier"} <= set(world.closed)
        return
    found = {name: " ".join(what) for name, what in world.sweep.found.items()}
    # The exchange has them while it buys, and wipes them.
    for name in ("sallyport-vault", "sallyport-courier"):
        assert "a canary (plain) in memory" in found[name], found
    # As OpenSSL keeps it: the other way round since 3.5.
    assert "the certificate's key (" in found["sallyport-courier"]
