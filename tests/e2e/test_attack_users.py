"""Another user of the host, where the gateway serves them all: root's."""
import json
import os
import subprocess
import sys
import textwrap

import pytest

from gateway import CLI

OTHER_UID = 54321

# What the other user runs: requests from stdin, (status, text) each to
# stdout, over control.sock; then one attach.
ASK = textwrap.dedent("""
    import array, json, os, socket, struct, sys
    run, uid = sys.argv[1], int(sys.argv[2])
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
    def ask(method, path, body):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(30)
        stream.connect(run + "/control.sock")
        body = body.encode()
        stream.sendall(f"{method} {path} HTTP/1.1\\r\\nHost: x\\r\\n"
                       f"Content-Length: {len(body)}\\r\\n"
                       "Connection: close\\r\\n\\r\\n".encode() + body)
        got = b""
        while piece := stream.recv(65536):
            got += piece
        return int(got[9:12]), got.decode()
    def attach(session):
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stream.settimeout(30)
        stream.connect(run + "/attach.sock")
        listener = socket.create_server(("127.0.0.1", 0))
        name = session.encode()
        stream.sendmsg([struct.pack("<HBBI", 24, 1, 0, 1)
                        + struct.pack("<I", len(name)) + name + b"\\0"],
                       [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                         array.array("i", [listener.fileno()]))])
        return stream.recv(1000)[2], ""
    answers = [attach(r[1]) if r[0] == "ATTACH" else ask(*r)
               for r in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)
""")


@pytest.fixture
def shared(make_gateway):
    """A gateway that other users reach."""
    gateway = make_gateway("shared", limits={"sessions": 10})
    for path in gateway.run_dir.parents:
        if path.stat().st_uid == os.getuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o111)
    yield gateway
    gateway.stop()
    gateway.check()


def as_other(gateway, requests):
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(gateway.run_dir), str(OTHER_UID)],
        input=json.dumps(requests), text=True, capture_output=True,
        check=True, timeout=120, cwd="/")
    return json.loads(done.stdout)


def creation(policy):
    return ["POST", "/v1/sessions",
            json.dumps({"policy": json.dumps(policy), "ttl_s": 60})]


def other_users_reach_only_their_own(shared, make_session, policies):
    session = make_session(policies.make(
        [policies.rule("good.example", paths=["/**"])]), on=shared)
    mine = f"/v1/sessions/{session.id}"
    forbidden = [["GET", "/v1/config", ""], ["POST", "/v1/config/reload", ""],
                 ["GET", "/v1/status", ""], ["GET", "/v1/secrets", ""],
                 ["PUT", "/v1/secrets/x", "x"],
                 ["DELETE", "/v1/secrets/forge", ""],
                 ["GET", "/v1/./secrets", ""], ["GET", "/v1/audit", ""],
                 ["GET", f"/v1/audit?session={session.id}", ""],
                 ["GET", f"/v1/events?session={session.id}", ""],
                 ["GET", mine, ""], ["DELETE", mine, ""],
                 ["POST", f"{mine}/records", '{"detail":"x"}']]
    for asked, (status, text) in zip(forbidden, as_other(shared, forbidden)):
        assert status == 403, (asked, text)
    assert as_other(shared, [["ATTACH", session.id]])[0][0] == 3
    assert session.edge()


def other_users_have_no_secrets(shared):
    policy = {"version": 1,
              "network": {"rules": [{"hosts": ["mine.example"],
                                     "credential": "c", "action": "allow"}]},
              "credentials": [{"name": "c", "secret": "forge",
                               "attach": "bearer",
                               "hosts": ["mine.example"]}]}
    (status, text), = as_other(shared, [creation(policy)])
    assert status == 403 and "administrators" in text


def other_users_do_not_take_every_session(shared, make_session, policies):
    policy = {"version": 1,
              "network": {"rules": [{"hosts": ["a.example"],
                                     "action": "allow"}]}}
    statuses = [status for status, _ in
                as_other(shared, [creation(policy)] * 20)]
    assert statuses == [201] * 5 + [429] * 15
    make_session(policies.make([policies.rule("good.example")]), on=shared)


def cli_as(uid, words, **env):
    return subprocess.run(
        [CLI, *words], text=True, capture_output=True, check=False,
        stdin=subprocess.DEVNULL, timeout=30, cwd="/", user=uid, group=uid,
        extra_groups=[], env={"HOME": "/nonexistent", **env})


def other_users_are_told_whose_a_directory_is(tmp_path_factory):
    outer = tmp_path_factory.mktemp("outer")
    for path in [outer, *outer.parents][:-1]:
        path.chmod(path.stat().st_mode | 0o111)
    closed, readable = outer / "closed", outer / "readable"
    closed.mkdir(mode=0o700)
    readable.mkdir(mode=0o755)
    for words, env, code, says in (
            (["status"], {"SALLYPORT_RUN": str(closed)}, 5,
             "is not open to this user: name the run directory"),
            (["run", "true"], {"SALLYPORT_RUN": str(closed)}, 5,
             "is not open to this user: name the run directory"),
            (["sandbox", "list"], {"SALLYPORT_HOST": f"{closed}/host.sock"},
             4, "is its user's and root's alone (Permission denied): name the"),
            (["run", "true"], {"SALLYPORT_RUN": str(readable)}, 5,
             f"no gateway answers in {readable}, which is no directory of "
             "this user: name another"),
            (["status"], {"SALLYPORT_RUN": str(readable)}, 4,
             "no gateway answers")):
        done = cli_as(OTHER_UID, words, **env)
        assert (done.returncode, says in done.stderr) == (code, True), \
            done.stderr
        if words[0] != "run":
            assert cli_as(0, words, **env).returncode == 4


def other_users_are_told_why_not(shared, make_session, policies):
    session = make_session(policies.make(
        [policies.rule("good.example")]), on=shared)

    def ask(*words, uid=OTHER_UID):
        return cli_as(uid, words, SALLYPORT_RUN=str(shared.run_dir))

    for words in (["audit", "tail"], ["audit", "tail", "--follow"],
                  ["audit", "export"], ["approval", "list"],
                  ["approval", "watch"]):
        done = ask(*words)
        assert done.returncode == 5, (words, done.stderr)
        assert "name one of yours (?session=, or --session)" in done.stderr
    for words in (["policy", "learn", session.id],
                  ["audit", "export", "--session", session.id]):
        done = ask(*words)
        assert done.returncode == 5, (words, done.stderr)
        assert "this session is somebody else's" in done.stderr
        assert ask(*words, uid=0).returncode == 0
    done = ask("status")
    assert done.returncode == 5 and "root, the gateway's user" in done.stderr
    assert ask("status", uid=0).returncode == 0


# An ordinary user's gateway serves that user alone.
if os.geteuid() == 0:
    test_other_users_reach_only_their_own = other_users_reach_only_their_own
    test_other_users_have_no_secrets = other_users_have_no_secrets
    test_other_users_are_told_why_not = other_users_are_told_why_not
    test_other_users_are_told_whose_a_directory_is = \
        other_users_are_told_whose_a_directory_is
    test_other_users_do_not_take_every_session = \
        other_users_do_not_take_every_session
