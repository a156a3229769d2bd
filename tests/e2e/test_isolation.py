"""Four sessions at full abuse, each in its own way; a fifth does its work
beside them, and every request of it succeeds. (What it costs the fifth is
measured in tests/bench; here nothing is timed.)"""
import itertools
import threading
import time

import pytest
from gateway import wait_until

REQUESTS = 40
WORDS = (b"GET http://good.example/ HTTP/1.1\r\n"
         b"Host: good.example\r\n")


class Abuser:
    """Repeats one(session, number) in a few threads until it is stopped;
    what one returns is kept, what breaks is part of it."""

    def __init__(self, session, one, threads=2):
        self.session = session
        self.seen = []
        self._stop = threading.Event()
        self._numbers = itertools.count()
        self._one = one
        self._threads = [threading.Thread(target=self._run, daemon=True)
                         for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._stop.is_set():
            try:
                self.seen.append(self._one(self.session, next(self._numbers)))
            except OSError:
                time.sleep(0.01)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


def answer_of(stream):
    """The status of what comes, or what there is of it."""
    return stream.recv(4096)[9:12]


def flood_of_heads(session, _):
    """More fields, and longer ones, than anybody takes."""
    with session.connect() as stream:
        stream.sendall(WORDS + b"X: y\r\n" * 500 + b"X: " + b"y" * 100000)
        return answer_of(stream)


def flood_of_refusals(session, number):
    """One connection, as many refused requests as it takes."""
    one = (f"GET http://h{number}.blocked.example/ HTTP/1.1\r\n"
           f"Host: h{number}.blocked.example\r\n\r\n").encode()
    with session.connect() as stream:
        stream.sendall(one * 200)
        # A piece ends anywhere, also in the words that are counted.
        text = b""
        while (got := text.count(b"HTTP/1.1 403")) < 200:
            piece = stream.recv(65536)
            if not piece:
                break
            text += piece
        return got


class Hoard:
    """Connections that are opened and never closed."""

    def __init__(self, most, first=b""):
        self.most = most
        self.first = first
        self.held = []

    def __call__(self, session, _):
        if len(self.held) >= self.most:
            time.sleep(0.05)
            return len(self.held)
        stream = session.connect()
        if self.first:
            stream.sendall(self.first)
        self.held.append(stream)
        return len(self.held)

    def close(self):
        for stream in self.held:
            stream.close()


@pytest.fixture
def abusers(own_gateway, make_session, policies, origin):
    """Four sessions at full abuse: slow bodies, heads, connections,
    refusals. Their policy is the victim's."""
    policy = policies.make([policies.rule(
        "good.example", "plain.example", methods=["GET", "POST"],
        paths=["/**"])])
    slow = Hoard(200, f"POST {origin.plain_url('/slow')} HTTP/1.1\r\n"
                 f"Host: {origin.plain_url('')[7:]}\r\n"
                 "Content-Length: 1000000\r\n\r\nx".encode())
    idle = Hoard(1500)
    made = {name: Abuser(make_session(policy, on=own_gateway), one)
            for name, one in [("slow bodies", slow), ("heads", flood_of_heads),
                              ("connections", idle),
                              ("refusals", flood_of_refusals)]}
    yield made
    for abuser in made.values():
        abuser.stop()
    slow.close()
    idle.close()


def test_a_session_works_beside_four_that_abuse(abusers, own_gateway,
                                                make_session, policies,
                                                origin):
    victim = make_session(policies.make([policies.rule(
        "good.example", methods=["GET", "POST"], paths=["/**"])]),
        on=own_gateway)
    wait_until(lambda: all(abuser.seen for abuser in abusers.values()), 60)
    # All that a session may have, and more. (Its threads may both open a
    # last one.)
    wait_until(lambda: max(abusers["connections"].seen) >= 1500, 120)
    wait_until(lambda: max(abusers["slow bodies"].seen) >= 200, 120)
    # Slow bodies reach upstream.
    wait_until(lambda: origin.plain.requests.count("POST /slow") > 100)
    body = victim.dir / "body"
    body.write_bytes(b"a body of its own" * 10000)
    for number in range(REQUESTS):
        url = origin.url(f"/echo?n={number}")
        answer = (victim.curl(url, "--data-binary", f"@{body}") if number % 2
                  else victim.curl(url))
        assert answer.status == 200, (number, answer.error)
        assert answer.json["path"] == f"/echo?n={number}"
    # They were at it all the time, and met their bounds.
    for abuser in abusers.values():
        before = len(abuser.seen)
        wait_until(lambda: len(abuser.seen) > before, 60)
    assert b"431" in abusers["heads"].seen
    assert 200 in abusers["refusals"].seen
    # What the victim did is all on record.
    wait_until(lambda: len([row for row in victim.audit("request")
                            if row["allowed"]]) == REQUESTS, 60)


def test_refusals_without_number_are_summed(own_gateway, make_session,
                                            policies):
    """The flood's rows are bounded; none of it is forgotten."""
    session = make_session(policies.make([policies.rule(
        "good.example", paths=["/**"])]), on=own_gateway)
    asked = 0
    for number in range(10):
        assert flood_of_refusals(session, number) == 200
        asked += 200

    def told():
        rows = session.audit("request")
        return sum(row.get("count", 1) for row in rows) == asked and rows
    rows = wait_until(told)
    single = [row for row in rows if "count" not in row]
    summed = [row for row in rows if "count" in row]
    assert 600 <= len(single) < asked
    assert summed
    for row in summed:
        assert row["constraint"] == "host_not_allowed"
        assert row["first"] <= row["time"]
        assert not row["allowed"]
