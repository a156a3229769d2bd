"""The service when the host's clock is set: what ends in so many seconds ends
in so many seconds, and nothing else does."""
import datetime
import pathlib
import struct
import subprocess

import pytest
from api import Api
from execd import Execd
from host import OVER
from waiting import wait_until, while_it_lives

SOURCE = pathlib.Path(__file__).parent / "moved_clock.c"
YEAR = 365 * 24 * 3600


class Moved(Api):
    """All of its processes, and its command line, read a clock of the day
    that a test can set."""

    def __init__(self, gateway, directory):
        self.library = directory / "moved_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, SOURCE],
                       check=True)
        self.offset = directory / "offset"
        self.offset.write_bytes(bytes(8))
        super().__init__(gateway, directory)

    def env(self):
        env = super().env()
        return env | {
            "LD_PRELOAD": str(self.library), "MOVED_CLOCK": str(self.offset),
            "ASAN_OPTIONS": env["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}

    def set(self, seconds):
        """So many seconds from the true time."""
        with open(self.offset, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", seconds))


@pytest.fixture(scope="module")
def moved(gateway, tmp_path_factory):
    host = Moved(gateway, tmp_path_factory.mktemp("moved")).start()
    yield host
    host.set(0)
    host.stop()
    host.check()


@pytest.fixture
def host(moved):
    moved.set(0)
    yield moved
    moved.set(0)


def end_of(box):
    return datetime.datetime.fromisoformat(
        box["expires"].replace("Z", "+00:00")).timestamp()


def test_a_clock_that_is_set_back_lets_nothing_last_longer(host):
    other = host.create("--workspace", "-", "--timeout", "600")
    box = while_it_lives(lambda seconds: host.create(
        "--workspace", "-", "--timeout", seconds))
    while_it_lives(lambda seconds: host.ok(
        "renew", other, "--timeout", seconds))
    host.set(-YEAR)
    for one in (box, other):
        wait_until(lambda: host.state(one) in OVER)
        assert host.show(one)["reason"] == "expired"


def test_a_clock_that_is_set_forward_ends_nothing(host):
    box = host.create("--workspace", "-", "--timeout", "600")
    over = host.create("--workspace", "-")
    host.ok("kill", over)
    host.set(YEAR)
    # It lives through what looks at all of them, and through a daemon that
    # finds it there.
    assert host.exec(box, "echo", "here").stdout == "here\n"
    host.kill()
    host.start()
    assert host.state(box) == "Running"
    assert host.state(over) == "Terminated"
    assert host.exec(box, "echo", "here").stdout == "here\n"
    # Whoever renews it says until when by the clock as it is now.
    host.ok("renew", box, "--timeout", "3600")
    renewed = end_of(host.show(box))
    host.set(0)
    assert host.state(box) == "Running"
    host.ok("renew", box, "--timeout", "3600")
    assert abs(renewed - end_of(host.show(box)) - YEAR) < 600
    host.set(YEAR)
    while_it_lives(lambda seconds: host.ok("renew", box, "--timeout", seconds),
                   (1, 8, 32))
    host.set(0)
    wait_until(lambda: host.state(box) in OVER)


@pytest.mark.parametrize("seconds", [YEAR, -YEAR])
def test_how_long_a_command_took_is_no_question_of_the_date(host, seconds):
    box = host.make()
    for event in Execd(host, box).stream("/command", {"command": """
            echo begun; until [ -e /tmp/go ]; do sleep 0.02; done"""}):
        if event["type"] == "stdout":
            host.set(seconds)
            host.ok("exec", box, "--", "touch", "/tmp/go")
    assert event["type"] == "execution_complete"
    assert 0 <= event["execution_time"] < 600 * 1000
    host.ok("kill", box)
