"""Names that a wildcard alone allows carry no message out (security C5): no
data in them, and so many a minute, whichever way they are named."""
import socket

import pytest
import socks
from session import read_head
from test_dns import Reply, query

RANDOM = "k3q7z2x9v4m1w8r5t6y0pbngdhjsfclaeiou37x2q9"
WORDS = "production-and-then-some"
NAMES = [f"{label}.wild.example" for label in
         [RANDOM, WORDS, *(f"n{number}" for number in range(8))]]
NXDOMAIN, REFUSED = 3, 5


@pytest.fixture(scope="module")
def gateway(make_gateway, origin):
    gateway = make_gateway("names", config={"dns": {"hosts": {
        name: origin.address for name in [*NAMES, "own.wild.example"]}}})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def web(make_session, policies):
    def make(*more, **limits):
        policy = policies.make([
            policies.rule("own.wild.example", *more),
            policies.rule("*.wild.example", paths=["/**"])])
        policy["network"]["limits"] = limits
        return make_session(policy)
    return make


def by_dns(session, origin, name):
    if not hasattr(session, "udp_port"):
        session.udp_port, _ = session.attach_dns()
    with socket.socket(type=socket.SOCK_DGRAM) as dns:
        dns.settimeout(60)
        dns.sendto(query(name), ("127.0.0.1", session.udp_port))
        rcode = Reply(dns.recv(4096)).rcode
    return {NXDOMAIN: "host_not_allowed", REFUSED: "limit_rate"}.get(rcode)


def constraint_of(stream, name, origin):
    stream.sendall(f"GET /echo HTTP/1.1\r\nHost: {name}{origin.plain_suffix}"
                   "\r\n\r\n".encode())
    line = read_head(stream).split(b"\r\n")[0]
    if b"egress denied: " not in line:
        assert b" 200 " in line, line
        return None
    return line.split(b"egress denied: ")[1].decode()


def by_connect(session, origin, name):
    with session.connect() as stream:
        where = f"{name}:{origin.plain_port}"
        stream.sendall(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n"
                       .encode())
        assert b" 200 " in read_head(stream).split(b"\r\n")[0]
        return constraint_of(stream, name, origin)


def by_socks(session, origin, name):
    with session.connect() as stream:
        assert socks.greet(stream)
        assert socks.ask(stream, name, origin.plain_port) == 0
        return constraint_of(stream, name, origin)


def in_absolute_form(session, origin, name):
    answer = session.curl(origin.plain_url("/echo", name))
    return None if answer.status == 200 else answer.json["constraint"]


WAYS = [by_dns, by_connect, by_socks, in_absolute_form]
by_each_way = pytest.mark.parametrize("way", WAYS,
                                      ids=lambda way: way.__name__)


@by_each_way
def test_a_label_may_not_look_like_data(web, origin, way):
    assert way(web(), origin, NAMES[0]) == "host_not_allowed"
    # Its twins: words, a name of the policy, a policy that lets it.
    assert way(web(), origin, NAMES[1]) is None
    assert way(web(NAMES[0]), origin, NAMES[0]) is None
    assert way(web(**{"wildcard-label-bits": 512}), origin, NAMES[0]) is None


@by_each_way
def test_so_many_names_a_minute(web, origin, way):
    session = web(**{"wildcard-names": 3})
    got = [way(session, origin, name) for name in NAMES[2:6]]
    assert got[0] is None and got[3] == "limit_rate", got
    # What was seen, and what the policy names, is not counted.
    assert way(session, origin, NAMES[2]) is None
    assert way(session, origin, "own.wild.example") is None
    twin = web()
    assert not any(way(twin, origin, name) for name in NAMES[2:6])


def test_what_names_tell_is_bounded_by_the_minute(web, origin):
    session = web(**{"wildcard-bits": 128})
    told = [by_dns(session, origin, name)
            for name in (NAMES[1], f"{WORDS}-too.wild.example")]
    assert told == [None, "limit_rate"]
    row = session.row("dns", constraint="limit_rate")
    assert "network.limits.wildcard-bits" in row["detail"]
    assert "more in " in row["detail"]


def test_all_ways_share_the_budget(web, origin):
    session = web(**{"wildcard-names": 3})
    got = [way(session, origin, name) for way, name in zip(WAYS, NAMES[2:])]
    assert got == [None, None, None, "limit_rate"]
