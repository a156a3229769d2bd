"""The door: proxy clients outside a sandbox, who bring a lease."""
import json
import os
import pathlib
import resource
import socket
import ssl
import subprocess
import sys
import time

import pytest
from gateway import CLI, ApiError
from session import Answer, read_head
from waiting import at_best, wait_until, while_it_lives

PORT = 3128
WRONG = "ghp_" + "0" * 36


@pytest.fixture(scope="module")
def address():
    """A loopback address that another run of the tests does not use."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 8) % 128}.{pid & 255}.4"


@pytest.fixture(scope="module")
def gateway(make_gateway, address):
    gateway = make_gateway("door", config={
        "listen": {"proxy": [f"{address}:{PORT}"]}})
    yield gateway
    gateway.stop()
    gateway.check()


class Client:
    """What a person has who was given a lease: address, lease, CA."""

    def __init__(self, gateway, directory, policy, repo=None, ttl=600,
                 proxy=True):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir()
        made = gateway.create(policy, repo.url if repo else "",
                              "agent/1" if repo else "", ttl, proxy)
        self.id, self.lease = made["id"], made["lease"]
        self.proxy = made["proxy"]
        self.ca = self.dir / "ca.pem"
        self.ca.write_text(made["ca_pem"])

    def curl(self, proxy, url, *args, lease=None, user="anybody"):
        body = self.dir / "body"
        body.write_bytes(b"")
        lease = self.lease if lease is None else lease
        done = subprocess.run(
            ["curl", "-sS", "-x", f"http://{proxy}", "--proxy-user",
             f"{user}:{lease}", "--cacert", self.ca, "-D", "-", "-o", body,
             "--suppress-connect-headers", *map(str, args), url],
            capture_output=True, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(self.dir)})
        return Answer(done, body.read_bytes())


@pytest.fixture
def client(gateway, policies, tmp_path):
    made = []

    def make(*hosts, **more):
        rules = [policies.rule(host, paths=["/**"])
                 for host in hosts or ("good.example",)]
        made.append(Client(gateway, tmp_path / f"c{len(made)}",
                           policies.make(rules), **more))
        return made[-1]
    yield make
    for one in made:
        try:
            gateway.end(one.id, "ended")
        except ApiError:
            pass


def seen(origin):
    return len(origin.tls.requests) + len(origin.plain.requests)


SOURCES = (f"127.0.3.{number}" for number in range(1, 255))


def ask(address, text, timeout=60):
    """Send bytes, and read until the door ends; each time from an address
    that has brought no wrong lease yet."""
    with socket.create_connection((address, PORT), timeout,
                                  (next(SOURCES), 0)) as stream:
        stream.sendall(text.encode() if isinstance(text, str) else text)
        answer = b""
        while True:
            block = stream.recv(65536)
            if not block:
                return answer
            answer += block


def test_curl_reaches_what_its_session_may(client, address, origin):
    one = client()
    assert one.proxy == f"{address}:{PORT}"
    answer = one.curl(one.proxy, origin.url("/echo"))
    assert answer.status == 200, answer.error
    assert "proxy-authorization" not in answer.json["headers"]
    answer = one.curl(one.proxy, origin.plain_url("/echo", "good.example"))
    assert answer.status == 200
    assert "proxy-authorization" not in answer.json["headers"]


def test_what_its_policy_does_not_allow_is_denied_in_words(client, origin):
    one = client()
    answer = one.curl(one.proxy, origin.url("/echo", "other.example"))
    assert answer.status == 403, answer.error
    assert answer.json["constraint"] == "host_not_allowed"
    assert answer.json["session"] == one.id


def test_a_bearer_is_as_good_as_basic(client, address, origin):
    one = client()
    answer = ask(address, f"GET {origin.plain_url('/echo', 'good.example')} "
                 f"HTTP/1.1\r\nHost: good.example:{origin.plain_port}\r\n"
                 f"Proxy-Authorization: Bearer {one.lease}\r\n"
                 "Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200"), answer


def test_git_clones_and_pushes_its_branch(gateway, policies, repo, tmp_path,
                                          address):
    one = Client(gateway, tmp_path / "c", policies.make(repo=repo), repo)
    from forge import git_env
    env = {**git_env(one.dir), "GIT_SSL_CAINFO": str(one.ca)}

    def git(*args, cwd=one.dir):
        return subprocess.run(
            ["git", "-c", f"http.proxy=http://x:{one.lease}@{one.proxy}",
             *args], cwd=cwd, env=env, text=True, capture_output=True,
            check=False, timeout=60, stdin=subprocess.DEVNULL)
    done = git("clone", "-q", repo.url, "work")
    assert done.returncode == 0, done.stderr
    work = one.dir / "work"
    (work / "file").write_text("x")
    git("add", "-A", cwd=work)
    git("commit", "-q", "-m", "x", cwd=work)
    done = git("push", "-q", "origin", "HEAD:agent/1", cwd=work)
    assert done.returncode == 0, done.stderr
    assert repo.tip("agent/1")
    done = git("push", "-q", "origin", "HEAD:main", cwd=work)
    assert done.returncode != 0
    assert "agent/1" in done.stderr
    gateway.end(one.id, "ended")


def test_python_reads_a_url(client, origin):
    one = client()
    done = subprocess.run(
        [sys.executable, "-c",
         "import sys, urllib.request as r\n"
         "print(r.urlopen(sys.argv[1]).status)", origin.url("/echo")],
        env={"PATH": os.environ["PATH"], "SSL_CERT_FILE": str(one.ca),
             "https_proxy": f"http://x:{one.lease}@{one.proxy}"},
        capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "200\n", done.stderr


@pytest.mark.parametrize("field", ["", f"Proxy-Authorization: Bearer {WRONG}",
                                   "Proxy-Authorization: Basic eDo=",
                                   "Proxy-Authorization: Basic !!!",
                                   "Proxy-Authorization: Negotiate AAAA"])
def test_without_the_lease_of_a_session_nothing_is_served(client, address,
                                                          field, origin):
    client()
    before = seen(origin)
    line = f"{field}\r\n" if field else ""
    for target in (f"CONNECT good.example:{origin.port}",
                   f"GET {origin.plain_url('/echo', 'good.example')}"):
        port = origin.port if "CONNECT" in target else origin.plain_port
        answer = ask(address, f"{target} HTTP/1.1\r\n"
                     f"Host: good.example:{port}\r\n{line}\r\n")
        assert answer.startswith(b"HTTP/1.1 407 "), answer
        assert b'Proxy-Authenticate: Basic realm="sallyport"\r\n' in answer
        assert b'Proxy-Authenticate: Bearer realm="sallyport"\r\n' in answer
        assert b"Connection: close" in answer
        assert b"lease_invalid" in answer
    assert seen(origin) == before


def test_a_revoked_and_an_expired_lease_are_nobodys(client, gateway, origin):
    def served(seconds):
        made = client(ttl=seconds)
        assert made.curl(made.proxy, origin.url("/echo")).status == 200
        return made
    one, short = served(600), while_it_lives(served)
    gateway.end(one.id)
    wait_until(lambda: gateway.audit(short.id, "session.ended"))
    for each in (one, short):
        answer = each.curl(each.proxy,
                           origin.plain_url("/echo", "good.example"))
        assert answer.status == 407, answer.error


def test_a_session_that_is_not_for_clients_outside_is_not_reached(
        client, gateway, policies, address, origin, tmp_path):
    inside = Client(gateway, tmp_path / "in",
                    policies.make([policies.rule("good.example",
                                                 paths=["/**"])]), proxy=False)
    assert inside.proxy == ""
    url = origin.plain_url("/echo", "good.example")
    assert inside.curl(f"{address}:{PORT}", url).status == 407
    twin = client()
    assert twin.curl(f"{address}:{PORT}", url).status == 200
    gateway.end(inside.id, "ended")


def test_a_lease_opens_its_own_policy_alone(client, origin):
    good, other = client("good.example"), client("other.example")
    url = origin.plain_url("/echo", "good.example")
    assert good.curl(good.proxy, url).status == 200
    answer = other.curl(other.proxy, url, lease=other.lease)
    assert answer.status == 403
    assert answer.json["session"] == other.id


def request(url, host, lease):
    field = f"Proxy-Authorization: Bearer {lease}\r\n" if lease else ""
    return (f"GET {url} HTTP/1.1\r\nHost: {host}\r\n{field}\r\n").encode()


@pytest.mark.parametrize("then", ["another's", "none", "wrong"])
def test_a_kept_connection_that_changes_its_lease_is_closed(client, address,
                                                            origin, then):
    one, other = client(), client()
    lease = {"another's": other.lease, "none": "", "wrong": WRONG}[then]
    url = origin.plain_url("/echo", "good.example")
    host = f"good.example:{origin.plain_port}"
    for second, wanted in ((one.lease, b"200"), (lease, b"407")):
        with socket.create_connection((address, PORT), 20) as stream:
            stream.sendall(request(url, host, one.lease))
            answer = read_head(stream)
            assert b" 200 " in answer.split(b"\r\n")[0]
            wait_for_body(stream, answer)
            stream.sendall(request(url, host, second))
            head = read_head(stream)
            assert head.split()[1] == wanted, head
            if wanted == b"407":
                stream.settimeout(60)
                while stream.recv(65536):
                    pass


def wait_for_body(stream, answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(next(line.split(b":")[1] for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length")))
    while len(body) < length:
        body += stream.recv(65536)


def test_revoking_ends_live_streams_within_a_second(client, gateway, address,
                                                    origin):
    at_best(1, lambda: seconds_of_revoking(client(), gateway, address, origin),
            tries=10)


def seconds_of_revoking(one, gateway, address, origin):
    plain = socket.create_connection((address, PORT), 20)
    plain.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                  f"Host: good.example:{origin.port}\r\n"
                  f"Proxy-Authorization: Bearer {one.lease}\r\n\r\n".encode())
    assert b" 200 " in read_head(plain).split(b"\r\n")[0]
    context = ssl.create_default_context(cafile=one.ca)
    stream = context.wrap_socket(plain, server_hostname="good.example")
    stream.sendall(f"GET /drip HTTP/1.1\r\nHost: good.example{origin.suffix}"
                   "\r\n\r\n".encode())
    assert b" 200 " in read_head(stream)
    assert stream.recv(1) == b"."
    began = time.monotonic()
    gateway.end(one.id)
    try:
        while stream.recv(65536):
            pass
    except OSError:
        pass
    return time.monotonic() - began


@pytest.mark.parametrize("bytes_", [
    b"GET / HTTP/1.1\nHost: a\n\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\x06\x01\x00" * 20,
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 40000 + b"\r\n\r\n"])
def test_bytes_that_are_no_head_are_refused(client, address, origin, bytes_):
    one = client()
    answer = ask(address, bytes_)
    assert answer.split(b" ")[1] in (b"400", b"405", b"431"), answer
    assert one.curl(one.proxy, origin.url("/echo")).status == 200


def test_wrong_leases_wait_and_the_right_one_does_not(client, address,
                                                      origin):
    """Each wrong one of the same address waits longer for its answer."""
    one = client()
    url = origin.plain_url("/echo", "good.example")
    host = f"good.example:{origin.plain_port}"
    waiting = []
    for _ in range(12):
        stream = socket.create_connection((address, PORT), 30)
        stream.sendall(request(url, host, WRONG))
        waiting.append(stream)
    assert one.curl(one.proxy, url).status == 200
    # The last is held for eight seconds: it has no answer yet.
    waiting[-1].setblocking(False)
    with pytest.raises(BlockingIOError):
        waiting[-1].recv(1)
    for stream in waiting:
        stream.setblocking(True)
        stream.settimeout(30)
        assert b" 407 " in read_head(stream).split(b"\r\n")[0] + b" "
        stream.close()


def test_silent_clients_do_not_keep_others_out(client, address, origin):
    one = client()
    silent = [socket.create_connection((address, PORT), 20)
              for _ in range(100)]
    silent[0].sendall(b"GET http://good.example/ HTTP/1.1\r\nHo")
    assert one.curl(one.proxy, origin.url("/echo")).status == 200
    silent[0].settimeout(60)
    assert b" 408 " in read_head(silent[0]).split(b"\r\n")[0]
    for stream in silent:
        stream.close()


def test_the_door_comes_back_and_knows_its_sessions(client, gateway, origin):
    import signal
    one = client()
    old = gateway.pid("door")
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: gateway.pid("door") not in (None, old)
               and gateway.is_ready())
    assert one.curl(one.proxy, origin.url("/echo")).status == 200
    os.kill(gateway.pid("edge", one.id), signal.SIGKILL)
    wait_until(lambda: one.curl(one.proxy, origin.url("/echo")).status == 200)


def test_create_prints_what_a_client_needs(gateway, policies, address, origin,
                                           tmp_path):
    import json
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps(policies.make(
        [policies.rule("good.example", paths=["/**"])])))
    done = gateway.cli("session", "create", "--policy", policy, "--proxy",
                       XDG_RUNTIME_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    said = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert said["proxy"] == f"http://{address}:{PORT}"
    done = subprocess.run(
        ["curl", "-sS", "-x", said["proxy"], "--proxy-user",
         f"x:{said['lease']}", "--cacert", said["ca"], "-o", "/dev/null",
         "-w", "%{http_code}", origin.url("/echo")], capture_output=True,
        text=True, check=False, timeout=60)
    assert done.stdout == "200", done.stderr
    gateway.end(said["session"], "ended")
    assert pathlib.Path(said["ca"]).is_file()


def ca_of(gateway, policies, tmp_path, *options):
    """A session, and the file its CA is in."""
    (tmp_path / "policy.yaml").write_text(json.dumps(policies.make()))
    done = gateway.cli("session", "create", "-o", "json", "--policy",
                       tmp_path / "policy.yaml", "--proxy", *options,
                       XDG_RUNTIME_DIR=str(tmp_path))
    said = json.loads(done.stdout)
    assert said["ca_path"].startswith(f"{tmp_path}/")
    return said["id"], pathlib.Path(said["ca_path"])


def revoke(gateway, tmp_path, session):
    return gateway.cli("session", "revoke", session,
                       XDG_RUNTIME_DIR=str(tmp_path)).returncode


def test_revoke_removes_the_file_that_create_made(gateway, policies, tmp_path):
    session, ca = ca_of(gateway, policies, tmp_path)
    _, other = ca_of(gateway, policies, tmp_path)
    assert session in ca.name and ca.is_file()
    assert revoke(gateway, tmp_path, session) == 0
    assert not ca.exists() and other.is_file()
    # Of one that ended otherwise, too.
    session, ca = ca_of(gateway, policies, tmp_path)
    gateway.end(session, "ended")
    assert ca.is_file()
    revoke(gateway, tmp_path, session)
    assert not ca.exists()
    # Of one that the gateway does not know any more.
    unknown = tmp_path / "sallyport-s-nobody-ca.pem"
    unknown.touch()
    assert revoke(gateway, tmp_path, "s-nobody") == 6
    assert not unknown.exists()


def test_revoke_removes_no_other_file(gateway, policies, tmp_path):
    mine = tmp_path / "mine.pem"
    session, ca = ca_of(gateway, policies, tmp_path, "--ca", mine)
    assert ca == mine
    assert revoke(gateway, tmp_path, session) == 0 and mine.is_file()
    for stranger in "link", "uid", "directory":
        session, ca = ca_of(gateway, policies, tmp_path)
        if stranger == "uid":
            os.chown(ca, 12345, 12345)
        else:
            ca.unlink()
        if stranger == "link":
            ca.symlink_to(mine)
        if stranger == "directory":
            ca.mkdir()
        assert revoke(gateway, tmp_path, session) == 0
        assert ca.lstat() and mine.is_file()


def test_a_ca_is_written_over_nothing_and_it_is_said(own_gateway, policies,
                                                     tmp_path):
    """Its twin is test_a_session_whose_ca_can_not_be_written_is_none()."""
    (tmp_path / "policy.yaml").write_text(json.dumps(policies.make()))
    mine = tmp_path / "ca.pem"
    mine.write_text("mine")
    done = own_gateway.cli("session", "create", "--policy",
                           tmp_path / "policy.yaml", "--ca", mine)
    assert done.returncode == 1 and mine.read_text() == "mine"
    assert done.stderr == (
        f"sallyport: write {mine}: it is there already, and nothing is "
        "written over: remove it, or name another file with --ca\n")
    row, = own_gateway.get("/v1/sessions")["sessions"]
    assert row["revoked"]


def test_a_ca_that_can_not_be_written_whole_is_not_left(gateway, policies,
                                                        tmp_path):
    """Its twin is test_a_session_whose_ca_can_not_be_written_is_none()."""
    small = tmp_path / "small"
    small.mkdir()
    (tmp_path / "policy.yaml").write_text(json.dumps(policies.make()))
    done = subprocess.run(
        [CLI, "session", "create", "--policy",
         tmp_path / "policy.yaml", "--ca", small / "ca.pem"],
        env=gateway.env(), capture_output=True, text=True, check=False,
        timeout=60, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (16, 16)))
    assert done.returncode == 1 and "written whole" in done.stderr
    assert not list(small.iterdir())


def test_without_a_port_no_session_is_made_for_it(make_gateway, policies):
    gateway = make_gateway("shut")
    try:
        with pytest.raises(ApiError) as caught:
            gateway.create(policies.make(), proxy=True)
        assert caught.value.status == 422
        assert "listen.proxy" in str(caught.value)
        assert gateway.create(policies.make())["proxy"] == ""
        assert gateway.pid("door") is None
    finally:
        gateway.stop()
        gateway.check()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_session_whose_ca_can_not_be_written_is_none(
        own_gateway, policies, tmp_path, is_there):
    """Its id would be told to nobody, and it would last."""
    (tmp_path / "policy.yaml").write_text(json.dumps(policies.make()))
    where = tmp_path / ("." if is_there else "nowhere") / "ca.pem"
    done = own_gateway.cli("session", "create", "--policy",
                           tmp_path / "policy.yaml", "--ca", where)
    row, = own_gateway.get("/v1/sessions")["sessions"]
    assert row["revoked"] is not is_there
    if is_there:
        assert done.returncode == 0 and row["id"] in done.stdout, done.stderr
        assert where.read_text().startswith("-----BEGIN CERTIFICATE")
    else:
        assert done.returncode == 1
        assert done.stderr == (f"sallyport: write {where}: "
                               "No such file or directory\n")
