"""What an OCI image says of itself: what it runs, its variables, directory
and user; what wins over it, and what is told that can not be kept."""
import gzip
import io
import os
import tarfile

import pytest
from host import OVER, Host
from test_host_images import make_image, make_layout, pull, sh
from waiting import wait_until

ENTRY = 'echo "$NAME in $PWD" $0; exit 7'
PROXY = "http://198.18.0.1:3128"
SAYS = {
    "Entrypoint": ["/bin/sh", "-c"], "Cmd": [ENTRY, "word"],
    "Env": ["PATH=/opt/own:/bin", "NAME=image", "OTHER=image",
            "HTTPS_PROXY=http://theirs", "SSL_CERT_FILE=/theirs",
            "THEIR_TOKEN=not-to-be-seen"],
    "WorkingDir": "/opt/app", "User": "4242"}
SHOW = 'echo "$PWD|$PATH|$NAME|$OTHER|$HTTPS_PROXY|$THEIR_TOKEN"'
REFUSED = {
    "env": ({"Env": ["NAME"]}, "Env: not NAME=VALUE"),
    "control": ({"Cmd": ["\x1b[2J"]}, "Entrypoint or Cmd"),
    "directory": ({"WorkingDir": "opt"}, "WorkingDir: no absolute path"),
    "user": ({"User": "a b"}, "User: no name"),
    "kind": ({"Entrypoint": "/bin/sh -c true"}, "Entrypoint: no list")}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """{name: skopeo's words}: images of the same files."""
    top = tmp_path_factory.mktemp("says")
    root = make_image(top / "root")
    (root / "opt/app").mkdir()
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as out:
        out.add(root, ".")
    layer = gzip.compress(tar.getvalue(), compresslevel=1)
    said = {name: own for name, (own, _) in REFUSED.items()} | {
        "own": SAYS, "silent": None,
        "odd": {"Cmd": ["/no/such/program"], "WorkingDir": "/no/such",
                "User": f"{os.geteuid()}:{os.getegid()}"}}
    return {name: make_layout(top / name, layer, own)[0]
            for name, own in said.items()}


@pytest.fixture(scope="module")
def host(gateway, sources, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host"),
                images=sources).start()
    for name in ("own", "odd", "silent"):
        assert pull(host, name).returncode == 0
    yield host
    host.stop()
    host.check()


def told(host, box):
    """The events about its image."""
    return [event["text"] for event in host.events(box)
            if event["kind"] == "image"]


def test_what_an_image_says_holds(host):
    box = host.create("--workspace", "-", "--image", "own")
    # Its entrypoint ends; the sandbox, which was not asked for it, goes on.
    wait_until(lambda: "the image's entrypoint: it ended with code 7" in
               told(host, box))
    wait_until(lambda: host.ok("logs", box) == "image in /opt/app word\n")
    assert host.state(box) == "Running"
    done = sh(host, box, SHOW)
    assert done.stdout == \
        f"/opt/app|/opt/own:/bin|image|image|{PROXY}|\n", done.stderr
    assert "/theirs" not in sh(host, box, "echo $SSL_CERT_FILE").stdout
    events = told(host, box)
    assert any("not set: THEIR_TOKEN" in text for text in events), events
    assert any(text.endswith("not as the image's: 4242")
               for text in events)
    assert "not-to-be-seen" not in str(events)
    # Commands say where they begin, and what they are given.
    done = host.exec(box, "/bin/sh", "-c", SHOW,
                     options=("-w", "/tmp", "-e", "OTHER=mine"))
    assert done.stdout == f"/tmp|/opt/own:/bin|image|mine|{PROXY}|\n"
    # What is not there any more is no directory to begin in.
    assert sh(host, box, "rmdir /opt/app").returncode == 0
    assert sh(host, box, "echo $PWD").stdout.strip() == \
        host.show(box)["workspace"]
    host.ok("kill", box)


def test_what_was_asked_for_wins_over_the_image(host):
    box = host.create("--image", "own", "-e", "NAME=mine", "--", "/bin/sh",
                      "-c", SHOW + "; exit 3")
    wait_until(lambda: host.state(box) in OVER)
    assert host.show(box)["exit_code"] == 3
    assert host.ok("logs", box) == \
        f"{host.workspace}|/opt/own:/bin|mine|image|{PROXY}|\n"
    assert not any("entrypoint" in text for text in told(host, box))


def test_an_image_that_says_nothing_changes_nothing(host):
    box = host.create("--workspace", "-", "--image", "silent", "-e",
                      "PATH=/bin")
    done = sh(host, box, SHOW)
    work = host.show(box)["workspace"]
    assert done.stdout == f"{work}|/bin|||{PROXY}|\n", done.stderr
    assert told(host, box) == []
    assert host.ok("logs", box) == ""
    host.ok("kill", box)


def test_what_an_image_has_not_is_told_or_passed_over(host):
    box = host.create("--workspace", "-", "--image", "odd")
    wait_until(lambda: told(host, box))
    assert len(told(host, box)) == 1
    assert "run /no/such/program" in told(host, box)[0]
    assert sh(host, box, "echo $PWD").stdout.strip() == \
        host.show(box)["workspace"]
    assert host.state(box) == "Running"
    host.ok("kill", box)


def test_commands_that_are_judged_begin_in_the_workspace(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ncommands: {deny: [echo]}\n")
    box = host.create("--workspace", "-", "--image", "own", "--policy",
                      policy)
    done = host.exec(box, "/bin/busybox", "pwd")
    events = told(host, box)
    # The image's entrypoint is judged as well.
    assert any(text.startswith("the image's entrypoint: ")
               for text in events), events
    assert any("begin in the workspace" in text for text in events)
    assert host.state(box) == "Running"
    assert host.ok("logs", box) == ""
    assert done.stdout.strip() == host.show(box)["workspace"], done.stderr
    host.ok("kill", box)


@pytest.mark.parametrize("name", REFUSED)
def test_an_image_that_says_what_none_can_is_refused(host, name):
    """The image "own" is their twin."""
    done = pull(host, name)
    assert done.returncode == 1 and REFUSED[name][1] in done.stderr, \
        done.stderr
    assert not (host.dir / "store/images" / name).exists()


def test_settings_that_are_no_longer_ours_are_not_used(host):
    assert pull(host, "odd").returncode == 0
    path = host.dir / "store/images/odd/settings"
    path.write_bytes(b"\xff" + path.read_bytes())
    done = host.run("create", "--workspace", "-", "--image", "odd")
    assert done.returncode != 0 and "image-settings" in done.stderr, \
        done.stderr
    # Pulled anew it is as it was.
    assert pull(host, "odd").returncode == 0
    host.ok("kill", host.create("--workspace", "-", "--image", "odd"))


def test_one_that_is_ready_begins_when_it_is_given_out(gateway, sources,
                                                       tmp_path):
    host = Host(gateway, tmp_path, images={"own": sources["own"]},
                limits={"ready": 1}).start()
    try:
        assert pull(host, "own").returncode == 0
        words = ("--workspace", "-", "--bare", "--image", "own")
        first = host.create(*words)
        ready = wait_until(lambda: [
            box for box in host.supervisors() if box != first and
            f'msg="{box}: Running"' in host.log()])[0]
        # Before, nothing ran in it; then the image's own does.
        place = host.dir / "host/sandboxes" / ready
        assert place.exists() and not (place / "log").exists()
        assert host.create(*words) == ready
        wait_until(lambda: host.ok("logs", ready) ==
                   "image in /opt/app word\n")
        assert (place / "log").exists()
        assert sh(host, ready, "echo $PWD $NAME").stdout == \
            "/opt/app image\n"
    finally:
        host.stop()
    host.check()
