"""The same push to git itself and through the gateway: what the gateway lets
git apply is a part of what the policy authorised, and of what git applies
when nobody stands before it (git.md, "The rule")."""
import gzip
import os
import shutil
import subprocess
import zlib

import gitwire
import pytest
from forge import git_env
from gitwire import CAPS, ZERO, pkt
from test_attack_push import lists

MAIN = "refs/heads/main"
OWN = "refs/heads/agent/1"
FLUSH = b"0000"


def command(old, new, ref):
    return f"{old} {new} {ref}".encode()


# ---- shapes that git.md's subset has: they land ----

def honest(t):
    """name -> what is pushed: (body, Content-Encoding)."""
    good, pack = t.good, t.pack

    def one(caps, before=b"", end=b""):
        return before + pkt(good + caps + end) + FLUSH + pack
    v2 = b"\0 report-status-v2 side-band-64k"
    yield "as git sends it", one(
        v2 + b" quiet object-format=sha1 agent=git/2.39.5"), None
    yield "as libgit2 sends it", one(
        b"\0 report-status side-band-64k", end=b"\n"), None
    yield "as dulwich sends it", one(
        b"\0agent=dulwich/0.21.2 delete-refs ofs-delta report-status "
        b"side-band-64k"), None
    yield "as JGit sends it", gzip.compress(
        one(b"\0 report-status side-band-64k")), "gzip"
    yield "gzip by its old name", gzip.compress(one(v2)), "x-gzip"
    yield "atomic", one(v2 + b" atomic"), None
    yield "no side-band", one(b"\0 report-status"), None
    yield "no report", one(b"\0 side-band-64k"), None
    yield "no capability", one(b""), None
    yield "an empty list of them", one(b"\0"), None
    yield "shallow before", one(v2, pkt(f"shallow {t.main}")), None
    yield "shallow before, with LF", one(v2, pkt(f"shallow {t.main}\n")), None


# ---- shapes that it has not ----

def odd_lines(t):
    good, bad, caps = t.good, t.bad, t.caps
    old, new = t.old.encode(), t.new.encode()
    own = OWN.encode()
    yield "LF twice", pkt(good + caps + b"\n\n")
    yield "LF before the capabilities", pkt(good + b"\n" + caps)
    yield "CR LF", pkt(good + caps + b"\r\n")
    yield "a space at the end", pkt(good + b" " + caps)
    yield "two spaces", pkt(old + b"  " + new + b" " + own + caps)
    yield "tabs", pkt(good.replace(b" ", b"\t") + caps)
    yield "a space before", pkt(b" " + good + caps)
    yield "no ref", pkt(old + b" " + new + caps)
    yield "an empty ref", pkt(old + b" " + new + b" " + caps)
    yield "upper old oid", pkt(old.upper() + b" " + new + b" " + own + caps)
    yield "mixed oids", pkt(old[:20] + old[20:].upper() + b" " + new[:9]
                            + new[9:].upper() + b" " + own + caps)
    yield "a long oid", pkt(old + b" " + new + b"0 " + own + caps)
    yield "an oid of 0x", pkt(old + b" 0x" + new[2:] + b" " + own + caps)
    yield "a NUL behind the ref", pkt(good + b"\0" + caps)
    yield "NULs only", pkt(good + b"\0" * 50)
    yield "a NUL before", pkt(b"\0" + good + caps)
    yield "a ref in the capabilities", pkt(good + caps + b" " + bad)
    yield "capabilities with commas", pkt(good + caps.replace(b" ", b","))
    yield "two spaces between them", pkt(good + caps + b"  atomic")
    yield "a capability twice", pkt(good + caps + b" atomic atomic")
    yield "another object format", pkt(
        good + caps.replace(b"sha1", b"sha256"))
    yield "an object format of nobody", pkt(
        good + caps.replace(b"sha1", b"md5"))
    yield "both object formats", pkt(good + caps + b" object-format=sha256")
    yield "a session id", pkt(good + caps + b" session-id=x")
    yield "capabilities on the second line", pkt(good) + pkt(bad + caps)
    yield "capabilities on both", pkt(good + caps) + pkt(bad + caps)
    yield "the ref again, elsewhere", pkt(good + caps) + pkt(
        command(t.old, t.main, OWN))
    yield "the ref again, first deleted", pkt(
        command(t.old, ZERO, OWN) + caps) + pkt(command(ZERO, t.new, OWN))
    yield "HEAD", pkt(command(t.main, t.new, "HEAD") + caps)
    yield "the ref in a directory of itself", pkt(good + caps) + pkt(
        command(ZERO, t.new, OWN + "/x"))
    yield "a ref that is a directory", pkt(
        command(ZERO, t.new, "refs/heads/agent") + caps)
    yield "a name that is no UTF-8", pkt(
        command(ZERO, t.new, "refs/heads/").strip() + b"/\xff\xfe" + caps)
    yield "a name of 3,000 bytes", pkt(
        command(ZERO, t.new, "refs/heads/" + "/".join(["a" * 200] * 15)) + caps)


def odd_lists(t):
    first, bad = pkt(t.good + t.caps), t.bad
    cert = (pkt(b"push-cert\0" + CAPS.encode()) + b"".join(
        pkt(line + b"\n") for line in (
            b"certificate version 0.1", b"pusher agent 0 +0000",
            b"pushee https://github.com/", b"nonce 1", b"", bad))
        + pkt(b"push-cert-end\n"))
    yield "a certificate", cert + FLUSH
    yield "a certificate behind a command", first + cert + FLUSH
    yield "a certificate and no flush", cert + first
    yield "shallow after a command", first + pkt(
        f"shallow {t.old}") + FLUSH
    yield "shallow in upper case", pkt(
        f"shallow {t.old.upper()}") + first + FLUSH
    yield "shallow with a ref behind", pkt(
        f"shallow {t.old} {MAIN}") + first + FLUSH
    yield "shallow of nothing", pkt("shallow ") + first + FLUSH
    yield "unshallow", pkt(f"unshallow {t.old}") + first + FLUSH
    yield "0001 as the end", first + b"0001"
    yield "0002 as the end", first + b"0002"
    yield "0001 between", first + b"0001" + pkt(bad) + FLUSH
    yield "0002 between", first + b"0002" + pkt(bad) + FLUSH
    yield "0004 between", first + b"0004" + pkt(bad) + FLUSH
    yield "0004 as the end", first + b"0004"
    yield "two flushes", first + FLUSH + FLUSH
    yield "a flush before", FLUSH + first + FLUSH
    yield "a list behind the list", first + FLUSH + pkt(bad) + FLUSH
    yield "an upper-case length", b"%04X" % (len(bad + t.caps) + 4) \
        + bad + t.caps + FLUSH
    yield "a length with a sign", b"-" + first[1:] + FLUSH
    yield "a length with 0x", b"0x" + first[2:] + FLUSH
    yield "a length of nobody", b"fff9" + first[4:] + FLUSH
    yield "options that were not offered", pkt(
        t.good + t.caps + b" push-options") + FLUSH + pkt(b"x=y") + FLUSH
    yield "options that look like commands", pkt(
        t.good + t.caps + b" push-options") + FLUSH + pkt(bad) + FLUSH
    yield "options without the capability", first + FLUSH + pkt(
        b"x=y") + FLUSH
    yield "an own and a foreign ref, atomic", pkt(
        t.good + t.caps + b" atomic") + pkt(bad) + FLUSH


def odd_packs(t):
    head, pack = pkt(t.good + t.caps) + FLUSH, t.pack
    delete = pkt(command(t.old, ZERO, OWN) + t.caps) + FLUSH
    yield "bytes behind the pack", head + pack + b"x"
    yield "a list behind the pack", head + pack + pkt(t.bad + t.caps) + FLUSH
    yield "a second pack", head + pack + pack
    yield "LF before the pack", head + b"\n" + pack
    yield "no pack", head
    yield "half of it", head + pack[:len(pack) // 2]
    yield "another trailer", head + pack[:-20] + bytes(20)
    yield "another count", head + pack[:8] + b"\0\0\0\1" + pack[12:]
    yield "another version", head + pack[:4] + b"\0\0\0\4" + pack[8:]
    yield "version 3", head + pack[:4] + b"\0\0\0\3" + pack[8:]
    yield "the pack of another commit", head + t.main_pack
    yield "a delete with a pack", delete + pack
    yield "a delete with a list behind", delete + pkt(t.bad) + FLUSH
    yield "a commit that is a tree", pkt(
        command(t.old, t.tree, OWN) + t.caps) + FLUSH + pack
    yield "a commit that is nowhere", pkt(
        command(t.old, "1" * 40, OWN) + t.caps) + FLUSH + pack


def odd_encodings(t):
    good = pkt(t.good + t.caps) + FLUSH + t.pack
    bad = pkt(t.bad + t.caps) + FLUSH + t.pack
    yield "gzip that is none", bad, "gzip"
    yield "gzip that is not said", gzip.compress(good), None
    yield "gzip of a foreign ref", gzip.compress(bad), "gzip"
    yield "two members of gzip", gzip.compress(good[:50]) + gzip.compress(
        good[50:]), "gzip"
    yield "gzip, then plain", gzip.compress(good) + bad, "gzip"
    yield "gzip that ends early", gzip.compress(good)[:-9], "gzip"
    yield "gzip with another checksum", gzip.compress(good)[:-8] + bytes(
        8), "gzip"
    yield "deflate", zlib.compress(bad), "deflate"
    yield "gzip twice", gzip.compress(gzip.compress(good)), "gzip, gzip"
    yield "identity", bad, "identity"
    yield "GZIP", gzip.compress(bad), "GZIP"


def shapes(t):
    yield from odd_encodings(t)
    for name, body in odd_packs(t):
        yield name, body, None
    for name, line in odd_lines(t):
        yield name, line + FLUSH + t.pack, None
    for make in (odd_lists, lists):
        for name, body in make(t):
            yield name, body + t.pack, None


# ---- both ways ----

def http_backend(path, body, encoding):
    """git's own answer to a push, with nothing before it."""
    root, name = path.parent, path.name
    env = git_env(root) | {
        "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{name}/git-receive-pack", "REMOTE_USER": "agent",
        "REMOTE_ADDR": "127.0.0.1", "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": gitwire.TYPE, "CONTENT_LENGTH": str(len(body)),
        "QUERY_STRING": "", "HTTP_CONTENT_ENCODING": encoding or ""}
    subprocess.run(["git", "http-backend"], input=body, env=env,
                   capture_output=True, check=False, timeout=60)


def refs_of(path):
    """Read from its files: what git would say, without asking it."""
    refs = {}
    packed = path / "packed-refs"
    if packed.exists():
        for line in packed.read_text().splitlines():
            if line[:1] not in "#^":
                oid, name = line.split(" ")
                refs[name] = oid
    for base, _, names in os.walk(path / "refs"):
        for name in names:
            file = os.path.join(base, name)
            with open(file) as text:
                refs[os.path.relpath(file, path)] = text.read().strip()
    return refs | {"HEAD": (path / "HEAD").read_text().strip()}


class Place:
    """A repository and what it is put back to."""

    def __init__(self, path, base):
        self.path = path
        self.base = base
        self.before = refs_of(base)

    def changed(self):
        """(ref, its new value) of what is not as before; then it is."""
        after = refs_of(self.path)
        changed = {(name, after.get(name)) for name in after | self.before
                   if after.get(name) != self.before.get(name)}
        if changed:
            shutil.rmtree(self.path)
            shutil.copytree(self.base, self.path)
        return changed


class Target:
    """The places, sessions with few rights and with many, and what there is
    to push."""

    def __init__(self, few, many, repo, tmp_path):
        work = few.clone()
        self.old = work.commit("old")
        assert work.push("HEAD:agent/1").returncode == 0
        self.new = work.commit("new")
        self.main = repo.tip("main")
        self.tree = work.out("rev-parse", "HEAD^{tree}")
        self.pack = gitwire.pack(work, [self.new], [self.main])
        self.main_pack = gitwire.pack(work, [self.main])
        self.good = command(self.old, self.new, OWN)
        self.bad = command(self.main, self.new, MAIN)
        self.create = command(ZERO, self.new, "refs/heads/evil")
        self.caps = b"\0 " + CAPS.encode()
        self.sessions = {may_do_little: few, may_do_much: many}
        shutil.rmtree(repo.path / "hooks", ignore_errors=True)
        for name in ("base.git", "alone.git"):
            shutil.copytree(repo.path, tmp_path / name)
        self.forge = Place(repo.path, tmp_path / "base.git")
        self.alone = Place(tmp_path / "alone.git", tmp_path / "base.git")

    def directly(self, body, encoding):
        http_backend(self.alone.path, body, encoding)
        return self.alone.changed()

    def through(self, may, body, encoding):
        try:
            gitwire.push(self.sessions[may], body, encoding)
        except (OSError, ValueError):
            pass  # an answer that is no report is no matter here
        return self.forge.changed()


def may_do_little(t, name, new):
    return name == OWN and new == t.new


def may_do_much(t, name, new):
    return name.startswith("refs/heads/agent/") and new in (
        None, t.new, t.main, t.old)


@pytest.fixture
def target(make_session, policies, repo, tmp_path):
    few = make_session(policies.make(repo=repo), repo)
    many = make_session(policies.make(repo=repo, push={
        "branches": ["agent/**"], "tags": ["v*"],
        "verbs": ["create", "fast-forward", "rewrite", "delete"]}), repo)
    return Target(few, many, repo, tmp_path)


def test_what_is_in_the_subset_lands(target):
    moved = {(OWN, target.new)}
    for name, body, encoding in honest(target):
        assert target.directly(body, encoding) == moved, name
        for may in target.sessions:
            assert target.through(may, body, encoding) == moved, name


def test_git_never_applies_more_than_was_authorised(target):
    count = foreign = 0
    for name, body, encoding in shapes(target):
        directly = target.directly(body, encoding)
        for may in target.sessions:
            through = target.through(may, body, encoding)
            assert all(may(target, *change) for change in through), name
            assert through <= directly, name
        count += 1
        foreign += not all(may_do_little(target, *change)
                           for change in directly)
    assert count >= 100
    # git itself is taken in by many of them, or they would show nothing.
    assert foreign >= 15, foreign
