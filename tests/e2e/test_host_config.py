"""host.yaml: what holds is shown, and it is read again while the daemon runs:
all of it holds then, or nothing of it."""
import hashlib
import json
import os
import signal
import subprocess
import tarfile

import pytest
from api import Api
from gateway import CLI
from host import PROGRAM, Host, has_ended
from test_host_images import make_image, stop_a_copy
from waiting import wait_until

BARE = ("--workspace", "-", "--bare")
READ = "the configuration was read again, and holds"
KEPT = "the configuration is not taken, and nothing changes"


def config(host, verb, *words):
    return subprocess.run([CLI, "config", verb, "--host", *words],
                          env=host.env(), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60,
                          **host.gateway.as_user)


def settings(host):
    return json.loads(host.config.read_text())


def change(host, **more):
    """Another file, read again; what was said."""
    host.config.write_text(json.dumps({**settings(host), **more}, indent=0))
    return config(host, "reload")


def changed(host, **more):
    done = change(host, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def policy(path, word):
    path.write_text("version: 1\n"
                    f"environment: {{set: {{WORD: {word}}}}}\n")
    return str(path)


def word_of(host, box):
    return host.exec(box, "sh", "-c", "echo $WORD").stdout.strip()


@pytest.fixture
def host(gateway, tmp_path):
    host = Host(gateway, tmp_path, default_policy=policy(
        tmp_path / "one.yaml", "one")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture
def api(gateway, tmp_path):
    api = Api(gateway, tmp_path, policies={
        "named": policy(tmp_path / "one.yaml", "one")}).start()
    yield api
    api.stop()
    api.check()


# ---- shown ----

def test_what_holds_is_shown_with_where_it_was_said(host, tmp_path):
    changed(host, volumes=["/srv/data"], uid_range="3000000-3000999",
            images={"a": {"source": "/srv/a.tar", "mode": "read"}},
            limits={"ready": 0, "snapshot_bytes": "5MiB"})
    lines = host.config.read_text().splitlines()
    text = config(host, "dump").stdout

    def at(key):
        number = next(i for i, line in enumerate(lines, 1)
                      if line.startswith(f'"{key}"'))
        return f"  # {host.config}:{number}\n"
    assert f'run: "{host.dir}/host"' + at("run") in text
    assert f'default_policy: "{tmp_path}/one.yaml"' + \
        at("default_policy") in text
    assert "uid_range: 3000000-3000999" + at("uid_range") in text
    assert "volumes:" + at("volumes") + '  - "/srv/data"\n' in text
    assert '  "a":\n    source: "/srv/a.tar"\n    mode: "read"\n' in text
    assert "  snapshot_bytes: 5MiB" + at("snapshot_bytes") in text
    assert "  sandboxes: 500  # default\n" in text
    assert "# pool: none  # default\n" in text
    # It is a host.yaml, and what the program would make of the file.
    again = tmp_path / "again.yaml"
    again.write_text(text)
    for words in (["-t", "-c", again], ["--dump", "-c", host.config]):
        done = subprocess.run([PROGRAM, *words], capture_output=True,
                              text=True, env=host.env())
        assert done.returncode == 0, done.stderr
    assert done.stdout == text
    shown = json.loads(config(host, "dump", "-o", "json").stdout)
    assert shown["text"] == text


def test_no_hash_of_a_key_is_shown(api):
    text = config(api, "dump").stdout
    key, = settings(api)["api_keys"]
    assert "# api_keys: 1, not shown" in text
    assert "sha256" not in text and key.partition(":")[2] not in text
    assert f'listen:  # {api.config}:1\n  - "127.0.0.1:{api.port}"\n' in text


# ---- read again ----

def test_limits_and_the_default_policy_hold_without_a_restart(host, tmp_path):
    old = host.create(*BARE)
    assert word_of(host, old) == "one"
    assert changed(host, limits={"ready": 0, "sandboxes": 1}) == \
        "the configuration holds; changed: limits.sandboxes\n"
    done = host.run("create", *BARE)
    assert done.returncode != 0 and "limits.sandboxes" in done.stderr
    assert changed(host, limits={"ready": 0}, default_policy=policy(
        tmp_path / "two.yaml", "two")) == \
        "the configuration holds; changed: default_policy, " \
        "limits.sandboxes\n"
    assert word_of(host, host.create(*BARE)) == "two"
    # Who runs has what it began with.
    assert word_of(host, old) == "one"
    assert config(host, "reload").stdout == \
        "the configuration holds; nothing in it differs\n"


def test_what_needs_a_restart_is_refused_by_its_name(host):
    good = host.config.read_text()
    done = change(host, store="/elsewhere", gateway="/run/other",
                  limits={"ready": 0, "sandboxes": 1})
    assert (done.returncode, "only a restart changes: gateway, store"
            in done.stderr) == (3, True), done
    # Nothing of it holds, not even what could.
    assert "sandboxes: 500" in config(host, "dump").stdout
    for _ in range(2):
        host.create(*BARE)
    host.config.write_text(good)
    assert config(host, "reload").returncode == 0


def test_of_a_file_with_errors_nothing_holds(host):
    good = host.config.read_text()
    host.config.write_text("limits: {sandboxes: 0}\n")
    done = config(host, "reload")
    assert done.returncode == 3
    assert f"{host.config}:1:21" in done.stderr
    assert "all is as it was" in done.stderr
    host.config.write_text(good)
    done = change(host, pool={"a": {"size": 1, "policy": "/none.yaml"}})
    assert done.returncode == 3 and "/none.yaml" in done.stderr
    assert host.list() == []
    host.create(*BARE)


def test_a_hangup_is_a_reload(host):
    good = host.config.read_text()
    for text, says in (
            (json.dumps({**settings(host), "limits": {"sandboxes": 7}}),
             f"{READ}; changed: limits.sandboxes, limits.ready"),
            ("{limits: {sandboxes: 0}}", KEPT), (good, READ)):
        before = host.log().count(says)
        host.config.write_text(text)
        host.process.send_signal(signal.SIGHUP)
        wait_until(lambda: host.log().count(says) > before)
    assert host.run("list").returncode == 0


def test_an_image_comes_and_goes(host, tmp_path):
    tree = tmp_path / "tree"
    for name in ("bin", "lib", "lib64", "usr", "etc"):
        (tree / name).mkdir(parents=True)
    assert host.run("create", *BARE, "--image", "new").returncode == 3
    assert "images" in changed(host, images={"new": str(tree)})
    box = host.create(*BARE, "--image", "new")
    assert host.show(box)["image"] == "new"
    assert "images" in changed(host, images={})
    assert host.run("create", *BARE, "--image", "new").returncode == 3
    assert host.state(box) == "Running"


def test_an_image_that_is_unpacked_meanwhile_is_what_is_said_by_then(
        host, tmp_path):
    tar = tmp_path / "image.tar"
    with tarfile.open(tar, "w") as out:
        out.add(make_image(tmp_path / "root"), ".")
        # That takes a while.
        for number in range(4000):
            out.addfile(tarfile.TarInfo(f"opt/{number}"))
    digest = "sha256:" + hashlib.sha256(tar.read_bytes()).hexdigest()
    other = tmp_path / "other.tar"
    other.write_bytes(tar.read_bytes())
    for said, code, words in (
            ({"source": str(tar), "digest": "sha256:" + "0" * 64}, 1,
             "as host.yaml says"),
            ({"source": str(other)}, 1, "another source by now"),
            ({"source": str(tar), "digest": digest}, 0, "")):
        changed(host, images={"new": {"source": str(tar)}})
        command = host.command("pull", "new")
        command[1] = "image"
        with subprocess.Popen(command, env=host.env(), text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as asking:
            pid = stop_a_copy(host)
            changed(host, images={"new": said})
            os.kill(pid, signal.SIGCONT)
            text = asking.communicate(timeout=60)[1]
        assert (asking.returncode, words in text) == (code, True), text
        assert (host.dir / "store/images/new").exists() == (code == 0)


# ---- pools ----

def running(host):
    """Of supervisors those that are built."""
    return {box for box in host.supervisors()
            if f'msg="{box}: Running"' in host.log()}


def test_a_pool_comes_changes_and_goes(host, tmp_path):
    assert "pool" in changed(host, pool={"plain": {"size": 2}})
    wait_until(lambda: len(running(host)) == 2)
    first = running(host)
    given = host.create(*BARE)
    assert given in first and word_of(host, given) == "one"
    wait_until(lambda: len(running(host)) == 3)
    # Another default policy: those that nobody has are built anew.
    old = {box: has_ended(pid) for box, pid in host.supervisors().items()
           if box != given}
    changed(host, default_policy=policy(tmp_path / "two.yaml", "two"))
    wait_until(lambda: all(is_over() for is_over in old.values()))
    wait_until(lambda: len(running(host) - set(old)) == 3)
    assert word_of(host, given) == "one"
    box = host.create(*BARE)
    assert box not in old and word_of(host, box) == "two"
    changed(host, pool={})
    wait_until(lambda: set(host.supervisors()) == {given, box})


def test_what_nobody_has_yet_is_in_nobodys_way(host):
    changed(host, pool={"plain": {"size": 2}},
            limits={"ready": 0, "sandboxes": 2})
    wait_until(lambda: len(running(host)) == 2)
    kept = running(host)
    given = host.create(*BARE)
    # One that is of no pool, while another waits.
    box = host.create("--workspace", "-", "-e", "A=b")
    assert given in kept and box not in kept
    done = host.run("create", *BARE)
    assert done.returncode != 0 and "2 sandboxes already" in done.stderr
    host.ok("kill", box)
    assert host.create(*BARE) not in (given, box)


def test_who_has_what_did_not_change_keeps_it(host):
    changed(host, pool={"plain": {"size": 1}})
    wait_until(lambda: len(running(host)) == 1)
    kept, = running(host)
    changed(host, limits={"ready": 0, "sandboxes": 9})
    assert host.create(*BARE) == kept


# ---- the API ----

def test_keys_and_policies_of_the_api_hold_without_a_restart(api, tmp_path):
    pids = api.api_pids()
    box = api.make(extensions={"sallyport.policy": "named"})
    old = api.key
    new, line = subprocess.run([PROGRAM, "--new-key"], check=True, text=True,
                               capture_output=True).stdout.split()
    assert changed(api, api_keys=[line], policies={
        "other": policy(tmp_path / "two.yaml", "two")}) == \
        "the configuration holds; changed: api_keys, policies\n"
    assert api.call("GET", "/v1/sandboxes", key=old).status == 401
    api.key = new
    assert api.call("GET", f"/v1/sandboxes/{box}").status == 200
    assert word_of(api, api.make(
        extensions={"sallyport.policy": "other"})) == "two"
    answer = api.call("POST", "/v1/sandboxes", {
        "image": {"uri": "host"}, "entrypoint": ["true"],
        "resourceLimits": {}, "extensions": {"sallyport.policy": "named"}})
    assert answer.status == 400
    # The same process: what runs through it goes on.
    assert api.api_pids() == pids
    done = change(api, listen=["127.0.0.1:1"])
    assert done.returncode == 3 and "listen" in done.stderr
