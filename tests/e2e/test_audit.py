"""The ledger: everything is in it, and it shows when it was touched."""
import contextlib
import http.client
import json
import selectors
import socket
import sqlite3
import subprocess
import time

import pytest
from gateway import CLI, ApiError, wait_until


def busy(gateway, make_session, policies, repo):
    session = make_session(policies.make(repo=repo), repo, on=gateway)
    work = session.clone()
    work.commit()
    work.push("HEAD:agent/1")
    work.push("HEAD:main")
    session.row("push", path="refs/heads/main")
    return session


def test_what_happened_is_there_in_order(own_gateway, make_session, policies,
                                         repo):
    session = busy(own_gateway, make_session, policies, repo)
    rows = own_gateway.audit(session.id)
    kinds = {row["activity"] for row in rows}
    assert {"session.created", "connection", "request", "push",
            "secret.use"} <= kinds
    numbers = [row["sequence"] for row in rows]
    assert numbers == sorted(numbers)
    denied = [row for row in rows if not row["allowed"]]
    assert denied and all(row["constraint"] for row in denied)


def test_a_credentials_use_is_recorded_before_the_forge_hears_of_it(
        own_gateway, make_session, policies, repo):
    session = busy(own_gateway, make_session, policies, repo)
    uses = own_gateway.audit(session.id, "secret.use")
    heard = [line for line in repo.forge.heard(repo.name)
             if "auth=basic" in line]
    assert len(uses) >= len(heard) > 0


def test_verify_finds_an_untouched_ledger_intact(own_gateway, make_session,
                                                 policies, repo):
    busy(own_gateway, make_session, policies, repo)
    done = own_gateway.cli("audit", "verify", "-o", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["intact"] is True


def _tables(connection):
    return [name for (name,) in connection.execute(
        "select name from sqlite_master where type='table'")]


@pytest.mark.parametrize("change", [
    "update {t} set {text} = replace({text}, 'agent/1', 'agent/2') "
    "where {text} like '%agent/1%'",
    "delete from {t} where rowid = 3"])
def test_verify_finds_what_was_changed(own_gateway, make_session, policies,
                                       repo, change):
    busy(own_gateway, make_session, policies, repo)
    own_gateway.stop()
    files = [path for path in own_gateway.state.rglob("*")
             if path.is_file() and path.parent.name == "ledger"
             and path.read_bytes()[:6] == b"SQLite"]
    assert len(files) == 1
    with sqlite3.connect(files[0]) as ledger:
        table = max(_tables(ledger), key=lambda name: ledger.execute(
            f"select count(*) from {name}").fetchone()[0])
        columns = ledger.execute(f"pragma table_info({table})").fetchall()
        texts = [c[1] for c in columns if ledger.execute(
            f"select 1 from {table} where {c[1]} like '%agent/1%'"
        ).fetchone()]
        done = ledger.execute(change.format(t=table, text=texts[0]))
        assert done.rowcount > 0
    ledger.close()
    own_gateway.start()
    done = own_gateway.cli("audit", "verify")
    assert done.returncode == 1, done.stdout
    assert "BROKEN" in done.stdout


@pytest.fixture
def filler(own_gateway):
    """A file to fill the disk with on which the gateway's state is."""
    own_gateway.stop()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none",
                    own_gateway.state], check=True)
    own_gateway.start()
    yield own_gateway.state / "filler"
    own_gateway.stop()
    subprocess.run(["umount", "-l", own_gateway.state], check=True)


def test_verify_and_status_say_when_nothing_can_be_stored(
        own_gateway, filler, policies):
    own_gateway.create(policies.make([]))
    assert own_gateway.cli("audit", "verify").returncode == 0
    well = own_gateway.cli("status")
    assert (well.returncode, "can not store" in well.stdout) == (0, False)
    assert "failing" not in own_gateway.get("/v1/status")
    full = subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"],
                          capture_output=True, text=True, check=False)
    assert "No space" in full.stderr
    # It is kept until it can be stored; or refused, once that is known.
    with contextlib.suppress(ApiError):
        own_gateway.create(policies.make([]))
    done = own_gateway.cli("audit", "verify")
    assert done.returncode == 1, done.stdout
    assert "intact" in done.stdout
    assert "NO RECORD CAN BE STORED since 20" in done.stdout
    done = own_gateway.cli("status")
    assert done.returncode == 1, done.stdout
    assert "ledger: can not store records: since 20" in done.stdout
    assert "database or disk is full" in done.stdout
    assert "PROCESS" in done.stdout
    assert own_gateway.get("/v1/status")["failing"].startswith("since 20")
    filler.unlink()
    wait_until(lambda: own_gateway.cli("audit", "verify").returncode == 0)
    well = own_gateway.cli("status")
    assert (well.returncode, "can not store" in well.stdout) == (0, False)


def test_tail_shows_denials_with_their_reason(own_gateway, make_session,
                                              policies, repo):
    session = busy(own_gateway, make_session, policies, repo)
    done = own_gateway.cli("audit", "tail", "--session", session.id,
                           "--denied")
    assert done.returncode == 0
    assert "refs/heads/main" in done.stdout
    assert "push_ref_not_allowed" in done.stdout
    assert "allow " not in done.stdout


def test_push_list(own_gateway, make_session, policies, repo):
    session = busy(own_gateway, make_session, policies, repo)
    done = own_gateway.cli("push", "list", "--session", session.id, "-o",
                           "json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["path"], row["allowed"]) for row in rows] == [
        ("refs/heads/agent/1", True), ("refs/heads/main", False)]


def test_the_ledger_outlives_a_restart(own_gateway, make_session, policies,
                                       repo):
    session = busy(own_gateway, make_session, policies, repo)
    before = own_gateway.audit(session.id)
    own_gateway.stop()
    own_gateway.start()
    after = own_gateway.audit(session.id)
    assert after[:len(before)] == before
    assert own_gateway.cli("audit", "verify").returncode == 0


def test_tail_pages_back_as_far_as_is_asked(own_gateway, make_session,
                                            policies):
    session = make_session(policies.make(), on=own_gateway)
    for number in range(150):
        own_gateway.call("POST", f"/v1/sessions/{session.id}/records",
                         json.dumps({"detail": f"event {number}",
                                     "constraint": ""}))
    session.row("sandbox", detail="event 149")

    def tail(*words):
        done = own_gateway.cli("audit", "tail", *words, "-o", "json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    every = own_gateway.audit()
    assert tail("-n", "140") == every[-140:]
    assert tail("-n", "10000") == every
    mine = tail("-n", "100", "--session", session.id, "--kind", "sandbox")
    assert [row["detail"] for row in mine] == [
        f"event {number}" for number in range(50, 150)]
    assert own_gateway.cli("audit", "tail", "-n", "10001").returncode == 2


def test_tail_follows_what_is_stored_from_then_on(own_gateway, make_session,
                                                  policies):
    session = make_session(policies.make(), on=own_gateway)

    def say(detail):
        own_gateway.call("POST", f"/v1/sessions/{session.id}/records",
                         json.dumps({"detail": detail, "constraint": ""}))

    say("before")
    session.row("sandbox", detail="before")
    with subprocess.Popen(
            [CLI, "audit", "tail", "--follow", "--kind", "sandbox", "--session",
             session.id], env=own_gateway.env(), stdout=subprocess.PIPE,
            text=True) as tail:
        try:
            assert "before" in tail.stdout.readline()
            own_gateway.end(make_session(policies.make(), on=own_gateway).id)
            say("after")
            assert "after" in tail.stdout.readline()
        finally:
            tail.kill()


@pytest.mark.parametrize("config,is_cut", [
    ({"audit": {"retain": "1s"}}, True), ({}, False)], ids=["1s", "ever"])
def test_rows_are_kept_for_their_time_and_the_rest_is_proven(
        make_gateway, make_session, policies, repo, config, is_cut):
    gateway = make_gateway("kept", config=config)
    busy(gateway, make_session, policies, repo)
    last = gateway.audit()[-1]["sequence"]
    gateway.stop()
    gateway.start()

    def proven():
        done = gateway.cli("audit", "verify", "-o", "json")
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)
    if is_cut:
        wait_until(lambda: proven()["first"] > last)

        def shown():
            """The same from each side; what is a second old goes meanwhile."""
            rows = gateway.audit()
            return (rows[0]["sequence"] > last
                    and any("were kept for their time" in row.get("detail", "")
                            for row in rows)
                    and f"from record {rows[0]['sequence']} on" in gateway.cli(
                        "audit", "verify").stdout)
        wait_until(shown)
    else:
        assert proven()["first"] == 1
    gateway.stop()
    gateway.start()
    assert (proven()["first"] > last) == is_cut
    gateway.stop()
    gateway.check()


def test_rows_whose_time_was_altered_are_not_removed(make_gateway,
                                                     make_session, policies,
                                                     repo):
    """Who may write the file could have them removed, and told of as old."""
    gateway = make_gateway("altered", config={"audit": {"retain": "8760h"}})
    busy(gateway, make_session, policies, repo)
    gateway.stop()
    with sqlite3.connect(next(gateway.dir.rglob("ledger.db"))) as store:
        store.execute("UPDATE row SET time = 0")
    store.close()
    gateway.start()
    wait_until(lambda: "the record is broken" in gateway.log())
    done = gateway.cli("audit", "verify")
    assert done.returncode != 0 and "BROKEN at record 1" in done.stdout
    gateway.stop()


def test_records_are_exported_as_they_are_and_found(
        own_gateway, make_session, policies, repo):
    session = busy(own_gateway, make_session, policies, repo)
    done = own_gateway.cli("audit", "export")
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["prev"] == before["hash"]
               for before, row in zip(rows, rows[1:]))
    of_one = own_gateway.cli("audit", "export", "--session", session.id,
                             "--kind", "push", "--denied")
    assert [json.loads(line)["path"] for line in
            of_one.stdout.splitlines()] == ["refs/heads/main"]
    found = own_gateway.cli("audit", "search", "REFS/heads/main", "-o",
                            "json")
    assert found.returncode == 0
    assert {json.loads(line)["path"] for line in
            found.stdout.splitlines()} == {"refs/heads/main"}
    assert "refs/heads/main" in own_gateway.cli(
        "audit", "search", "refs/heads/main").stdout
    assert own_gateway.cli("audit", "search", "nowhere.at-all").returncode == 6
    # The digits of the hashes are no words.
    digits = own_gateway.audit()[0]["hash"][:16]
    assert own_gateway.cli("audit", "search", digits).returncode == 6


def outcomes(session, path):
    """Of the requests for a path, by id: the rows that tell how it ended."""
    rows = [row for row in session.audit() if row.get("path") == path]
    ids = [row["request_id"] for row in rows if row["activity"] == "request"]
    assert len(ids) == len(set(ids))
    return {id: [row for row in rows if row["request_id"] == id and
                 (row["activity"] == "response" or "ended" in row)]
            for id in ids}


def ask_often(session, origin, times):
    """On one connection, so that each is soon over on a busy machine, too."""
    with session.connect_tls("good.example", origin.port) as client:
        for _ in range(times):
            client.sendall(b"GET /echo HTTP/1.1\r\nHost: good.example:%d\r\n"
                           b"\r\n" % origin.port)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            assert answer.status == 200
            answer.read()


def test_a_request_that_ended_at_once_has_one_row_for_both(
        own_gateway, make_session, policies, origin):
    session = make_session(policies.make([policies.rule(
        "good.example", paths=["/**"])]), on=own_gateway)

    def joined():
        ask_often(session, origin, 8)
        return [row for row in session.audit("request") if "ended" in row]

    row = wait_until(joined)[0]
    assert (row["activity"], row["status"], row["allowed"]) == (
        "request", 200, True)
    assert row["time"] <= row["ended"] and row["bytes_down"] > 0
    # Who asks for outcomes sees it, in every way to ask.
    assert row in session.audit("response")
    for kind in "request", "response":
        done = own_gateway.cli("audit", "tail", "--kind", kind, "-n", "10000")
        assert f"ended {row['ended']}" in done.stdout
    assert own_gateway.cli("audit", "verify").returncode == 0
    # How it ended is told once of each, in one row or the other.
    wait_until(lambda: all(outcomes(session, "/echo").values()))
    assert all(len(rows) == 1 and rows[0]["status"] == 200
               for rows in outcomes(session, "/echo").values())


def test_a_request_that_takes_its_time_is_on_record_before_it_ends(
        own_gateway, make_session, policies, origin):
    session = make_session(policies.make([policies.rule(
        "good.example", paths=["/**"])]), on=own_gateway)
    # Some of it waits in sockets; the rest takes a second and more.
    answer = session.curl(origin.url("/big/40000000"), "--limit-rate", "20M")
    assert len(answer.body) == 40000000
    row = session.row("response", path="/big/40000000")
    assert (row["activity"], row["status"]) == ("response", 200)
    decided = session.row("request", path="/big/40000000")
    assert "ended" not in decided and "status" not in decided
    assert decided["request_id"] == row["request_id"]
    assert decided["sequence"] < row["sequence"]


def ask_much(session, host, clients, each):
    """So many requests at once, of long paths; read how each was answered."""
    blocks = [b"".join(b"GET http://%b/%d/%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (
        host, i * each + n, b"x" * 1900, host) for n in range(each))
        for i in range(clients)]
    heard, until = [b""] * clients, time.monotonic() + 30

    def answers():
        return sum(text.count(b"HTTP/1.1 403") for text in heard)

    with contextlib.ExitStack() as stack, \
            selectors.DefaultSelector() as selector:
        for i, block in enumerate(blocks):
            client = stack.enter_context(
                socket.create_connection(("127.0.0.1", session.port)))
            client.sendall(block)
            selector.register(client, selectors.EVENT_READ, i)
        while answers() < clients * each and time.monotonic() < until:
            for key, _ in selector.select(1):
                heard[key.data] += key.fileobj.recv(1 << 20)
    return answers()


@pytest.mark.parametrize("ends", ["session", "gateway"])
def test_what_was_answered_is_on_record_though_all_ends_at_once(
        own_gateway, make_session, policies, origin, ends):
    """More than the edge's channel to the ledger holds."""
    policy = policies.make([policies.rule("plain.example", paths=["/ok"])])
    host = origin.plain_url("/").split("/")[2].encode()
    for _ in range(4):
        session = make_session(policy, on=own_gateway)
        assert ask_much(session, host, 8, 50) == 400
        if ends == "session":
            session.close()
        else:
            own_gateway.stop()
            own_gateway.start()
        wait_until(lambda: len(
            {row["path"] for row in session.audit("request")}) == 400)
