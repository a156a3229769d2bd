"""A ledger that falls behind: requests wait for it, and none is lost."""
import contextlib
import http.client
import json
import os
import signal
import threading
import time

import pytest
from gateway import wait_until

# Two records of each request hold it: so many fill all that may wait in a
# socket, in a channel and in the edge, and more.
LONG = "/echo/" + "a" * 2000
MANY = 1800
# KEEPER_RECORDS_MANY, in requests: what an edge may take along.
LOST_MAX = 64 * 1024 // 2000


class Asker:
    """Asks one request after the other; what it was answered is counted."""

    def __init__(self, session, url, paths):
        self.answers = []
        self.moved = time.monotonic()
        self._paths = paths
        self._url = url
        self._port = session.port
        self.thread = threading.Thread(target=self._ask)
        self.thread.start()

    def _ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port,
                                                timeout=60)
        # Whose edge is killed has what was answered until then.
        with (contextlib.closing(connection),
              contextlib.suppress(http.client.HTTPException, OSError)):
            for path in self._paths:
                connection.request("GET", self._url + path)
                answer = connection.getresponse()
                answer.read()
                self.answers.append(answer.status)
                self.moved = time.monotonic()

    def is_held(self):
        """Nothing was answered for long, or all was. Of the first ones nobody
        is held: if they take long it is the host that does."""
        return (len(self.answers) > LOST_MAX
                and time.monotonic() - self.moved > 0.5
                or not self.thread.is_alive())


@pytest.fixture
def slow(own_gateway, make_session, policies, origin):
    """A session whose requests wait for a ledger that stands still, its
    edge; what asks, and how the ledger goes on."""
    policy = policies.make([policies.rule("plain.example", paths=["/**"])])
    session = make_session(policy, on=own_gateway)
    assert session.curl(origin.plain_url("/echo")).status == 200
    wait_until(own_gateway.is_ready)
    ledger, edge = own_gateway.pid("ledger"), session.edge()
    os.kill(ledger, signal.SIGSTOP)
    try:
        asker = Asker(session, origin.plain_url(""), [LONG] * MANY)
        wait_until(asker.is_held)
        yield session, edge, asker, lambda: os.kill(ledger, signal.SIGCONT)
    finally:
        os.kill(ledger, signal.SIGCONT)
        asker.thread.join(180)


def test_a_ledger_that_stands_still_for_a_moment_costs_no_request(slow):
    session, _, asker, go_on = slow
    assert 0 < len(asker.answers) < MANY
    go_on()
    asker.thread.join(180)
    assert asker.answers == [200] * MANY
    # And one that asked for the first time, in the fixture.
    wait_until(lambda: len(session.audit("request")) == MANY + 1)


def test_an_edge_that_is_killed_takes_few_records_along(slow, own_gateway):
    """Twin of the one above, in which nothing is killed or lost."""
    session, edge, asker, go_on = slow
    os.kill(edge, signal.SIGKILL)
    asker.thread.join(180)
    answered = len(asker.answers)
    assert LOST_MAX < answered < MANY
    go_on()
    wait_until(lambda: len(session.audit("request")) > answered - LOST_MAX)
    assert own_gateway.cli("audit", "verify").returncode == 0


def test_a_policy_that_changes_meanwhile_holds_for_what_waits(
        slow, policies):
    session, _, asker, go_on = slow
    before = len(asker.answers)
    assert 0 < before < MANY
    policy = policies.make([policies.rule("good.example")])
    session.gateway.call("PUT", f"/v1/sessions/{session.id}/policy",
                         json.dumps({"policy": json.dumps(policy)}))
    after = len(asker.answers)
    go_on()
    asker.thread.join(180)
    assert asker.answers[:before] == [200] * before
    # What waited is refused; a machine that stood still as well may have let
    # one begin before.
    assert set(asker.answers[after + (after > before):]) == {403}
