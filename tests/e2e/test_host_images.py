"""What sandboxes of the service are made from: images, volumes, snapshots,
pools."""
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest
from gateway import Gateway
from host import Host
from waiting import wait_until

TOOLS = ("sh", "cat", "ls", "id", "mkdir", "rm", "touch", "echo", "stat",
         "true", "sleep", "mknod", "dd", "ln", "find", "wc", "sync")


def make_image(root):
    """A small root; the host has no file of the name /etc/of-the-image."""
    for name in ("bin", "etc", "usr/bin", "var/lib", "home", "opt", "tmp"):
        (root / name).mkdir(parents=True)
    # Of Debian's busybox-static: it needs no library.
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for name in TOOLS:
        (root / "bin" / name).symlink_to("busybox")
    (root / "etc/of-the-image").write_text("image\n")
    (root / "etc/passwd").write_text("root:x:0:0:image:/:/bin/sh\n")
    return root


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return make_image(tmp_path_factory.mktemp("image") / "root")


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Where volumes may be from."""
    root = tmp_path_factory.mktemp("volumes")
    for name in ("data/sub", "other"):
        (root / name).mkdir(parents=True)
    (root / "data/file").write_text("a file\n")
    (root / "data/sub/deep").write_text("deep\n")
    (root / "data/out").symlink_to("/etc")
    return root


@pytest.fixture(scope="module")
def host(gateway, image, roots, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host"),
                images={"small": str(image),
                        "fixed": {"source": str(image), "mode": "read"}},
                volumes=[str(roots)]).start()
    yield host
    host.stop()
    host.check()


def create(host, *words):
    return host.create("--workspace", "-", *words)


def sh(host, box, script):
    return host.exec(box, "/bin/sh", "-c", script)


# ---- images ----

def test_the_root_is_the_image_and_nothing_of_the_host(host):
    box = create(host, "--image", "small")
    done = sh(host, box, "cat /etc/of-the-image; ls -d /usr/bin/* /srv "
                         "/etc/debian_version 2>/dev/null | wc -l; "
                         "cat /etc/passwd; stat -c %a /run/sallyport/ca.pem")
    assert done.stdout == "image\n0\nroot:x:0:0:image:/:/bin/sh\n444\n", \
        done.stderr
    done = sh(host, box, "cat /etc/resolv.conf; cat /etc/hosts")
    assert "198.18.0.1" in done.stdout and "sandbox" in done.stdout
    host.ok("kill", box)


def test_what_is_written_ends_with_the_sandbox(host, image):
    one = create(host, "--image", "small")
    two = create(host, "--image", "small")
    done = sh(host, one, "echo mine > /etc/of-the-image && rm /etc/passwd && "
                         "mkdir /opt/new && cat /etc/of-the-image; "
                         "echo x > /etc/resolv.conf; rm /etc/hosts; "
                         "echo x > /run/sallyport/ca.pem")
    assert done.stdout == "mine\n", done.stderr
    assert "198.18.0.1" in sh(host, one, "cat /etc/resolv.conf").stdout
    assert sh(host, two, "cat /etc/of-the-image").stdout == "image\n"
    assert (image / "etc/of-the-image").read_text() == "image\n"
    assert not (image / "opt/new").exists()
    assert (host.works / f"{one}.root").exists()
    host.ok("kill", one)
    host.ok("kill", two)
    wait_until(lambda: not (host.works / f"{one}.root").exists())


def test_a_read_only_image_takes_nothing(host):
    box = create(host, "--image", "fixed")
    done = sh(host, box, "cat /etc/of-the-image; echo x > /etc/x; "
                         "echo x > /tmp/x && echo x > x && echo done")
    assert done.stdout == "image\ndone\n"
    assert "Read-only" in done.stderr
    host.ok("kill", box)


def test_an_image_that_there_is_not_is_refused(host):
    done = host.run("create", "--workspace", "-", "--image", "none")
    assert (done.returncode, "has none of that name" in done.stderr) == \
        (3, True)


# ---- volumes ----

def test_a_volume_is_there_and_writable_or_not(host, roots):
    box = create(host, "--image", "small",
                 "--volume", f"{roots}/data:/mnt/a:ro",
                 "--volume", f"{roots}/other:/opt/b")
    done = sh(host, box, "cat /mnt/a/file; echo no > /mnt/a/new; "
                         "echo yes > /opt/b/new; cat /opt/b/new")
    assert done.stdout == "a file\nyes\n", done.stderr
    assert "Read-only" in done.stderr
    assert (roots / "other/new").read_text() == "yes\n"
    host.ok("kill", box)


def test_a_volume_over_the_hosts_root(host, roots):
    box = create(host, "--volume", f"{roots}/data:/tmp/a:ro")
    assert sh(host, box, "cat /tmp/a/sub/deep").stdout == "deep\n"
    host.ok("kill", box)


@pytest.mark.parametrize("volume,code,words", [
    ("/etc:/tmp/a", 5, "host.yaml allows"),
    ("/nonexistent:/tmp/a", 5, "host.yaml allows"),
    ("{roots}/data/out:/tmp/a", 5, "host.yaml allows"),
    ("{roots}/none:/tmp/a", 5, "host.yaml allows"),
    ("{roots}/data/../../..:/tmp/a", 3, "no \"..\""),
    ("{roots}/data:/tmp/../a", 3, "no \"..\""),
    ("{roots}/data:/proc/x", 3, "ours"),
    ("{roots}/data:/run/sallyport", 3, "not as a whole"),
    ("{roots}/data:/run/sallyport/x", 3, "ours"),
    ("{roots}/data:/", 3, "not as a whole"),
    ("{roots}/data:/etc/none", 3, "nothing to mount it on"),
    ("data:/tmp/a", 3, "absolute"),
    ("{roots}/data:tmp", 3, "absolute"),
])
def test_a_volume_that_is_not_allowed_is_refused(host, roots, volume, code,
                                                 words):
    done = host.run("create", "--workspace", "-", "--volume",
                    volume.format(roots=roots))
    assert words in done.stderr
    assert done.returncode == code, done.stderr


def test_nothing_is_made_in_a_users_directory_for_a_volume(host, roots):
    done = host.run("create", "--volume",
                    f"{roots}/data:{host.workspace}/new")
    assert (done.returncode, "nothing to mount it on" in done.stderr) == \
        (3, True)
    assert not list(host.workspace.iterdir())


# ---- many ----

def test_a_batch_has_an_answer_for_each(host):
    boxes = host.ok("create", "--workspace", "-", "--count", "5").split()
    assert len(set(boxes)) == 5
    for box in boxes:
        assert host.state(box) == "Running"
        host.ok("kill", box)
    assert host.run("create", "--count", "101").returncode == 2
    assert host.run("create", "--count", "0").returncode == 2
