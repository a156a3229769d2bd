"""Real work in sandboxes of the service: what people have agents do, with the
programs that they do it with, as they come."""
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import urllib.request
import zlib

import pytest
import registries
import websocket
from api import Api
from execd import Execd
from forge import CLEAN_GIT, SOURCE
from waiting import wait_until

WORK = pathlib.Path(__file__).parent / "work"
MCP = pathlib.Path(__file__).parent / "mcp"
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api")).start()
    yield api
    api.stop()
    api.check()


@pytest.fixture(scope="module")
def files(origin, tmp_path_factory):
    """What the origin serves below /files/."""
    path = tmp_path_factory.mktemp("files")
    origin.serve_files(path)
    yield path
    origin.serve_files("")


@pytest.fixture
def work(api, policies, tmp_path):
    """A workspace, and sandboxes over it that may read what the origin
    serves."""
    made = Work(api, policies, tmp_path)
    yield made
    for box in made.boxes:
        api.ok("kill", box)


class Work:
    def __init__(self, api, policies, directory):
        self.api, self.policies, self.dir = api, policies, directory
        self.place = directory / "workspace"
        self.place.mkdir()
        self.boxes = []

    def begin(self, repo=None):
        policy = self.dir / "policy.yaml"
        policy.write_text(json.dumps(self.policies.make(
            [self.policies.rule("good.example", methods=["GET", "HEAD"],
                                paths=["/files/**", "/*", "/@*/*"])], repo)))
        words = ["--policy", policy, "--workspace", self.place]
        if repo:
            words += ["--repo", repo.url, "--branch", "agent/1"]
        self.boxes.append(self.api.create(*words))
        return self.boxes[-1]

    def run(self, box, script, **variables):
        done = self.api.exec(box, "env",
                             *(f"{k}={v}" for k, v in variables.items()),
                             "bash", "-euc", script, timeout=600)
        assert done.returncode == 0, (done.stdout[-3000:],
                                      done.stderr[-3000:],
                                      self.api.events(box))
        return done.stdout


# ---- package managers, compilers ----

def test_npm_installs_what_a_lock_names_and_runs_its_tests(
        work, files, origin, tmp_path):
    scratch = tmp_path / "npm"
    scratch.mkdir()
    lock = registries.npm_registry(files, origin.url("/files/"), MCP, scratch)
    for path in (WORK / "npm").iterdir():
        shutil.copy(path, work.place)
    package = json.loads((work.place / "package.json").read_text())
    of = lock["packages"][""] | {"name": package["name"],
                                 "version": package["version"],
                                 "hasInstallScript": True}
    package["dependencies"] = of["dependencies"]
    (work.place / "package.json").write_text(json.dumps(package))
    (work.place / "package-lock.json").write_text(json.dumps(
        lock | {"name": package["name"], "version": package["version"],
                "packages": lock["packages"] | {"": of}}))
    box = work.begin()
    said = work.run(box, """
        npm ci --no-audit --no-fund --cache ./cache --registry $REGISTRY
        npm test""", REGISTRY=origin.url("/"))
    assert f"added {len(lock['packages']) - 1} packages" in said
    assert re.search(r"^# pass 6$", said, re.M), said
    # They are the user's, as if made outside.
    for path in (work.place / "node_modules/express/package.json",
                 work.place / "native"):
        assert path.stat().st_uid == work.place.stat().st_uid


def test_a_c_program_is_built_checked_and_built_again(work):
    (work.place / "common").mkdir()
    for name in ("arena", "arena_spare", "base64", "buf", "bytes", "clock",
                 "err", "pktline", "utf8"):
        for path in (SOURCE / "common").glob(f"{name}.[ch]"):
            shutil.copy(path, work.place / "common")
    for name in ("banned", "cleanup", "watched", "words"):
        shutil.copy(SOURCE / f"common/{name}.h", work.place / "common")
    for path in (WORK / "c").iterdir():
        shutil.copy(path, work.place)
    box = work.begin()
    said = work.run(box, """
        echo built inside >expected
        make -j2
        make check
        touch common/pktline.h
        make
        make -q""")
    assert said.count("-c -o common/buf.o") == 1
    assert said.count("-c -o common/pktline.o") == 2
    # What was built inside runs outside.
    assert subprocess.run([work.place / "program"], capture_output=True,
                          check=True).stdout == b"built inside\n"


def test_pip_installs_from_an_index_and_builds_what_has_sources(
        work, files, origin):
    registries.sdist(files, "built", {
        path.name: path.read_text()
        for path in (WORK / "python").iterdir() if path.is_file()})
    registries.wheel(files, "tool", {
        "tool.py": "import built\n"
                   "def main():\n    print(built.answer())\n"},
        requires=["built>=1"], commands=["tool = tool:main"])
    box = work.begin()
    said = work.run(box, f"""
        {PYTHON} -m venv --without-pip env
        {PYTHON} -m pip --python env/bin/python install -q --index-url $INDEX \
            --disable-pip-version-check tool
        . env/bin/activate
        tool
        python -m compileall -q env/lib/python*/site-packages""",
                    INDEX=origin.url("/files/simple/"))
    assert said == "42\n"


def test_who_is_given_no_home_has_one_that_programs_can_write(api):
    box = api.make()
    script = """set -eu
        npm config set fund false
        git config --global user.name me
        git config user.name
        cd ~
        ls .gitconfig .npmrc"""
    assert Execd(api, box).run(script) == (
        0, ["me", ".gitconfig", ".npmrc"], [])
    api.ok("kill", box)
    box = api.make(env={"HOME": "/tmp/own"})
    assert Execd(api, box).run("echo ~") == (0, ["/tmp/own"], [])
    api.ok("kill", box)


# ---- git ----

HOOK = """#!/bin/sh
! git diff --cached | grep -q '^+FIXME'
"""
MESSAGE_HOOK = """#!/bin/sh
printf '\\n\\nChecked-by: hook\\n' >>"$1"
"""


def test_git_works_with_hooks_and_worktrees_and_what_is_protected_holds(
        work):
    def git(*words):
        return subprocess.run(
            ["git", "-c", "safe.directory=*", *words], cwd=work.place,
            check=True, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], **CLEAN_GIT}).stdout
    git("init", "-q", "-b", "main")
    (work.place / "zero.c").write_text("zero\n")
    git("add", "zero.c")
    git("commit", "-qm", "zero")
    git("worktree", "add", "-q", "-b", "theirs", "theirs")
    hooks = work.place / ".git/hooks"
    for name, text in ("pre-commit", HOOK), ("commit-msg", MESSAGE_HOOK):
        (hooks / name).write_text(text)
        (hooks / name).chmod(0o755)

    def kept():
        return {path: path.read_bytes() for path in
                [*hooks.iterdir(), work.place / ".git/config",
                 work.place / "theirs/.git"]}
    before = kept()
    shutil.copy(WORK / "git.sh", work.place)
    box = work.begin()
    work.run(box, "sh git.sh", **CLEAN_GIT)
    assert kept() == before
    assert set(hooks.iterdir()) <= set(before)
    assert not (work.place / ".git/config.worktree").exists()
    # The user's own git goes on with all of it.
    assert git("log", "--format=%s", "--first-parent").split() == [
        "merged", "two", "one", "zero"]
    assert git("show", "theirs:five.c") == "five\n"
    git("fsck", "--no-progress")
    git("checkout", "-q", "v1")


def test_a_branch_is_pushed_from_a_worktree(work, repo):
    box = work.begin(repo=repo)
    tip = work.run(box, """
        git clone -q $URL repo
        cd repo
        git worktree add -qb agent/1 ../tree
        cd ../tree
        echo change >change
        git add change
        git commit -qm change
        git push -q -u origin agent/1
        git fetch -q
        git rev-parse HEAD origin/agent/1 | uniq""", URL=repo.url,
                   GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example",
                   GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@example")
    assert repo.tip("agent/1") == tip.strip()


# ---- a development server, reached from outside ----

def messages_until(client, text):
    """Read until it says this: a change of a file may be told twice."""
    while client.receive() != (websocket.TEXT, text):
        pass


def test_a_development_server_tells_browsers_outside_of_changes(api, work):
    page = work.place / "page.html"
    page.write_text("<p>first")
    shutil.copy(WORK / "dev_server.mjs", work.place)
    box = work.begin()
    api.ok("exec", "--detach", box, "--", "node", "dev_server.mjs",
           "page.html", "5173")
    address = api.ok("port", box, "5173").strip()

    def seen():
        try:
            with urllib.request.urlopen(f"http://{address}/",
                                        timeout=20) as answer:
                return answer.read().decode()
        except OSError:
            return None
    assert wait_until(seen) == "<p>first"
    path, token = api.endpoint(box, 5173)
    assert api.call("GET", path, headers=token,
                    key=None).body == b"<p>first"
    assert api.call("GET", path, key=None).status == 401

    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as one, \
            api.socket() as other:
        clients = [
            websocket.Client(one, address, "/"),
            websocket.Client(other, f"127.0.0.1:{api.port}", path,
                             [f"{k}: {v}" for k, v in token.items()])]
        for client in clients:
            assert client.status == 101, client.head
            messages_until(client, b"connected")
            client.send(websocket.TEXT, "hello")
            messages_until(client, b"heard hello")
        # By the user's editor, and by an agent inside.
        page.write_text("<p>second")
        for client in clients:
            messages_until(client, b"<p>second")
        work.run(box, "printf '<p>third' >page.html")
        for client in clients:
            messages_until(client, b"<p>third")
    assert seen() == "<p>third"


# ---- a browser ----

def first_pixel(png):
    """(width, height, colour of the left upper corner) of a picture with 8
    bits for each channel. In the first line no filter changes the first
    pixel."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth = struct.unpack(">IIB", png[16:25])
    assert depth == 8
    packed, at = b"", 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            packed += png[at + 8:at + 8 + size]
        at += size + 12
    return width, height, tuple(zlib.decompress(packed)[1:4])


def test_chromium_shows_a_page_over_inspected_tls(work, files, origin):
    registries.put(files / "page.html", """<!doctype html>
        <style>body { background: #008000 }</style>
        <h1 id=said></h1><script src=/files/page.js></script>""")
    registries.put(files / "page.js", "document.getElementById('said')"
                   ".textContent = 'drawn ' + 'inside'")
    box = work.begin()
    said = work.run(box, """
        mkdir -p home/.pki/nssdb
        export HOME=$PWD/home
        certutil -d sql:$HOME/.pki/nssdb -N --empty-password
        certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n gateway \
            -i $NODE_EXTRA_CA_CERTS
        chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
            --window-size=320,240 --screenshot=$PWD/page.png --dump-dom $URL
        """, URL=origin.url("/files/page.html"))
    assert '<h1 id="said">drawn inside</h1>' in said
    assert first_pixel((work.place / "page.png").read_bytes()) == (
        320, 240, (0, 128, 0))
