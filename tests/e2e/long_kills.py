"""By hand: kill -9 of each process, KILLS times (1000), under load.

    KILLS=1000 SALLYPORT_BUILD=build/release python3 -m pytest -q -s \\
        tests/e2e/long_kills.py

Every request carries a credential. No answer that a client got may lack its
record, no request that upstream heard may, the chain must be whole, and the
secret in no file. How soon a process is ready again is told."""
import os
import sqlite3
import threading
import time

import pytest
from gateway import wait_until
from test_crash import KEEPERS, kill
from test_secrets import files_below, holds

KILLS = int(os.environ.get("KILLS", 1000))
TOKEN = "long-kills-0123456789abcdefghijklmnopqrstuv"


class Load:
    """Requests /kills/N over kept connections, anew when one breaks."""

    def __init__(self, session, origin, threads=4):
        self.session, self.origin = session, origin
        self.answered, self._next = set(), 0
        self._lock, self._over = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._run)
                         for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _number(self):
        with self._lock:
            self._next += 1
            return self._next

    def _one(self, stream):
        number = self._number()
        stream.sendall(f"GET /kills/{number} HTTP/1.1\r\nHost: good.example"
                       f"{self.origin.suffix}\r\n\r\n".encode())
        got = b""
        while b"\r\n\r\n" not in got:
            piece = stream.recv(65536)
            if not piece:
                return False
            got += piece
        if got.startswith(b"HTTP/1.1 200"):
            self.answered.add(f"/kills/{number}")
        return b"Connection: close" not in got

    def _run(self):
        while not self._over.is_set():
            try:
                stream = self.session.connect_tls("good.example",
                                                  self.origin.port)
                stream.settimeout(20)
                with stream:
                    while not self._over.is_set() and self._one(stream):
                        time.sleep(0.002)
            except (OSError, AssertionError):
                time.sleep(0.02)

    def stop(self):
        self._over.set()
        for thread in self._threads:
            thread.join()


def ready_after(gateway, role, session, load):
    """Kill it while requests are answered; the seconds until another is
    ready."""
    answered = len(load.answered)
    wait_until(lambda: len(load.answered) > answered, 60)
    old = kill(gateway, role, session)
    began = time.monotonic()

    def is_back():
        try:
            now = gateway.pid(role, session)
            return now not in (None, old) and gateway.is_ready()
        except (OSError, ValueError):
            return False  # control is away
    wait_until(is_back, 60)
    return time.monotonic() - began


def recorded(gateway):
    """The paths of all requests in the ledger's own file."""
    with sqlite3.connect(next(gateway.dir.rglob("ledger.db"))) as store:
        store.text_factory = lambda text: text.decode(errors="replace")
        columns = [column[1] for column in
                   store.execute("PRAGMA table_info(row)")]
        text = " || ' ' || ".join(f"coalesce({c}, '')" for c in columns)
        rows = [str(row[0]) for row in store.execute(
            f"SELECT {text} FROM row WHERE {text} LIKE '%/kills/%'")]
    store.close()
    return {"/kills/" + row.split("/kills/")[1].split('"')[0]
            for row in rows}


@pytest.mark.parametrize("role", [*KEEPERS[:-1], "edge"])
def test_nothing_is_lost_and_nothing_goes_unrecorded(
        own_gateway, make_session, policies, origin, role):
    own_gateway.put_secret("kills", TOKEN)
    policy = policies.make([policies.rule("good.example", paths=["/**"],
                                          credential="c")])
    policy["credentials"] = [{"name": "c", "secret": "kills",
                              "attach": "bearer", "hosts": ["good.example"]}]
    session = make_session(policy, on=own_gateway, ttl=20 * 3600)
    mark = len(origin.tls.requests)
    load = Load(session, origin)
    try:
        times = sorted(ready_after(own_gateway, role,
                                   session.id if role == "edge" else None,
                                   load)
                       for _ in range(KILLS))
    finally:
        load.stop()
    heard = {line.split()[1] for line in origin.tls.requests[mark:]}
    assert own_gateway.cli("audit", "verify", timeout=600).returncode == 0
    own_gateway.stop()
    kept = recorded(own_gateway)
    print(f"\n{role}: {KILLS} kills, {len(load.answered)} answers, ready "
          f"again after {times[len(times) // 2] * 1000:.0f} ms (median), "
          f"{times[-1] * 1000:.0f} ms (worst)")
    assert len(load.answered) > KILLS
    assert not load.answered - kept
    assert not heard - kept
    for name, data in files_below(own_gateway.state):
        assert not holds(data, TOKEN), name
