"""Where systemd puts a program decides which cgroups it may make: tried in
units of every kind, each with a program of ours alone in it."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))

import gateway as gateway_module  # noqa: E402
import host as host_module  # noqa: E402
from gateway import CLI, Gateway  # noqa: E402
from host import OVER, Host  # noqa: E402
from waiting import wait_until  # noqa: E402

UID = 1000
TREE = pathlib.Path("/sys/fs/cgroup")
DELEGATE = ["-p", "Delegate=yes"]
# An ordinary user's own systemd.
OF_USER = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups",
           "env", f"XDG_RUNTIME_DIR=/run/user/{UID}", "HOME=/home/tester"]
SERVICE = ["systemd-run", "--quiet", "--wait", "--collect", "--pipe"]
USER_SERVICE = [*OF_USER, *SERVICE, "--user"]


def doctor(prefix):
    done = subprocess.run([*prefix, CLI, "doctor", "-o", "json"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)}


@pytest.mark.parametrize("prefix", [
    SERVICE, [*SERVICE, *DELEGATE],
    ["systemd-run", "--quiet", "--scope", *DELEGATE],
    [*SERVICE, *DELEGATE, f"--uid={UID}"],
    [*USER_SERVICE, *DELEGATE],
    [*OF_USER, "systemd-run", "--user", "--quiet", "--scope", *DELEGATE],
], ids=["root", "root, delegated", "root, delegated scope",
        "delegated to a user", "of a user, delegated",
        "of a user, delegated scope"])
def test_a_cgroup_holds_every_limit(prefix):
    rows = doctor(prefix)
    assert rows["limits"]["text"].startswith(
        "cgroup v2: limits.memory: cgroup, limits.processes: cgroup, "
        "limits.cpu: cgroup")
    assert rows["limits"]["health"] == rows["freezer"]["health"] == "ok"
    assert not list(TREE.rglob("sallyport-*"))


def test_a_user_whom_nothing_was_delegated_to_has_rlimits():
    rows = doctor([*SERVICE, f"--uid={UID}"])
    assert "limits.memory: rlimits" in rows["limits"]["text"]
    assert "limits.cpu: nothing" in rows["limits"]["text"]
    assert rows["freezer"]["health"] == "weaker"
    assert "systemd-run" in rows["freezer"]["mend"]


# ---- the daemons ----

def in_scope(directory, program, words):
    """A program that becomes this one in a unit of its own, with its pid."""
    path = directory / program.name
    path.write_text("#!/bin/sh\nexec env "
                    f"XDG_RUNTIME_DIR=/run/user/{UID} systemd-run --quiet "
                    f"--scope --collect {' '.join(words)} {program} \"$@\"\n")
    path.chmod(0o755)
    return path


@pytest.fixture(params=["root", "root, delegated", "a user, delegated"])
def service(request, tmp_path, monkeypatch):
    words = {"root": [], "root, delegated": DELEGATE,
             "a user, delegated": ["--user", *DELEGATE]}[request.param]
    for module in gateway_module, host_module:
        monkeypatch.setattr(module, "PROGRAM", in_scope(
            tmp_path, module.PROGRAM, words))
    (tmp_path / "gw").mkdir()
    (tmp_path / "host").mkdir()
    gateway = Gateway(tmp_path / "gw", {}, "")
    host = Host(gateway, tmp_path / "host")
    if "user" in request.param:
        gateway.as_user = {"user": UID, "group": UID, "extra_groups": []}
        for path in [tmp_path, *tmp_path.rglob("*")]:
            os.chown(path, UID, UID)
        for path in [tmp_path, *tmp_path.parents][:2]:
            path.chmod(0o755)
    gateway.start()
    yield host.start()
    host.stop()
    gateway.stop()
    host.check()
    gateway.check()
    assert not list(TREE.rglob("sallyport-[0-9p]*"))


HARD = {"version": 1, "limits": {"memory": "200MiB", "processes": 20,
                                 "cpu": 0.2},
        "require": ["limits.memory", "limits.processes", "limits.cpu",
                    "freezer"]}
USE_UP = "import sys; x = b'a' * 400_000_000; print('had it')"


def own_group(pid):
    text = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
    return TREE / text.strip().removeprefix("0::/")


def test_a_service_holds_and_pauses_its_sandboxes(service, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(HARD))
    policy.chmod(0o644)
    box = service.create("--policy", policy)
    supervisor = service.supervisors()[box]
    group, = service.groups(supervisor)
    values = {name: (group / name).read_text().strip() for name in
              ("memory.max", "memory.swap.max", "pids.max", "cpu.max")}
    assert values == {"memory.max": str(200 << 20), "memory.swap.max": "0",
                      "pids.max": "21", "cpu.max": "20000 100000"}
    inside = set((group / "cgroup.procs").read_text().split())
    assert str(service.show(box)["pid"]) in inside
    assert str(supervisor) not in inside
    # Beside the daemon's group, or far from it.
    assert not group.is_relative_to(own_group(service.process.pid))
    done = service.exec(box, "/usr/bin/python3", "-c", USE_UP)
    assert done.returncode == 137 and "had it" not in done.stdout
    assert [event["rule"] for event in service.events(box)
            if event["kind"] == "resource_limit"] == ["limits.memory"]
    service.ok("pause", box)
    assert "frozen 1" in (group / "cgroup.events").read_text()
    service.ok("resume", box)
    assert "frozen 0" in (group / "cgroup.events").read_text()
    assert service.exec(box, "true").returncode == 0
    # What rests ends as well.
    service.ok("pause", box)
    service.ok("kill", box)
    assert service.state(box) in OVER
    wait_until(lambda: not group.exists())


def test_its_gateway_has_a_group_for_packchecks(service):
    log = service.gateway.log()
    assert f"packchecks are held by {TREE}/" in log
    place, = TREE.rglob("sallyport-packchecks-*")
    assert (place / "memory.max").read_text() == f"{4 << 30}\n"
    assert (place / "pids.max").read_text() == "10\n"
