"""Git LFS through the gateway: real git-lfs against a double of an LFS
server, and the API by hand."""
import hashlib
import json
import os
import subprocess
import time

import pytest
from forge import Repo, git_env
from gateway import Gateway
from lfs_double import TRANSFER_TOKEN, TYPE, LfsDouble
from pki import Authority
from waiting import wait_until

TOKEN = "ghp_thisIsTheRealOneOfTheForge0123456789"
DATA = b"a large file\n" * 5000
OID = hashlib.sha256(DATA).hexdigest()
SIZE = len(DATA)


@pytest.fixture(scope="module")
def ca():
    return Authority()


@pytest.fixture(scope="module")
def address():
    pid = os.getpid()
    return f"127.{64 + (pid >> 8) % 128}.{pid & 255}.4"


@pytest.fixture(scope="module")
def server(tmp_path_factory, ca, address):
    directory = tmp_path_factory.mktemp("lfs")
    leaf = directory / "leaf.pem"
    leaf.write_text(ca.leaf("lfs.example", "store.example", "else.example"))
    double = LfsDouble(directory, address, TOKEN, leaf)
    yield double
    double.stop()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, ca, address, server):
    hosts = {name: address for name in
             ["lfs.example", "store.example", "else.example"]}
    hosts["private.example"] = "10.255.255.1"
    gateway = Gateway(tmp_path_factory.mktemp("gw"), hosts, ca.pem())
    gateway.start()
    gateway.put_secret("forge", TOKEN)
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def double(server):
    server.reset()
    return server


class LfsRepo(Repo):
    def __init__(self, double, name):
        self.forge, self.name = double, name
        self.path = double.dir / f"{name}.git"
        self.url = double.url(name)


@pytest.fixture
def repo(double, request):
    name = f"acme/w{len(list(double.dir.glob('acme/*')))}"
    path = double.dir / f"{name}.git"
    env = git_env(double.dir)
    run = {"check": True, "env": env, "capture_output": True}
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], **run)
    subprocess.run(["git", "-C", path, "config", "http.receivepack", "true"],
                   **run)
    tree = subprocess.run(["git", "-C", path, "mktree"], input=b"",
                          **run).stdout.decode().strip()
    tip = subprocess.run(["git", "-C", path, "commit-tree", "-m", "first",
                          tree], **run).stdout.decode().strip()
    subprocess.run(["git", "-C", path, "update-ref", "refs/heads/main", tip],
                   **run)
    return LfsRepo(double, name)


@pytest.fixture
def open_session(make_session, double, repo, address):
    def make(read=True, push=None, hosts=("store.example",), rules=(),
             deny=("private",), scrub=None, on=None, has_credential=True,
             **more):
        git = {"repo": repo.url, "read": read,
               "lfs": {"hosts": list(hosts), "port": double.port}}
        if has_credential:
            git["credential"] = "forge"
        if push is not False:
            git["push"] = {"branches": ["${session.branch}"], **(push or {})}
        policy = {
            "version": 1,
            "network": {"rules": list(rules),
                        "addresses": {"deny": list(deny),
                                      "allow": [f"{address}/32"]}},
            "credentials": [{"name": "forge", "secret": "forge",
                             "attach": "github", "hosts": ["lfs.example"]}],
            "git": [git], **more}
        if scrub:
            policy["credentials"][0]["scrub"] = scrub
        return make_session(policy, repo, on=on)
    return make


@pytest.fixture
def session(open_session):
    return open_session()


def with_lfs(work, name="big.bin", data=DATA, message="a large file"):
    work.git("lfs", "install", "--local")
    work.git("lfs", "track", "*.bin")
    return work.commit(message, name, data)


# ---- by hand ----

def post(session, repo, endpoint, body, *args):
    body = body if isinstance(body, (str, bytes)) else json.dumps(body)
    path = session.dir / "post-body"
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return session.curl(f"{repo.url}.git/info/lfs/{endpoint}", "-X", "POST",
                        "-H", f"Content-Type: {TYPE}", "--data-binary",
                        f"@{path}", *args)


def batch(session, repo, operation="upload", ref="refs/heads/agent/1",
          objects=None, **more):
    body = {"operation": operation, "transfers": ["basic"],
            "objects": objects or [{"oid": OID, "size": SIZE}],
            "hash_algo": "sha256", **more}
    if ref:
        body["ref"] = {"name": ref}
    return post(session, repo, "objects/batch", body)


def action(answer, kind="upload"):
    assert answer.status == 200, answer.text
    return answer.json["objects"][0]["actions"][kind]["href"]


def send(session, href, data=DATA, *args):
    path = session.dir / "object"
    path.write_bytes(data)
    return session.curl(href, "-T", path, *args)


def refused(answer, constraint, status=403):
    assert answer.status == status, (answer.head, answer.text)
    assert TYPE in answer.head.lower()
    assert answer.json["message"].startswith(f"sallyport: {constraint}: ")
    return answer.json["message"]


# ---- the real client ----

def test_own_branch_lands_with_its_objects(session, double, repo):
    work = session.clone()
    tip = with_lfs(work)
    done = work.push("HEAD:agent/1")
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1") == tip
    assert double.objects == {OID: DATA}
    # The verify action was asked for; the client saw no URL of the storage.
    assert ("verify", {"oid": OID, "size": SIZE}) in double.asked
    row = session.row("request", method="PUT", host="store.example")
    assert row["allowed"] and row["path"] == f"/bucket/{OID}"
    assert "sig=" not in json.dumps(session.audit())
    batch_row = session.row("request", method="POST", host="lfs.example")
    assert batch_row["allowed"]


def test_another_branch_is_refused_before_a_byte_leaves(session, double,
                                                        repo):
    work = session.clone()
    with_lfs(work)
    done = work.push("HEAD:main")
    assert done.returncode != 0
    assert "push_ref_not_allowed" in done.stderr, done.stderr
    assert "git push origin HEAD:agent/1" in done.stderr, done.stderr
    assert not double.stored() and not double.objects
    assert not [body for path, body in double.asked if "batch" in path]


def test_the_other_branch_lands_where_the_policy_says_so(open_session,
                                                         double, repo):
    work = open_session(push={"branches": ["main"]}).clone()
    tip = with_lfs(work)
    done = work.push("HEAD:main")
    assert done.returncode == 0, done.stderr
    assert repo.tip("main") == tip and OID in double.objects


@pytest.mark.parametrize("at_home", [False, True])
def test_a_clone_brings_the_objects(open_session, double, repo, at_home):
    double.at_home = at_home
    work = open_session().clone()
    with_lfs(work)
    assert work.push("HEAD:agent/1").returncode == 0
    session = open_session()
    fresh = session.clone("-b", "agent/1")
    fresh.git("lfs", "install", "--local")
    fresh.git("lfs", "pull")
    assert (fresh.path / "big.bin").read_bytes() == DATA
    # Where the forge keeps objects itself, the real token goes there, by
    # the courier alone.
    uses = [row for row in session.audit("secret.use")
            if row["path"].endswith(OID)]
    assert bool(uses) == at_home


def test_locks_are_taken_and_given_back(session, double):
    work = session.clone()
    work.git("checkout", "-q", "-b", "agent/1")
    with_lfs(work)
    assert work.push("HEAD:agent/1").returncode == 0
    work.git("branch", "-q", "-u", "origin/agent/1")
    work.git("lfs", "lock", "big.bin")
    assert "big.bin" in work.out("lfs", "locks")
    again = work.git("lfs", "lock", "big.bin", check=False)
    assert "already" in again.stderr + again.stdout
    forced = work.git("lfs", "unlock", "--force", "big.bin", check=False)
    assert "lfs_not_allowed" in forced.stderr + forced.stdout
    assert "ask a person" in forced.stderr + forced.stdout
    work.git("lfs", "unlock", "big.bin")
    assert not double.locks


def test_a_lock_on_another_branch_is_refused(session, double):
    work = session.clone()
    with_lfs(work)
    work.git("branch", "-q", "-u", "origin/main")
    done = work.git("lfs", "lock", "big.bin", check=False)
    assert "push_ref_not_allowed" in done.stderr + done.stdout
    assert not double.locks


# ---- batches by hand ----

def test_an_upload_without_a_ref_is_refused(session, double, repo):
    message = refused(batch(session, repo, ref=None), "push_ref_not_allowed")
    assert "names no ref" in message and "agent/1" in message
    assert not double.asked
    assert action(batch(session, repo))


def test_other_refs_are_refused(session, double, repo):
    for ref in ["agent/1", "refs/heads/Agent/1", "refs/heads/agent/1/x",
                "refs/tags/v1", "refs/heads/agent/1\n", "HEAD"]:
        refused(batch(session, repo, ref=ref), "push_ref_not_allowed")
    assert not double.asked


def test_a_download_needs_the_right_to_read(open_session, double, repo):
    double.put(DATA)
    writer = open_session(read=False)
    refused(batch(writer, repo, "download"), "fetch_not_allowed")
    assert not double.asked
    reader = open_session(push=False)
    href = action(batch(reader, repo, "download"), "download")
    assert reader.curl(href).body == DATA
    refused(batch(reader, repo), "push_ref_not_allowed")


BAD = [
    ('{"operation":"upload","operation":"download","objects":[]}', 422),
    ('{"operation":"purge","objects":[{"oid":"%s","size":1}]}' % OID, 422),
    ('{"operation":"download","objects":[]}', 422),
    ('{"operation":"download","objects":[{"oid":"%s","size":-1}]}' % OID, 422),
    ('{"operation":"download","objects":[{"oid":"%s","size":1.0}]}' % OID,
     422),
    ('{"operation":"download","objects":[{"oid":"%s","size":1}]}'
     % OID.upper(), 422),
    ('{"operation":"download","objects":[{"oid":"../../etc","size":1}]}', 422),
    ('{"operation":"download","objects":[{"oid":"%s","size":1,"x":1}]}' % OID,
     422),
    ('{"operation":"download","transfers":["ssh"],'
     '"objects":[{"oid":"%s","size":1}]}' % OID, 422),
    ('{"operation":"download","hash_algo":"sha512",'
     '"objects":[{"oid":"%s","size":1}]}' % OID, 422),
    ('{"operation":"download","evil":1,'
     '"objects":[{"oid":"%s","size":1}]}' % OID, 422),
    ('{"operation":"download","objects":[%s]}' % ",".join(
        '{"oid":"%064x","size":1}' % i for i in range(257)), 413),
    ('{"operation":"download","objects":[{"oid":"%s","size":%d}]}'
     % (OID, 1 << 41), 413),
    (" " * 200_000, 413),
    ("[]", 422), ("", 422), ("\x00", 422),
]


def test_what_is_no_batch_is_refused(session, double, repo):
    for body, status in BAD:
        answer = post(session, repo, "objects/batch", body)
        refused(answer, "lfs_too_large" if status == 413 else "lfs_malformed",
                status)
    assert not double.asked


def test_what_goes_on_is_written_anew(session, double, repo):
    batch(session, repo, "download", "HEAD",
          transfers=["lfs-standalone-file", "basic", "ssh"])
    assert double.asked == [("objects/batch", {
        "operation": "download", "transfers": ["basic"],
        "hash_algo": "sha256", "objects": [{"oid": OID, "size": SIZE}]})]


def test_a_list_of_locks_brings_no_body(session, double, repo):
    answer = session.curl(f"{repo.url}/info/lfs/locks?path=a", "-X", "GET",
                          "-d", '{"evil": 1}')
    assert answer.json == {"locks": []}
    assert double.asked == [("locks", {})]


def test_an_object_larger_than_the_limit_is_refused(open_session, double,
                                                    repo):
    session = open_session(push={"limits": {"file": "32KiB"}})
    message = refused(batch(session, repo), "lfs_too_large", 413)
    assert "push.limits.file is 32768" in message
    assert not double.asked
    assert action(batch(session, repo, objects=[{"oid": OID, "size": 32768}]))


OTHER = ["info/lfs/objects/" + OID, "info/lfs/", "info/lfs/locks/x",
         "Info/LFS/objects/batch", "info/lfs%3Bx/objects/batch",
         "info/lfs/objects/batch/", "gitlab-lfs/objects/" + OID,
         "info/lfs/locks?path=a&path=b", "info/lfs/locks?token=x"]


def test_other_endpoints_are_not_open(open_session, double, repo):
    """Also where a rule of the network lets everything on that host pass."""
    session = open_session(rules=[{"hosts": ["lfs.example"],
                                   "ports": [double.port],
                                   "credential": "forge",
                                   "action": "allow"}])
    for path in OTHER:
        answer = session.curl(f"{repo.url}.git/{path}")
        assert answer.status in (403, 422), (path, answer.text)
    assert not double.requests
    assert session.curl(f"{repo.url}.git/info/lfs/locks?path=a").status == 200


# ---- transfers by hand ----

def test_the_sandbox_sees_no_url_and_no_header_of_the_storage(session, double,
                                                              repo):
    answer = batch(session, repo)
    href = action(answer)
    assert href.startswith(f"{repo.url}.git/info/lfs/transfers/")
    assert TRANSFER_TOKEN not in answer.text
    assert "store.example" not in answer.text and "sig" not in answer.text
    assert answer.json["objects"][0]["authenticated"]
    assert send(session, href).status == 200
    assert send(session, href).status == 200  # a retry
    assert double.objects[OID] == DATA
    # What else there is on that host stays shut.
    shut = session.curl(double.url("bucket/" + OID, "store.example"))
    assert shut.json["constraint"] == "host_not_allowed"


def test_a_transfer_is_for_its_method_object_and_session(open_session, double,
                                                         repo):
    session, other = open_session(), open_session()
    href = action(batch(session, repo))
    refused(session.curl(href), "lfs_transfer_unknown")
    refused(send(other, href), "lfs_transfer_unknown")
    refused(send(session, href[:-1] + ("a" if href[-1] != "a" else "b")),
            "lfs_transfer_unknown")
    refused(send(session, href, DATA[:-1]), "lfs_malformed", 422)
    refused(send(session, href, DATA, "-H", "Transfer-Encoding: chunked"),
            "lfs_malformed", 422)
    assert not double.stored()
    # The right length and other bytes: the last of them never leaves.
    refused(send(session, href, b"x" * SIZE), "lfs_malformed", 422)
    assert not double.objects
    assert send(session, href).status == 200
    assert double.objects == {OID: DATA}


def test_a_download_brings_nothing_there(open_session, double, repo):
    double.put(DATA)
    session = open_session()
    href = action(batch(session, repo, "download"), "download")
    for more in ([], ["-H", "Transfer-Encoding: chunked"]):
        refused(session.curl(href, "-X", "GET", "--data-binary", "anything",
                             *more), "lfs_malformed", 422)
    assert not double.stored()
    answer = session.curl(href)
    assert answer.status == 200 and answer.body == DATA


def test_a_permission_ends(session, double, repo):
    double.life = {"expires_in": 1}
    href = action(batch(session, repo))
    time.sleep(1.1)
    message = refused(send(session, href), "lfs_transfer_unknown")
    assert "run the git command again" in message
    assert not double.stored()
    double.life = {"expires_at": "2020-01-01T00:00:00Z"}
    late = batch(session, repo).json["objects"][0]
    assert "was over before it came" in late["error"]["message"]
    double.life = {"expires_at": "2100-01-01T00:00:00Z"}
    answer = batch(session, repo)
    assert answer.json["objects"][0]["actions"]["upload"]["expires_in"] == 3600
    assert send(session, action(answer)).status == 200


def hrefs(double):
    port = double.suffix
    return {
        f"https://else.example{port}/{OID}": "lfs.hosts",
        f"https://private.example{port}/{OID}": "lfs.hosts",
        f"https://10.0.0.1{port}/{OID}": "lfs.hosts",
        "https://store.example:22/x": "lfs.hosts",
        f"http://store.example{port}/{OID}": "no https URL",
        "file:///etc/passwd": "no https URL",
        f"https://user@store.example{port}/x": "no host and port",
        f"https://store.example{port}/x#y": "malformed",
        f"https://store.example{port}/a b": "malformed",
        "https://store.example": "no URL",
        "": "no https URL",
    }


def test_an_answer_that_names_other_places_opens_nothing(session, double,
                                                         repo):
    for href, why in hrefs(double).items():
        def spoil(answer, href=href):
            answer["objects"][0]["actions"]["upload"]["href"] = href
            return answer
        double.spoil = spoil
        told = batch(session, repo).json["objects"][0]
        assert "actions" not in told, href
        assert why in told["error"]["message"], (href, told)
    assert not double.stored()
    double.spoil = lambda answer: answer
    assert send(session, action(batch(session, repo))).status == 200


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, ca, address, server):
    """A gateway whose guardrail lets no object be stored by the forge."""
    path = tmp_path_factory.mktemp("guardrail") / "guardrail.yaml"
    hosts = {"hosts": ["lfs.example", "store.example"],
             "ports": [server.port]}
    path.write_text(json.dumps({"version": 1, "network": {
        "addresses": {"allow": [f"{address}/32"]},
        "rules": [
            {"name": "no-objects", **hosts, "methods": ["PUT"],
             "paths": ["/acme/*/info/lfs/objects/*"], "action": "deny"},
            {"name": "rest", **hosts, "methods": ["GET", "POST", "PUT"],
             "action": "allow"}]}}))
    gateway = Gateway(tmp_path_factory.mktemp("guarded"),
                      {name: address for name in
                       ["lfs.example", "store.example"]},
                      ca.pem(), config={"guardrail": str(path)})
    gateway.start()
    gateway.put_secret("forge", TOKEN)
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.mark.parametrize("at_home", [False, True])
def test_a_guardrail_s_rules_hold_for_where_it_leads(
        open_session, guarded, double, repo, at_home):
    double.at_home = at_home
    answer = batch(open_session(on=guarded), repo)
    assert answer.status == 200, answer.text
    told = answer.json["objects"][0]
    assert ("actions" not in told) == at_home, told
    if at_home:
        assert "guardrail" in told["error"]["message"]
    # The twin: without it, also what the forge keeps may be stored.
    session = open_session()
    assert send(session, action(batch(session, repo))).status == 200


def test_a_private_address_is_refused_where_it_is_dialled(open_session,
                                                          double, repo):
    session = open_session(hosts=["private.example", "store.example"])

    def spoil(answer):
        answer["objects"][0]["actions"]["upload"]["href"] = double.url(
            "x", "private.example")
        return answer
    double.spoil = spoil
    refused(send(session, action(batch(session, repo))), "address_forbidden")
    double.spoil = lambda answer: answer
    assert send(session, action(batch(session, repo))).status == 200


def test_a_malformed_answer_is_refused(session, double, repo):
    for answer in [(200, b"<html>"), (200, b"[]"), (200, {"objects": 1}),
                   (200, {"objects": [{"oid": "0" * 64, "size": 1}]}),
                   (200, {"objects": [{"oid": OID, "size": SIZE}] * 2}),
                   (200, b'{"objects":[],"objects":[]}'),
                   (200, {"transfer": "tus", "objects": []}),
                   (200, b" " * (3 << 20))]:
        double.spoil = lambda _, answer=answer: answer
        refused(batch(session, repo), "response_malformed", 502)
    double.spoil = lambda _: (200, {"objects": [
        {"oid": OID, "size": SIZE + 1, "actions": {}}]})
    told = batch(session, repo).json["objects"][0]
    assert told["error"]["code"] == 422
    double.spoil = lambda answer: answer
    assert action(batch(session, repo))


def test_a_server_s_own_error_is_told(session, double, repo):
    double.spoil = lambda _: (507, {"message": "the disk is full"})
    answer = batch(session, repo)
    assert answer.status == 507
    assert answer.json["message"] == \
        "lfs.example answers 507: the disk is full"
    double.spoil = lambda _: (200, {"objects": [
        {"oid": OID, "error": {"code": 410, "message": "it is gone"}}]})
    assert batch(session, repo, "download").json["objects"][0]["error"] == {
        "code": 410, "message": "it is gone"}


def test_a_server_that_gives_the_credential_back(open_session, double, repo):
    """Cut off, or overwritten: then the courier's own goes with the
    transfer, and the sandbox sees neither."""
    double.at_home = double.echoes = True
    answer = batch(open_session(), repo)
    assert answer.status == 502, answer.text
    assert double.basic not in answer.text
    session = open_session(scrub=True)
    answer = batch(session, repo)
    assert "header" not in answer.text
    assert send(session, action(answer)).status == 200
    assert double.objects == {OID: DATA}


def test_a_server_that_moved_is_not_followed(session, double, repo):
    double.spoil = lambda _: (301, b"", TYPE)
    message = refused(batch(session, repo), "response_malformed", 502)
    assert "the policy must name it there" in message


def test_a_download_has_the_length_of_its_object(session, double, repo):
    double.objects[OID] = DATA
    href = action(batch(session, repo, "download"), "download")
    assert session.curl(href).body == DATA
    for data in (DATA[:-1], DATA + b"x", b""):
        double.objects[OID] = data
        message = refused(session.curl(href), "response_malformed", 502)
        assert f"sends {len(data)}" in message


def test_without_a_length_a_download_is_counted(session, double, repo):
    double.objects[OID], double.chunked = DATA, True
    href = action(batch(session, repo, "download"), "download")
    answer = session.curl(href)
    assert (answer.exit, answer.body) == (0, DATA)
    for data in (DATA[:-1], DATA + b"x"):
        double.objects[OID] = data
        answer = session.curl(href)
        assert answer.exit != 0 and len(answer.body) <= len(DATA)


def test_a_placeholder_in_an_object_is_no_secret(open_session, double, repo):
    session = open_session(push={"secrets": "deny"}, credentials=[
        {"name": "forge", "secret": "forge", "attach": "github",
         "hosts": ["lfs.example"], "placeholder": {"env": ["TOKEN"]}}])
    worthless = session.placeholders["TOKEN"]
    data = f"text\nTOKEN={worthless}\n".encode()
    objects = [{"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}]
    answer = wait_until(lambda: next((a for a in [send(session, action(batch(
        session, repo, objects=objects)), data)] if a.status == 200), None))
    assert answer and double.objects == {objects[0]["oid"]: data}


def test_a_secret_in_an_object_is_found(open_session, double, repo):
    data = b"text\n" * 3000 + b"key = " + b"AKIA" + b"QYLPMN5HFIQR7XYA\n"
    oid = hashlib.sha256(data).hexdigest()
    objects = [{"oid": oid, "size": len(data)}]
    session = open_session(push={"secrets": "deny"})
    refused(send(session, action(batch(session, repo, objects=objects)), data),
            "push_secret")
    assert not double.objects
    session = open_session()
    href = action(batch(session, repo, objects=objects))
    assert send(session, href, data).status == 200
    assert oid in double.objects


def test_without_credential_nothing_of_another_repository_passes(
        session, double, repo):
    answer = session.curl(double.url("acme/other.git/info/lfs/objects/batch"),
                          "-d", "{}")
    assert answer.status == 403
    assert not double.requests


@pytest.mark.parametrize("has_credential, says", [
    (False, "lfs.example wants a credential (401), and the policy has none for "
            "this repository"),
    (True, "lfs.example refused the gateway's credential (401)")])
def test_a_server_that_wants_a_credential_is_told_as_what_it_is(
        open_session, double, repo, monkeypatch, has_credential, says):
    monkeypatch.setattr(double, "basic", "Basic another")
    session = open_session(push=False, has_credential=has_credential)
    answer = batch(session, repo, "download", ref=None)
    assert says in refused(answer, "credential_unavailable", 502)


# ---- one connection, many requests ----

MORE_THAN_ARE_HELD = 40  # LFS_ASKS_MAX of gateway/edge/lfs_lane.h is 32


def statuses(session, *parts):
    """The statuses of requests that go by one connection: of each part its
    options and its URLs."""
    args = []
    for options, urls in parts:
        if args:
            args.append("--next")
        args += ["-sS", "-x", session.proxy, "--cacert", session.ca,
                 "--http1.1", "-w", "%{http_code} %{num_connects}\n"]
        args += options
        for url in urls:
            args += ["-o", "/dev/null", url]
    done = subprocess.run(["curl", *map(str, args)], capture_output=True,
                          text=True, timeout=60, check=True,
                          stdin=subprocess.DEVNULL)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert not [line for line in lines[1:] if line[1] != "0"], lines
    return [int(line[0]) for line in lines]


def test_a_connection_brings_any_number_of_requests(session, double, repo):
    locks = f"{repo.url}.git/info/lfs/locks"
    many = [locks] * MORE_THAN_ARE_HELD
    assert statuses(session, ([], many)) == [200] * MORE_THAN_ARE_HELD


def test_a_connection_is_the_forge_s_again_behind_a_transfer(session, double,
                                                             repo):
    href = action(batch(session, repo))
    path = session.dir / "object"
    path.write_bytes(DATA)
    locks = f"{repo.url}.git/info/lfs/locks"
    refs = f"{repo.url}.git/info/refs?service=git-upload-pack"
    assert statuses(session, (["-T", path], [href]),
                    ([], [locks, refs])) == [200, 200, 200]
    assert double.objects == {OID: DATA}
