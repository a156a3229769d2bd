"""Files that gateway.yaml names for its secrets when sandboxes run already:
nothing can be hidden in those any more, so one that could read such a file is
ended."""
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from host import OVER, Host, ordinary
from waiting import wait_until

WAITS = """
touch ready
for i in $(seq 600); do test -e go && break; sleep .1; done
cat secret free
"""
WHY = "a secret of the gateway stands in a file that can be read inside"
POLICY = "version: 1\n"


class Place:
    """A gateway and a service of one user, and two of his directories: one is
    the workspace, the other is nowhere inside."""

    def __init__(self, host, root):
        self.host, self.gateway = host, host.gateway
        self.work, self.elsewhere = root / "work", root / "elsewhere"
        for path in (self.work, self.elsewhere):
            path.mkdir()
            self.write(path / "secret", "SECRET\n")
        self.write(self.work / "free", "FREE\n")
        self.give(self.work, self.elsewhere)

    def give(self, *paths):
        owner = self.gateway.as_user.get("user", os.geteuid())
        for path in paths:
            os.chown(path, owner, owner)

    def write(self, path, text):
        path.write_text(text)
        path.chmod(0o600)
        self.give(path)

    def configure(self, **more):
        text = json.loads(self.gateway.config.read_text())
        self.gateway.config.write_text(json.dumps({**text, **more}))

    def name(self, *paths):
        self.configure(secrets={f"s{number}": {"file": str(path)}
                                for number, path in enumerate(paths)})

    def reload(self):
        done = self.gateway.cli("config", "reload")
        assert done.returncode == 0, done.stderr

    def run(self, change, ends, policy=POLICY):
        """A command that reads when change() was done; how it ended."""
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.gateway.run, policy, WAITS, self.work)
            wait_until(lambda: (self.work / "ready").exists())
            change()
            if ends:
                wait_until(running.done)
            time.sleep(0.5)
            (self.work / "go").touch()
            return running.result()

    def box(self):
        return self.host.create("--workspace", self.work, "--", "sleep",
                                "1000")


@pytest.fixture(params=["root", "ordinary"])
def place(request, make_gateway, pki, tmp_path):
    """An ordinary user's command could read what that user can; root's is
    another user, but in the workspace."""
    if request.param == "ordinary" or os.geteuid() != 0:
        with ordinary(pki[1]) as host:
            yield Place(host, host.dir)
        return
    gateway = make_gateway("files")
    host = Host(gateway, tmp_path).start()
    yield Place(host, tmp_path)
    host.stop()
    host.check()
    gateway.stop()
    gateway.check()


def reload_with(place, *paths):
    def change():
        place.name(*paths)
        place.reload()
    return change


@pytest.mark.parametrize("named", ["secret", "later", "link"])
def test_a_command_that_could_read_it_is_ended(place, named):
    """Also where it is not there yet, and where a link leads to it."""
    (place.work / "link").symlink_to(place.work / "secret")
    done = place.run(reload_with(place, place.work / named), ends=True)
    assert done.returncode == 137
    assert "SECRET" not in done.stdout + done.stderr
    assert f"{WHY} by now: {place.work / named}" in done.stderr
    # The next one hides it.
    (place.work / "ready").unlink()
    done = place.run(lambda: None, ends=False)
    seen = "SECRET\n" if named == "later" else ""
    assert done.stdout == f"{seen}FREE\n", done.stderr


def test_one_that_could_not_goes_on(place):
    done = place.run(reload_with(place, place.elsewhere / "secret"),
                     ends=False)
    assert (done.returncode, done.stdout) == (0, "SECRET\nFREE\n"), done.stderr


def test_one_whose_policy_hides_it_goes_on(place):
    policy = {"version": 1, "filesystem": {"hide": ["**/secret"]}}
    done = place.run(reload_with(place, place.work / "secret"), ends=False,
                     policy=policy)
    assert (done.returncode, done.stdout) == (1, "FREE\n"), done.stderr


def test_what_was_named_before_ends_nothing(place):
    """It is hidden; the next reload tells it again."""
    (place.work / "link").symlink_to(place.work / "target")
    names = ("secret", "later", "link", "not/yet")
    place.name(*(place.work / name for name in names))
    place.reload()

    def change():
        place.configure(limits={"connections": 77})
        place.reload()
    done = place.run(change, ends=False)
    assert (done.returncode, done.stdout) == (1, "FREE\n"), done.stderr


def why_ended(place, box):
    wait_until(lambda: place.host.state(box) in OVER)
    row = place.host.show(box)
    return row["state"], row["message"]


def test_a_sandbox_of_the_service_is_ended_too(place):
    box, path = place.box(), place.work / "secret"
    assert place.host.exec(box, "cat", "secret").stdout == "SECRET\n"
    place.name(place.elsewhere / "secret")
    place.reload()
    time.sleep(0.5)
    assert place.host.exec(box, "cat", "secret").stdout == "SECRET\n"
    place.name(path)
    place.reload()
    state, message = why_ended(place, box)
    assert state == "Terminated" and f"{WHY} by now: {path}" in message
    box = place.box()
    assert place.host.exec(box, "cat", "secret").stdout == ""


def test_so_is_one_when_another_gateway_names_it(place):
    """A session is made anew for those that show nothing of it."""
    box = place.box()
    place.name(place.elsewhere / "secret")
    place.gateway.process.kill()
    place.gateway.process.wait()
    place.gateway.start()
    wait_until(lambda: any("the session was made anew" in event["text"]
                           for event in place.host.events(box)))
    time.sleep(0.5)
    assert place.host.exec(box, "cat", "secret").stdout == "SECRET\n"
    # And once more, by a reload of that one.
    place.name(place.work / "secret")
    place.reload()
    assert WHY in why_ended(place, box)[1]


def test_so_is_one_that_nobody_could_tell(place):
    """Who would, was away when the file was named."""
    box = place.box()
    place.name(place.work / "secret")
    place.gateway.process.kill()
    place.gateway.process.wait()
    place.gateway.start()
    assert WHY in why_ended(place, box)[1]
