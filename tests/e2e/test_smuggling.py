"""Thousands of messages that can be read in two ways: none is forwarded with
what makes it so, and nothing hidden in one reaches upstream."""
import concurrent.futures
import re
import socket

import pytest
import smuggling
from origin import free_port
from waiting import wait_until

NAME = "plain.example"


@pytest.fixture(scope="module")
def recorder(origin):
    recorder = smuggling.RecordingOrigin(origin.address,
                                         free_port(origin.address))
    recorder.port = recorder._server.getsockname()[1]
    yield recorder
    recorder.stop()


@pytest.fixture
def session(make_session, policies, recorder):
    rule = policies.rule(NAME, methods=["GET", "POST"], paths=["/ok/**"])
    rule["ports"] = [recorder.port]
    return make_session(policies.make([rule]))


def speak(session, port, data):
    """Send it through a CONNECT, end our side, read to the end."""
    got = b""
    with session.connect() as stream:
        stream.settimeout(60)
        stream.sendall(f"CONNECT {NAME}:{port} HTTP/1.1\r\n"
                       f"Host: {NAME}:{port}\r\n\r\n".encode())
        try:
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            while piece := stream.recv(65536):
                got += piece
        except (ConnectionError, BrokenPipeError):
            pass
    return got


def filled(message, number, port):
    return message.replace(b"@N@", b"%d" % number).replace(
        b"@H@", f"{NAME}:{port}".encode())


def test_no_message_of_the_corpus_hides_another(session, recorder):
    messages = smuggling.corpus()
    assert len(messages) >= 3000
    edge = session.edge()
    recorder.requests.clear()

    def one(number):
        speak(session, recorder.port,
              filled(messages[number], number, recorder.port))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(len(messages))))
    assert not recorder.hazards
    astray = [request for request in recorder.requests
              if not re.match(rb"/ok/", request[1])]
    assert not astray
    assert session.edge() == edge
    # Some of them mean one thing after all: they arrive, once each.
    assert len(recorder.requests) > 100
    wait_until(lambda: min(len(recorder.requests), 5000) <= len(
        [row for row in session.audit("request") if row["allowed"]]))


@pytest.mark.parametrize("index", range(7))
def test_a_sound_message_arrives_as_it_was(session, recorder, index):
    message, bodies = list(smuggling.sound())[index]
    recorder.requests.clear()
    answer = speak(session, recorder.port,
                   filled(message, index, recorder.port))
    assert answer.count(b"HTTP/1.1 200 OK\r\n") == len(bodies)
    assert [body for _, _, body in recorder.requests] == bodies
    assert not recorder.hazards


@pytest.fixture
def answers(recorder):
    """The origin answers the request for /ok/N with the Nth response, and
    every other as usual."""
    answers = list(smuggling.responses())
    usual = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    def reply(path):
        number = path.rpartition(b"/")[2]
        return answers[int(number)] if number.isdigit() else usual
    recorder.reply = reply
    yield answers
    recorder.reply = None


def test_no_response_of_the_corpus_hides_another(session, recorder, answers):
    head = f"Host: {NAME}:{recorder.port}\r\n".encode()

    def one(number):
        """The hostile answer, then a sound one on the same connection and
        on another: neither may be the hidden one."""
        request = b"GET /ok/%d HTTP/1.1\r\n" % number + head + b"\r\n"
        after = b"GET /ok/after HTTP/1.1\r\n" + head + b"\r\n"
        return (speak(session, recorder.port, request + after),
                speak(session, recorder.port, after))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = list(pool.map(one, range(len(answers))))
    assert len(got) >= 1000
    refused = passed = 0
    for hostile, after in got:
        seen = smuggling.statuses(hostile)
        assert 299 not in seen and smuggling.statuses(after) == [200, 200]
        assert after.endswith(b"\r\n\r\nok")
        refused += 502 in seen
        passed += seen == [200, 200, 200]
    assert refused > 500 and passed > 50
