"""Hostile DNS servers: the dialer reads what they say, and stays up."""
import struct
import threading
import time

import pytest
from dns_double import (AAAA, CNAME, NXDOMAIN, REFUSED, SERVFAIL, A,
                        DnsDouble, addresses, name_of, record, reply, wire)
from test_ssrf import MIDDLE
from waiting import at_best, wait_until

DEADLINE_S = 8


@pytest.fixture(scope="module")
def dns(origin):
    dns = DnsDouble(f"127.{MIDDLE}.9", 5300)
    dns.names = {"good.example": addresses(origin.address)}
    yield dns
    dns.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, dns):
    gateway = make_gateway("dns", config={"dns": {"servers": [dns.where]}})
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def session(make_session, policies):
    return make_session(policies.make([
        {"hosts": ["*"], "ports": policies.ports, "action": "allow",
         "paths": ["/**"]}]))


@pytest.fixture
def other(make_session, policies):
    return make_session(policies.make([
        policies.rule("good.example", paths=["/**"])]))


def wrong_id(query, kind, _):
    return bytes([query[0] ^ 0xff]) + reply(query)[1:]


def other_question(query, kind, _):
    _, asked, end = name_of(query)
    return (query[:2] + struct.pack(">HHHHH", 0x8580, 1, 1, 0, 0)
            + wire("other.example") + struct.pack(">HH", asked, 1)
            + record(A, "192.0.2.9"))


def other_owner(query, kind, _):
    return reply(query, [record(A, "192.0.2.9",
                                owner=wire("unasked.example"))])


def loop(query, kind, _):
    at = len(reply(query))
    return reply(query, [], count=1) + struct.pack(">H", 0xc000 | at)


def two_loops(query, kind, _):
    at = len(reply(query))
    return (reply(query, [], count=1)
            + struct.pack(">HH", 0xc000 | (at + 2), 0xc000 | at))


def alias_loop(query, kind, _):
    return reply(query, [
        record(CNAME, "b.example"),
        record(CNAME, name_of(query)[0], owner=wire("b.example"))])


def long_chain(query, kind, _):
    links = [record(CNAME, "c0.example")]
    links += [record(CNAME, f"c{i + 1}.example", owner=wire(f"c{i}.example"))
              for i in range(60)]
    return reply(query, links)


def lies_about_lengths(query, kind, _):
    return reply(query, [b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 9, 60000)
                         + b"\x7f\0\0\1"])


def short_address(query, kind, _):
    return reply(query, [b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 9, 2)
                         + b"\x7f\0"])


def counts_lie(query, kind, _):
    return reply(query, [], count=65535)


def truncated_then(tcp):
    def answer(query, kind, is_tcp):
        if is_tcp:
            return tcp(query, kind)
        return reply(query, truncated=True)
    return answer


def tcp_64k(query, kind):
    """As large as a message can be, all of it for another name."""
    one = record(A, "192.0.2.9", owner=wire("unasked.example"))
    return reply(query, [one] * (65000 // len(one)))


HOSTILE = {
    "a wrong id": wrong_id,
    "an answer to another question": other_question,
    "records of another name": other_owner,
    "a name that points at itself": loop,
    "two that point at each other": two_loops,
    "an alias of itself": alias_loop,
    "a long chain of aliases that ends nowhere": long_chain,
    "a record longer than the message": lies_about_lengths,
    "an address of two bytes": short_address,
    "counts that are not true": counts_lie,
    "nothing at all": lambda query, *_: b"",
    "one byte": lambda query, *_: b"x",
    "noise": lambda query, *_: query[:2] + b"\xff" * 500,
    "a question instead of an answer": lambda query, *_: query,
    "silence": lambda *_: None,
    "NXDOMAIN": lambda query, *_: reply(query, rcode=NXDOMAIN),
    "SERVFAIL": lambda query, *_: reply(query, rcode=SERVFAIL),
    "REFUSED": lambda query, *_: reply(query, rcode=REFUSED),
    "no records": lambda query, *_: reply(query),
    "TC, then silence": truncated_then(lambda *_: None),
    "TC, then TC": truncated_then(
        lambda query, _: reply(query, truncated=True)),
    "TC, then nothing": truncated_then(lambda *_: b""),
    "TC, then 64 KiB of others": truncated_then(tcp_64k),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_answer_fails_in_time(session, other, origin, dns, gateway,
                                        what):
    pid = gateway.pid("dialer")
    letters = iter("abcdefgh")

    def attempt():
        name = f"n{list(HOSTILE).index(what)}{next(letters)}.example"
        dns.names[name] = HOSTILE[what]
        answers = {}

        def ask():
            answers["bad"] = session.curl(origin.plain_url("/echo", name))
        began = time.monotonic()
        asking = threading.Thread(target=ask)
        asking.start()
        # Others are served meanwhile.
        good = other.curl(origin.plain_url("/echo", "good.example"))
        assert good.status == 200, good.text
        asking.join()
        seconds = time.monotonic() - began
        assert answers["bad"].status == 502, answers["bad"].head
        assert answers["bad"].json["constraint"] == "dns_failed"
        assert name in answers["bad"].json["detail"]
        return seconds
    at_best(DEADLINE_S, attempt)
    assert gateway.pid("dialer") == pid


def test_a_spoofed_answer_before_the_honest_one_is_ignored(session, origin,
                                                           dns):
    dns.names["race.example"] = lambda query, kind, is_tcp: [
        wrong_id(query, kind, is_tcp),
        addresses(origin.address)(query, kind, is_tcp)]
    answer = session.curl(origin.plain_url("/echo", "race.example"))
    assert answer.status == 200, answer.text


def test_a_truncated_answer_is_asked_for_by_tcp(session, origin, dns):
    dns.names["large.example"] = truncated_then(
        lambda query, kind: addresses(origin.address)(query, kind, True))
    answer = session.curl(origin.plain_url("/echo", "large.example"))
    assert answer.status == 200, answer.text
    assert ("large.example", A, True) in dns.asked


def test_many_addresses_by_tcp_are_bounded(session, origin, dns):
    texts = [origin.address] + [f"192.0.2.{i}" for i in range(1, 200)]
    dns.names["many.example"] = truncated_then(
        lambda query, kind: addresses(*texts)(query, kind, True))
    answer = session.curl(origin.plain_url("/echo", "many.example"))
    assert answer.status == 200, answer.text


def test_an_alias_to_an_allowed_address_is_followed(session, origin, dns):
    def answer(query, kind, _):
        records = [record(CNAME, "there.example")]
        if kind == A:
            records.append(record(A, origin.address,
                                  owner=wire("there.example")))
        return reply(query, records)
    dns.names["alias.example"] = answer
    assert session.curl(
        origin.plain_url("/echo", "alias.example")).status == 200


def test_a_server_that_is_silent_about_ipv6_holds_nothing_up(session, origin,
                                                             dns):
    """RFC 8305: the other family is waited for a moment, not to its end."""
    good, names = addresses(origin.address), iter("abcdefghij")

    def connect():
        name = f"no6{next(names)}.example"
        dns.names[name] = lambda query, kind, is_tcp: (
            None if kind == AAAA else good(query, kind, is_tcp))
        began = time.monotonic()
        assert session.curl(origin.plain_url("/echo", name)).status == 200
        return time.monotonic() - began
    # The question would be asked again only after 1.5 s.
    at_best(1.4, connect, tries=10)


def test_both_families_are_asked_for(session, origin, dns):
    session.curl(origin.plain_url("/echo", "good.example"))
    dns.names["both.example"] = addresses(origin.address, "::1")
    assert session.curl(
        origin.plain_url("/echo", "both.example")).status == 200
    # The answer about one is enough to go on: the other may be read later.
    wait_until(lambda: {kind for name, kind, _ in list(dns.asked)
                        if name == "both.example"} == {A, AAAA})
