"""Isolated sessions of a sandbox: raw requests, and the SDK of OpenSandbox."""
import json
import os
import re
import threading

import pytest
from api import Api, install_sdk
from execd import Execd, told
from isolated import Isolated, state
from waiting import wait_until

OVERLAY = """version: 1
filesystem: {workspace: {mode: overlay}}
"""
READ = """version: 1
filesystem: {workspace: {mode: read}}
"""
PROGRAM = """
const box = await Sandbox.connect({ connectionConfig: connection,
                                    sandboxId: process.argv[2] });
const path = process.argv[3];
const got = {};
const can = await box.isolation.capabilities();
got.can = [can.available, can.commit_supported, can.diff_supported];
const one = await box.isolation.create({
  workspace: { path, mode: "overlay" }, idle_timeout_seconds: 900,
  env_passthrough: { mode: "deny", keys: ["NONE"] } });
await one.run("cd /usr; A=kept");
const run = await one.run("echo $A $B; pwd; cat " + path + "/base; exit 3",
                          { envs: { B: "it's" } });
got.run = [run.exitCode, run.logs.stdout.map(l => l.text)];
got.late = (await one.run("sleep 77.5", { timeout_seconds: 1 })).exitCode;
await one.files.writeFiles([{ path: path + "/sdk", data: "inside" }]);
got.read = await one.files.readFile(path + "/sdk");
got.outside = (await box.commands.run("ls " + path)).logs.stdout
  .map(l => l.text);
const state = await one.get();
got.state = [state.status, state.workspace, state.share_net,
             state.idle_timeout_seconds, state.profile,
             state.env_passthrough];
got.list = (await box.isolation.list()).map(
  s => [s.session_id === one.sessionId, s.status]);
const again = await box.isolation.attach(one.sessionId);
got.again = (await again.run("echo $A")).logs.stdout.map(l => l.text);
await one.delete();
got.left = (await box.isolation.list()).length;
try { await one.run("true"); } catch (error) { got.gone = error.statusCode; }
const once = await box.isolation.runOnce("cat base", path,
                                         { workspaceMode: "ro" });
got.once = [once.exitCode, once.logs.stdout.map(l => l.text)];
await box.close();
console.log(JSON.stringify(got));
"""


@pytest.fixture(scope="module")
def volumes(tmp_path_factory):
    return tmp_path_factory.mktemp("volumes")


@pytest.fixture(scope="module")
def host(gateway, volumes, tmp_path_factory):
    host = Api(gateway, tmp_path_factory.mktemp("iso"),
               volumes=[str(volumes)]).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture(scope="module")
def iso(host):
    return Isolated(host, host.make())


@pytest.fixture
def session(iso):
    name = iso.open()
    yield name
    iso.close(name)


# ---- life ----

def test_the_sdk_uses_isolated_sessions(host, iso, tmp_path):
    got = host.node(install_sdk(tmp_path), PROGRAM, iso.box, iso.path)
    assert got == {
        "can": [True, True, True],
        "run": [3, ["kept it's", "/usr", "old"]],
        "late": -1, "read": "inside", "outside": ["base"],
        "state": ["active", {"path": iso.path, "mode": "overlay"}, False,
                  900, "strict", {"mode": "deny", "keys": ["NONE"]}],
        "list": [[True, "active"]], "again": ["kept"], "left": 0,
        "gone": 404, "once": [0, ["old"]],
    }


def test_what_it_wrote_is_told_and_committed(iso, session):
    assert iso.run(session, "echo new > base; mkdir -p d; echo x > d/f; "
                            "ln -s base link; mkfifo pipe")[0] == 0
    told_of = iso.ask("GET", session, "/diff")
    assert [(one["path"], one["kind"], one["type"])
            for one in told_of["changes"]] == [
        ("base", "changed", "file"), ("d", "added", "directory"),
        ("d/f", "added", "file"), ("link", "added", "symlink"),
        ("pipe", "added", "other")]
    assert (told_of["total"], told_of["truncated"]) == (5, False)
    assert iso.execd.run("cat base; ls")[1] == ["old", "base"]
    done = iso.ask("POST", session, "/commit", {})
    assert (done["applied"], done["refused"]) == (4, 1)
    assert [one["path"] for one in done["refusals"]] == ["pipe"]
    assert iso.execd.run("cat base d/f; readlink link")[1] == [
        "new", "x", "base"]
    # It ended with that.
    iso.ask("GET", session, "", status=404)
    assert iso.execd.run("rm -r d link; echo old > base")[0] == 0


def test_only_the_named_paths_are_committed(iso, session):
    iso.run(session, "echo 1 > one; echo 2 > two")
    assert iso.ask("POST", session, "/commit", {"paths": ["two"]})[
        "applied"] == 1
    assert iso.execd.run("ls; rm two")[1] == ["base", "two"]


def test_a_conflict_writes_nothing_and_ends_nothing(iso, session):
    iso.run(session, "echo inside > base; echo more > more")
    assert iso.execd.run("echo outside > base")[0] == 0
    answer = iso.ask("POST", session, "/commit", {}, status=409)
    assert answer["code"] == "CONFLICT" and "base" in answer["message"]
    assert iso.execd.run("cat base; ls")[1] == ["outside", "base"]
    assert iso.run(session, "cat more")[1] == ["more"]
    assert iso.ask("POST", session, "/commit", {"force": True})[
        "applied"] == 2
    assert iso.execd.run("cat base; rm more; echo old > base")[1] == [
        "inside"]


def test_what_is_not_committed_is_gone(iso):
    session = iso.open()
    iso.run(session, "echo new > base; rm -f nothing")
    iso.ask("DELETE", session)
    assert iso.execd.run("cat base")[1] == ["old"]
    iso.ask("DELETE", session, status=404)


@pytest.mark.parametrize("mode,code,left", [
    ("rw", 0, ["new"]),
    ("ro", 1, ["old"]),
])
def test_modes_that_keep_no_changes(iso, mode, code, left):
    session = iso.open(mode)
    assert iso.run(session, "echo new > base")[0] == code
    assert iso.execd.run("cat base; echo old > base")[1] == left
    for method, path in (("GET", "/diff"), ("POST", "/commit")):
        assert iso.ask(method, session, path,
                       {} if method == "POST" else None, status=409)[
            "message"]
    iso.close(session)


def test_git_hooks_and_pieces_of_the_host_are_never_committed(iso):
    iso.execd.run("git init -q .")
    session = iso.open()
    code = iso.run(session, "echo '#!/bin/sh' > .git/hooks/post-commit")[0]
    done = iso.ask("POST", session, "/commit", {})
    assert code != 0 or done["refused"] == 1
    assert iso.execd.run("ls .git/hooks/post-commit; rm -rf .git")[1] == []


# ---- ends ----

def test_it_ends_with_its_sandbox(host):
    iso = Isolated(host, host.make())
    session = iso.open()
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")
    wait_until(lambda: host.call("GET", f"/v1/sandboxes/{session}").json[
        "status"]["state"] == "Terminated")


def test_nothing_is_kept_of_those_of_a_sandbox_that_is_over(host):
    iso = Isolated(host, host.make())
    iso.open(idle_timeout_seconds=0)
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")
    wait_until(lambda: iso.execd.json("GET", "/v1/isolated/sessions") == {
        "sessions": []})


def test_an_idle_one_is_ended(host, iso):
    session = iso.open(idle_timeout_seconds=1)
    wait_until(lambda: iso.execd.ask(
        "GET", f"/v1/isolated/session/{session}")[0] == 404)
    wait_until(lambda: host.call("GET", f"/v1/sandboxes/{session}").json[
        "status"]["state"] == "Terminated")


def test_one_that_ended_by_itself_is_dead(host, iso, session):
    host.call("DELETE", f"/v1/sandboxes/{session}")
    assert iso.ask("GET", session)["status"] == "dead"
    iso.ask("POST", session, "/run", {"code": "true"}, status=409)
    iso.ask("DELETE", session)


def test_it_rests_with_its_sandbox(host, iso, session):
    for verb, states in (("pause", "Paused"), ("resume", "Running")):
        assert host.call("POST", f"/v1/sandboxes/{iso.box}/{verb}"
                         ).status == 202
        wait_until(lambda: state(host, session) == states)
        assert iso.ask("GET", session)["status"] == "active"
    assert iso.run(session, "cat base")[1] == ["old"]


def bounded(host, box):
    """Was it built within bounds? The last field of its record says so."""
    return bool((host.dir / "host/sandboxes" / box / "record"
                 ).read_bytes()[-1])


@pytest.mark.parametrize("text", [True, False])
def test_the_next_daemon_knows_whose_policy_is_bounded(
        gateway, tmp_path, text):
    """One that came as text is a stranger's, one of host.yaml is not."""
    policy = tmp_path / "named.yaml"
    policy.write_text("version: 1\nname: named\n")
    host = Api(gateway, tmp_path, policies={"named": str(policy)}).start()
    try:
        box = host.make(extensions={
            "sallyport.policy": "version: 1\nname: text\n" if text
            else "named"})
        host.kill()
        host.start()
        assert bounded(host, Isolated(host, box).open()) == text
    finally:
        host.stop()
    host.check()


def test_its_sandbox_alone_knows_it(host, iso, session):
    other = Execd(host, host.make())
    status, _, text = other.ask("POST", f"/v1/isolated/session/{session}/run",
                                {"code": "true"})
    assert status == 404, text
    assert other.json("GET", "/v1/isolated/sessions") == {"sessions": []}
    listed = host.call("GET", "/v1/sandboxes?pageSize=200").json["items"]
    assert session not in [one["id"] for one in listed]


def test_nobody_says_that_a_sandbox_is_one(host, iso, session):
    name = "opensandbox.io/isolated-of"
    for method, path, body in (
            ("PATCH", f"/v1/sandboxes/{session}/metadata", {name: None}),
            ("PATCH", f"/v1/sandboxes/{iso.box}/metadata", {name: "x"})):
        assert host.call(method, path, body).status in (400, 403)


@pytest.mark.parametrize("body,status", [
    ({}, 400),
    ({"workspace": {"path": "relative"}}, 400),
    ({"workspace": {"path": "/etc"}}, 400),
    ({"workspace": {"path": "/"}}, 400),
    ({"workspace": {"mode": "all"}}, 400),
    ({"profile": "loose"}, 400),
    ({"share_net": 1}, 400),
    ({"idle_timeout_seconds": -1}, 400),
    ({"idle_timeout_seconds": 1 << 40}, 400),
    ({"binds": [{"source": "/etc"}]}, 501),
    ({"binds": [{"source": "relative"}]}, 400),
    ({"binds": [{"source": "/mnt/../etc"}]}, 400),
    ({"binds": [{"dest": "/mnt"}]}, 400),
    ({"binds": {"source": "/mnt"}}, 400),
    ({"binds": 17 * [{"source": "/mnt"}]}, 400),
    ({"extra_writable": ["/etc"]}, 501),
    ({"extra_writable": ["/tmp"]}, 501),
    ({"extra_writable": [1]}, 400),
    ({"uid": 54321}, 501),
    ({"uid": -1}, 400),
    ({"gid": 0}, 400),
    ({"uid_mode": "userns"}, 501),
    ({"uid_mode": "root"}, 400),
    ({"env_passthrough": {"mode": "some"}}, 400),
    ({"env_passthrough": {"keys": [""]}}, 400),
    ({"env_passthrough": []}, 400),
], ids=str)
def test_what_can_not_be_is_refused(iso, body, status):
    wanted = {"workspace": {"path": iso.path, "mode": "overlay"}} if body \
        else {}
    for name, value in body.items():
        if name == "workspace":
            wanted["workspace"] = {**wanted["workspace"], **value}
        else:
            wanted[name] = value
    answer = iso.execd.json("POST", "/v1/isolated/session", wanted, status)
    assert answer["message"]
    assert iso.execd.json("GET", "/v1/isolated/sessions") == {"sessions": []}


@pytest.mark.parametrize("body", [
    {}, {"code": ""}, {"code": 1}, {"code": "true", "timeout_seconds": "1"},
    {"code": "true", "envs": []}, {"code": "true", "envs": {"A-B": "1"}},
    {"code": "true", "envs": {"A": 1}},
    {"code": "true", "envs": {"A": "x" * 200000}},
], ids=lambda body: str(body)[:40])
def test_a_run_that_makes_no_sense_is_refused(iso, session, body):
    assert iso.ask("POST", session, "/run", body, status=400)["message"]
    assert iso.run(session, "true")[0] == 0


@pytest.mark.parametrize("body", [
    {"paths": []}, {"paths": [1]}, {"paths": "base"}, {"paths": ["/etc"]},
    {"paths": ["x" * 600]}, {"force": "yes"},
], ids=lambda body: str(body)[:40])
def test_a_commit_that_makes_no_sense_is_refused(iso, session, body):
    assert iso.ask("POST", session, "/commit", body, status=400)["message"]
    assert iso.run(session, "true")[0] == 0


def test_an_isolated_session_has_none_of_its_own(host, iso, session):
    inner = Execd(host, session)
    assert inner.json("POST", "/v1/isolated/session", {
        "workspace": {"path": iso.path}}, 501)["message"]


def test_the_policy_bounds_the_mode(host, tmp_path):
    for text, mode, status in ((READ, "ro", 201), (READ, "rw", 403),
                               (READ, "overlay", 403), (OVERLAY, "ro", 501)):
        policy, tree = tmp_path / "policy.yaml", tmp_path / "tree"
        policy.write_text(text)
        tree.mkdir(exist_ok=True)
        (tree / "base").write_text("old\n")
        box = host.create("--policy", str(policy), "--workspace", str(tree))
        execd = Execd(host, box)
        execd.json("POST", "/v1/isolated/session", {
            "workspace": {"path": str(tree), "mode": mode}}, status)
        host.call("DELETE", f"/v1/sandboxes/{box}")


def test_variables_of_a_run_are_judged_as_well(host, tmp_path):
    policy, tree = tmp_path / "policy.yaml", tmp_path / "tree"
    policy.write_text("version: 1\ncommands: {autonomy: read-only}\n")
    tree.mkdir()
    box = host.create("--policy", str(policy), "--workspace", str(tree))
    execd = Execd(host, box)
    session = execd.json("POST", "/v1/isolated/session", {
        "workspace": {"path": str(tree)}}, 201)["session_id"]
    run = f"/v1/isolated/session/{session}/run"
    assert told(execd.stream(run, {"code": "echo a$A", "envs": {"A": "1"}}
                             ))[:2] == (0, ["a1"])
    for envs in ({"PATH": "/x"}, {"A": "1", "LD_PRELOAD": "/x"}):
        status, _, text = execd.ask("POST", run, {"code": "ls",
                                                  "envs": envs})
        assert status == 403 and b"command_risk" in text, (status, text)
    host.call("DELETE", f"/v1/sandboxes/{box}")


def test_sessions_are_bounded(host):
    iso = Isolated(host, host.make())
    sessions = [iso.open("ro") for _ in range(8)]
    assert "8" in iso.create("ro", 429)["message"]
    iso.ask("DELETE", sessions.pop())
    sessions.append(iso.open("ro"))
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


def test_they_are_bounded_when_many_are_asked_for_at_once(host):
    iso = Isolated(host, host.make())
    got = []

    def create():
        got.append(iso.execd.ask("POST", "/v1/isolated/session", {
            "workspace": {"path": iso.path, "mode": "ro"}})[0])

    threads = [threading.Thread(target=create) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == 8 * [201] + 4 * [429]
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


# ---- what of its sandbox it sees ----

def test_binds_show_volumes_elsewhere_and_never_more(host, volumes):
    for name in ("shown/deep", "hidden"):
        (volumes / name).mkdir(parents=True)
    (volumes / "shown/deep/file").write_text("shared\n")
    (volumes / "hidden/file").write_text("secret\n")
    # A link in what may be written leads out of it.
    (volumes / "shown/out").symlink_to("../hidden")
    (volumes / "shown/abs").symlink_to(volumes / "hidden")
    box = host.make(volumes=[
        {"name": "w", "mountPath": "/data/w", "subPath": "shown",
         "host": {"path": str(volumes)}},
        {"name": "r", "mountPath": "/data/r", "subPath": "shown",
         "host": {"path": str(volumes)}, "readOnly": True}])
    iso = Isolated(host, box)
    binds = [{"source": "/data/w/deep", "dest": "/data/there"},
             {"source": "/data/w/deep/", "dest": "/data/read",
              "readonly": True},
             {"source": "/data/r/deep", "readonly": True}]
    made = iso.create(binds=binds, extra_writable=["/data/w"])
    session = made["session_id"]
    assert made["binds"] == binds and made["extra_writable"] == ["/data/w"]
    assert iso.ask("GET", session)["binds"] == binds
    code, lines, _ = iso.run(
        session, "cat /data/there/file /data/read/file /data/r/deep/file; "
        "echo new > /data/there/made; echo no > /data/read/made2; "
        "echo no > /data/r/deep/made3; ls /data/w/deep")
    assert lines == 3 * ["shared"] + ["file", "made"]
    assert sorted(os.listdir(volumes / "shown/deep")) == ["file", "made"]
    iso.close(session)
    # The same one, to read alone; then what it may not have at all.
    session = iso.open(binds=[{"source": "/data/w", "readonly": True}])
    assert iso.run(session, "echo no > /data/w/made4")[0] != 0
    iso.close(session)
    for more, status in (
            ({"extra_writable": ["/data/r"]}, 403),
            ({"binds": [{"source": "/data/r/deep", "dest": "/data/x"}]}, 403),
            ({"binds": [{"source": "/data/w2", "dest": "/data/x"}]}, 501),
            ({"binds": [{"source": iso.path, "dest": "/data/x"}]}, 501)):
        assert iso.create(status=status, **more)["message"]
    for link in ("out", "abs", "none"):
        status, _, text = iso.execd.ask("POST", "/v1/isolated/session", {
            "workspace": {"path": iso.path}, "binds": [
                {"source": f"/data/w/{link}", "dest": "/data/x"}]})
        assert status >= 400, (link, text)
    assert iso.execd.json("GET", "/v1/isolated/sessions") == {"sessions": []}
    assert host.call("DELETE", f"/v1/sandboxes/{box}").status == 204


@pytest.mark.parametrize("names, is_shown", [
    ("hide: [/data/w/secret]", False), ("protect: [/data/w/secret]", False),
    ("hide: ['/data/**/secret']", False), ("hide: ['/da*/w/s']", False),
    ("hide: ['/{data,srv}/w/secret']", False), ("hide: [/data]", False),
    ("hide: [/data/w2/secret, ./secret, '/srv/*']", True)], ids=str)
def test_binds_show_nowhere_else_what_a_policy_hides_by_name(
        host, volumes, names, is_shown):
    where = volumes / "named"
    where.mkdir(exist_ok=True)
    (where / "secret").write_text("secret\n")
    box = host.make(
        volumes=[{"name": "w", "mountPath": "/data/w",
                  "host": {"path": str(where)}}],
        extensions={"sallyport.policy": "version: 1\nname: named\n"
                    f"filesystem: {{{names}}}\n"})
    iso = Isolated(host, box)
    for bind in ({"source": "/data/w", "dest": "/data/x"},
                 {"source": "/data/w/secret", "dest": "/data/x/secret"},
                 {"source": "/data/w/secret"}):
        made = iso.create(binds=[bind], status=201 if is_shown else 403)
        if is_shown:
            assert iso.run(made["session_id"], "cat /data/*/secret")[0] == 0
            iso.close(made["session_id"])
    # Where it is it may be, to be read alone.
    iso.close(iso.open(binds=[{"source": "/data/w", "readonly": True}]))
    assert host.call("DELETE", f"/v1/sandboxes/{box}").status == 204


def test_it_has_the_variables_that_pass_and_its_sandboxes_user(host):
    iso = Isolated(host, host.make(env={"ONE": "1", "TWO": "2"}))
    uid, gid = map(int, iso.execd.run("id -u; id -g")[1])
    for passes, left in ((None, ["1 2"]),
                         ({"mode": "allow", "keys": ["TWO"]}, ["- 2"]),
                         ({"mode": "allow"}, ["- -"]),
                         ({"mode": "deny", "keys": ["TWO"]}, ["1 -"]),
                         ({"mode": "deny"}, ["1 2"])):
        session = iso.open("ro", env_passthrough=passes, uid=uid, gid=gid)
        shown = iso.ask("GET", session)
        assert (shown["uid"], shown["gid"]) == (uid, gid)
        assert shown.get("env_passthrough") == passes
        assert iso.run(session, "echo ${ONE--} ${TWO--}; id -u; "
                                "test -n \"$HTTPS_PROXY\"")[:2] == (
            0, left + [str(uid)])
        iso.close(session)
    assert str(uid) in iso.create(uid=uid + 1, status=501)["message"]
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


# ---- what it may reach ----

CURL = "curl -s -o /dev/null -w '%{http_code}\\n' http://sallyport.internal/policy"


def test_the_network_is_shared_only_when_asked_for(host):
    iso = Isolated(host, host.make(networkPolicy={
        "egress": [{"action": "allow", "target": "one.example"}]}))
    alone, shared = iso.open(), iso.open(share_net=True)
    assert iso.run(shared, CURL)[:2] == (0, ["200"])
    assert iso.run(alone, CURL)[0] in (5, 6, 7)
    # A change of what the sandbox may reach ends those that share it.
    answer = host.inside("PATCH", iso.box, "/policy", [
        {"action": "deny", "target": "one.example"}], 18080)
    assert answer.status == 200, answer
    iso.ask("GET", shared, status=404)
    assert iso.run(alone, "true")[0] == 0
    after = iso.open(share_net=True)
    text = iso.run(after, "curl -s http://sallyport.internal/policy")[1]
    assert "one.example" in json.dumps(text)
    host.call("DELETE", f"/v1/sandboxes/{iso.box}")


# Says so to every pipe that it was given beside its standard ones.
SPEAKS = r"""/usr/bin/python3 -c '
import os
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        if fd > 2 and os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"):
            os.write(fd, b"exit 0\n")
            print("said")
    except OSError:
        pass
'"""


@pytest.mark.parametrize("end", ["", "exit 3", "f() { exit 3; }; f",
                                 "set -e; false", "exec 9>/dev/null"])
def test_no_program_speaks_in_place_of_the_shell(iso, session, end):
    """What it would say is what the next run begins with: that run would end
    before it began, as if all were well. The shell itself is heard, however
    it comes to its end, and keeps what it was told."""
    _, said, _ = iso.run(session, f"{SPEAKS}\nkept=yes\n{end}")
    assert said == []
    assert iso.run(session, "set +e; echo $kept; exit 4")[:2] == (4, ["yes"])
    # The twins: it speaks to a pipe that it is given, and what the shell says
    # there is heard.
    assert "said" in iso.run(session, f"{SPEAKS} 12> >(cat >/dev/null)")[1]
    assert iso.run(session, "echo exit 0 >&10")[0] == 0
    assert iso.run(session, "echo $kept; exit 4")[:2] == (0, [])


def test_a_run_of_it_holds_nothing_but_pipes_and_its_own(iso, session):
    """G13: no directory, no socket of the service's, nothing of the host's."""
    code, said, _ = iso.run(session, "ls -l /proc/self/fd /proc/$$/fd")
    held = re.findall(r" -> (\S+)", "\n".join(said))
    assert code == 0 and len(held) >= 8, said
    _, own, _ = iso.run(session, "ls -l /proc/self/fd")
    assert re.findall(r" (\d+) -> ", "\n".join(own)) == [
        "0", "1", "2", "3"], own
    assert [to for to in held if not re.fullmatch(
        r"/dev/null|pipe:\[\d+\]|/proc/\d+/fd", to)] == []
