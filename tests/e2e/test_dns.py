"""Names: synthetic inside, checked outside, and no way out by themselves."""
import contextlib
import json
import pathlib
import random
import socket
import struct
import time

import pytest
from waiting import wait_until
from wire import LISTENER_DNS_TCP, LISTENER_DNS_UDP, LISTENER_TCP


def query(name, kind=1, number=None):
    number = number if number is not None else random.randrange(65536)
    labels = b"".join(bytes([len(part)]) + part.encode()
                      for part in name.split(".") if part)
    # With an OPT record, so that an extended error may come back.
    return (struct.pack(">HHHHHH", number, 0x100, 1, 0, 0, 1) + labels
            + b"\0" + struct.pack(">HH", kind, 1)
            + b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0))


class Reply:
    def __init__(self, data):
        self.data = data
        self.number, flags, _, self.answers = struct.unpack_from(">HHHH", data)
        self.rcode = flags & 15


@pytest.fixture
def ask(make_session, policies):
    session = make_session(policies.make(
        [policies.rule("good.example", "*.wild.example")]))
    udp_port, tcp_port = session.attach_dns()

    def ask(data, tcp=False):
        if tcp:
            with socket.create_connection(("127.0.0.1", tcp_port), 30) as s:
                s.sendall(struct.pack(">H", len(data)) + data)
                size = struct.unpack(">H", s.recv(2))[0]
                return Reply(s.recv(size))
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            s.settimeout(30)
            s.sendto(data, ("127.0.0.1", udp_port))
            return Reply(s.recv(4096))
    ask.session = session
    ask.udp_port = udp_port
    return ask


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_an_allowed_name_has_a_synthetic_address(ask, tcp):
    reply = ask(query("good.example", number=77), tcp)
    assert (reply.number, reply.rcode, reply.answers) == (77, 0, 1)
    assert bytes([198, 18]) in reply.data
    again = ask(query("GOOD.example"), tcp)
    assert again.data[-20:] == reply.data[-20:] or again.answers == 1


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_another_name_does_not_exist_and_the_reason_is_told(ask, tcp):
    reply = ask(query("other.example"), tcp)
    assert (reply.rcode, reply.answers) == (3, 0)
    assert b"no rule allows this host" in reply.data
    row = ask.session.row("dns", allowed=False)
    assert row["host"] == "other.example"


@pytest.mark.parametrize("kind", [16, 15, 255, 252],
                         ids=["TXT", "MX", "ANY", "AXFR"])
def test_other_types_are_refused(ask, kind):
    assert ask(query("good.example", kind)).rcode == 5


def test_no_name_is_carried_outside(ask):
    """Under a wildcard, even: the answer is made here."""
    reply = ask(query("c2VjcmV0.wild.example"))
    assert (reply.rcode, reply.answers) == (0, 1)


@pytest.mark.parametrize("data", [
    b"", b"\0", b"\0" * 12, query("good.example")[:-15],
    query("good.example")[:12] + b"\xc0\x0c\0\1\0\1",
    query("good.example")[:12] + b"\x3f" + b"a" * 20,
    b"\xff" * 512])
def test_malformed_queries_change_nothing(ask, data):
    with socket.socket(type=socket.SOCK_DGRAM) as s:
        s.sendto(data, ("127.0.0.1", ask.udp_port))
    assert ask(query("good.example")).rcode == 0


# ---- in a sandbox ----

@pytest.fixture
def inside(gateway, policies, workspace):
    def run(script):
        return gateway.run(policies.make([policies.rule("good.example",
                                                        paths=["/**"])]),
                           script, workspace)
    return run


LOOK = ("/usr/bin/python3 -c 'import socket, sys, json; print(json.dumps("
        "sorted({a[4][0] for a in socket.getaddrinfo(sys.argv[1], 443)})))' ")


def test_a_sandbox_resolves_what_it_may_reach(inside):
    done = inside(LOOK + "good.example")
    addresses = json.loads(done.stdout)
    assert any(a.startswith("198.18.") for a in addresses), addresses


def test_a_sandbox_resolves_nothing_else(inside):
    done = inside(LOOK + "other.example")
    assert done.returncode != 0 and "198.18" not in done.stdout


def test_another_resolver_is_the_same(inside):
    """Whatever server a program asks, ours answers, or none."""
    done = inside("""/usr/bin/python3 -c '
import socket, struct
name = b"\\5other\\7example\\0"
packet = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + name + b"\\0\\1\\0\\1"
s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(30)
s.sendto(packet, ("192.0.2.53", 53))
print("rcode", s.recv(512)[3] & 15)
'""")
    assert done.stdout == "rcode 3\n", done.stderr


def ticks(pid):
    """Of the processor's time, that it took so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return sum(map(int, fields.split()[11:13]))


def rests(pid):
    before = ticks(pid)
    time.sleep(0.5)
    return ticks(pid) - before <= 3


@pytest.mark.parametrize("kind", [LISTENER_DNS_UDP, LISTENER_DNS_TCP,
                                  LISTENER_TCP],
                         ids=["udp", "dns-tcp", "proxy"])
def test_a_listener_that_is_shut_down_keeps_no_edge_busy(
        make_session, policies, kind):
    """Whoever gave it to the edge has it as well."""
    session = make_session(policies.make([policies.rule("good.example")]))
    edge = session.edge()
    with socket.socket(type=socket.SOCK_DGRAM if kind == LISTENER_DNS_UDP
                       else socket.SOCK_STREAM) as ours:
        ours.bind(("127.0.0.1", 0))
        if kind != LISTENER_DNS_UDP:
            ours.listen()
        session.attachment.attach(session.id, kind, ours)
        # Who is not connected is told so, and it is done all the same.
        with contextlib.suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: rests(edge))
        assert session.curl("http://good.example/x").status
        assert session.edge() == edge
