"""slowhttptest in all four modes at once: other clients are served
meanwhile, and what is slow has an end."""
import re
import subprocess
import threading

import pytest
from gateway import wait_until

MODES = {"slow headers": ["-H"],
         "slow body": ["-B", "-s", "100000"],
         "ranges": ["-R", "-a", "1", "-b", "3000"],
         "slow read": ["-X", "-w", "10", "-y", "20", "-k", "3"]}
SECONDS = 8


@pytest.fixture
def policy(policies):
    return policies.make([policies.rule("plain.example", paths=["/**"])])


def attack(session, url, options):
    return subprocess.Popen(
        ["slowhttptest", *options, "-c", "300", "-r", "150", "-i", "2",
         "-l", str(SECONDS), "-u", url, "-d", f"127.0.0.1:{session.port}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)


def under_attack(victim, sessions, origin):
    """What the attackers say; somebody else is served all the time."""
    url = origin.plain_url("/big/100000")
    attacks = [attack(session, url, options)
               for session, options in zip(sessions, MODES.values())]
    output = [None] * len(attacks)

    def collect(index):
        output[index] = attacks[index].communicate(timeout=SECONDS + 60)[0]
    collectors = [threading.Thread(target=collect, args=(i,))
                  for i in range(len(attacks))]
    for collector in collectors:
        collector.start()
    served = 0
    while any(collector.is_alive() for collector in collectors):
        answer = victim.curl(origin.plain_url("/echo"), "--max-time", "20")
        assert answer.status == 200, answer.error
        served += 1
    for collector in collectors:
        collector.join()
    assert served > 3
    return [re.sub(r"\x1b\[[\d;]*\w", "", text) for text in output]


def was_attack(text):
    made = re.findall(r"(?:connected|closed):\s*(\d+)", text)
    return max(map(int, made)) > 50 or "No open connections left" in text


def test_slow_clients_harm_nobody_else(own_gateway, make_session, policy,
                                       origin):
    victim = make_session(policy, on=own_gateway)
    sessions = [make_session(policy, on=own_gateway) for _ in MODES]
    edges = [session.edge() for session in sessions]
    # An attacker that the machine starves makes too few connections.
    for _ in range(3):
        said = under_attack(victim, sessions, origin)
        if all(was_attack(text) for text in said):
            break
    for name, text in zip(MODES, said):
        assert was_attack(text), (name, text[-2000:])
    # Whoever was slow can still be served as well.
    assert [session.edge() for session in sessions] == edges
    for session in sessions:
        wait_until(lambda s=session:
                   s.curl(origin.plain_url("/echo")).status == 200)
