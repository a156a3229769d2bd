"""One session at full abuse: what it breaks mends itself, and is its own."""
import concurrent.futures
import os
import pathlib
import ssl
import time

import gitwire
from gateway import wait_until

MIB = 1024 * 1024


def storm(threads, count, one):
    """Do one(i) count times, at once; whatever fails is part of it."""
    def quietly(number):
        try:
            return one(number)
        except (OSError, AssertionError, ValueError):
            return None
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(quietly, range(count)))


def test_a_flood_of_names_is_forgotten(own_gateway, make_session, policies,
                                       origin):
    """More certificates in a second than the minter gives: its channel
    stays, and the next second serves."""
    session = make_session(policies.make(
        [policies.rule("good.example", paths=["/**"])]), on=own_gateway)

    def one(number):
        name = f"h{number}.blocked.example"
        try:
            session.connect_tls(name, 443).close()
        except ssl.SSLError as error:
            return error.reason
        except OSError as error:
            return repr(error)
        return "served"
    # Who gets no certificate is told so in TLS's own words.
    assert set(storm(60, 800, one)) == {"served", "TLSV1_ALERT_ACCESS_DENIED"}
    time.sleep(1.1)
    assert session.curl(origin.url("/echo")).status == 200
    answer = session.curl(f"https://never.blocked.example{origin.suffix}/")
    assert answer.status == 403, answer.error


def test_a_flood_of_legs_is_forgotten(own_gateway, make_session, policies,
                                      forge):
    """More connections with a credential in a second than the courier
    opens: the session keeps its courier."""
    policy = policies.make([policies.rule(
        "api.github.com", credential="forge", paths=["/**"])])
    policy["credentials"] = [{"name": "forge", "secret": "forge",
                              "attach": "github",
                              "hosts": ["api.github.com"]}]
    session = make_session(policy, on=own_gateway)
    host = f"api.github.com{forge.suffix}"

    def one(_):
        stream = session.connect_tls("api.github.com", forge.port)
        stream.sendall(f"GET /zen HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        status = stream.recv(12)[9:]
        time.sleep(0.2)
        stream.close()
        return status
    statuses = storm(400, 1500, one)
    assert b"200" in statuses
    assert b"500" not in statuses, "the courier was taken away"
    time.sleep(1.1)
    assert session.curl(f"https://{host}/zen").status == 200


def hold_packchecks(session, work, count):
    """Pushes whose packs are being checked, as many as may be."""
    old = work.out("rev-parse", "HEAD")
    new = work.commit("proof wanted")
    body = (gitwire.commands([(old, new, "refs/heads/agent/1")])
            + gitwire.pack(work, [new], [old]))
    return storm(count, 3 * count, lambda _: gitwire.push(session, body))


def test_a_flood_of_proofs_leaves_the_edge_alive(own_gateway, make_session,
                                                 policies, repo):
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    work = session.clone()
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    edge = session.edge()
    hold_packchecks(session, work, 30)
    assert session.edge() == edge
    wait_until(lambda: not own_gateway.pid("packcheck"))
    work.git("pull", "-q", "--ff-only", "origin", "agent/1")
    work.commit("after")
    assert work.push("HEAD:agent/1").returncode == 0


def memory_files(pid):
    """Bytes in the memory files that a process holds open."""
    held = {}
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(link).startswith("/memfd:"):
                file = link.stat()
                held[file.st_ino] = file.st_blocks * 512
        except FileNotFoundError:
            pass
    return sum(held.values())


def test_packs_held_at_one_time_are_bounded(gateway, make_session, policies,
                                            repo):
    session = make_session(policies.make(repo=repo), repo)
    work = session.clone()
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    old = work.out("rev-parse", "HEAD")
    # One blob of a GiB that is sound as far as it comes: packcheck reads
    # along, and garbage would be refused before it fills anything.
    head = (gitwire.commands([(old, "1" * 40, "refs/heads/agent/1")])
            + b"PACK" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big")
            + b"\xb0\x80\x80\x80\x20" + b"\x78\x01")
    block = b"\0\xff\xff\0\0" + bytes(0xffff)
    edge = session.edge()
    held = []

    def one(_):
        push = gitwire.SlowPush(session)
        push.send(head)
        for _ in range(160):
            push.send(16 * block, piece=16 * len(block))
            held.append(memory_files(edge))
        try:
            return gitwire.Report(push.finish()[1])
        finally:
            push.close()
    reports = storm(14, 14, one)
    assert 512 * MIB < max(held) < 1100 * MIB
    assert any(report and "push_too_large" in report.text
               for report in reports), "who is refused hears why"
    wait_until(lambda: memory_files(edge) < 64 * MIB)
    tip = work.commit("after")
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1") == tip


def test_an_edge_that_wants_all_memory_harms_itself_alone(
        own_gateway, make_session, policies, repo, origin):
    victim = make_session(policies.make(
        [policies.rule("good.example", paths=["/**"])]), on=own_gateway)
    session = make_session(policies.make(repo=repo), repo, on=own_gateway)
    lines = [f"{gitwire.ZERO} {'1' * 40} refs/heads/a{i:06d}".encode()
             for i in range(9900)]
    lines[0] += b"\0 " + gitwire.CAPS.encode()
    body = b"".join(map(gitwire.pkt, lines))
    pushes = []

    def one(_):
        push = gitwire.SlowPush(session)
        pushes.append(push)
        push.send(body)
    storm(60, 600, one)
    edge = session.edge()
    assert edge is None or resident(edge) < 2048 * MIB
    assert victim.curl(origin.url("/echo")).status == 200
    for push in pushes:
        push.close()
    wait_until(lambda: session.edge())
    session.clone()


def resident(pid):
    with open(f"/proc/{pid}/statm") as words:
        return int(words.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
