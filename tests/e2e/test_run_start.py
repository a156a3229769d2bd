"""A gateway that `sallyport run` starts in place of one that was there: with
the same configuration, or not at all, and after the other has stopped."""
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gateway import CLI, PROGRAM
from host import Host
from waiting import at_best, wait_until

STOP_MAX_S = 13


@pytest.fixture
def web(policies):
    return policies.make([policies.rule("good.example", "plain.example",
                                        paths=["/**"])])


@pytest.fixture
def make(make_gateway):
    made = []

    def make_one(**config):
        made.append(make_gateway("start", config=config))
        return made[-1]
    yield make_one
    for gateway in made:
        gateway.stop()
        # One that a run started ends two seconds after.
        wait_until(lambda: is_free(gateway), 30)
        gateway.check()


def is_free(gateway):
    """No gateway has the directory."""
    with contextlib.suppress(OSError), \
            open(gateway.run_dir / "lock", "r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


@pytest.fixture
def guardrail(tmp_path, policies):
    path = tmp_path / "guardrail.yaml"
    path.write_text(json.dumps({"version": 1, "network": {
        "rules": [{"hosts": ["good.example"], "ports": policies.ports,
                   "action": "allow"}], "addresses": policies.addresses}}))
    return path


def told(gateway):
    """What the next one is told: its file, its state, what the file names."""
    return (gateway.run_dir / "configuration").read_text().split("\0")


def nobody_listens(gateway):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(gateway.run_dir / "control.sock")) != 0


def waits_for_control(gateway):
    """Somebody has connected to it, and it has not looked yet."""
    return f"{gateway.run_dir}/control.sock" in "".join(
        line for line in Path("/proc/net/unix").read_text().splitlines(True)
        if line.split()[5] == "02")


def fetched(gateway, web, origin, workspace):
    done = gateway.run(web, ["curl", "-s", "-o", "/dev/null", "-w",
                             "%{http_code}", origin.plain_url(
                                 "/", "plain.example")], workspace)
    assert done.stdout, done.stderr
    return done.stdout


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL],
                         ids=["stopped", "killed"])
@pytest.mark.parametrize("is_guarded, status", [(True, "403"),
                                                (False, "200")],
                         ids=["guarded", "not"])
def test_an_operators_guardrail_outlives_the_gateway(
        make, web, origin, workspace, guardrail, end, is_guarded, status):
    gateway = make(**{"guardrail": str(guardrail)} if is_guarded else {})
    assert fetched(gateway, web, origin, workspace) == status
    gateway.process.send_signal(end)
    gateway.process.wait(60)
    if end == signal.SIGKILL:
        gateway.process = None
    # Its processes end a moment later.
    wait_until(lambda: nobody_listens(gateway))
    # Also for the one after the one that was started for a command.
    for _ in range(2):
        assert fetched(gateway, web, origin, workspace) == status
        wait_until(lambda: is_free(gateway), 30)


def test_without_its_configuration_none_is_started(make, web, workspace):
    gateway = make()
    left = gateway.run_dir / "configuration"
    assert told(gateway)[0] == str(gateway.config)
    assert left.stat().st_mode & 0o777 == 0o600
    gateway.stop()
    gateway.config.rename(gateway.dir / "elsewhere")
    done = gateway.run("version: 1\nname: p\n", "echo hello", workspace)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{gateway.config} can not be read" in done.stderr
    assert f"or remove {left}" in done.stderr
    left.unlink()
    done = gateway.run("version: 1\nname: p\n", "echo hello", workspace)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "gone"])
def test_a_command_can_not_change_what_the_next_one_is_started_with(
        make, workspace, is_there):
    gateway = make()
    named, other = workspace / "gateway.yaml", workspace / "other.yaml"
    # One that stands in the workspace, where its operator works.
    (gateway.run_dir / "configuration").write_text(str(named))
    if is_there:
        named.write_text(gateway.config.read_text())
        other.write_text("y")
    done = gateway.run("version: 1\nname: p\n",
                       "rm -f gateway.yaml; echo x > gateway.yaml;"
                       "mv other.yaml gateway.yaml; echo x > other.yaml", workspace)
    assert done.returncode == 0, done.stderr
    assert other.read_text() == "x\n"
    assert named.exists() == is_there
    if is_there:
        assert named.read_text() == gateway.config.read_text()


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not"])
def test_a_command_can_not_change_what_the_configuration_names(
        make, workspace, tmp_path, guardrail, is_named):
    """Nor by another directory in its place, nor another link."""
    below = workspace / "settings"
    below.mkdir()
    files = {name: below / name for name in
             ("guardrail.yaml", "ca.pem", "program", "script", "token")}
    for name, path in files.items():
        path.write_text(guardrail.read_text() if name == "guardrail.yaml"
                        else "#!/bin/sh\n")
        path.chmod(0o700)
    linked = workspace / "linked.yaml"
    linked.symlink_to(guardrail)
    missing = workspace / "not" / "yet"
    config = {
        "guardrail": str(files["guardrail.yaml"]),
        "secrets": {"one": {"exec": [str(files["program"]), str(below)]},
                    "two": {"exec": ["/bin/sh", str(files["script"]),
                                     str(missing)]},
                    "three": {"file": str(files["token"])},
                    "four": {"exec": ["/bin/cat", str(linked)]}}}
    gateway = make(**config if is_named else {})
    if is_named:
        files["ca.pem"].write_text((gateway.dir / "ca.pem").read_text())
        text = json.loads(gateway.config.read_text())
        text["tls"]["ca_bundle"] = str(files["ca.pem"])
        gateway.config.write_text(json.dumps(text))
        # A reload names what the start did not.
        done = gateway.cli("config", "reload")
        assert done.returncode == 0, done.stderr
    was = {path: path.read_text() for path in files.values()}
    done = gateway.run("version: 1\nname: p\n",
                       "for f in settings/*; do echo x >> $f; rm -f $f;"
                       " echo x > $f; done; mv settings aside; mkdir settings;"
                       "for f in guardrail.yaml ca.pem program script token;"
                       " do echo x > settings/$f; done;"
                       "ln -sf /tmp/x linked.yaml; mkdir not; echo x > not/yet;"
                       "echo x > free; true", workspace)
    assert done.returncode == 0, done.stderr
    assert (workspace / "free").read_text() == "x\n"
    for path, text in was.items():
        assert (path.read_text() == text) == is_named, path
    assert (os.readlink(linked) == str(guardrail)) == is_named
    assert missing.exists() != is_named


def place_secrets(below):
    """Files of secrets in every manner; the configuration that names them."""
    settings = below / "settings"
    settings.mkdir()
    for path in (settings / "direct", below / "real", below / "renewed"):
        path.write_text("SECRET\n")
        path.chmod(0o600)
    os.link(settings / "direct", below / "other")
    (below / "linked").symlink_to(below / "real")
    (below / "free").write_text("FREE\n")
    names = ("settings/direct", "linked", "renewed", "later")
    return {f"s{number}": {"file": str(below / name)}
            for number, name in enumerate(names)}


READ_SECRETS = """
cat settings/direct linked real renewed other free
mv settings aside; cat aside/direct
touch ready
for i in $(seq 600); do test -e go && break; sleep .1; done
cat later renewed free
true
"""


def add_secrets(below, wait):
    """One comes later, and one is renewed, while the command runs."""
    wait_until(lambda: (below / "ready").exists(), wait)
    for name in ("later", "renewed"):
        path = below.parent / f"{name}.new"
        path.write_text("SECRET\n")
        path.chmod(0o600)
        os.chown(path, *((below / "free").stat()[4:6]))
        path.rename(below / name)
    (below / "go").touch()


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not"])
def test_no_file_with_a_secret_is_inside(make, workspace, is_named):
    """Nor what a link leads to, another name, or what comes later."""
    gateway = make()
    secrets = place_secrets(workspace)
    if is_named:
        text = json.loads(gateway.config.read_text())
        gateway.config.write_text(json.dumps({**text, "secrets": secrets}))
        done = gateway.cli("config", "reload")
        assert done.returncode == 0, done.stderr
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(add_secrets, workspace, 60)
        done = gateway.run("version: 1\nname: p\n", READ_SECRETS, workspace)
        adding.result()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("FREE") == 2
    assert done.stdout.count("SECRET") == (0 if is_named else 8), done.stdout
    # They are still the operator's.
    if is_named:
        assert (workspace / "settings/direct").read_text() == "SECRET\n"


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not"])
def test_nor_in_a_sandbox_of_the_service(make, tmp_path_factory, is_named):
    """A volume shows it at another place: there is none."""
    gateway = make()
    volumes = tmp_path_factory.mktemp("volumes")
    (volumes / "with").mkdir()
    (volumes / "without").mkdir()
    work = tmp_path_factory.mktemp("work")
    secrets = place_secrets(work)
    secrets["volume"] = {"file": str(volumes / "with/not/yet")}
    if is_named:
        text = json.loads(gateway.config.read_text())
        gateway.config.write_text(json.dumps({**text, "secrets": secrets}))
        assert gateway.cli("config", "reload").returncode == 0
    host = Host(gateway, tmp_path_factory.mktemp("host"),
                volumes=[str(volumes)]).start()
    try:
        box = host.create("--workspace", work)
        done = host.exec(box, "sh", "-c",
                         "cat settings/direct linked real renewed other free")
        assert done.stdout.count("FREE") == 1, done.stderr
        assert done.stdout.count("SECRET") == (0 if is_named else 5)
        shown = host.run("create", "--volume", f"{volumes}/with:/mnt")
        assert (shown.returncode != 0) == is_named, shown.stderr
        assert ("a secret of the gateway is there" in shown.stderr) == is_named
        host.create("--volume", f"{volumes}/without:/mnt")
    finally:
        host.stop()
    host.check()


def test_a_word_that_no_path_can_be_is_no_file(make):
    """Of a program that a secret is read from: not even a start is refused."""
    words = ["/bin/echo", "/" + 4094 * "a", "/" + 4095 * "b"]
    gateway = make(secrets={"one": {"exec": words}})
    assert told(gateway)[-2:] == words[:2]


def test_what_it_names_is_where_the_operator_works(make, workspace, guardrail):
    """Beside it everything can be written."""
    gateway = make(guardrail=str(guardrail))
    done = gateway.run("version: 1\nname: p\n", "mkdir a && echo x > a/b",
                       workspace)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_its_state_is_that_of_the_one_before(make, workspace, how):
    """What that was told, not what its file or the default says."""
    gateway = make()
    gateway.stop()
    other = gateway.dir / "other"
    settings = json.loads(gateway.config.read_text())
    if how == "variable":
        del settings["state"]
    elif how == "file":
        settings["state"] = str(other)
    gateway.config.write_text(json.dumps(settings))
    # root's default is the machine's own, which no test may use.
    env = gateway.env()
    del env["SALLYPORT_STATE"]
    told_env = {"SALLYPORT_STATE": str(other)} if how == "variable" else {}
    options = ["--state", other] if how == "option" else []
    with open(gateway.dir / "log", "a") as log:
        gateway.process = subprocess.Popen(
            [PROGRAM, "-c", gateway.config, *options], stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, env=env | told_env,
            start_new_session=True)
    wait_until(gateway.is_ready, 60)
    gateway.stop()
    assert f' state {other}"' in gateway.log()
    assert told(gateway)[1] == ("" if how == "file" else str(other))
    policy = gateway.dir / "policy.yaml"
    policy.write_text("version: 1\nname: p\n")
    # Twice: one for a command leaves what the operator said.
    for number in range(2):
        done = subprocess.run(
            [CLI, "run", "--policy", policy, "--workspace", workspace, "--",
             "true"], env=env, capture_output=True, text=True, timeout=60,
            check=False)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: is_free(gateway), 30)
        log = (gateway.run_dir / "gateway.log").read_text()
        assert log.count(f' state {other}"') == number + 1, log


@pytest.mark.parametrize("says", [
    "make directory {}/file/state: Not a directory",
    "{}/gateway.yaml has 1 error"])
def test_why_none_could_be_started_is_told(make, workspace, says):
    """And where more stands: nobody knows what a run directory is."""
    gateway = make()
    gateway.stop()
    env = {}
    if "error" in says:
        gateway.config.write_text("nonsense: 1\n")
    else:
        (gateway.dir / "file").write_text("")
        env["SALLYPORT_STATE"] = str(gateway.dir / "file" / "state")

    def attempt():
        begin = time.monotonic()
        done = gateway.run("version: 1\nname: p\n", "true", workspace, **env)
        assert done.returncode == 4, done.stderr
        assert (f"(see {gateway.run_dir}/gateway.log): "
                in done.stderr), done.stderr
        assert says.format(gateway.dir) in done.stderr
        assert "process=" not in done.stderr
        return time.monotonic() - begin

    # For another's, which nobody starts here, it would wait two seconds.
    at_best(2, attempt)


def test_a_state_that_this_environment_names_is_another(make, workspace):
    gateway = make()
    gateway.stop()
    mine = gateway.dir / "mine"
    done = gateway.run("version: 1\nname: p\n", "true", workspace,
                       SALLYPORT_STATE=str(mine))
    assert done.returncode == 0, done.stderr
    wait_until(lambda: is_free(gateway), 30)
    log = (gateway.run_dir / "gateway.log").read_text()
    assert f' state {mine}"' in log
    # Nobody's but this command's.
    assert str(mine) not in told(gateway)


def test_one_that_stops_is_waited_for(make, workspace):
    """It is held up by its ledger."""
    gateway = make()
    ledger = os.pidfd_open(gateway.pid("ledger"))
    signal.pidfd_send_signal(ledger, signal.SIGSTOP)
    try:
        gateway.process.terminate()
        wait_until(lambda: not (gateway.run_dir / "control.sock").exists())
        assert gateway.process.poll() is None
        done = gateway.run("version: 1\nname: p\n", "echo hello", workspace)
        assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
        gateway.process.wait(60)
    finally:
        # It would be there for ever.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(ledger, signal.SIGKILL)
        os.close(ledger)


GRACE_S = 0.2  # what its processes have to end, before the ledger is told to


def seconds_of_stopping(gateway):
    began = time.monotonic()
    gateway.process.terminate()
    gateway.process.wait(60)
    return time.monotonic() - began


def test_one_that_stops_waits_for_nobody_who_has_gone(make):
    """The next command would."""
    gateway = make()

    def attempt():
        taken = seconds_of_stopping(gateway)
        gateway.start()
        return taken
    at_best(GRACE_S, attempt)


@pytest.mark.parametrize("role", ["dialer", "courier"])
def test_one_that_stops_waits_for_who_has_not(make, role):
    gateway = make()
    slow = os.pidfd_open(gateway.pid(role))
    signal.pidfd_send_signal(slow, signal.SIGSTOP)
    try:
        assert GRACE_S <= seconds_of_stopping(gateway) < STOP_MAX_S
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(slow, signal.SIGKILL)
        os.close(slow)


def test_one_that_ends_as_it_is_asked_is_not_the_last(make, workspace):
    """It took the connection, and never answers."""
    gateway = make()
    control = os.pidfd_open(gateway.pid("control"))
    signal.pidfd_send_signal(control, signal.SIGSTOP)
    policy = gateway.dir / "policy.yaml"
    policy.write_text("version: 1\nname: p\n")
    try:
        with subprocess.Popen(
                [CLI, "run", "--policy", policy, "--workspace", workspace,
                 "--", "echo", "hello"], env=gateway.env(), text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
            wait_until(lambda: waits_for_control(gateway))
            gateway.process.kill()
            gateway.process.wait()
            gateway.process = None
            signal.pidfd_send_signal(control, signal.SIGKILL)
            out, errors = command.communicate(timeout=60)
        assert (command.returncode, out) == (0, "hello\n"), errors
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(control, signal.SIGKILL)
        os.close(control)


def test_when_one_took_its_directory_can_be_seen(make):
    """By those who can not see its lock: they wait for it to listen."""
    gateway = make()
    lock = gateway.run_dir / "lock"
    gateway.stop()
    os.utime(lock, (1, 1))
    began = time.time() - 1  # the clock of files lags behind
    gateway.start()
    assert began < lock.stat().st_mtime <= time.time()


def test_one_that_runs_is_not(make):
    gateway = make()
    other = gateway.dir / "other.yaml"
    other.write_text(gateway.config.read_text())
    began = time.monotonic()
    done = subprocess.run([PROGRAM, "-c", other], check=False,
                          capture_output=True, text=True, env=gateway.env(),
                          timeout=60)
    assert done.returncode == 1 and "running already" in done.stderr
    assert time.monotonic() - began < STOP_MAX_S
    # What the second one was told is not what the next one is.
    assert told(gateway)[0] == str(gateway.config)


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_state_has_one_gateway(make, tmp_path, is_shared):
    """Its ledger and its vault would say so again and again."""
    gateway = make()
    state = gateway.dir / "state" if is_shared else tmp_path / "state"
    with subprocess.Popen(
            [PROGRAM, "-c", gateway.config, "--run", tmp_path / "run",
             "--state", state, "--exit-when-idle"], env=gateway.env(),
            text=True, stderr=subprocess.PIPE) as second:
        errors = second.communicate(timeout=60)[1]
    assert (second.returncode == 1) == is_shared, errors
    assert (f"uses the state directory {state}" in errors) == is_shared
    assert ("gateway ready" in errors) == (not is_shared)
    assert gateway.status()


def test_one_that_a_run_started_gives_way_to_the_operators(make, workspace):
    """It would end two seconds later, and nobody would be there."""
    waiting = "waiting for the gateway that `sallyport run` started"
    gateway = make()
    gateway.stop()
    # A busy machine may need more than these two seconds, but not each time.
    for number in range(2, 7):
        done = gateway.run("version: 1\nname: p\n", "true", workspace)
        assert done.returncode == 0, done.stderr
        was_there = not is_free(gateway)
        # Until it is there the other one answers.
        gateway.start()
        wait_until(lambda: gateway.log().count("gateway ready") == number)
        if waiting in gateway.log():
            break
        gateway.stop()
    assert was_there and waiting in gateway.log()
    # It is the operator's own: it stays, and no second one waits for it.
    second = subprocess.run([PROGRAM, "-c", gateway.config], check=False,
                            capture_output=True, text=True, env=gateway.env(),
                            timeout=60)
    assert second.returncode == 1 and "running already" in second.stderr
    assert "waiting" not in second.stderr


def test_one_that_a_run_needs_is_named(make, workspace):
    gateway = make()
    gateway.stop()
    policy = gateway.dir / "policy.yaml"
    policy.write_text("version: 1\nname: p\n")
    with subprocess.Popen(
            [CLI, "run", "--policy", policy, "--workspace", workspace, "--",
             "sh", "-c", "echo hello; cat"], env=gateway.env(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as command:
        assert command.stdout.readline() == "hello\n"
        done = subprocess.run([PROGRAM, "-c", gateway.config], check=False,
                              capture_output=True, text=True,
                              env=gateway.env(), timeout=60)
        command.stdin.close()
        assert command.wait(30) == 0
    assert done.returncode == 1
    assert "until its last session has ended" in done.stderr


@pytest.mark.parametrize("named", ["policy", "configuration", "guardrail",
                                   None])
def test_what_links_from_elsewhere_lead_to_can_not_be_changed(
        make, workspace, guardrail, named):
    """As of settings that one keeps in a repository: by way of a link in it,
    and one directly."""
    gateway = make()
    texts = {"policy": "version: 1\nname: p\n",
             "guardrail": guardrail.read_text(),
             "configuration": gateway.config.read_text()}
    real, link = workspace / "real.yaml", workspace / "link.yaml"
    outside = gateway.dir / "outside.yaml"
    real.write_text(texts.get(named, "free\n"))
    link.symlink_to("real.yaml")
    outside.symlink_to(link)
    policy = gateway.dir / "policy.yaml"
    policy.write_text(texts["policy"])
    if named == "guardrail":
        settings = json.loads(gateway.config.read_text())
        gateway.config.write_text(json.dumps(
            settings | {"guardrail": str(outside)}))
        done = gateway.cli("config", "reload")
        assert done.returncode == 0, done.stderr
    elif named == "configuration":
        (gateway.run_dir / "configuration").write_text(str(outside))
    was = real.read_text()
    done = gateway.cli(
        "run", "--policy", outside if named == "policy" else policy,
        "--workspace", workspace, "--", "sh", "-c",
        "echo x >> real.yaml; rm -f real.yaml; echo x > real.yaml;"
        "ln -sf /tmp/x link.yaml; echo x > free; true", cwd=workspace)
    assert done.returncode == 0, done.stderr
    assert (workspace / "free").read_text() == "x\n"
    assert (real.read_text() == was) == bool(named)
    assert (os.readlink(link) == "real.yaml") == bool(named)
