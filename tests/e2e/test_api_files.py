"""Files and directories of a sandbox over HTTP: what OpenSandbox's SDK does
with them, and what nobody should."""
import hashlib
import json
import os
import pathlib
import socket
import urllib.parse

import openapi
import pytest
from api import Api, install_sdk
from waiting import wait_until

BIG = 100 << 20
MEMORY_MAX = 24 << 20  # of sallyport-api beside what it had, while BIG passes


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api")).start()
    yield api
    api.stop()
    api.check()


@pytest.fixture(scope="module")
def box(api, tmp_path_factory):
    policy = tmp_path_factory.mktemp("policy") / "policy.yaml"
    policy.write_text(json.dumps({
        "version": 1, "name": "files",
        "filesystem": {"hide": ["./secret.txt"],
                       "protect": ["./kept.txt"]}}))
    (api.workspace / "secret.txt").write_text("hush")
    (api.workspace / "kept.txt").write_text("kept")
    return api.create("--policy", policy, "--workspace", api.workspace)


@pytest.fixture(scope="module")
def files(api, box):
    return Files(api, box)


class Files:
    """The calls, raw."""

    def __init__(self, api, box):
        self.api, self.box = api, box
        self.prefix, self.token = api.endpoint(box, 44772)

    def call(self, method, where, /, body=None, headers=(), **query):
        if query:
            where += "?" + urllib.parse.urlencode(query, doseq=True)
        answer = self.api.call(method, self.prefix + where, body,
                               {**self.token, **dict(headers)}, key=None)
        openapi.check(method, self.prefix + where, answer)
        return answer

    def upload(self, *pairs):
        return self.call("POST", "/files/upload", multipart(*pairs),
                         {"Content-Type": "multipart/form-data; boundary=b"})

    def write(self, path, data, **metadata):
        answer = self.upload((json.dumps({"path": path, **metadata}), data))
        assert answer.status == 200 and not answer.body, answer

    def read(self, path, headers=(), **query):
        return self.call("GET", "/files/download", headers=headers, path=path,
                         **query)

    def sh(self, script):
        done = self.api.exec(self.box, "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, method, path, *headers):
        """A socket on which the head of a request was sent."""
        client = self.api.socket()
        lines = [f"{method} {self.prefix}{path} HTTP/1.1", "Host: x",
                 *(f"{k}: {v}" for k, v in self.token.items()), *headers]
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        return client


def multipart(*pairs):
    out = b""
    for metadata, data in pairs:
        for name, text in (("metadata", metadata), ("file", data)):
            text = text.encode() if isinstance(text, str) else text
            out += (f'--b\r\nContent-Disposition: form-data; name="{name}"; '
                    f'filename="x"\r\nContent-Type: text/plain\r\n\r\n'
                    ).encode() + text + b"\r\n"
    return out + b"--b--\r\n"


def memory(pid):
    """Private bytes of a process."""
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(
            ).splitlines():
        if line.startswith("Private"):
            total += int(line.split()[1]) * 1024
    return total


# ---- the SDK ----

SCRIPT = """
const sandbox = await Sandbox.connect({
  sandboxId: process.argv[2], connectionConfig: connection,
  skipHealthCheck: true });
const files = sandbox.files, out = {};
await files.createDirectories([{ path: "/tmp/sdk/a/b", mode: 755 }]);
await files.writeFiles([
  { path: "/tmp/sdk/one.txt", data: "first line\\nsecond\\nthird\\n",
    mode: 640 },
  { path: "/tmp/sdk/a/b/two.bin", data: new Uint8Array([0, 13, 10, 255]) },
  { path: "/tmp/sdk/a/b/\\u00fcml\\u00e4ut \\".txt", data: "named" },
]);
async function* pieces() {
  for (let i = 0; i < 40; i++)
    yield new TextEncoder().encode("--boundary\\r\\n".repeat(4000) + i);
}
await files.writeFiles([{ path: "/tmp/sdk/stream", data: pieces() }]);
out.streamed = (await files.readBytes("/tmp/sdk/stream")).length;
out.text = await files.readFile("/tmp/sdk/one.txt");
out.range = await files.readFile("/tmp/sdk/one.txt",
                                 { range: "bytes=6-9" });
out.lines = await files.readFile("/tmp/sdk/one.txt",
                                 { offset: 2, limit: 1 });
out.bytes = [...await files.readBytes("/tmp/sdk/a/b/two.bin")];
out.stream = 0;
for await (const piece of files.readBytesStream("/tmp/sdk/stream"))
  out.stream += piece.length;
const info = await files.getFileInfo(["/tmp/sdk/one.txt", "/tmp/sdk/a"]);
out.info = info;
out.isDate = info["/tmp/sdk/a"].modifiedAt instanceof Date;
out.list = (await files.listDirectory({ path: "/tmp/sdk", depth: 2 }))
  .map(entry => entry.path).sort();
out.search = (await files.search({ path: "/tmp/sdk", pattern: "*.txt" }))
  .map(entry => entry.path).sort();
out.replaced = await files.replaceContentsDetailed([
  { path: "/tmp/sdk/one.txt", oldContent: "i", newContent: "(I)" }]);
await files.replaceContents([
  { path: "/tmp/sdk/one.txt", oldContent: "(I)", newContent: "1" }]);
out.after = await files.readFile("/tmp/sdk/one.txt");
await files.moveFiles([
  { src: "/tmp/sdk/one.txt", dest: "/tmp/sdk/new/moved.txt" }]);
await files.setPermissions([{ path: "/tmp/sdk/new/moved.txt", mode: 600 }]);
out.mode = (await files.getFileInfo(["/tmp/sdk/new/moved.txt"]))
  ["/tmp/sdk/new/moved.txt"].mode;
await files.deleteFiles(["/tmp/sdk/new/moved.txt", "/tmp/sdk/absent"]);
await files.deleteDirectories(["/tmp/sdk/a"]);
out.left = (await files.listDirectory({ path: "/tmp/sdk" }))
  .map(entry => entry.path).sort();
try { await files.readFile("/tmp/sdk/absent"); }
catch (error) { out.error = error.statusCode; }
try { await files.getFileInfo(["/tmp/sdk/absent"]); }
catch (error) { out.code = error.error.code; }
await sandbox.close();
console.log(JSON.stringify(out));
"""


def test_the_sdk_does_with_files_what_it_can(api, box, tmp_path):
    out = api.node(install_sdk(tmp_path), SCRIPT, box)
    size = sum(len("--boundary\r\n") * 4000 + len(str(i)) for i in range(40))
    assert out["streamed"] == size and out["stream"] == size
    assert out["text"] == "first line\nsecond\nthird\n"
    assert out["range"] == "line" and out["lines"] == "second\n"
    assert out["bytes"] == [0, 13, 10, 255]
    one, a = out["info"]["/tmp/sdk/one.txt"], out["info"]["/tmp/sdk/a"]
    assert (one["type"], one["size"], one["mode"]) == ("file", 24, 640)
    assert (a["type"], a["mode"], out["isDate"]) == ("directory", 755, True)
    assert out["list"] == ["/tmp/sdk/a", "/tmp/sdk/a/b", "/tmp/sdk/one.txt",
                           "/tmp/sdk/stream"]
    assert out["search"] == ['/tmp/sdk/a/b/\u00fcml\u00e4ut ".txt',
                             "/tmp/sdk/one.txt"]
    assert out["replaced"] == [{"path": "/tmp/sdk/one.txt",
                                "replacedCount": 3}]
    assert out["after"] == "f1rst l1ne\nsecond\nth1rd\n"
    assert out["mode"] == 600
    assert out["left"] == ["/tmp/sdk/new", "/tmp/sdk/stream"]
    assert (out["error"], out["code"]) == (404, "FILE_NOT_FOUND")


# ---- raw ----

def test_each_call_answers_as_the_wire_says(files):
    files.write("/tmp/raw/a/file", "one\ntwo\nthree")
    answer = files.read("/tmp/raw/a/file")
    assert answer.status == 200 and answer.body == b"one\ntwo\nthree"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    for field, status, body, said in [
            ("bytes=0-2", 206, b"one", "bytes 0-2/13"),
            ("bytes=-5", 206, b"three", "bytes 8-12/13"),
            ("bytes=8-99", 206, b"three", "bytes 8-12/13"),
            ("bytes=13-", 416, None, "bytes */13"),
            ("bytes=5-2", 416, None, "bytes */13"),
            ("pages=1", 200, b"one\ntwo\nthree", None)]:
        answer = files.read("/tmp/raw/a/file", {"Range": field})
        assert answer.status == status, (field, answer)
        assert answer.headers["Content-Range"] == said
        assert body is None or answer.body == body
    for query, body in [({"offset": 2}, b"two\nthree"),
                        ({"limit": 1}, b"one\n"),
                        ({"offset": 3, "limit": 7}, b"three"),
                        ({"offset": 9}, b""), ({"limit": 0}, b"")]:
        assert files.read("/tmp/raw/a/file", **query).body == body, query
    assert files.read("/tmp/raw/a/file", {"Range": "bytes=0-"}, offset=1
                      ).status == 400
    assert files.read("/tmp/raw/a/file", offset=0).status == 400

    move = [{"src": "/tmp/raw/a/file", "dest": "/tmp/raw/b/file"}]
    assert files.call("POST", "/files/mv", move).status == 200
    assert files.call("POST", "/files/mv", move).status == 404
    files.write("/tmp/raw/a/file", "")
    assert files.call("POST", "/files/mv", move).status == 409
    assert files.read("/tmp/raw/b/file").body == b"one\ntwo\nthree"

    assert files.call("DELETE", "/files", path=["/tmp/raw/a"]).status == 500
    assert files.call("DELETE", "/files", path=["/tmp/raw/a/file", "/none"]
                      ).status == 200
    files.sh("ln -s /tmp/raw/b /tmp/raw/link")
    for method, path in [("GET", "/directories/list"),
                         ("DELETE", "/directories")]:
        assert files.call(method, path, path="/tmp/raw/link").status == 400
    assert files.call("GET", "/files/search", path="/none").status == 404
    found = files.call("GET", "/files/search", path="/tmp/raw").json
    assert [item["path"] for item in found] == ["/tmp/raw/b/file"]
    assert files.call("POST", "/files/replace", {"/tmp/raw/b/file": {
        "old": "", "new": "x"}}).status == 400
    assert files.call("DELETE", "/directories", path="/tmp/raw").status == 200
    assert files.call("GET", "/files/info", path="/tmp/raw").status == 404


def test_a_body_that_is_wrong_is_refused_with_words(files):
    for body, kind in [
            (b"", "multipart/form-data; boundary=b"),
            (b"--b--\r\n", "multipart/form-data; boundary=b"),
            (b"--c\r\n", "multipart/form-data; boundary=b"),
            (multipart(("{}", "x")), "multipart/form-data; boundary=b"),
            (multipart(("[", "x")), "multipart/form-data; boundary=b"),
            (multipart(('{"path": "/tmp/x", "mode": 4755}', "x")),
             "multipart/form-data; boundary=b"),
            (multipart(('{"path": "/tmp/x", "mode": 888}', "x")),
             "multipart/form-data; boundary=b"),
            (multipart(('{"path": "/tmp/x", "owner": "nobody-there"}', "x")),
             "multipart/form-data; boundary=b"),
            (multipart(("{" + " " * 70000 + "}", "x")),
             "multipart/form-data; boundary=b"),
            (multipart(('{"path": "/tmp/x"}', "x"))[:-6],
             "multipart/form-data; boundary=b"),
            (multipart(('{"path": "/tmp/x"}', "x"))[80:],
             "multipart/form-data; boundary=b"),
            (multipart(('{"path": "/tmp/x"}', "x")), "multipart/form-data"),
            (multipart(('{"path": "/tmp/x"}', "x")), "text/plain")]:
        answer = files.call("POST", "/files/upload", body,
                            {"Content-Type": kind})
        assert answer.status == 400, (body[:80], answer)
        assert answer.json["code"] and answer.json["message"]
    assert "x" not in files.sh("ls /tmp").splitlines()
    for method, path, body in [
            ("POST", "/files/permissions", []),
            ("POST", "/files/permissions", {"/tmp": {"mode": "755"}}),
            ("POST", "/files/permissions", {"": {"mode": 755}}),
            ("POST", "/files/mv", {"src": "a"}),
            ("POST", "/files/mv", [{"src": "a"}]),
            ("POST", "/files/mv", [7]),
            ("POST", "/files/replace", {"/tmp": {"old": "a"}}),
            ("POST", "/directories", {"/tmp": 755}),
            ("POST", "/directories", b"{"),
            ("GET", "/files/info", None), ("DELETE", "/files", None),
            ("GET", "/files/download", None), ("GET", "/files/search", None)]:
        answer = files.call(method, path, body)
        assert answer.status == 400, (method, path, body, answer)
    many = {f"/tmp/{i}": {"mode": 755} for i in range(1025)}
    assert files.call("POST", "/directories", many).status == 400
    head = ["Content-Type: multipart/form-data; boundary=b",
            f"Content-Length: {1 << 40}"]
    with files.begin("POST", "/files/upload", *head) as client:
        assert client.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_file_has_the_one_user_that_there_is_or_is_none(files):
    uid, gid, user, group = files.sh("id -u; id -g; id -un; id -gn").split()
    for name, own in enumerate((
            {"owner": user, "group": group}, {"owner": uid, "group": gid},
            {"owner": user}, {"group": gid})):
        path = f"/tmp/own-{name}"
        files.write(path, "x", mode=640, **own)
        made = {f"{path}.d/in": {"mode": 750, **own}}
        assert files.call("POST", "/directories", made).status == 200
        assert files.call("POST", "/files/permissions",
                          {path: {"mode": 600, **own}}).status == 200
        for at, mode in ((path, "600"), (f"{path}.d/in", "750")):
            assert files.sh(f"stat -c '%u %g %a' {at}").split() == [
                uid, gid, mode]
    for other in ({"owner": "nobody"}, {"owner": "54321"},
                  {"group": "nogroup"}, {"owner": "is-not-there"},
                  {"owner": user, "group": "54321"}, {"owner": "-1"}):
        answers = [
            files.upload((json.dumps({"path": "/tmp/theirs", **other}), "x")),
            files.call("POST", "/directories",
                       {"/tmp/theirs": {"mode": 700, **other}}),
            files.call("POST", "/files/permissions",
                       {"/tmp/own-0": {"mode": 777, **other}})]
        for answer in answers:
            assert answer.status == 400, (other, answer)
            assert f"one user, which is {uid}:{gid} inside" in \
                answer.json["message"]
        assert files.call("GET", "/files/info", path="/tmp/theirs"
                          ).status == 404
    assert files.sh("stat -c '%u %g %a' /tmp/own-0").split() == [
        uid, gid, "600"]


ELSEWHERE = ["/etc/shadow", "../../../../../../../../etc/shadow",
             "/tmp/../etc/shadow", "/tmp/shadow", "/proc/self/root/etc/shadow",
             "/proc/1/root/etc/shadow", "/dev/fd/../../etc/shadow",
             "/etc/./shadow/", "secret.txt", "./secret.txt"]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_no_path_leads_to_what_is_hidden(files, path):
    files.sh("ln -sfn /etc/shadow /tmp/shadow")
    for method, where, body in [
            ("GET", "/files/download", None),
            ("POST", "/files/permissions", {path: {"mode": 777}}),
            ("POST", "/files/replace", {path: {"old": "h", "new": "x"}}),
            ("POST", "/files/mv", [{"src": path, "dest": "/tmp/got/it"}]),
            ("POST", "/files/upload", None)]:
        if where == "/files/upload":
            answer = files.upload((json.dumps({"path": path}), "mine"))
        elif method == "GET":
            answer = files.read(path)
        else:
            answer = files.call(method, where, body)
        if path == "/tmp/shadow" and where == "/files/mv":
            # The link itself may go elsewhere; it leads nowhere else there.
            assert answer.status in (200, 409)
            assert files.read("/tmp/got/it").status == 403
            files.sh("rm -rf /tmp/got; ln -sfn /etc/shadow /tmp/shadow")
            continue
        assert answer.status in (400, 403, 404), (where, answer)
        assert answer.json["message"]
    # What does not even exist where it leads inside is as good as removed.
    assert files.call("DELETE", "/files", path=path).status in (200, 403, 500)
    assert pathlib.Path("/etc/shadow").exists()
    assert (files.api.workspace / "secret.txt").read_text() == "hush"


def test_the_policy_s_reason_is_told(files):
    for path, words in [("secret.txt", "hidden"), ("kept.txt", "protected"),
                        ("/usr/bin/env", "read-only")]:
        answer = files.upload((json.dumps({"path": path}), "mine"))
        assert answer.status == 403 and answer.json["code"] == "FORBIDDEN"
        assert f"denied by filesystem ({words})" in answer.json["message"]
    assert (files.api.workspace / "kept.txt").read_text() == "kept"
    files.write("free.txt", "mine")
    assert (files.api.workspace / "free.txt").read_text() == "mine"


def test_a_directory_stays_with_what_came_into_it_and_is_guarded(
        api, tmp_path):
    policy, work = tmp_path / "policy.yaml", tmp_path / "work"
    policy.write_text(json.dumps({
        "version": 1, "filesystem": {"hide": ["**/*.secret"],
                                     "protect": ["**/kept.txt"]}}))
    work.mkdir()
    box = api.create("--policy", policy, "--workspace", work)
    files = Files(api, box)
    for name, words in [("its.secret", "hidden"), ("kept.txt", "protected")]:
        files.sh("mkdir -p one/two; touch one/two/free.txt")
        # By its owner, outside, while the sandbox runs: no mount is over it.
        there = work / "one/two" / name
        there.write_text("mine")
        answer = files.call("DELETE", "/directories", path="one")
        assert answer.status == 403, answer
        assert f"{name} denied by filesystem ({words})" in \
            answer.json["message"]
        assert there.read_text() == "mine"
        there.unlink()
        assert files.call("DELETE", "/directories", path="one").status == 200
        assert not (work / "one").exists()
    api.ok("kill", box)


def test_a_directory_is_not_moved_from_where_it_is_hidden(api, tmp_path):
    policy, work = tmp_path / "policy.yaml", tmp_path / "work"
    policy.write_text(json.dumps({
        "version": 1, "filesystem": {"hide": ["./*/sub/*.secret"]}}))
    (work / "one/sub").mkdir(parents=True)
    box = api.create("--policy", policy, "--workspace", work)
    files = Files(api, box)
    (work / "one/sub/its.secret").write_text("mine")
    for source, target, status in [("one/sub", "sub", 403),
                                   ("one", "two/one", 403),
                                   ("one", "two", 200)]:
        answer = files.call("POST", "/files/mv",
                            [{"src": source, "dest": target}])
        assert answer.status == status, answer
    assert (work / "two/sub/its.secret").read_text() == "mine"
    assert files.read("two/sub/its.secret").status == 403
    api.ok("kill", box)


def test_odd_paths_are_odd_names_or_refused(files):
    for raw, status in [("%00", 400), ("/tmp/a%00b", 400), ("", 400),
                        ("%2e%2e%2f" * 9 + "etc%2fshadow", 403),
                        ("/tmp/%252e%252e/etc/shadow", 404),
                        ("x" * 5000, 400), ("/tmp/" + "x" * 300, 400),
                        ("/" * 4000, 400), ("/tmp/%ff%fe", 404)]:
        answer = files.api.call(
            "GET", f"{files.prefix}/files/download?path={raw}", None,
            files.token, key=None)
        assert answer.status == status, (raw[:40], answer)
    files.sh("touch \"$(printf '/tmp/odd\\377\\033')\"")
    found = files.call("GET", "/files/search", path="/tmp", pattern="odd*")
    assert [item["path"] for item in found.json] == ["/tmp/odd\ufffd\x1b"]
    info = files.api.call(
        "GET", f"{files.prefix}/files/info?path=/tmp/odd%ff%1b", None,
        files.token, key=None)
    assert info.status == 200 and list(info.json) == ["/tmp/odd\ufffd\x1b"]
    assert info.json["/tmp/odd\ufffd\x1b"]["path"] == "/tmp/odd\ufffd\x1b"
    files.sh("mkfifo /tmp/pipe; ln -s loop /tmp/loop")
    for path in ("/tmp/pipe", "/dev/zero", "/tmp", "/tmp/loop"):
        assert files.read(path).status == 400, path
    assert files.upload(('{"path": "/tmp/pipe"}', "x")).status == 400
    assert files.call("GET", "/files/search", path="/tmp", pattern="[a"
                      ).status == 400


def test_what_is_no_file_is_named_and_a_program_that_runs_replaced(files):
    files.sh("python3 -c 'import socket; socket.socket(socket.AF_UNIX)"
             ".bind(\"/tmp/its.socket\")'")
    for path in ("/tmp/its.socket", "/dev/tty"):
        assert files.read(path).status == 400, path
    files.sh("cp /bin/sleep /tmp/runs")
    files.api.ok("exec", "--detach", files.box, "--", "/tmp/runs", "1000")
    files.sh("until pgrep -f '^/tmp/runs 1000'; do sleep 0.05; done")
    assert files.upload(('{"path": "/tmp/runs", "mode": 755}',
                         "#!/bin/sh\necho new\n")).status == 200
    assert files.sh("/tmp/runs; pgrep -f '^/tmp/runs 1000'").splitlines()[
        0] == "new"


# ---- size ----

def test_a_large_file_passes_both_ways_in_bounded_memory(files, tmp_path):
    block = os.urandom(1 << 20)
    pid = files.api.api_pids()[0]
    before, most = memory(pid), 0
    digest = hashlib.sha256()
    client = files.begin("POST", "/files/upload", "Transfer-Encoding: chunked",
                         "Content-Type: multipart/form-data; boundary=b")
    head, tail = multipart(('{"path": "/tmp/big"}', "@")).split(b"@")

    def chunk(data):
        client.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    chunk(head)
    for i in range(BIG // len(block)):
        digest.update(block)
        chunk(block)
        if i % 16 == 0:
            most = max(most, memory(pid))
    chunk(tail)
    client.sendall(b"0\r\n\r\n")
    assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    client.close()
    assert files.sh("sha256sum /tmp/big").split()[0] == digest.hexdigest()

    got = hashlib.sha256()
    with files.begin("GET", "/files/download?path=/tmp/big") as client:
        stream = client.makefile("rb")
        size = 0
        while (line := stream.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length"):
                size = int(line.split()[1])
        assert size == BIG
        while size:
            data = stream.read(min(size, 1 << 20))
            got.update(data)
            size -= len(data)
            if size >> 20 & 15 == 0:
                most = max(most, memory(pid))
    assert got.hexdigest() == digest.hexdigest()
    assert most - before < MEMORY_MAX
    files.sh("rm /tmp/big")


def test_a_client_that_goes_away_leaves_nothing(files):
    head = multipart(('{"path": "/tmp/cut/file"}', "x" * 300000))[:-20]
    for old in ("", "old"):
        files.sh(f"rm -rf /tmp/cut; mkdir /tmp/cut; [ -z '{old}' ] || "
                 f"echo {old} > /tmp/cut/file")
        client = files.begin(
            "POST", "/files/upload", "Content-Length: 400000",
            "Content-Type: multipart/form-data; boundary=b")
        client.sendall(head)
        wait_until(lambda: agents(files))
        client.close()
        wait_until(lambda: not agents(files))
        assert files.sh("ls -A /tmp/cut; cat /tmp/cut/* 2>&-; true").split() \
            == (["file", old] if old else [])
    with files.begin("GET", "/files/download?path=/usr/bin/node") as client:
        client.recv(1000)
    wait_until(lambda: not agents(files))


def agents(files):
    """Processes inside that are none of the sandbox's own commands: they
    were forked and never executed anything."""
    pid = files.api.show(files.box)["pid"]
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    own = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    found = []
    for child in children.split():
        try:
            if pathlib.Path(f"/proc/{child}/cmdline").read_bytes() == own:
                found.append(child)
        except OSError:
            pass
    return found


def test_a_full_disk_is_named_and_nothing_is_left(api, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nname: small\nlimits: {memory: 32MiB}\n")
    small = Files(api, api.create("--policy", policy, "--workspace", "-"))
    answer = small.upload(('{"path": "/tmp/full/big"}', b"x" * (40 << 20)))
    assert answer.status in (507, 503), answer
    assert small.sh("ls -A /tmp/full") == ""
    small.write("/tmp/fits", "x")
    api.ok("kill", small.box)


# ---- states ----

def test_a_sandbox_that_rests_is_a_conflict_and_goes_on(api):
    other = Files(api, api.create("--workspace", "-"))
    other.write("/tmp/file", "1")
    api.ok("pause", other.box)
    for method, path in [("GET", "/files/info"), ("GET", "/files/download")]:
        assert other.call(method, path, path="/tmp/file").status == 409
    assert other.upload(('{"path": "/tmp/file"}', "2")).status == 409
    api.ok("resume", other.box)
    assert other.read("/tmp/file").body == b"1"
    api.ok("kill", other.box)
    assert other.read("/tmp/file").status in (404, 409)


def test_many_at_once_wait_for_their_turn(files):
    import concurrent.futures
    files.write("/tmp/shared", "x" * 1000)
    with concurrent.futures.ThreadPoolExecutor(80) as pool:
        answers = list(pool.map(
            lambda _: files.read("/tmp/shared").status, range(160)))
    assert answers == [200] * 160


def test_who_has_no_token_is_told_nothing(files, api):
    for headers in ({}, {"X-EXECD-ACCESS-TOKEN": "0" * 64}):
        answer = api.call("GET", files.prefix + "/files/info?path=/",
                          headers=headers, key=None)
        assert answer.status == 401 and answer.json["message"]
