"""A name with addresses of both families, where one family leads nowhere."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from gateway import BUILD

HERE = pathlib.Path(__file__).parent
# What is sent there is never heard of again.
SETUP = """set -e
ip link set lo up
ip -6 address add 2001:db8:1::2/128 dev lo nodad
nft 'add table ip6 hole;
     add chain ip6 hole in { type filter hook input priority 0; };
     add rule ip6 hole in ip6 daddr 2001:db8:1::2 drop'
exec "$@"
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hole")
    program = [sys.executable, HERE / "blackhole.py", directory]
    command = ["unshare", "-n", "sh", "-c", SETUP, "sh", *program]
    if os.getuid() != 0:
        # Root for the devices, then nobody of note again.
        command = ["unshare", "-rn", "sh", "-c", SETUP, "sh", "unshare", "-U",
                   "--map-user=1000", "--map-group=1000", *program]
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=120, check=False,
                          env={**os.environ, "SALLYPORT_BUILD": str(BUILD),
                               "PYTHONPATH": str(HERE),
                               "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_family_that_leads_somewhere_is_used_at_once(said):
    """The second address is tried 250 ms after the first (RFC 8305); a
    connection that is waited for to its end takes ten seconds."""
    assert said["both"]["status"] == 200, said
    assert min(said["both"]["seconds"]) < 5


def test_where_there_is_no_other_the_end_is_waited_for(said):
    """The twin: that address really leads nowhere."""
    assert said["hole"]["status"] == 504, said
    assert "connect_timeout" in said["hole"]["text"]
    assert min(said["hole"]["seconds"]) > 5
