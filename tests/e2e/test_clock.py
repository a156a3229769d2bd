"""A host whose clock is not set: no certificate's validity, no expiry and no
record would mean anything (security B20)."""
import struct
import subprocess

import pytest
from gateway import PROGRAM, Gateway
from test_host_clock import SOURCE, YEAR


class Moved(Gateway):
    """Its clock of the day is `seconds` from the true time."""

    def __init__(self, directory, ca_pem, seconds):
        super().__init__(directory, {}, ca_pem)
        self.library = directory / "moved_clock.so"
        self.offset = directory / "offset"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, SOURCE],
                       check=True)
        self.offset.write_bytes(struct.pack("=q", seconds))

    def env(self, **more):
        env = super().env(**more)
        return env | {
            "LD_PRELOAD": str(self.library), "MOVED_CLOCK": str(self.offset),
            "ASAN_OPTIONS": env["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}


@pytest.mark.parametrize("years", [-10, 0, 1])
def test_a_gateway_starts_only_where_the_clock_can_be_true(tmp_path, pki,
                                                           years):
    gateway = Moved(tmp_path, pki[1], years * YEAR)
    if years >= 0:
        gateway.start().stop()
        gateway.check()
        return
    done = subprocess.run([PROGRAM, "-c", gateway.config], text=True,
                          capture_output=True, timeout=60, cwd="/",
                          env=gateway.env())
    assert done.returncode == 1
    assert "before this program was built: set it" in done.stderr
    assert not (gateway.run_dir / "control.sock").exists()
