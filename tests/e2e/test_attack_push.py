"""Pushes made to get around the rule (git.md): whatever git would apply is a
subset of what was authorised."""
import gzip
import random
import zlib

import gitwire
import pytest
from gitwire import CAPS, ZERO, pkt

MAIN = "refs/heads/main"
OWN = "refs/heads/agent/1"


@pytest.fixture
def target(work, session, repo):
    """Old tip of the own branch, a new one, and the pack between them."""
    old = work.commit("old")
    assert work.push("HEAD:agent/1").returncode == 0
    new = work.commit("new")
    return Target(session, repo, work, old, new)


class Target:
    def __init__(self, session, repo, work, old, new):
        self.session = session
        self.repo = repo
        self.old, self.new = old, new
        self.main = repo.tip("main")
        self.before = repo.refs()
        self.pack = gitwire.pack(work, [new], [self.main])
        self.good = f"{old} {new} {OWN}".encode()
        self.bad = f"{self.main} {new} {MAIN}".encode()
        self.create = f"{ZERO} {new} refs/heads/evil".encode()
        self.caps = b"\0 " + CAPS.encode()

    def send(self, body, encoding=None):
        try:
            return gitwire.push(self.session, body, encoding)
        except (OSError, ValueError, AssertionError) as error:
            return 0, str(error)

    def check(self):
        """Only the own branch may have moved, and only forward."""
        refs = self.repo.refs()
        moved = {name for name in refs.keys() | self.before.keys()
                 if refs.get(name) != self.before.get(name)}
        assert moved <= {OWN}
        assert refs[OWN] in (self.old, self.new)
        return refs[OWN] == self.new


def lists(t):
    """Command lists that a lenient reader takes for more than a strict one
    sees, or for something else."""
    good, bad, caps, flush = t.good, t.bad, t.caps, b"0000"
    first = pkt(good + caps)
    yield "both", first + pkt(bad) + flush
    yield "bad first", pkt(bad + caps) + pkt(good) + flush
    yield "create beside", first + pkt(t.create) + flush
    yield "two lists", first + flush + pkt(bad + caps) + flush
    yield "delim", first + b"0001" + pkt(bad) + flush
    yield "end", first + b"0002" + pkt(bad) + flush
    yield "0003", first + b"0003" + pkt(bad) + flush
    yield "0004", first + b"0004" + pkt(bad) + flush
    yield "upper length", first + pkt(bad).upper()[:4] + bad + flush
    yield "plus length", first + b"+" + pkt(bad)[1:] + flush
    yield "caps later", pkt(good + b"\0") + pkt(bad + caps) + flush
    yield "nul twice", pkt(good + b"\0\0 " + CAPS.encode()) + flush
    yield "ref after nul", pkt(good + b"\0" + bad + caps) + flush
    yield "two lines", pkt(good + caps + b"\n" + bad) + flush
    yield "lf in ref", pkt(good + b"\n" + bad + caps) + flush
    yield "cr in ref", pkt(good + b"\r" + caps) + flush
    yield "shallow after", first + pkt(f"shallow {t.old}") + pkt(bad) + flush
    yield "shallow hides", pkt(b"shallow " + bad) + first + flush
    yield "cert", pkt(b"push-cert\0" + CAPS.encode()) + pkt(
        b"certificate version 0.1\n") + pkt(b"\n") + pkt(bad + b"\n") + pkt(
        b"push-cert-end\n") + flush
    yield "cert behind", first + pkt(b"push-cert\n") + pkt(bad) + pkt(
        b"push-cert-end\n") + flush
    yield "options", pkt(good + caps + b" push-options") + flush + pkt(
        bad) + flush
    yield "twice", first + pkt(good) + flush
    yield "twice other", first + pkt(f"{t.old} {t.main} {OWN}") + flush
    yield "delete and create", pkt(f"{t.old} {ZERO} {OWN}".encode() + caps) \
        + pkt(f"{ZERO} {t.new} {OWN}") + flush
    yield "delete", pkt(f"{t.old} {ZERO} {OWN}".encode() + caps) + flush
    yield "delete main", pkt(f"{t.main} {ZERO} {MAIN}".encode() + caps) + flush
    yield "zero both", pkt(f"{ZERO} {ZERO} {OWN}".encode() + caps) + flush
    yield "rewind", pkt(f"{t.old} {t.main} {OWN}".encode() + caps) + flush
    yield "lies of the old", pkt(
        f"{t.main} {t.new} {OWN}".encode() + caps) + flush
    yield "lies of a create", pkt(
        f"{ZERO} {t.new} {OWN}".encode() + caps) + flush
    yield "upper oid", pkt(f"{t.old} {t.new.upper()} {OWN}".encode() + caps) \
        + flush
    yield "short oid", pkt(f"{t.old} {t.new[:39]} {OWN}".encode() + caps) \
        + flush
    yield "sha256", pkt(f"{t.old}{'0' * 24} {t.new}{'0' * 24} {OWN}".encode()
                        + caps.replace(b"sha1", b"sha256")) + flush
    yield "unknown capability", pkt(good + caps + b" evil=1") + flush
    yield "no flush", first
    yield "flush first", flush + first + flush
    yield "empty", b""
    yield "half", first[:30]


NAMES = ["HEAD", "refs/heads/HEAD", "refs/heads/refs/heads/main",
         "refs/heads/x/../main", "refs/heads//main", "refs/heads/main/",
         "refs/heads/./main", "refs/heads/main.lock", "refs/heads/Main",
         "refs/heads/MAIN", "refs/Heads/agent/1", "refs/heads/agent/1/../2",
         "refs/heads/agent/1 ", "refs/heads/agent/1\t", "refs/heads/agent/1.",
         "refs/heads/agent/１", "refs/heads/agent/1\u200b",
         "refs/heads/ａgent/1", "refs/heads/agent\\1", "refs/heads/agent/1^0",
         "refs/heads/agent/1~0", "refs/heads/agent/1@{0}",
         "refs/heads/agent/*", "refs/heads/agent/?", "refs/heads/[a]gent/1",
         "refs/heads/agent/1:refs/heads/main", "heads/agent/1", "agent/1",
         "main", "refs/tags/agent/1", "refs/tags/v1", "refs/notes/commits",
         "refs/pull/1/head", "refs/for/main", "refs/changes/01/1/1",
         "refs/replace/" + "1" * 40, "refs/stash", "refs/meta/config",
         "refs/namespaces/x/refs/heads/main", "refs/remotes/origin/main",
         "refs/heads/agent/10", "refs/heads/agent", "refs/heads/-f",
         "refs/heads/agent/1\x7f", "../refs/heads/main", "/refs/heads/main"]


def test_no_list_says_more_than_was_authorised(target):
    for name, body in lists(target):
        for tail in (target.pack, b""):
            target.send(body + tail)
            assert not target.check(), name


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_another(target, name):
    for old in (ZERO, target.old, target.main):
        body = pkt(f"{old} {target.new} {name}".encode() + target.caps)
        target.send(body + b"0000" + target.pack)
        assert not target.check()


def gzip_bomb():
    return gzip.compress(bytes(200 << 20), 9)


def test_no_encoding_hides_a_list(target):
    body = pkt(target.bad + target.caps) + b"0000" + target.pack
    good = pkt(target.good + target.caps) + b"0000" + target.pack
    for data, encoding in [
            (gzip.compress(body), "gzip"), (body, "gzip"),
            (gzip.compress(body), "x-gzip"), (gzip.compress(body), None),
            (zlib.compress(body), "deflate"), (good, "br"),
            (gzip.compress(good) + gzip.compress(body), "gzip"),
            (gzip.compress(good) + body, "gzip"),
            (gzip.compress(gzip.compress(good)), "gzip, gzip"),
            (gzip_bomb(), "gzip"), (gzip.compress(good)[:-9], "gzip")]:
        target.send(data, encoding)
        assert not target.check()
    target.send(gzip.compress(good), "gzip")
    assert target.check(), "an honest gzip'd push lands"


def test_packs_that_are_not_what_they_say(target):
    head = pkt(target.good + target.caps) + b"0000"
    pack = target.pack
    broken = bytearray(pack)
    broken[len(pack) // 2] ^= 255
    many = pack[:8] + b"\xff\xff\xff\xff" + pack[12:]
    few = pack[:8] + b"\0\0\0\0" + pack[12:]
    for name, body in [
            ("corrupt", bytes(broken)), ("half", pack[:len(pack) // 2]),
            ("trailer", pack[:-20] + bytes(20)), ("many", many), ("few", few),
            ("two packs", pack + pack), ("list behind", pack + pkt(
                target.bad + target.caps) + b"0000" + pack),
            ("trailing", pack + b"x"), ("empty", b""), ("not", b"x" * 4096),
            ("empty pack", few[:12] + pack[-20:])]:
        target.send(head + body)
        assert not target.check(), name
    target.send(head + pack)
    assert target.check(), "the honest push lands"


def test_no_other_spelling_makes_a_push_ordinary(target, forge):
    """Nor another repository of the same host, nor another method."""
    session, repo = target.session, target.repo
    other = forge.repo()
    before = other.refs()
    body = session.dir / "body"
    body.write_bytes(pkt(target.bad + target.caps) + b"0000" + target.pack)
    name, host = repo.name, f"https://github.com{forge.suffix}"
    for path in [f"/{name}.git/git-receive-pack",
                 f"/{name}/git-receive-pack/", f"//{name}/git-receive-pack",
                 f"/{name}/./git-receive-pack", f"/{name}/git-receive%2Dpack",
                 f"/{name}/git%2dreceive-pack", f"/{name}/GIT-RECEIVE-PACK",
                 f"/{name}/git-receive-pack?x", f"/{name}/git-receive-pack;x",
                 f"/{name}.git.git/git-receive-pack",
                 f"/{name}/x/../git-receive-pack",
                 f"/{name.upper()}/git-receive-pack",
                 f"/{other.name}/git-receive-pack",
                 f"/{other.name}/../{repo.name}/git-receive-pack",
                 f"/{name}/git-receive-pack%00", "/git-receive-pack",
                 f"/{name}/info/refs/git-receive-pack"]:
        for method in ("POST", "PUT", "PATCH"):
            session.curl(host + path, "--path-as-is", "-X", method, "-H",
                         f"Content-Type: {gitwire.TYPE}", "--data-binary",
                         f"@{body}")
            assert not target.check(), path
    assert other.refs() == before


def test_info_refs_is_asked_in_one_way(target, forge):
    session, name = target.session, target.repo.name
    host = f"https://github.com{forge.suffix}"
    other = forge.repo().name
    for path in [f"/{name}/info/refs?service=git-receive-pack&x",
                 f"/{name}/info/refs?x&service=git-receive-pack",
                 f"/{name}/info/refs?service=git-upload-pack&service="
                 "git-receive-pack",
                 f"/{name}/info/refs?service=git-upload-archive",
                 f"/{name}/info/refs?service=git%2Dreceive-pack",
                 f"/{name}/info/refs", f"/{name}/info/refs?",
                 f"/{name}/HEAD", f"/{name}/objects/info/packs",
                 f"/{other}/info/refs?service=git-upload-pack",
                 f"/{other}/info/refs?service=git-receive-pack"]:
        answer = session.curl(host + path)
        assert answer.status in (400, 403) or b"ERR" in answer.body, path
    for version in ("version=3", "version=2:x", "version=2, version=0",
                    "version=2\tx", "command=push"):
        answer = session.curl(
            f"{host}/{name}/info/refs?service=git-upload-pack", "-H",
            f"Git-Protocol: {version}")
        assert answer.status == 400, version
    assert session.curl(f"{host}/{name}/info/refs?service=git-upload-pack"
                        ).status == 200


def test_a_request_behind_a_push_is_decided_on_its_own(target):
    session, repo = target.session, target.repo
    host = f"github.com{repo.forge.suffix}"
    body = pkt(target.good + target.caps) + b"0000" + target.pack
    evil = pkt(target.bad + target.caps) + b"0000" + target.pack

    def post(content):
        return (f"POST /{repo.name}/git-receive-pack HTTP/1.1\r\n"
                f"Host: {host}\r\nContent-Type: {gitwire.TYPE}\r\n"
                f"Content-Length: {len(content)}\r\n\r\n").encode() + content
    stream = session.connect_tls("github.com", repo.forge.port)
    stream.settimeout(60)
    stream.sendall(post(body) + post(evil) + post(evil))
    answer = b""
    # Of the last one the head may come before the rest.
    while (answer.count(b"HTTP/1.1 200") < 3
           or answer.count(b"push_ref_not_allowed") < 2):
        piece = stream.recv(65536)
        if not piece:
            break
        answer += piece
    stream.close()
    assert target.check(), "the first one lands"
    assert answer.count(b"push_ref_not_allowed") >= 2


def mutate(rng, body):
    body = bytearray(body)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(min(len(body), 600))
        what = rng.randrange(6)
        if what == 0:
            body[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            body[at:at] = rng.choice((b"0000", b"0001", b"\0", b"\n", b" ",
                                      b"refs/heads/main"))
        elif what == 2:
            del body[at:at + rng.choice((1, 4, 40))]
        elif what == 3:
            other = rng.randrange(min(len(body), 600))
            body[at:at] = body[other:other + rng.choice((4, 44, 150))]
        elif what == 4:
            body[at] = rng.choice(b"\0\n 0fA~")
        else:
            body[at:at + 4] = b"%04x" % rng.randrange(300)
    return bytes(body)


def test_no_mutation_moves_another_ref(target):
    rng = random.Random(20240)
    seeds = [pkt(t + target.caps) + b"0000" + target.pack
             for t in (target.good, target.bad, target.create)]
    seeds += [pkt(target.good + target.caps) + pkt(target.bad) + b"0000"
              + target.pack]
    for _ in range(200):
        target.send(mutate(rng, rng.choice(seeds)))
        if target.check():
            target.repo.git("update-ref", OWN, target.old)
