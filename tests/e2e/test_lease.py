"""Sessions end: by time, by revocation, by the end of who attached."""
import http.client
import os
import re
import signal
import time

import gitwire
import pytest
from gateway import ApiError
from gitwire import ZERO
from session import read_head
from waiting import at_best, wait_until, while_it_lives
from wire import Attachment, Refused, LISTENER_TCP


@pytest.fixture
def web(make_session, policies):
    def make(ttl=600):
        rule = policies.rule("good.example", paths=["/**"])
        return make_session(policies.make([rule]), ttl=ttl)
    return make


def drip(session, origin):
    """A response that flows; its TLS connection."""
    stream = session.connect_tls("good.example", origin.port)
    stream.sendall(f"GET /drip HTTP/1.1\r\nHost: good.example{origin.suffix}"
                   "\r\n\r\n".encode())
    assert b" 200 " in read_head(stream)
    assert stream.recv(1) == b"."
    return stream


def seconds_until_closed(stream):
    began = time.monotonic()
    stream.settimeout(20)
    try:
        while stream.recv(65536):
            pass
    except OSError:
        pass
    return time.monotonic() - began


def test_a_live_stream_goes_on_as_long_as_the_session(web, origin):
    session = web()
    stream = drip(session, origin)
    stream.settimeout(30)
    for _ in range(20):
        assert stream.recv(1) == b"."
    stream.close()


def test_revoking_ends_live_streams_within_a_second(web, origin, gateway):
    def revoke():
        session = web()
        stream = drip(session, origin)
        began = time.monotonic()
        gateway.end(session.id)
        seconds_until_closed(stream)
        return time.monotonic() - began
    at_best(1, revoke)


def test_a_revoked_session_says_so(web, origin, gateway):
    session = web()
    assert session.curl(origin.url("/echo")).status == 200
    done = gateway.cli("session", "revoke", session.id)
    assert done.returncode == 0, done.stderr
    answer = session.curl(origin.url("/echo"))
    assert answer.status == 403
    assert answer.json["constraint"] == "session_revoked"
    row = wait_until(lambda: gateway.audit(session.id, "session.ended"))[-1]
    assert "revoked" in str(row)


def test_revoking_one_session_leaves_the_others(web, origin, gateway):
    one, other = web(), web()
    stream = drip(other, origin)
    gateway.end(one.id)
    stream.settimeout(30)
    for _ in range(5):
        assert stream.recv(1) == b"."
    stream.close()


def test_an_expired_lease_says_so_and_ends_streams(web, origin):
    def served(seconds):
        session = web(ttl=seconds)
        stream = drip(session, origin)
        assert session.curl(origin.url("/echo")).status == 200
        return session, stream, seconds

    def how_late():
        session, stream, ttl = while_it_lives(served)
        late = seconds_until_closed(stream) - ttl
        answer = session.curl(origin.url("/echo"))
        assert answer.status == 403
        assert answer.json["constraint"] == "lease_expired"
        return late
    at_best(2, how_late)


def test_a_push_of_an_expired_session_is_refused(make_session, policies,
                                                 repo):
    work = make_session(policies.make(repo=repo), repo).clone()
    work.commit()

    def served(seconds):
        session = make_session(policies.make(repo=repo), repo, ttl=seconds)
        url = repo.url + "/info/refs?service=git-receive-pack"
        assert session.curl(url).status == 200
        return session, url
    work.session, url = while_it_lives(served)
    wait_until(lambda: work.session.curl(url).status == 403)
    done = work.push("HEAD:agent/1")
    assert done.returncode != 0
    assert repo.tip("agent/1") is None


def test_a_push_in_flight_is_cut_off_by_revoking(make_session, policies, repo,
                                                 gateway):
    session = make_session(policies.make(repo=repo), repo)
    work = session.clone()
    tip = work.commit(content="x" * 400000)
    body = (gitwire.commands([(ZERO, tip, "refs/heads/agent/1")])
            + gitwire.pack(work, [tip], ["origin/main"]))
    slow = gitwire.SlowPush(session)
    slow.send(body[:-10])
    gateway.end(session.id)
    try:
        slow.send(body[-10:])
        answer = slow.finish()[1]
    except (OSError, ValueError, http.client.HTTPException):
        pass
    else:  # the courier, which held upstream, heard of the end first
        assert re.search(b"ng refs/heads/agent/1 (upstream_closed|"
                         b"credential_unavailable): ", answer), answer
    time.sleep(0.5)
    assert repo.tip("agent/1") is None


def test_a_session_ends_with_the_connection_that_attached_it(web, origin,
                                                             gateway):
    session = web()
    assert gateway.get(f"/v1/sessions/{session.id}")["id"] == session.id
    session.close()

    def gone():
        try:
            gateway.get(f"/v1/sessions/{session.id}")
            return False
        except ApiError as error:
            return error.status == 404
    wait_until(gone)
    assert "ended" in str(wait_until(
        lambda: gateway.audit(session.id, "session.ended"))[-1])


def test_nothing_is_attached_to_a_session_that_is_not_there(gateway):
    import socket
    attachment = Attachment(gateway.run_dir / "attach.sock")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with pytest.raises(Refused):
            attachment.attach("s-" + "a" * 26, LISTENER_TCP, listener)
    attachment.close()


def test_a_wrong_lease_is_refused_and_the_right_one_is_not(web, origin):
    """The socket is the identity; a lease that is given must be its own."""
    session = web()
    wrong = "ghp_" + "0" * 36
    answer = session.curl(origin.plain_url("/echo", "good.example"),
                          "--proxy-user", f"x:{wrong}")
    assert answer.status == 407
    assert answer.json["constraint"] == "lease_invalid"
    answer = session.curl(origin.plain_url("/echo", "good.example"),
                          "--proxy-user", f"x:{session.lease}")
    assert answer.status == 200


@pytest.mark.parametrize("ttl", [0, -1, 8 * 24 * 3600])
def test_a_lease_has_a_bounded_life(gateway, policies, ttl):
    with pytest.raises(ApiError) as caught:
        gateway.create(policies.make(), ttl=ttl)
    assert caught.value.status in (400, 422)


# ---- renewal ----

def renew(gateway, session, seconds):
    return gateway.cli("session", "renew", session.id, "--ttl", str(seconds))


def outlives(session, origin, seconds):
    """It is served until then, and what flows goes on."""
    stream = drip(session, origin)
    end = time.monotonic() + seconds
    stream.settimeout(30)
    while time.monotonic() < end:
        assert stream.recv(1) == b"."
    assert session.curl(origin.url("/echo")).status == 200
    stream.close()


def test_a_renewed_session_outlives_its_first_end(web, origin, gateway):
    def renewed(seconds):
        session = web(ttl=seconds)
        done = renew(gateway, session, 600)
        assert done.returncode == 0 and session.id in done.stdout, done.stderr
        return session, seconds
    session, ttl = while_it_lives(renewed)
    outlives(session, origin, ttl + 1)
    row = session.row("admin", method="session.renew")
    assert row["allowed"] and "until 2" in row["detail"]


def test_a_session_that_is_not_renewed_does_not(web, origin):
    def served(seconds):
        session = web(ttl=seconds)
        assert session.curl(origin.url("/echo")).status == 200
        return session
    session = while_it_lives(served)
    wait_until(lambda: session.curl(origin.url("/echo")).status == 403)


@pytest.mark.parametrize("role", ["edge", "dialer", "minter"])
def test_who_is_restarted_knows_the_new_end(own_gateway, make_session,
                                            policies, origin, role):
    rule = policies.rule("good.example", paths=["/**"])

    def renewed(seconds):
        session = make_session(policies.make([rule]), ttl=seconds,
                               on=own_gateway)
        assert renew(own_gateway, session, 600).returncode == 0
        return session, seconds
    session, ttl = while_it_lives(renewed)
    old = own_gateway.pid(role, session.id if role == "edge" else None)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: own_gateway.pid(
        role, session.id if role == "edge" else None) not in (None, old))
    wait_until(own_gateway.is_ready)
    outlives(session, origin, ttl + 1)


def test_a_session_can_be_made_shorter(web, origin, gateway):
    session = web()
    assert renew(gateway, session, 1).returncode == 0
    wait_until(lambda: session.curl(origin.url("/echo")).status == 403)


def test_a_session_that_has_ended_stays_so(web, origin, gateway):
    session = web()
    assert session.curl(origin.url("/echo")).status == 200
    gateway.end(session.id)
    done = renew(gateway, session, 600)
    assert done.returncode == 6 and "has ended" in done.stderr
    assert not session.row("admin", method="session.renew")["allowed"]
    assert session.curl(origin.url("/echo")).status == 403
    assert gateway.cli("session", "renew", "s-none", "--ttl",
                       "5").returncode == 6


@pytest.mark.parametrize("body,status", [
    ("{}", 400), ('{"ttl_s": "5"}', 400), ('{"ttl_s": 5, "x": 1}', 400),
    ('{"ttl_s": 0}', 422), ('{"ttl_s": 604801}', 422), ("", 400)])
def test_a_renewal_that_makes_no_sense_is_refused(web, gateway, body, status):
    session = web()
    with pytest.raises(ApiError) as refused:
        gateway.call("POST", f"/v1/sessions/{session.id}/renew", body)
    assert refused.value.status == status


@pytest.mark.parametrize("reason", ["ended", "revoked"])
def test_how_open_requests_ended_is_on_record(web, origin, gateway, reason):
    """The edge may be gone a moment later: the record is not."""
    session = web()
    with drip(session, origin):
        gateway.end(session.id, reason)
    row = wait_until(lambda: gateway.audit(session.id, "response"))[0]
    assert row["path"] == "/drip"
