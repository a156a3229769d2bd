"""An upstream that sends the credential back: cut off, overwritten, or a
reason to stop the session."""
import pytest

import reflection
from waiting import wait_until

TOKEN = "gl+pat/0123456789_abcdefghijklmnopqrstuvwxyz=="
# What base64 mixes with the neighbours; what JSON is made of. Where a server
# pauses, so much of a beginning has gone.
REST = 12
BEGINNING = 7 * len("\\u0000")
WAYS = [f"{form}{step}" for form in [*reflection.FORMS, "header"]
        for step in ("", "/1", "/7") if not step or form != "header"]


@pytest.fixture
def reflecting(make_session, policies, gateway):
    def make(credential="c", **more):
        gateway.put_secret("reflecting", TOKEN)
        used = {"credential": credential} if credential else {}
        policy = policies.make([policies.rule("good.example", **used)])
        if credential:
            policy["credentials"] = [
                {"name": "c", "secret": "reflecting", "attach": "bearer",
                 "hosts": ["good.example"], **more}]
        return make_session(policy)
    return make


def shown(answer):
    return answer.body + answer.head.encode()


def test_a_credential_that_comes_back_is_cut_off(reflecting, origin):
    session = reflecting()
    for way in WAYS:
        answer = session.curl(origin.url(f"/reflect/{way}"))
        body = reflection.FORMS.get(way.split("/")[0], str)(TOKEN)
        assert body.encode() not in shown(answer), way
        assert b"abcdefgh" not in shown(answer), way
        assert answer.status in (200, 502), way
    row = session.row("secret.reflected", constraint="credential_reflected")
    assert row["credential"] == "c" and row["host"] == "good.example"
    wait_until(lambda: len(session.audit("secret.reflected")) == len(WAYS))
    assert session.curl(origin.url("/status/200")).status == 200


def test_the_agent_is_told_why(reflecting, origin):
    answer = reflecting().curl(origin.url("/reflect/header"))
    assert answer.status == 502
    assert answer.json["constraint"] == "credential_reflected"


def test_a_credential_that_comes_back_is_overwritten(reflecting, origin):
    session = reflecting(scrub=True)
    for way in WAYS:
        answer = session.curl(origin.url(f"/reflect/{way}"))
        assert answer.status == 200, way
        form = way.split("/")[0]
        if form == "header":
            assert f": {'*' * len(TOKEN)}\n" in answer.head
            assert answer.body == b"in a field\n"
            continue
        whole = f"<{reflection.FORMS[form](TOKEN)}>".encode()
        assert len(answer.body) == len(whole), way
        assert b"****************" in answer.body, way
        same = [i for i, c in enumerate(answer.body) if c != ord("*")]
        assert all(answer.body[i] == whole[i] for i in same), way
        assert len(same) <= REST + (BEGINNING if "/" in way else 0), way
    wait_until(lambda: len(session.audit("secret.reflected")) == len(WAYS))


def test_a_credential_that_comes_back_stops_the_session(reflecting, origin):
    session = reflecting(scrub={"on-reflection": "stop"})
    assert session.curl(origin.url("/status/200")).status == 200
    answer = session.curl(origin.url("/reflect"))
    assert TOKEN.encode() not in shown(answer)
    row = session.row("session.ended")
    assert row["detail"] == "credential_reflected"
    answer = session.curl(origin.url("/status/200"))
    assert answer.status != 200


def test_what_is_no_credential_comes_back_as_it_is(reflecting, origin):
    session = reflecting(credential="")
    answer = session.curl(origin.url("/reflect/plain/7"), "-H",
                          f"Authorization: Bearer {TOKEN}")
    assert answer.body == f"<{TOKEN}>".encode()
    assert not session.audit("secret.reflected")


def test_with_a_credential_answers_come_whole_and_plain(reflecting, origin):
    def asked(session):
        answer = session.curl(origin.url("/"), "-H", "Range: bytes=0-3", "-H",
                              "Accept-Encoding: gzip", "-H",
                              "If-Range: \"x\"")
        return answer.json["headers"]

    headers = asked(reflecting(scrub=True))
    assert headers["accept-encoding"] == "identity"
    assert "range" not in headers and "if-range" not in headers
    headers = asked(reflecting(credential=""))
    assert headers["accept-encoding"] == "gzip"
    assert headers["range"] == "bytes=0-3"
