"""gateway.yaml: what holds is shown and where it comes from, and it is read
again when the control API is asked to."""
import json
import os
import subprocess

import pytest
from gateway import CLI, PROGRAM
from waiting import wait_until


def change(gateway, **settings):
    text = gateway.config.read_text()
    gateway.config.write_text(json.dumps({**json.loads(text), **settings},
                                         indent=1))
    return text


def test_what_holds_is_shown_and_where_it_comes_from(gateway):
    done = gateway.cli("config", "dump")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f'state: "{gateway.state}"  # {gateway.config}:2' in lines
    assert '  min: "1.2"  # default' in lines
    assert "# audit.export: none  # default" in lines
    shown = json.loads(gateway.cli("config", "dump", "-o", "json").stdout)
    assert shown["text"] == done.stdout
    # It is a gateway.yaml, and the program says the same of the file.
    path = gateway.dir / "dumped.yaml"
    path.write_text(done.stdout)
    checked = gateway.cli("config", "check", path)
    assert checked.returncode == 0, checked.stderr
    program = subprocess.run([PROGRAM, "--dump", "-c", gateway.config],
                             text=True, capture_output=True, check=True,
                             env=gateway.env())
    assert program.stdout == done.stdout


def test_a_long_configuration_is_shown_whole(own_gateway):
    name = ".".join(letter * 60 for letter in "wxyz")
    hosts = {f"h{i}.{name}.a": "2001:db8:1111:2222:3333:4444:5555:6666"
             for i in range(1000)}
    files = {f"s{i}": {"file": "/none/" + "x" * 4000} for i in range(100)}
    change(own_gateway, dns={"hosts": hosts}, secrets=files)
    assert own_gateway.cli("config", "reload").returncode == 0
    text = own_gateway.cli("config", "dump").stdout
    assert len(text) > 320 << 10
    assert all(f"    {name}: " in text for name in hosts)


def test_a_reload_says_what_it_took(own_gateway):
    same = own_gateway.cli("config", "reload")
    assert same.returncode == 0, same.stderr
    assert "nothing in it differs" in same.stdout
    change(own_gateway, limits={"sessions": 3, "connections": 7},
           audit={"retain": "90d"})
    done = own_gateway.cli("config", "reload", "-o", "json")
    assert json.loads(done.stdout) == {
        "taken": "limits.sessions, limits.connections, audit.retain"}
    text = own_gateway.cli("config", "dump").stdout
    assert "  sessions: 3  #" in text and "  retain: 90d  #" in text
    wait_until(lambda: [row for row in own_gateway.audit()
                        if row.get("method") == "config.reload"])
    wait_until(lambda: [row for row in own_gateway.audit()
                        if row.get("detail") == "configuration reloaded"])


def test_a_reload_that_changes_nothing_says_why(own_gateway):
    good = change(own_gateway, limts={}, run="relative")
    done = own_gateway.cli("config", "reload")
    assert done.returncode == 3
    # Every error, in its place.
    assert 'did you mean "limits"?' in done.stderr
    assert "absolute path" in done.stderr and "^" in done.stderr
    assert "all is as it was" in done.stderr
    own_gateway.config.write_text(good)
    change(own_gateway, state=f"{own_gateway.state}-other",
           limits={"sessions": 3})
    done = own_gateway.cli("config", "reload")
    assert done.returncode == 3
    assert "only a restart changes: state" in done.stderr
    assert "sessions: 3" not in own_gateway.cli("config", "dump").stdout
    own_gateway.config.write_text(good)
    assert own_gateway.cli("config", "reload").returncode == 0


# What is there only when it is wanted: no error, since it may come until then,
# and the daemon starts without it.
@pytest.mark.parametrize("option, text, says", [
    ("--gateway", "secrets: {npm: {file: FILE}}",
     "secrets.npm: open FILE: No such file"),
    ("--gateway", "secrets: {npm: {exec: [FILE, x]}}",
     "secrets.npm: look at FILE: No such file"),
    ("--host", "\ndefault_policy: FILE",
     "c.yaml:2: default_policy: no sandbox without a policy of its own "
     "begins until this is mended: open FILE: No such file"),
    ("--host", "\nimages: {one: FILE}",
     "c.yaml:2: images.one: no sandbox has it until this is mended: "
     "look at FILE: No such file"),
    ("--host", "\nvolumes: [/tmp, FILE]",
     "c.yaml:2: volumes: nothing below it can be shown until this is mended: "
     "look at FILE: No such file"),
])
def test_a_check_says_what_would_be_missed(tmp_path, option, text, says):
    path, file = tmp_path / "c.yaml", tmp_path / "file"
    path.write_text(text.replace("FILE", str(file)))
    command = [CLI, "config", "check", option, path]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def check():
        return subprocess.run(command, text=True, capture_output=True, env=env)
    done = check()
    assert done.returncode == 0 and "is valid" in done.stdout
    assert "warning: " in done.stderr
    assert says.replace("FILE", str(file)) in done.stderr, done.stderr
    value = json.loads(subprocess.run(
        [*command, "-o", "json"], text=True, capture_output=True,
        env=env).stdout)
    assert value["valid"] and str(file) in value["report"]
    file.write_text("version: 1\n")
    file.chmod(0o700)
    done = check()
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.parametrize("is_there", [False, True])
def test_an_image_that_was_unpacked_is_not_missed(tmp_path, is_there):
    path = tmp_path / "c.yaml"
    path.write_text(f"store: {tmp_path}/store\n"
                    f"images: {{one: {tmp_path}/gone.tar}}\n")
    if is_there:
        (tmp_path / "store/images/one/root").mkdir(parents=True)
    done = subprocess.run([CLI, "config", "check", "--host", path], text=True,
                          capture_output=True)
    assert done.returncode == 0
    assert ("images.one" in done.stderr) == (not is_there), done.stderr


def check_export(tmp_path, file):
    """What is said of that file of audit.export."""
    path = tmp_path / "c.yaml"
    path.write_text(f"state: {tmp_path}/state\n"
                    f"audit: {{export: [{{jsonl: {file}}}]}}\n")
    done = subprocess.run([CLI, "config", "check", path], text=True,
                          capture_output=True)
    assert done.returncode == 0 and "is valid" in done.stdout, done
    return done.stderr


def test_a_check_says_where_no_record_can_be_written(tmp_path):
    file = tmp_path / "logs/audit.jsonl"
    says = ("sallyport-gateway: warning: audit.export: {}: nothing is written "
            "there until this is mended\n")
    assert check_export(tmp_path, file) == \
        says.format(f"make {file}: No such file or directory")
    file.parent.mkdir()
    assert not check_export(tmp_path, file)
    assert not list(file.parent.iterdir())
    file.mkdir()
    assert check_export(tmp_path, file) == says.format(f"{file} is no file")
    file.rmdir()
    file.touch()
    assert not check_export(tmp_path, file)
    file.chmod(0o666)
    assert check_export(tmp_path, file) == \
        says.format(f"others may write {file} (mode 0666)")
    # The gateway makes its own directory.
    assert not check_export(tmp_path, tmp_path / "state/audit.jsonl")
    assert check_export(tmp_path, tmp_path / "state/logs/audit.jsonl")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_check_waits_for_no_policy_that_is_no_file(tmp_path, make):
    """Its twin is above."""
    path = tmp_path / "c.yaml"
    path.write_text(f"default_policy: {tmp_path / 'file'}\n")
    make(tmp_path / "file")
    done = subprocess.run([CLI, "config", "check", "--host", path], text=True,
                          capture_output=True, timeout=20)
    assert done.returncode == 0 and "is valid" in done.stdout
    assert f"mended: {tmp_path / 'file'} is no file" in done.stderr


@pytest.mark.parametrize("mode, says", [
    (0o644, "others may use"), (0o600, "")])
def test_a_check_looks_at_a_secret_as_the_gateway_will(tmp_path, mode, says):
    path, file = tmp_path / "c.yaml", tmp_path / "file"
    path.write_text(f"secrets: {{npm: {{file: {file}}}}}")
    file.write_text("token")
    file.chmod(mode)
    done = subprocess.run([PROGRAM, "-t", "-c", path], text=True,
                          capture_output=True)
    assert done.returncode == 0 and says in done.stderr
    assert bool(done.stderr) == bool(says), done.stderr
    assert "token" not in done.stdout + done.stderr


def test_a_gateway_begins_without_a_secret_and_says_so(own_gateway, tmp_path):
    change(own_gateway, secrets={"npm": {"file": str(tmp_path / "none")}})
    assert own_gateway.cli("config", "reload").returncode == 0
    assert 'level=warn process=warden msg="secrets.npm: open ' \
        in own_gateway.log()
    own_gateway.stop()
    own_gateway.start()
    assert own_gateway.log().count("secrets.npm: open ") == 2


def test_a_gateway_says_that_it_can_not_export(own_gateway, tmp_path):
    says = 'level=warn process=warden msg="audit.export: make '
    assert says not in own_gateway.log()
    change(own_gateway, audit={"export": [
        {"jsonl": str(tmp_path / "none/audit.jsonl")}]})
    assert own_gateway.cli("config", "reload").returncode == 0
    assert own_gateway.log().count(says) == 1
    own_gateway.stop()
    own_gateway.start()
    assert own_gateway.log().count(says) == 2


@pytest.mark.parametrize("text, option, code, words", [
    ("limits: {sessions: 3}\n", None, 0, "valid"),
    ("limits: {sessions: 0}\n", None, 3, "c.yaml:1:20"),
    ("limits: {sessions: 0}\nstat: /x\n", "--gateway", 3,
     'did you mean "state"?'),
    ('{"limits": {"sessions": 3}}', "--gateway", 0, "valid"),
    ("", None, 3, "c.yaml:1:1: the text is empty"),
    ("limits: {sandboxes: 3}\n", "--host", 0, "valid"),
    ("limits: {sandboxes: 0}\n", "--host", 3, "c.yaml:1:21"),
    ("run: /x\ntls: {certificate: /nope, key: /nope}\n", "--host", 3,
     "c.yaml:2: tls: open /nope: No such file"),
    ("  \n{\"network\": {}}\n", None, 3,
     '"filesystem" is missing'),
    ("limits: {sessions: 3}\n", "--settings", 3, ""),
])
def test_every_configuration_is_checked(tmp_path, text, option, code, words):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    command = [CLI, "config", "check", *([option] if option else []), path]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, text=True, capture_output=True, env=env)
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr
    done = subprocess.run([*command, "-o", "json"], text=True,
                          capture_output=True, env=env)
    value = json.loads(done.stdout)
    assert done.returncode == code and not done.stderr, done.stderr
    assert value["valid"] == (code == 0) and value["file"] == str(path)
    assert code == 0 or words in value.get("report", value.get("notes"))
