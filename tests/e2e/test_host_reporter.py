"""What stands between a sandbox of the service and who serves it: what each of
those processes holds, what a command is given, and what becomes of it all when
the reporter dies. Under a daemon that is root's and under one that is a
user's."""
import os
import pathlib
import pty
import re
import signal
import urllib.request

import pytest
from gateway import is_sanitized
from host import children_of
from test_host_escape import boxes, daemon
from waiting import wait_until

__all__ = ["boxes", "daemon"]

NOTIFY = "anon_inode:seccomp notify"
LOOK = 1 << 2  # CAP_DAC_READ_SEARCH
ROW = re.compile(r" (\d+) -> (\S+)")
SERVER = """
import http.server
http.server.HTTPServer(("127.0.0.1", 8123),
                       http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def status_of(pid):
    return dict(line.split(":", 1) for line in pathlib.Path(
        f"/proc/{pid}/status").read_text().splitlines())


def descriptors(pid):
    return {int(fd.name): os.readlink(fd)
            for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()}


def reporter_of(supervisor):
    """Its child that system calls are shown to, once it took them: nobody
    waits for that."""
    def look():
        try:
            found = [pid for pid in children_of(supervisor)
                     if NOTIFY in descriptors(pid).values()]
        except FileNotFoundError:
            return None  # one closed or ended in this moment
        return len(found) == 1 and found[0]
    return wait_until(look)


def test_a_reporter_holds_what_it_looks_with_and_nothing_else(daemon, boxes):
    host = daemon[1]
    for name, (box, tree) in boxes.items():
        supervisor = host.supervisors()[box]
        pid = reporter_of(supervisor)
        fields = status_of(pid)
        is_root = int(fields["Uid"].split()[0]) == 0
        for which in ("CapEff", "CapPrm"):
            assert int(fields[which], 16) == (LOOK if is_root else 0), name
        assert int(fields["CapInh"], 16) == int(fields["CapAmb"], 16) == 0
        assert not is_root or int(fields["CapBnd"], 16) == 0
        assert fields["NoNewPrivs"].strip() == "1"
        assert fields["Seccomp"].strip() == (
            "0" if is_sanitized(pid) else "2")
        # Files are as the sandbox's user has them.
        inside = status_of(host.show(box)["pid"])
        assert fields["Uid"].split()[3] == inside["Uid"].split()[0]
        assert not is_root or fields["Uid"].split()[3] != "0"
        held = descriptors(pid)
        assert sorted(held) == list(range(8)), (name, held)
        assert [held[fd] for fd in range(3)] == ["/dev/null"] * 3
        # Its channel, and what tells of sockets, here and inside.
        for fd in 3, 4, 7:
            assert held[fd].startswith("socket:"), held
        assert held[6] == NOTIFY, held


def test_a_command_is_given_its_standard_descriptors_alone(daemon, boxes):
    """G13: piped, and with a terminal of its own. The fourth is what it opened
    to list them."""
    host = daemon[1]
    for box, _ in boxes.values():
        found = ROW.findall(host.exec(box, "ls", "-l", "/proc/self/fd").stdout)
        assert [fd for fd, _ in found] == ["0", "1", "2", "3"], found
        assert found[0][1] == "/dev/null", found
        assert all(re.fullmatch(r"pipe:\[\d+\]", to)
                   for _, to in found[1:3]), found
        assert re.fullmatch(r"/proc/\d+/fd", found[3][1]), found
        master, slave = pty.openpty()
        child = host.popen("exec", "-i", "-t", box, "--", "sh", "-c",
                           "ls -l /proc/self/fd; echo so much", stdin=slave,
                           stdout=slave, stderr=slave)
        os.close(slave)
        seen = b""
        while b"so much" not in seen:
            seen += os.read(master, 4096)
        child.communicate(timeout=60)
        os.close(master)
        found = ROW.findall(seen.decode())
        assert found[:3] == [(str(fd), "/dev/pts/0") for fd in range(3)], found
        assert len(found) == 4 and re.fullmatch(r"/proc/\d+/fd", found[3][1])


def test_a_port_inside_is_reached_whoever_the_daemon_is(daemon, boxes):
    """Process 1 connects: nobody may look at its memory."""
    host = daemon[1]
    for box, tree in boxes.values():
        (tree / "page").write_text("from inside")
        (tree / "page").chmod(0o644)
        child = host.popen("exec", box, "--", "/usr/bin/python3", "-c", SERVER)
        address = host.ok("port", box, "8123").strip()

        def page():
            try:
                with urllib.request.urlopen(f"http://{address}/page",
                                            timeout=20) as answer:
                    return answer.read()
            except OSError:
                return None
        assert wait_until(page) == b"from inside"
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)


def test_without_its_reporter_what_it_judges_fails_and_is_said(daemon):
    host = daemon[1]
    box = host.create("--workspace", "-")
    assert host.exec(box, "sh", "-c", "echo x > before").returncode == 0
    pid = reporter_of(host.supervisors()[box])
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: any("reporter has ended" in event["text"]
                           for event in host.events(box)))
    done = host.exec(box, "sh", "-c", "echo x > after")
    assert done.returncode != 0 and "not implemented" in done.stderr, done
    assert sorted(os.listdir(host.show(box)["workspace"])) == ["before"]
    assert host.state(box) == "Running"
    host.ok("kill", box)
    wait_until(lambda: box not in host.supervisors())


def test_a_supervisor_and_its_reporter_end_together(daemon):
    host = daemon[1]
    box = host.create("--workspace", "-")
    supervisor = host.supervisors()[box]
    pid = reporter_of(supervisor)
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists())
    wait_until(lambda: host.run("show", box).returncode == 6 or
               host.state(box) != "Running")


def test_when_memory_is_out_a_command_goes_first(daemon, boxes):
    """Process 1 is as large as what it forks, and all end with it."""
    host = daemon[1]
    for box, _ in boxes.values():
        score = "oom_score_adj"
        first = pathlib.Path(f"/proc/{host.show(box)['pid']}/{score}")
        theirs = host.exec(box, "cat", f"/proc/self/{score}").stdout
        assert int(theirs) > int(first.read_text()), theirs
        assert first.read_text() == pathlib.Path(
            f"/proc/{host.supervisors()[box]}/{score}").read_text()
