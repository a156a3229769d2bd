"""What the policy leaves to a person: held, answered, remembered."""
import itertools
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest
import websocket
from gateway import ApiError, CLI
from session import read_head
from test_tls import hello
from waiting import wait_until, while_it_lives

OTHER_UID = 54321


@pytest.fixture
def asking(policies):
    """A policy that asks about POST, for so many seconds, and allows GET."""
    def make(hold="30s", **more):
        return policies.make([
            policies.rule("good.example", name="release", methods=["POST"],
                          paths=["/release/**"], action="ask", hold=hold,
                          **more),
            policies.rule("good.example", name="read", methods=["GET"])])
    return make


class Curl(threading.Thread):
    """A curl that may have to wait."""

    def __init__(self, session, url, *args):
        super().__init__()
        self.answer = None
        self._run = lambda: session.curl(url, *args)
        self.start()

    def run(self):
        self.answer = self._run()

    def done(self):
        self.join(60)
        assert self.answer, "curl did not end"
        return self.answer


def approvals(gateway, session, state="pending"):
    path = f"/v1/approvals?session={session.id}&state={state}"
    return gateway.get(path)["approvals"]


def pending(gateway, session):
    """The one proposal that waits."""
    return wait_until(lambda: approvals(gateway, session))[0]


def decide(gateway, proposal, decision, **more):
    return json.loads(gateway.call(
        "POST", f"/v1/approvals/{proposal}",
        json.dumps({"decision": decision, **more})))


def decide_soon(gateway, proposal, decision, **more):
    """The same, where a process may still be on its way back."""
    def try_it():
        try:
            return decide(gateway, proposal, decision, **more)
        except ApiError as error:
            assert error.status == 503, error
            return None
    return wait_until(try_it)


def post(session, origin, path="/release/1", *args):
    return session.curl(origin.url(path), "-d", "x=1", *args)


@pytest.mark.parametrize("http", ["--http1.1", "--http2"])
def test_a_held_request_goes_on_once_it_is_approved(
        gateway, make_session, origin, asking, http):
    session = make_session(asking())
    before = len(origin.tls.requests)
    curl = Curl(session, origin.url("/release/1"), "-d", "x=1", http)
    wanted = pending(gateway, session)
    assert wanted["rule"] == "release" and wanted["method"] == "POST"
    assert wanted["host"] == "good.example" and wanted["scheme"] == "https"
    assert wanted["path"] == "/release/1" and wanted["state"] == "pending"
    assert len(origin.tls.requests) == before
    done = gateway.cli("approval", "approve", wanted["id"])
    assert done.returncode == 0 and "approved" in done.stdout
    answer = curl.done()
    assert answer.status == 200 and answer.json["length"] == 3
    # A grant for the session: the same again passes at once, other not.
    assert post(session, origin).status == 200
    row = session.row("request", approval=wanted["id"], allowed=True)
    assert row["rule"] == "release"
    decided = session.row("approval", allowed=True)
    assert decided["approval"] == wanted["id"]
    # The twin: what the policy allows is asked of nobody.
    assert session.curl(origin.url("/release/1")).status == 200
    assert not approvals(gateway, session)


def test_who_allowed_a_get_has_not_allowed_a_websocket(
        gateway, make_session, origin, policies):
    session = make_session(policies.make([policies.rule(
        "plain.example", action="ask", hold="1ms", websocket={})]))
    host = f"plain.example{origin.plain_suffix}"
    url = origin.plain_url("/ws/echo")

    def dial():
        with session.connect() as stream:
            return websocket.Client(stream, host, url)
    assert session.curl(url).json["constraint"] == "approval_pending"
    decide(gateway, pending(gateway, session)["id"], "approve")
    # The origin answers with a WebSocket that was not asked for.
    assert session.curl(url).json["constraint"] == "response_malformed"
    assert "approval_pending" in dial().head
    wanted = pending(gateway, session)
    assert wanted["method"] == "WEBSOCKET" and wanted["path"] == "/ws/echo"
    decide(gateway, wanted["id"], "approve")
    assert dial().status == 101


def test_a_denied_request_is_refused_and_stays_so(
        gateway, make_session, origin, asking):
    session = make_session(asking())
    curl = Curl(session, origin.url("/release/1"), "-d", "x=1")
    wanted = pending(gateway, session)
    assert gateway.cli("approval", "deny", wanted["id"]).returncode == 0
    answer = curl.done()
    assert answer.status == 403
    assert answer.json["constraint"] == "approval_denied"
    assert answer.json["proposal"] == wanted["id"]
    assert post(session, origin).json["constraint"] == "approval_denied"
    assert gateway.cli("approval", "approve", wanted["id"]).returncode == 7


def test_who_is_answered_too_late_may_try_again(
        gateway, make_session, origin, asking):
    session = make_session(asking(hold="200ms"))
    answer = post(session, origin)
    assert answer.status == 403
    assert answer.json["constraint"] == "approval_pending"
    wanted = answer.json["proposal"]
    # The same question is the same proposal.
    assert post(session, origin).json["proposal"] == wanted
    assert gateway.cli("approval", "approve", wanted,
                       "--once").returncode == 0
    assert post(session, origin).status == 200
    again = post(session, origin)
    assert again.json["constraint"] == "approval_pending"
    assert again.json["proposal"] != wanted
    assert [row["id"] for row in approvals(gateway, session, "used")] == [
        wanted]


def test_a_grant_until_a_time_ends_then(gateway, make_session, origin,
                                        asking):
    def granted(seconds):
        session = make_session(asking(hold="100ms"))
        wanted = post(session, origin).json["proposal"]
        end = int(time.time() + 1 + seconds)
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        assert gateway.cli("approval", "approve", wanted, "--until",
                           until).returncode == 0
        assert post(session, origin).status == 200
        return session, wanted, end, until
    session, wanted, end, until = while_it_lives(granted)
    time.sleep(max(0, end - time.time()) + 0.1)
    answer = post(session, origin)
    assert answer.json["constraint"] == "approval_pending"
    assert answer.json["proposal"] != wanted
    assert gateway.cli("approval", "approve", answer.json["proposal"],
                       "--until", until).returncode == 3


def test_a_grant_may_last_for_a_time_from_now(gateway, make_session, origin,
                                              asking):
    session = make_session(asking(hold="100ms"))
    wanted = post(session, origin).json["proposal"]
    # What is no such time is control's to read, and to refuse.
    for until in ("10", "10x", "31d"):
        done = gateway.cli("approval", "approve", wanted, "--until", until)
        assert done.returncode == 3
        assert "until must be a time like 20" in done.stderr
        assert "(--until: or like 10m, from now)" in done.stderr
    assert gateway.cli("approval", "approve", wanted, "--until",
                       "10m").returncode == 0
    assert post(session, origin).status == 200


def test_a_grant_answers_one_question_of_one_session(
        gateway, make_session, origin, asking):
    session, other = (make_session(asking("200ms")) for _ in range(2))
    wanted = post(session, origin).json["proposal"]
    decide(gateway, wanted, "approve")
    assert post(session, origin).status == 200
    assert post(other, origin).json["constraint"] == "approval_pending"
    assert post(session, origin, "/release/2").json[
        "constraint"] == "approval_pending"
    # What no rule allows stays refused, also with a grant beside it.
    assert session.curl(origin.url("/release/1"), "-X",
                        "DELETE").json["constraint"] == "method_not_allowed"


def test_the_body_of_a_held_request_waits(gateway, make_session, origin,
                                          policies):
    session = make_session(policies.make([
        policies.rule("plain.example", methods=["POST"], action="ask",
                      hold="60s")]))
    with socket.create_connection(("127.0.0.1", session.port)) as client:
        client.settimeout(30)
        client.sendall(f"POST {origin.plain_url('/up')} HTTP/1.1\r\n"
                       f"Host: plain.example{origin.plain_suffix}\r\n"
                       "Expect: 100-continue\r\nContent-Length: 5\r\n"
                       "\r\n".encode())
        wanted = pending(gateway, session)
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.settimeout(30)
        decide(gateway, wanted["id"], "approve")
        assert b"100 Continue" in client.recv(65536)
        client.sendall(b"hello")
        assert b"200 OK" in client.recv(65536)


def test_a_client_that_is_gone_frees_its_place(gateway, make_session, origin,
                                               asking):
    session = make_session(asking())
    with session.connect_tls("good.example", origin.port) as client:
        client.sendall(f"POST /release/1 HTTP/1.1\r\nHost: good.example"
                       f"{origin.suffix}\r\nContent-Length: 3\r\n\r\nx=1"
                       .encode())
        wanted = pending(gateway, session)
    row = session.row("request", constraint="approval_pending")
    assert row["approval"] == wanted["id"]
    # Nobody is held any more, and the question stays.
    before = len(origin.tls.requests)
    decide(gateway, wanted["id"], "approve", scope="once")
    assert len(origin.tls.requests) == before
    assert post(session, origin).status == 200


@pytest.mark.parametrize("ends", [True, False])
def test_a_tunnel_that_is_gone_is_on_record(gateway, make_session, policies,
                                            origin, ends):
    """By the end of its side, or by a reset."""
    policy = policies.make([policies.rule("good.example", name="pinned",
                                          action="ask", hold="30s")])
    policy["network"]["tls"] = {"tunnel": ["good.example"]}
    session = make_session(policy)
    with session.connect() as client:
        client.sendall(f"CONNECT good.example:{origin.port} HTTP/1.1\r\n"
                       "Host: good.example\r\n\r\n".encode())
        assert b" 200 " in read_head(client)
        client.sendall(hello("good.example"))
        wanted = pending(gateway, session)
        if not ends:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))
    row = session.row("connection", constraint="approval_pending")
    assert row["approval"] == wanted["id"] and not row["allowed"]
    assert len(session.audit("connection")) == 1


def test_the_end_of_a_session_ends_what_it_asked(gateway, make_session,
                                                 origin, asking):
    session = make_session(asking(hold="200ms"))
    wanted = post(session, origin).json["proposal"]
    gateway.end(session.id)
    with pytest.raises(ApiError) as refused:
        decide(gateway, wanted, "approve")
    assert refused.value.status == 409
    rows = gateway.get("/v1/approvals")["approvals"]
    assert [row["state"] for row in rows if row["id"] == wanted] == ["ended"]
    assert gateway.cli("approval", "approve",
                       "p-aaaaaaaaaaaaaaaaaaaaaaaaaa").returncode == 6


@pytest.mark.parametrize("role", ["ledger", "edge", "control"])
def test_what_waits_survives_a_killed_process(own_gateway, make_session,
                                              origin, asking, role):
    session = make_session(asking(hold="200ms"), on=own_gateway)
    wanted = post(session, origin).json["proposal"]
    granted = post(session, origin, "/release/2").json["proposal"]
    decide(own_gateway, granted, "approve")
    old = own_gateway.pid(role, session.id if role == "edge" else None)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: own_gateway.is_ready() and old not in [
        process["pid"] for process in own_gateway.status()["processes"]])
    decide_soon(own_gateway, wanted, "approve", scope="once")
    wait_until(lambda: post(session, origin, "/release/2").status == 200)
    wait_until(lambda: post(session, origin).status == 200)


def test_a_request_that_is_held_while_the_ledger_restarts_is_answered(
        own_gateway, make_session, origin, asking):
    session = make_session(asking(), on=own_gateway)
    curl = Curl(session, origin.url("/release/1"), "-d", "x=1")
    wanted = pending(own_gateway, session)
    old = own_gateway.pid("ledger")
    os.kill(old, signal.SIGKILL)
    wait_until(own_gateway.is_ready)
    wait_until(lambda: own_gateway.pid("ledger") != old)
    decide_soon(own_gateway, wanted["id"], "approve")
    assert curl.done().status == 200


def test_a_session_asks_only_so_much(gateway, make_session, origin, asking):
    session = make_session(asking(hold="1ms"))
    seen = [post(session, origin, f"/release/{i}").json for i in range(33)]
    assert all(answer["constraint"] == "approval_pending" for answer in seen)
    assert "proposal" not in seen[32]
    assert len({answer.get("proposal") for answer in seen[:32]}) == 32


# ---- the command line ----


def test_watch_tells_what_is_asked_and_decided(gateway, make_session, origin,
                                               asking):
    session = make_session(asking(hold="200ms"))
    with subprocess.Popen(
            [CLI, "approval", "watch", "--session", session.id],
            stdout=subprocess.PIPE, text=True, env=gateway.env()) as watch:
        try:
            rows, numbers = [], itertools.count(3)
            reader = threading.Thread(target=lambda: rows.extend(
                map(json.loads, watch.stdout)))
            reader.start()

            def is_denied():
                """It may not follow yet; what was denied is not asked again."""
                path = f"/release/{next(numbers)}"
                wanted = post(session, origin, path).json["proposal"]
                decide(gateway, wanted, "deny")
                return rows
            wait_until(is_denied, every=0.3)
            wanted = post(session, origin, "/release/2").json["proposal"]
            decide(gateway, wanted, "approve")
            wait_until(lambda: rows[-1]["allowed"])
        finally:
            watch.terminate()
            reader.join()
    assert rows[-1]["approval"] == wanted
    assert rows[-1]["activity"] == "approval"


@pytest.mark.parametrize("words", [
    ["approval", "watch"], ["audit", "tail", "--follow"]])
def test_a_session_that_is_not_there_is_not_followed(gateway, words):
    done = gateway.cli(*words, "--session", "s-misspelt", timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (
        6, "", "sallyport: there is no such session\n")


def test_run_says_which_command_answers(gateway, policies, origin, asking,
                                        workspace):
    policy = asking(hold="200ms")
    done = gateway.run(
        policy, "curl -sS -o /dev/null -w '%{http_code}\\n' -d x "
        f"{origin.url('/release/1')}; "
        "curl -sS http://sallyport.internal/policy; "
        "curl -sS http://sallyport.internal/denials", workspace)
    assert done.returncode == 0, done.stderr
    assert "403" in done.stdout
    assert "A person is asked (rule `release`): `POST`" in done.stdout
    assert '"constraint":"approval_pending"' in done.stdout
    line = [line for line in done.stderr.splitlines()
            if line.startswith("sallyport: approval p-")]
    assert len(line) == 1
    assert "wanted for POST https://good.example" in line[0]
    assert "sallyport approval approve p-" in line[0]


def test_explain_says_a_policy_in_words(gateway, tmp_path, asking):
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(asking()))
    done = gateway.cli("policy", "explain", "--policy", path)
    assert done.returncode == 0
    assert "A person is asked (rule `release`)" in done.stdout
    assert "who has 30 s to answer" in done.stdout
    done = gateway.cli("policy", "explain")
    assert "Nothing can be reached." in done.stdout


# ---- http://sallyport.internal/ ----


def internal(session, path, *args):
    return session.curl(f"http://sallyport.internal{path}", *args)


def propose(session, **wish):
    return internal(session, "/proposals", "-d", json.dumps(wish))


def test_an_agent_asks_before_it_tries(gateway, make_session, origin, asking):
    session = make_session(asking(hold="200ms"))
    url = origin.url("/release/1")
    answer = propose(session, method="POST", url=url, why="tests are green")
    assert answer.status == 201 and answer.json["state"] == "pending"
    wanted = pending(gateway, session)
    assert wanted["id"] == answer.json["id"]
    assert wanted["why"] == "tests are green"
    curl = Curl(session, f"http://sallyport.internal/proposals/"
                f"{wanted['id']}?wait=30")
    decide(gateway, wanted["id"], "approve")
    assert curl.done().json["state"] == "approved"
    assert post(session, origin).status == 200


def test_only_what_is_asked_can_be_proposed(gateway, make_session, origin,
                                            asking):
    session = make_session(asking())
    url = origin.url("/release/1")
    for wish, status in [
            ({"method": "GET", "url": url}, 409),
            ({"method": "POST", "url": "https://evil.example/"}, 403),
            ({"method": "POST", "url": url + "/../x"}, 400),
            ({"method": "POST", "url": url, "why": "x" * 501}, 400),
            ({"method": "POST", "url": url, "scope": "session"}, 400),
            ({"method": "CONNECT", "url": url}, 400),
            ({"method": "POST"}, 400), ([], 400), ("p", 400)]:
        answer = internal(session, "/proposals", "-d", json.dumps(wish))
        assert answer.status == status, wish
    assert not approvals(gateway, session)


def test_sessions_see_their_own_proposals_alone(gateway, make_session, origin,
                                                asking):
    session, other = (make_session(asking("200ms")) for _ in range(2))
    wanted = post(session, origin).json["proposal"]
    assert internal(session, f"/proposals/{wanted}").json["id"] == wanted
    assert internal(other, f"/proposals/{wanted}").status == 404
    assert wanted not in internal(other, "/denials").text
    assert wanted in internal(session, "/denials").text


# ---- other users ----


def ask_as(uid, gateway, method, path, body=""):
    """The status of a request by another user of the host."""
    program = (
        "import http.client, os, socket, sys\n"
        "run, uid, method, path, body = sys.argv[1:]\n"
        "os.setgroups([]); os.setgid(int(uid)); os.setuid(int(uid))\n"
        "c = http.client.HTTPConnection('x')\n"
        "c.sock = socket.socket(socket.AF_UNIX)\n"
        "c.sock.connect(run + '/control.sock')\n"
        "c.request(method, path, body)\n"
        "print(c.getresponse().status)\n")
    done = subprocess.run(
        ["/usr/bin/python3", "-c", program, gateway.run_dir, str(uid), method,
         path, body], capture_output=True, text=True, check=True, cwd="/")
    return int(done.stdout)


def others_neither_see_nor_decide(make_gateway, make_session, origin, asking):
    shared = make_gateway("approve", limits={"sessions": 10})
    for path in shared.run_dir.parents:
        if path.stat().st_uid == os.getuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o111)
    session = make_session(asking(hold="200ms"), on=shared)
    wanted = post(session, origin).json["proposal"]
    body = '{"decision": "approve"}'
    assert ask_as(OTHER_UID, shared, "POST", f"/v1/approvals/{wanted}",
                  body) == 403
    assert ask_as(OTHER_UID, shared, "GET",
                  f"/v1/approvals?session={session.id}") == 403
    assert ask_as(OTHER_UID, shared, "GET", "/v1/approvals") == 403
    assert post(session, origin).json["proposal"] == wanted
    # The twin: an administrator may.
    assert ask_as(0, shared, "POST", f"/v1/approvals/{wanted}", body) == 200
    assert post(session, origin).status == 200
    session.close()
    shared.stop()
    shared.check()


# An ordinary user's gateway serves that user alone.
if os.geteuid() == 0:
    test_others_neither_see_nor_decide = others_neither_see_nor_decide
