"""Another policy for a session that runs: on every way out, for what is
under way, beside traffic and beside processes that end."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest
import websocket
from gateway import ApiError, wait_until
from keyed_origin import KeyedOrigin
from session import read_head
from websocket import CLOSE, TEXT

GOOD, OTHER, PLAIN = "good.example", "wild.example", "plain.example"


def change(session, policy, **more):
    body = {"policy": json.dumps(policy, indent=1), **more}
    return json.loads(session.gateway.call(
        "PUT", f"/v1/sessions/{session.id}/policy", json.dumps(body)))


def show(session):
    return session.gateway.get(f"/v1/sessions/{session.id}/policy")


def digest(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def open_for(policies):
    """A policy that allows these hosts."""
    def make(*hosts, tunnels=False, **more):
        policy = policies.make([policies.rule(*hosts)], **more)
        policy["network"]["tls"] = {"inspect": "auto" if tunnels
                                    else "always"}
        return policy
    return make


# ---- what is asked, and who may ----

def test_it_is_shown_replaced_and_on_record_with_both_hashes(
        make_session, open_for):
    session = make_session(open_for(GOOD))
    before = show(session)
    assert before["hash"] == digest(before["policy"])
    after = open_for(PLAIN)
    told = change(session, after, policy_name="second")
    assert told["before"] == before["hash"]
    assert told["hash"] == digest(json.dumps(after, indent=1))
    now = show(session)
    assert (now["hash"], now["policy_name"]) == (told["hash"], "second")
    row = session.row("admin", method="session.policy")
    assert told["before"] in row["detail"], row
    assert told["hash"] in row["detail"]


@pytest.mark.parametrize("part,value", [
    ("filesystem", {"hide": ["**/.env"]}),
    ("environment", {"set": {"A": "b"}}),
    ("limits", {"processes": 7}),
    ("commands", {"autonomy": "full"}),
    ("credentials", [{"name": "c", "secret": "forge", "attach": "placeholder",
                      "hosts": [GOOD], "placeholder": {"env": ["TOKEN"]}}]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_stands_in_the_sandbox_must_stay(make_session, open_for, part,
                                              value):
    session = make_session(open_for(GOOD))
    hash_before = show(session)["hash"]
    with pytest.raises(ApiError) as refused:
        change(session, open_for(GOOD, **{part: value}))
    assert refused.value.status == 422
    assert part in refused.value.problem
    assert show(session)["hash"] == hash_before
    twin = make_session(open_for(GOOD, **{part: value}))
    change(twin, open_for(PLAIN, **(
        {part: value} if part != "credentials" else {})))


def test_a_policy_that_is_none_changes_nothing(make_session, open_for,
                                               origin):
    session = make_session(open_for(GOOD))
    for wrong in ({"version": 1, "netwrok": {}}, {"version": 9}):
        with pytest.raises(ApiError) as refused:
            change(session, wrong)
        assert refused.value.status == 422
    assert session.curl(origin.url("/")).status == 200


def test_who_expects_another_policy_is_told(make_session, open_for):
    session = make_session(open_for(GOOD))
    first = show(session)["hash"]
    change(session, open_for(PLAIN), expect=first)
    with pytest.raises(ApiError) as refused:
        change(session, open_for(GOOD), expect=first)
    assert refused.value.status == 409
    assert show(session)["policy"] == json.dumps(open_for(PLAIN), indent=1)


def test_of_many_that_expect_the_same_one_is_first(make_session, open_for):
    session = make_session(open_for(GOOD))
    first = show(session)["hash"]
    policies, others = ([{**open_for(PLAIN), "name": f"{letter}{i}"}
                         for i in range(12)] for letter in "pq")

    def one(policy, **more):
        try:
            return 200, change(session, policy, **more)["before"]
        except ApiError as refused:
            return refused.status, None
    with concurrent.futures.ThreadPoolExecutor(12) as threads:
        got = list(threads.map(lambda p: one(p, expect=first), policies))
        assert sorted(got, key=str)[0] == (200, first)
        # The others were late, or came just while it was changed.
        assert [status for status, _ in got].count(200) == 1, got
        assert {status for status, _ in got} <= {200, 409, 429}, got
        # Who expects none follows on the one before: no two on the same.
        got = list(threads.map(one, others))
    befores = [before for status, before in got if status == 200]
    assert befores and len(set(befores)) == len(befores), got


def test_the_cli_shows_and_replaces_it(make_session, open_for, gateway,
                                       tmp_path):
    session = make_session(open_for(GOOD))
    path = tmp_path / "p.yaml"
    path.write_text(json.dumps(open_for(PLAIN)))
    done = gateway.cli("session", "policy", session.id, path)
    assert done.returncode == 0, done.stderr
    shown = gateway.cli("session", "policy", session.id)
    assert shown.stdout == path.read_text()
    assert gateway.cli("session", "policy", "s-none", path).returncode == 6


# ---- every way out ----

def test_inspected_requests_follow_it_both_ways(make_session, open_for,
                                                origin):
    session = make_session(open_for(GOOD))
    assert session.curl(origin.url("/")).status == 200
    assert session.curl(origin.plain_url("/")).status == 403
    change(session, open_for(PLAIN))
    refused = session.curl(origin.url("/"))
    assert refused.status == 403 and "host_not_allowed" in refused.text
    assert session.curl(origin.plain_url("/")).status == 200


def test_a_kept_connection_is_closed_and_one_that_is_allowed_is_kept(
        make_session, open_for, policies, origin):
    session = make_session(open_for(GOOD, PLAIN))
    kept, lost = session.connect_tls(GOOD, origin.port), session.connect()
    with kept, lost:
        def ask(path):
            kept.sendall(f"GET {path} HTTP/1.1\r\nHost: {GOOD}"
                         f"{origin.suffix}\r\n\r\n".encode())
            head = read_head(kept)
            assert b"ength:" in head, head
            length = int(head.lower().split(b"content-length:")[1].split()[0])
            body = b""
            while len(body) < length:
                body += kept.recv(length - len(body))
            return head
        assert b" 200 " in ask("/")
        where = f"{PLAIN}:{origin.plain_port}"
        lost.sendall(f"CONNECT {where} HTTP/1.1\r\n"
                     f"Host: {where}\r\n\r\n".encode())
        assert b" 200 " in read_head(lost)
        lost.sendall(f"GET / HTTP/1.1\r\nHost: {PLAIN}{origin.plain_suffix}"
                     "\r\n\r\n".encode())
        assert b" 200 " in read_head(lost)
        narrow = policies.rule(GOOD, methods=["GET"], paths=["/echo"])
        change(session, policies.make([narrow]))
        lost.settimeout(30)
        while lost.recv(4096):
            pass  # closed
        # The same connection, by the new rules.
        assert b" 403 " in ask("/")
        change(session, open_for(GOOD))
        assert b" 200 " in ask("/")


def test_tunnels_are_closed_or_kept(make_session, open_for, origin):
    session = make_session(open_for(GOOD, tunnels=True))
    with contextlib.ExitStack() as stack:
        def tunnel():
            plain = stack.enter_context(session.connect())
            where = f"{GOOD}:{origin.port}"
            plain.sendall(f"CONNECT {where} HTTP/1.1\r\n"
                          f"Host: {where}\r\n\r\n".encode())
            assert b" 200 " in read_head(plain)
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context.wrap_socket(plain, server_hostname=GOOD)

        def ask(stream):
            stream.sendall(f"GET /big/0 HTTP/1.1\r\nHost: {GOOD}\r\n\r\n"
                           .encode())
            return read_head(stream)
        stream = tunnel()
        assert b" 200 " in ask(stream)
        change(session, open_for(GOOD, PLAIN, tunnels=True))
        assert b" 200 " in ask(stream)
        change(session, open_for(PLAIN))
        stream.settimeout(30)
        with pytest.raises((OSError, EOFError)):
            while stream.recv(65536):
                pass
            raise EOFError
    row = session.row("response", host=GOOD, method="CONNECT")
    assert not row["allowed"] and row["constraint"] == "policy_changed"


def test_addresses_follow_it_for_what_is_kept_and_for_tunnels(
        make_session, open_for, origin):
    """A name leads where it led; the address may not be reached any more."""
    session = make_session(open_for(GOOD, PLAIN, tunnels=True))
    narrow = open_for(GOOD, PLAIN, tunnels=True)
    narrow["network"]["addresses"] = {"allow": ["192.0.2.0/24"]}
    wide = open_for(GOOD, PLAIN, tunnels=True)
    wide["network"]["addresses"] = {
        "allow": [*wide["network"]["addresses"]["allow"], "192.0.2.0/24"]}

    def ask():
        return session.curl(origin.plain_url("/"))
    with session.connect() as plain:
        where = f"{GOOD}:{origin.port}"
        plain.sendall(f"CONNECT {where} HTTP/1.1\r\n"
                      f"Host: {where}\r\n\r\n".encode())
        assert b" 200 " in read_head(plain)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        tunnel = context.wrap_socket(plain, server_hostname=GOOD)
        for policy in (None, wide):
            if policy:
                change(session, policy)
            tunnel.sendall(b"GET /big/0 HTTP/1.1\r\n"
                           b"Host: good.example\r\n\r\n")
            assert b" 200 " in read_head(tunnel)
            assert ask().status == 200
        change(session, narrow)
        refused = ask()
        assert refused.status == 403 and "address_forbidden" in refused.text
        tunnel.settimeout(30)
        with pytest.raises((OSError, EOFError)):
            while tunnel.recv(65536):
                pass
            raise EOFError
    change(session, wide)
    assert ask().status == 200


def test_socks_follows_it(make_session, open_for, origin):
    session = make_session(open_for(GOOD))
    url = origin.url("/")
    option = ("--socks5-hostname", f"127.0.0.1:{session.port}", "--noproxy",
              "-")

    def ask():
        done = subprocess.run(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}",
             "--cacert", session.ca, *option[:2], url], text=True,
            capture_output=True, timeout=60, check=False,
            env={"PATH": os.environ["PATH"]})
        return done.stdout
    assert ask() == "200"
    change(session, open_for(PLAIN))
    assert ask() == "403"
    change(session, open_for(GOOD))
    assert ask() == "200"


def test_names_follow_it(make_session, open_for):
    session = make_session(open_for(GOOD))
    udp, _ = session.attach_dns()

    def resolves(name):
        question = (b"\1\2\1\0\0\1\0\0\0\0\0\0"
                    + b"".join(bytes([len(p)]) + p.encode()
                               for p in name.split(".")) + b"\0\0\1\0\1")
        with socket.socket(type=socket.SOCK_DGRAM) as sock:
            sock.settimeout(30)
            sock.sendto(question, ("127.0.0.1", udp))
            return sock.recv(512)[3] & 15 == 0
    assert resolves(GOOD) and not resolves(PLAIN)
    change(session, open_for(PLAIN))
    assert resolves(PLAIN) and not resolves(GOOD)


def test_websockets_go_over_to_the_new_rules_or_end(make_session, policies,
                                                    origin):
    def policy(**websocket_rule):
        rule = policies.rule(GOOD, methods=["GET"], paths=["/**"])
        rule["websocket"] = websocket_rule
        return policies.make([rule])
    session = make_session(policy())
    with session.connect_tls(GOOD, origin.port) as stream:
        stream.settimeout(30)
        client = websocket.Client(stream, GOOD + origin.suffix, "/ws/echo")
        assert client.status == 101
        client.send(TEXT, "before")
        assert client.receive() == (TEXT, b"before")
        change(session, policy(text="^ok.*$"))
        client.send(TEXT, "ok then")
        assert client.receive() == (TEXT, b"ok then")
        client.send(TEXT, "no")
        assert client.receive()[0] == CLOSE
    with session.connect_tls(GOOD, origin.port) as stream:
        stream.settimeout(30)
        client = websocket.Client(stream, GOOD + origin.suffix, "/ws/echo")
        assert client.status == 101
        change(session, policies.make([policies.rule(GOOD)]))
        with contextlib.suppress(OSError):
            while stream.recv(4096):
                pass


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_websocket_that_a_person_lets_pass_later_follows_it(
        make_session, policies, gateway, origin, is_changed):
    """It waits for that person while the policy becomes another; its twin:
    while it stays."""
    def policy(**websocket_rule):
        return policies.make([policies.rule(
            GOOD, name="talk", methods=["GET"], paths=["/**"], action="ask",
            hold="30s", websocket=websocket_rule)])

    def waits():
        return gateway.get(
            f"/v1/approvals?session={session.id}&state=pending")["approvals"]
    session = make_session(policy())
    clients = []
    with session.connect_tls(GOOD, origin.port) as stream:
        stream.settimeout(30)
        dials = threading.Thread(target=lambda: clients.append(
            websocket.Client(stream, GOOD + origin.suffix, "/ws/echo")))
        dials.start()
        wanted = wait_until(waits)[0]
        if is_changed:
            change(session, policy(text="^ok.*$"))
        assert gateway.cli("approval", "approve", wanted["id"]).returncode == 0
        dials.join(30)
        if is_changed:
            assert "policy_changed" in clients[0].head
            return
        assert clients[0].status == 101
        clients[0].send(TEXT, "no")
        assert clients[0].receive() == (TEXT, b"no")


@pytest.mark.parametrize("becomes", ["body", "script", "rate"])
def test_a_request_that_a_person_lets_pass_later_follows_it(
        make_session, policies, gateway, origin, becomes):
    """Nobody saw its body, or asked the script; the twin: neither wants to."""
    def policy(script="", **more):
        policy = policies.make([policies.rule(
            GOOD, name="release", methods=["POST"], action="ask", hold="30s",
            **more)])
        if script:
            policy["network"]["script"] = script
        return policy
    more = {"body": {"body": {"json": [{"pointer": "/head",
                                        "equals": "mine"}]}},
            "script": {"script": "function decide(request)\n"
                                 "  return {deny = 'not now'}\nend\n"},
            "rate": {"rate": {"requests": "600/1m"}}}[becomes]
    session = make_session(policy())
    before = len(origin.tls.requests)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        posts = pool.submit(session.curl, origin.url("/release"), "-H",
                            "Content-Type: application/json", "-d",
                            '{"head": "main"}')
        wanted = wait_until(lambda: gateway.get(
            f"/v1/approvals?session={session.id}&state=pending")["approvals"])
        change(session, policy(**more))
        assert gateway.cli("approval", "approve",
                           wanted[0]["id"]).returncode == 0
        answer = posts.result(60)
    if becomes == "rate":
        assert answer.status == 200
        return
    assert answer.json["constraint"] == "policy_changed"
    assert len(origin.tls.requests) == before


@pytest.mark.parametrize("becomes, constraint", [
    ("another", "body_not_allowed"), ("smaller", "body_too_large"),
    ("script", "script_denied"), ("denied", "denied_by_rule"),
    ("wider", None), ("none", None)])
def test_a_body_that_still_comes_is_seen_by_the_new_rules(
        make_session, policies, origin, becomes, constraint):
    """A slow one is no way to keep the rules that were; the twins: it passes
    where they let it pass."""
    def policy(action="allow", script="", **more):
        policy = policies.make([policies.rule(
            PLAIN, methods=["POST"], action=action, **more)])
        if script:
            policy["network"]["script"] = script
        return policy
    def head(word, **more):
        return {"body": {"json": [{"pointer": "/head", "matches": word}],
                         **more}}
    after = {"another": policy(**head("mine")),
             "smaller": policy(**head(".*", max="16B")),
             "script": policy(**head(".*"),
                              script="function decide(request)\n"
                                     "  return 'deny', 'not now'\nend\n"),
             "denied": policy("deny"),
             "wider": policy(**head(".*", max="2MiB")),
             "none": policy()}[becomes]
    session = make_session(policy(**head("main", max="128B")))
    before = len(origin.plain.requests)
    body = b'{"head": "main"}' + (200 if becomes == "wider" else 90) * b" "
    with session.connect() as stream:
        stream.sendall(f"POST {origin.plain_url('/echo')} HTTP/1.1\r\n"
                       f"Host: {PLAIN}{origin.plain_suffix}\r\n"
                       "Content-Type: application/json\r\n"
                       "Transfer-Encoding: chunked\r\n"
                       "Expect: 100-continue\r\n\r\n".encode())
        assert b" 100 " in read_head(stream)
        stream.sendall(b"9\r\n" + body[:9] + b"\r\n")
        change(session, after)
        stream.sendall(b"%x\r\n" % len(body[9:]) + body[9:]
                       + b"\r\n0\r\n\r\n")
        answer = read_head(stream).decode()
    if constraint:
        assert f"egress denied: {constraint}" in answer
        assert len(origin.plain.requests) == before
    else:
        assert " 200 " in answer


@pytest.mark.parametrize("must_be_seen", [True, False])
def test_a_body_that_flows_is_cut_when_it_must_be_seen(
        make_session, policies, origin, must_be_seen):
    def policy(**more):
        return policies.make([policies.rule(PLAIN, methods=["POST"], **more)])
    session = make_session(policy())
    with session.connect() as stream:
        stream.sendall(f"POST {origin.plain_url('/echo')} HTTP/1.1\r\n"
                       f"Host: {PLAIN}{origin.plain_suffix}\r\n"
                       "Content-Length: 9\r\n"
                       "Expect: 100-continue\r\n\r\n".encode())
        assert b" 100 " in read_head(stream)
        stream.sendall(b"hell")
        change(session, policy(**({"body": {"secrets": "deny"}} if must_be_seen
                                  else {"rate": {"requests": "9/1m"}})))
        with contextlib.suppress(OSError):
            stream.sendall(b"o all")
        answer = read_head(stream).decode()
    if must_be_seen:
        assert "egress denied: policy_changed" in answer
        session.row("response", constraint="policy_changed")
    else:
        assert " 200 " in answer


@pytest.mark.parametrize("is_smaller", [True, False])
def test_what_is_held_counts_where_less_may_be(make_session, policies, origin,
                                               is_smaller):
    def policy(held):
        policy = policies.make([policies.rule(
            PLAIN, methods=["POST"], body={"max": "1MiB",
                                           "secrets": "deny"})])
        policy["network"]["limits"] = {"held": held}
        return policy
    session = make_session(policy("1MiB"))
    url = origin.plain_url("/")
    with session.connect() as stream:
        stream.sendall(f"POST {url} HTTP/1.1\r\nHost: {PLAIN}"
                       f"{origin.plain_suffix}\r\nContent-Length: 900000"
                       "\r\nExpect: 100-continue\r\n\r\n".encode())
        assert b" 100 " in read_head(stream)
        change(session, policy("64KiB" if is_smaller else "2MiB"))
        answer = session.curl(url, "-d", "x" * 1000)
    if is_smaller:
        assert answer.json["constraint"] == "limit_bodies"
    else:
        assert answer.status == 200


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_tunnel_that_a_person_lets_pass_later_follows_it(
        make_session, policies, gateway, origin, is_changed):
    def policy(**rate):
        policy = policies.make([policies.rule(GOOD, action="ask",
                                              hold="30s")])
        policy["network"]["tls"] = {"tunnel": [GOOD]}
        if rate:
            policy["network"]["rate"] = rate
        return policy

    def waits():
        return gateway.get(
            f"/v1/approvals?session={session.id}&state=pending")["approvals"]

    def fetch():
        with contextlib.suppress(OSError), session.connect() as plain:
            plain.settimeout(30)
            plain.sendall(f"CONNECT {GOOD}:{origin.port} HTTP/1.1\r\n"
                          f"Host: {GOOD}\r\n\r\n".encode())
            read_head(plain)
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            stream = context.wrap_socket(plain, server_hostname=GOOD)
            stream.sendall(f"GET /big/1000000 HTTP/1.1\r\nHost: {GOOD}\r\n"
                           "Connection: close\r\n\r\n".encode())
            while piece := stream.recv(65536):
                got.append(len(piece))
    got = []
    session = make_session(policy())
    fetches = threading.Thread(target=fetch)
    fetches.start()
    wanted = wait_until(waits)[0]
    if is_changed:
        change(session, policy(download="100KiB/1h"))
    assert gateway.cli("approval", "approve", wanted["id"]).returncode == 0
    fetches.join(30)
    assert (sum(got) < 102400) == is_changed
    assert session.row("connection")["approval"] == wanted["id"]


# ---- in the middle ----

def test_a_download_is_cut_when_its_path_is_denied(make_session, policies,
                                                   open_for, origin):
    def policy(*paths):
        return policies.make([policies.rule(GOOD, methods=["GET"],
                                            paths=list(paths))])
    session = make_session(policy("/**"))
    with contextlib.ExitStack() as stack:
        streams = {}
        for path in ("/big/200000000", "/drip/60"):
            stream = stack.enter_context(
                session.connect_tls(GOOD, origin.port))
            stream.settimeout(60)
            stream.sendall(f"GET {path} HTTP/1.1\r\nHost: {GOOD}"
                           f"{origin.suffix}\r\n\r\n".encode())
            assert b" 200 " in read_head(stream)
            streams[path] = stream
        change(session, policy("/big/**"))
        with contextlib.suppress(OSError):
            while streams["/drip/60"].recv(4096):
                pass
        # It was not whole, and the record does not say that it was.
        row = session.row("response", path="/drip/60")
        assert not row["allowed"] and row["status"] == 200
        assert row["constraint"] == "path_not_allowed"
        # The other one goes on to its end.
        left = 200000000
        while left:
            piece = streams["/big/200000000"].recv(1 << 20)
            assert piece, left
            left -= len(piece)
    row = session.row("response", path="/big/200000000")
    assert row["allowed"] and row["bytes_down"] == 200000000


def test_a_push_that_is_judged_is_refused_and_works_again(
        make_session, policies, repo):
    session = make_session(policies.make(repo=repo), repo)
    work = session.clone()
    work.commit("one")
    assert work.push("HEAD:agent/1").returncode == 0
    change(session, policies.make(repo=repo,
                                  push={"branches": ["other"]}))
    work.commit("two")
    refused = work.push("HEAD:agent/1")
    assert refused.returncode != 0
    assert "push_ref_not_allowed" in refused.stderr
    assert work.push("HEAD:other").returncode == 0
    change(session, policies.make([]))
    assert session.git("ls-remote", repo.url, check=False).returncode != 0


# ---- the second decision ----

@pytest.fixture(scope="module")
def keyed(origin, pki):
    upstream = KeyedOrigin(origin.address, pki[0][GOOD])
    yield upstream
    upstream.stop()


def bearer(policies, keyed, secret):
    made = policies.make([policies.rule(GOOD, ports=[keyed.port],
                                        **({"credential": "c"} if secret
                                           else {}))])
    if secret:
        made["credentials"] = [{"name": "c", "secret": secret,
                                "attach": "bearer", "hosts": [GOOD]}]
    return made


def test_a_credential_goes_by_the_new_policy(make_session, policies, gateway,
                                             keyed):
    gateway.put_secret("one", "canary-one")
    gateway.put_secret("two", "canary-two")
    session = make_session(bearer(policies, keyed, "one"))

    def sent():
        answer = session.curl(f"https://{GOOD}:{keyed.port}/")
        assert answer.status == 200, answer.text
        return keyed.seen[-1].headers.get("authorization")
    assert sent() == "Bearer canary-one"
    change(session, bearer(policies, keyed, "two"))
    assert sent() == "Bearer canary-two"
    change(session, bearer(policies, keyed, None))
    assert sent() is None


def test_what_is_lent_to_a_session_is_its_own_and_goes_with_it(
        make_session, policies, gateway, keyed):
    policy = bearer(policies, keyed, "session.key")
    session, other = make_session(policy), make_session(policy)

    def lend(name, value, method="PUT"):
        gateway.call(method, f"/v1/sessions/{session.id}/secrets?name={name}",
                     value, "application/octet-stream")

    def ask(of):
        return of.curl(f"https://{GOOD}:{keyed.port}/")
    assert ask(session).status == 502 or ask(session).status == 503
    lend("key", b"canary-lent")
    assert ask(session).status == 200
    assert keyed.seen[-1].headers["authorization"] == "Bearer canary-lent"
    assert ask(other).status in (502, 503)
    names = [s["name"] for s in gateway.get("/v1/secrets")["secrets"]]
    assert not any("key" in name for name in names)
    lend("key", b"canary-again")
    assert ask(session).status == 200
    assert keyed.seen[-1].headers["authorization"] == "Bearer canary-again"
    lend("key", None, "DELETE")
    assert ask(session).status in (502, 503)
    lend("key", b"canary-last")
    gateway.end(session.id)
    with pytest.raises(ApiError) as refused:
        lend("key", b"canary-late")
    assert refused.value.status == 404
    for path in gateway.state.rglob("*"):
        held = path.read_bytes() if path.is_file() else b""
        assert b"canary-l" not in held, path
    with pytest.raises(ApiError) as refused:
        gateway.put_secret("session.mine", "x")
    assert "session." in refused.value.problem


# ---- many, and beside what ends ----

def test_a_hundred_changes_beside_traffic(make_session, open_for, origin):
    session = make_session(open_for(GOOD))
    stop, failed, count = threading.Event(), [], [0]

    def ask():
        with session.connect_tls(GOOD, origin.port) as stream:
            stream.settimeout(60)
            while not stop.is_set():
                stream.sendall(f"GET /big/1000 HTTP/1.1\r\nHost: {GOOD}"
                               f"{origin.suffix}\r\n\r\n".encode())
                head = read_head(stream)
                if b" 200 " not in head:
                    failed.append(head)
                    return
                left = 1000
                while left:
                    left -= len(stream.recv(left))
                count[0] += 1
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for i in range(100):
            hosts = [GOOD, PLAIN] if i % 2 else [GOOD]
            change(session, open_for(*hosts))
        more = count[0] + 10
        wait_until(lambda: count[0] > more or failed)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert not failed
    assert session.curl(origin.plain_url("/")).status == 200


@pytest.mark.parametrize("role", ["edge", "courier", "vault", "dialer"])
def test_whoever_is_killed_meanwhile_comes_back_with_the_new_policy(
        own_gateway, make_session, open_for, origin, role):
    session = make_session(open_for(GOOD), on=own_gateway)

    def stopped():
        return wait_until(lambda: own_gateway.pid(
            role, session.id if role == "edge" else None))
    pid = stopped()
    os.kill(pid, signal.SIGSTOP)
    told = []
    changing = threading.Thread(
        target=lambda: told.append(change(session, open_for(PLAIN))))
    changing.start()
    time.sleep(0.2)  # so that it is asked; the end is the same if not
    os.kill(pid, signal.SIGKILL)
    changing.join(60)
    assert told
    wait_until(lambda: session.curl(origin.plain_url("/")).status == 200)
    assert session.curl(origin.url("/")).status in (0, 403)
    wait_until(lambda: session.curl(origin.url("/")).status == 403)


def test_a_courier_that_hangs_over_a_change_keeps_no_credential(
        own_gateway, make_session, policies, keyed):
    """The session ends, and so does the process that may hold its token."""
    own_gateway.put_secret("one", "canary-one")
    session = make_session(bearer(policies, keyed, "one"), on=own_gateway)
    wait_until(own_gateway.is_ready)
    hung = own_gateway.pid("courier")
    os.kill(hung, signal.SIGSTOP)
    try:
        with pytest.raises(ApiError) as refused:
            change(session, bearer(policies, keyed, None))
        assert refused.value.status >= 500
        wait_until(lambda: own_gateway.pid("courier") not in (0, None, hung))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(hung, signal.SIGCONT)
    wait_until(own_gateway.is_ready)
    with pytest.raises(ApiError):
        change(session, bearer(policies, keyed, "one"))
