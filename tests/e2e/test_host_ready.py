"""Sandboxes that are kept ready for the next request of their kind: who gets
one, who does not, and that none is left."""
import json
import os
import signal
import subprocess
import tarfile

import pytest
from gateway import CLI, crashes_in
from host import OVER, Host, has_ended
from waiting import wait_until

POLICY = "version: 1\n"
OTHER = "version: 1\nnetwork: {default: deny}\n"
BARE = ("--workspace", "-", "--bare")


@pytest.fixture
def ready(own_gateway, tmp_path):
    """Of a gateway that the test may spoil; it keeps two."""
    (tmp_path / "default.yaml").write_text(POLICY)
    host = Host(own_gateway, tmp_path, limits={"ready": 2},
                default_policy=str(tmp_path / "default.yaml")).start()
    yield host
    host.stop()
    host.check()


def make(host, *words):
    """Make one, and wait until it is over: what lives then is kept ready."""
    box = host.create(*BARE, *words, "--", "true")
    wait_until(lambda: host.state(box) in OVER)
    assert host.show(box)["exit_code"] == 0, host.show(box)
    return box


def ready_one(host):
    """The id of the one that is, and its supervisor's pid; nobody sees it,
    but that it lives."""
    def found():
        seen = {row["id"] for row in host.list()}
        return [(box, pid) for box, pid in host.supervisors().items()
                if box not in seen and
                f'msg="{box}: Running"' in host.log()]
    return wait_until(found)[0]


def one_is_ready(host):
    return ready_one(host)[0]


def sessions(host):
    return {s["id"] for s in host.gateway.get("/v1/sessions")["sessions"]
            if not s["revoked"]}


def test_the_next_of_a_kind_is_there_and_becomes_its_askers(ready):
    host = ready
    first = make(host, "--name", "first", "--metadata", "a=1")
    kept = one_is_ready(host)
    # Nobody sees it: not by its name, not in a list.
    assert [box["name"] for box in host.list()] == ["first"]
    for verb in ("show", "kill", "pause"):
        assert host.run(verb, kept).returncode == 6
    box = host.create(*BARE, "--name", "second", "--metadata", "a=2",
                      "--timeout", "600", "--", "sh", "-c",
                      "echo of $$; exec sleep 1000")
    assert box == kept
    row = host.show(box)
    assert (row["name"], row["metadata"], row["state"]) == \
        ("second", {"a": "2"}, "Running")
    assert row["entrypoint"][0] == "sh" and row["expires"]
    wait_until(lambda: host.ok("logs", box).startswith("of "))
    assert host.exec(box, "pwd").stdout.strip() == row["workspace"]
    assert host.exec(box, "ls", "-A").stdout == ""
    # To its asker it has run from then on; the first was built for its own.
    lives = [event["text"] for event in host.events(box)
             if event["kind"] == "lifecycle"]
    assert lives == ["kept ready", "Running"]
    lives = [event["text"] for event in host.events(first)]
    assert lives[0] == "Running" and lives.count("Running") == 1
    # It ends as others do, and another was built in its place.
    again = one_is_ready(host)
    host.ok("kill", box)
    assert make(host) == again
    assert host.state(again) == "Terminated"


def test_a_daemon_that_ends_counts_what_goes_on_alone(ready):
    host = ready
    box = host.create(*BARE)
    kept = one_is_ready(host)
    host.process.send_signal(signal.SIGTERM)
    host.process.wait(60)
    assert 'msg="the daemon ends; 1 sandboxes go on"' in host.log()
    wait_until(lambda: kept not in host.supervisors())
    assert box in host.supervisors()


def test_none_is_kept_where_none_is_wanted(gateway, tmp_path):
    host = Host(gateway, tmp_path).start()
    try:
        first, second = make(host), make(host)
        assert first != second
        assert host.log().count(": Running") == 2
        # They end a moment after they said so; what is kept stays for 60 s.
        wait_until(lambda: not host.supervisors(), 30)
    finally:
        host.stop()
    host.check()


def test_another_kind_is_another_sandbox(ready, tmp_path):
    host = ready
    (tmp_path / "other.yaml").write_text(OTHER)
    (tmp_path / "files.yaml").write_text(
        json.dumps({"version": 1, "filesystem": {"hide": ["**/.env"]}}))
    make(host)
    kept = one_is_ready(host)
    for words in (("-e", "A=b"), ("--policy", tmp_path / "other.yaml")):
        assert make(host, *words) != kept
    # What a sandbox finds on the host is settled when it begins.
    make(host, "--policy", tmp_path / "files.yaml")
    wait_until(lambda: "none is built ahead" in host.log())
    make(host, "--policy", tmp_path / "files.yaml")
    # No more than two are kept: the kind that was used least lately went.
    wait_until(lambda: kept not in host.supervisors())
    # The last one ends a moment after it said so; what is kept stays for 60 s.
    wait_until(lambda: len(host.supervisors()) <= 2, 30)


def test_of_somebodys_directory_none_is_kept(ready):
    host = ready
    for _ in range(3):
        box = host.create("--bare", "--workspace", host.workspace, "--",
                          "true")
        wait_until(lambda: host.state(box) in OVER)
    assert host.log().count(": Running") == 3


def test_with_another_default_policy_it_is_not_given_out(ready, tmp_path):
    host = ready
    make(host)
    kept = one_is_ready(host)
    (tmp_path / "default.yaml").write_text(OTHER)
    pid = host.supervisors()[kept]
    assert make(host) != kept
    wait_until(has_ended(pid))
    # The next one is of the new policy.
    kept = one_is_ready(host)
    assert make(host) == kept


def test_under_another_guardrail_it_is_not_given_out(ready, tmp_path):
    host, gateway = ready, ready.gateway
    make(host)
    kept, pid = ready_one(host)
    set_guardrail(gateway, tmp_path)
    # It ends before anybody asks.
    wait_until(has_ended(pid))
    assert make(host) != kept


@pytest.mark.parametrize("is_other", [True, False], ids=["other", "same"])
def test_where_other_files_hold_secrets_it_is_not_given_out(
        ready, tmp_path, is_other):
    """It hides those of when it was built."""
    host, gateway = ready, ready.gateway
    make(host)
    kept, pid = ready_one(host)
    config = json.loads(gateway.config.read_text())
    more = {"secrets": {"one": {"file": str(tmp_path / "one")}}} \
        if is_other else {"limits": {"sessions": 90}}
    gateway.config.write_text(json.dumps({**config, **more}))
    assert gateway.cli("config", "reload").returncode == 0
    if is_other:
        wait_until(has_ended(pid))
    assert (make(host) == kept) != is_other


@pytest.mark.parametrize("kind", ["ready", "pool"])
def test_one_that_nobody_has_does_not_keep_its_image(own_gateway, tmp_path,
                                                     kind):
    def store(text):
        (tmp_path / "root/etc").mkdir(parents=True, exist_ok=True)
        (tmp_path / "root/etc/which").write_text(text)
        with tarfile.open(tmp_path / "one.tar", "w") as tar:
            tar.add(tmp_path / "root", arcname=".")

    def image(verb):
        return subprocess.run(
            [CLI, "image", verb, "one"], env=host.env(), timeout=60,
            capture_output=True, text=True, check=False,
            **own_gateway.as_user).returncode

    ahead = {"limits": {"ready": 1}} if kind == "ready" else \
        {"pool": {"one": {"image": "one", "size": 1}}}
    store("first")
    host = Host(own_gateway, tmp_path, images={"one": str(tmp_path / "one.tar")},
                **ahead).start()
    assert image("pull") == 0
    words = (*BARE, "--image", "one")
    box = host.create(*words)
    kept, pid = ready_one(host)
    assert (image("pull"), image("rm")) == (7, 7)  # its asker has it
    host.ok("kill", box)
    is_over = has_ended(pid)
    store("second")
    assert image("pull") == 0
    wait_until(is_over)
    box = host.create(*words)
    assert box != kept
    host.ok("cp", f"{box}:/etc/which", tmp_path / "which")
    assert (tmp_path / "which").read_text() == "second"
    host.ok("kill", box)
    _, pid = ready_one(host)
    is_over = has_ended(pid)
    assert image("rm") == 0
    wait_until(is_over)
    assert "not in the store" in host.run("create", *words).stderr
    host.stop()
    host.check()


def set_guardrail(gateway, tmp_path):
    (tmp_path / "guardrail.yaml").write_text(POLICY)
    config = json.loads(gateway.config.read_text())
    gateway.config.write_text(json.dumps(
        {**config, "guardrail": str(tmp_path / "guardrail.yaml")}))
    done = gateway.cli("config", "reload")
    assert done.returncode == 0 and "guardrail" in done.stdout, done


@pytest.fixture
def pooled(own_gateway, tmp_path):
    (tmp_path / "default.yaml").write_text(POLICY)
    host = Host(own_gateway, tmp_path, pool={"plain": {"size": 2}},
                default_policy=str(tmp_path / "default.yaml")).start()
    yield host
    host.stop()
    host.check()


def waiting(host):
    """Those of the pool that are built: {id: pid}."""
    seen = {row["id"] for row in host.list()}
    return {box: pid for box, pid in host.supervisors().items()
            if box not in seen and f'msg="{box}: Running"' in host.log()}


def filled(host, *without):
    def look():
        # One look: what is returned is what was found to be whole.
        found = waiting(host)
        return len(found) == 2 and not set(found) & set(without) and found
    return wait_until(look)


@pytest.mark.parametrize("what", ["guardrail", "default policy", "limits"])
def test_a_pool_is_of_what_holds_now(pooled, tmp_path, what):
    host, gateway = pooled, pooled.gateway
    given = host.create(*BARE)
    before = filled(host)
    ends = [has_ended(pid) for pid in before.values()]
    if what == "guardrail":
        set_guardrail(gateway, tmp_path)
    elif what == "default policy":
        (tmp_path / "default.yaml").write_text(OTHER)
    else:
        # What no session begins with changes nothing.
        config = json.loads(gateway.config.read_text())
        gateway.config.write_text(json.dumps(
            {**config, "limits": {"sessions": 7}}))
        assert gateway.cli("config", "reload").returncode == 0
        assert host.create(*BARE) in before
        return
    # Others are there, without anybody asking; who has one keeps it.
    after = filled(host, *before)
    wait_until(lambda: all(is_over() for is_over in ends))
    assert host.create(*BARE) in after
    assert host.state(given) == "Running"


def test_a_pool_is_built_anew_when_the_gateway_is_back(pooled):
    host, gateway = pooled, pooled.gateway
    before = filled(host)
    gateway.stop()
    gateway.start()
    after = filled(host, *before)
    assert host.create(*BARE) in after


def test_one_that_was_given_another_policy_is_not_given_out(ready):
    host = ready
    before = sessions(host)
    make(host)
    kept, pid = ready_one(host)
    # Of those that were there for a moment none is left.
    session, = wait_until(lambda: len(sessions(host) - before) == 1 and
                          sessions(host) - before)
    host.gateway.call("PUT", f"/v1/sessions/{session}/policy",
                      json.dumps({"policy": OTHER}))
    wait_until(has_ended(pid))
    assert make(host) != kept


def test_one_of_a_pool_that_was_given_another_policy_is_not_given_out(
        own_gateway, tmp_path):
    host = Host(own_gateway, tmp_path, pool={"plain": {"size": 1}}).start()
    try:
        kept, pid = ready_one(host)
        session, = sessions(host)
        own_gateway.call("PUT", f"/v1/sessions/{session}/policy",
                         json.dumps({"policy": OTHER}))
        wait_until(has_ended(pid))
        assert host.create(*BARE) != kept
    finally:
        host.stop()
    host.check()


def test_a_daemon_that_ends_gives_none_out_any_more(ready):
    """Its supervisor is asked just then, and does not answer."""
    host = ready
    make(host)
    kept = one_is_ready(host)
    wait_until(lambda: set(host.supervisors()) == {kept})
    pid = host.supervisors()[kept]
    os.kill(pid, signal.SIGSTOP)
    try:
        asking = host.popen("create", *BARE, "--", "true")
        # Another is built in its place: so it is meant for somebody.
        wait_until(lambda: set(host.supervisors()) - {kept})
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(30) == 0, host.log()[-3000:]
        assert asking.wait(60) != 0
        asking.communicate()
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not host.supervisors())
    assert not crashes_in(host.log())


@pytest.mark.parametrize("is_heard", [False, True])
def test_one_that_is_given_to_somebody_who_is_gone_ends(ready, is_heard):
    """Its id was told to no one, so nobody else would end it."""
    host = ready
    make(host)
    kept, pid = ready_one(host)
    wait_until(lambda: set(host.supervisors()) == {kept})
    os.kill(pid, signal.SIGSTOP)
    try:
        asking = host.popen("create", *BARE)
        # Another is built in its place: so it is meant for somebody.
        wait_until(lambda: set(host.supervisors()) - {kept})
        if not is_heard:
            asking.kill()
            asking.wait(30)
    finally:
        os.kill(pid, signal.SIGCONT)
    out, _ = asking.communicate(timeout=60)
    if is_heard:
        assert (asking.returncode, out) == (0, kept + "\n")
        assert host.state(kept) == "Running"
        assert host.run("kill", kept).returncode == 0
        return
    wait_until(has_ended(pid))
    assert host.show(kept)["reason"] == "killed"


def test_when_the_gateway_was_away_it_is_not_given_out(ready):
    host, gateway = ready, ready.gateway
    make(host)
    _, pid = ready_one(host)
    gateway.stop()
    gateway.start()
    box = make(host)
    wait_until(has_ended(pid))
    assert host.show(box)["reason"] == "exited"
    # Then as before.
    kept = one_is_ready(host)
    assert make(host) == kept


def test_a_daemon_that_is_killed_leaves_none(ready):
    host = ready
    box = host.create(*BARE)
    kept, pid = ready_one(host)
    host.kill()
    host.start()
    assert [row["id"] for row in host.list()] == [box]
    wait_until(has_ended(pid))
    assert make(host) not in (box, kept)
    assert host.exec(box, "true").returncode == 0
    host.ok("kill", box)


def test_one_that_is_killed_is_made_anew(ready):
    host = ready
    make(host)
    kept, pid = ready_one(host)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: f"{kept}: Failed" in host.log())
    assert make(host) != kept
    # A process of its own sweeps what it left.
    wait_until(lambda: not host.groups(pid))


def test_they_end_with_the_daemon_and_their_sessions(ready):
    host = ready
    before = sessions(host)
    make(host)
    one_is_ready(host)
    wait_until(lambda: len(sessions(host) - before) == 1)
    host.stop()
    wait_until(lambda: sessions(host) == before)
