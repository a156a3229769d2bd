"""What sandboxes of the service are made from: images, volumes, snapshots,
pools."""
import io
import json
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time

import pytest
from gateway import Gateway
from host import Host, children_of, fields_of, has_ended
from sandbox_tool import ORDINARY_UID
from waiting import at_best, wait_until, while_it_lives

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
def linked(tmp_path_factory):
    """An image whose links would lead into the host's root while it still
    stands inside."""
    root = make_image(tmp_path_factory.mktemp("linked") / "root")
    for name in ("layers", "lower"):
        (root / name).symlink_to("old/tmp")
    return root


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


class Hostile:
    """A tar, entry by entry, as no tar(1) makes it."""

    def __init__(self):
        self.file = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.file, mode="w",
                                format=tarfile.PAX_FORMAT)

    def add(self, name, kind=tarfile.REGTYPE, text=b"", mode=0o644, link="",
            **pax):
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.linkname = kind, mode, link
        entry.size = len(text) if kind == tarfile.REGTYPE else 0
        entry.pax_headers = pax
        self.tar.addfile(entry, io.BytesIO(text))
        return self

    def bytes(self):
        self.tar.close()
        return self.file.getvalue()


DIR, SYM, LNK = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
REFUSED = {
    "dotdot": (Hostile().add("../out", text=b"x"), "leads out"),
    "dotdot-inside": (Hostile().add("a/../../out", text=b"x"), "leads out"),
    "through-link": (Hostile().add("etc", SYM, link="/etc")
                     .add("etc/passwd", text=b"x"), "no directory"),
    "through-dotdot-link": (Hostile().add("up", SYM, link="../..")
                            .add("up/x", text=b"x"), "no directory"),
    "link-out": (Hostile().add("x", LNK, link="/etc/passwd"), "no directory"),
    "link-dotdot": (Hostile().add("x", LNK, link="../digest"), "leads out"),
    "link-through": (Hostile().add("etc", SYM, link="/etc")
                     .add("x", LNK, link="etc/shadow"), "no directory"),
    "link-to-link": (Hostile().add("s", SYM, link="/etc/shadow")
                     .add("x", LNK, link="s"), "no file"),
    "deep": (Hostile().add("/".join(["d"] * 200), DIR), "too deep"),
    "over-directory": (Hostile().add("d", DIR).add("d", text=b"x"),
                       "directory is there"),
    "sparse": (Hostile().add("x", text=b"x", **{"GNU.sparse.major": "1"}),
               "sparse"),
}


@pytest.fixture(scope="module")
def tars(image, tmp_path_factory):
    """{name: path}: a good one, and hostile ones."""
    root = tmp_path_factory.mktemp("tars")
    good = io.BytesIO()
    with tarfile.open(fileobj=good, mode="w") as tar:
        tar.add(image, ".")
    (root / "good").write_bytes(gzip.compress(good.getvalue()))
    odd = Hostile()
    odd.add("bin", DIR, mode=0o755)
    odd.add("bin/sh", text=(image / "bin/busybox").read_bytes(), mode=0o6755)
    odd.add("dev/sda", tarfile.BLKTYPE).add("etc/null", tarfile.CHRTYPE)
    odd.add("etc/pipe", tarfile.FIFOTYPE)
    odd.add("/etc/absolute", text=b"inside\n")
    odd.add("etc/out", SYM, link="../../../../../../etc/debian_version")
    odd.add("etc/resolv.conf", SYM, link="/proc/1/environ")
    odd.add("etc/hosts/in/the/way", DIR)
    odd.add("usr", SYM, link="/etc").add("var", text=b"no directory")
    odd.add("etc/x", text=b"x", **{"SCHILY.xattr.user.overlay.opaque": "y",
                                   "SCHILY.xattr.security.capability": "x"})
    odd.add("long/" + "n" * 200, text=b"long")
    (root / "odd").write_bytes(odd.bytes())
    (root / "cut").write_bytes((root / "odd").read_bytes()[:5000])
    (root / "garbage").write_bytes(os.urandom(4096))
    for name, (tar, _) in REFUSED.items():
        (root / name).write_bytes(tar.bytes())
    for path in [root, *root.iterdir()]:
        path.chmod(0o755)
    return {path.name: path for path in root.iterdir()}


def make_layout(root, layer, own=None, **more):
    """An OCI image with one layer, a tar that gzip made, and what it says of
    itself: (skopeo's words, digest of its manifest)."""
    blobs = root / "blobs/sha256"
    blobs.mkdir(parents=True)

    def put(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    plain = hashlib.sha256(gzip.decompress(layer)).hexdigest()
    config = put(json.dumps(
        {"architecture": "amd64", "os": "linux", "config": own or {},
         "rootfs": {"type": "layers",
                    "diff_ids": [f"sha256:{plain}"]}}).encode())
    kind = "application/vnd.oci.image"
    manifest = put(json.dumps(
        {"schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json",
         "config": {"mediaType": f"{kind}.config.v1+json", **config},
         "layers": [{"mediaType": f"{kind}.layer.v1.tar+gzip",
                     **put(layer)}], **more}).encode())
    (root / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (root / "index.json").write_text(json.dumps(
        {"schemaVersion": 2, "manifests": [
            {"mediaType": f"{kind}.manifest.v1+json", **manifest,
             "annotations": {"org.opencontainers.image.ref.name": "it"}}]}))
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755)
    for path in [root, *root.parents]:
        if path.stat().st_uid == os.geteuid() and path != pathlib.Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    return f"oci:{root}:it", manifest["digest"]


@pytest.fixture(scope="module")
def layout(tars, tmp_path_factory):
    return make_layout(tmp_path_factory.mktemp("oci"),
                       tars["good"].read_bytes())


def packed(**files):
    """A layer with these, as it is sent."""
    tar = Hostile()
    for name, text in files.items():
        tar.add(name, text=text)
    return gzip.compress(tar.bytes(), compresslevel=1)


MIB = 1 << 20
IMAGE_MAX = 16 * MIB  # of host.yaml below


@pytest.fixture(scope="module")
def too_large(tmp_path_factory):
    """{name: skopeo's words} of images that are larger than they may be: in
    one file and in many, unpacked alone and as they are fetched, and of one
    whose manifest is."""
    root = tmp_path_factory.mktemp("large")
    zeros = bytes(IMAGE_MAX + MIB)
    pieces = {f"f{n}": bytes(MIB) for n in range(IMAGE_MAX // MIB + 2)}
    made = {
        "bomb": make_layout(root / "bomb", packed(file=zeros)),
        "bomb-of-many": make_layout(root / "many", packed(**pieces)),
        "heavy": make_layout(root / "heavy",
                             packed(file=os.urandom(IMAGE_MAX + MIB))),
        "manifest": make_layout(root / "manifest", packed(x=b"x"),
                                annotations={"x": "x" * 6 * MIB})}
    return {name: words for name, (words, _) in made.items()}


@pytest.fixture(scope="module")
def host(gateway, image, linked, roots, tars, layout, too_large,
         tmp_path_factory):
    images = {name: str(path) for name, path in tars.items()} | too_large
    images["good"] = {"source": str(tars["good"]), "digest":
                      "sha256:" + hashlib.sha256(
                          tars["good"].read_bytes()).hexdigest()}
    images["other"] = {"source": str(tars["odd"]),
                       "digest": images["good"]["digest"]}
    images |= {"small": str(image), "linked": str(linked),
               "fixed": {"source": str(image), "mode": "read"},
               "oci": {"source": layout[0], "digest": layout[1]},
               "oci-other": {"source": layout[0],
                             "digest": images["good"]["digest"]},
               "oci-none": "oci:/nonexistent:it"}
    host = Host(gateway, tmp_path_factory.mktemp("host"), images=images,
                volumes=[str(roots)],
                limits={"snapshots": 5, "snapshot_bytes": "8MiB",
                        "image_bytes": "16MiB"}).start()
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


def test_what_is_written_over_an_image_counts_as_disk(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nlimits: {disk: 8MiB}\n")
    box = create(host, "--image", "small", "--policy", policy)
    sh(host, box, "while :; do n=$((n+1)); dd if=/dev/zero of=/opt/f$n "
                  "bs=1048576 count=1 || exit 1; done")
    wait_until(lambda: host.state(box) == "Terminated")
    assert host.show(box)["reason"] == "resource_limit"


def test_a_read_only_image_takes_nothing(host):
    box = create(host, "--image", "fixed")
    done = sh(host, box, "cat /etc/of-the-image; echo x > /etc/x; "
                         "echo x > /tmp/x && echo x > x && echo done")
    assert done.stdout == "image\ndone\n"
    assert "Read-only" in done.stderr
    host.ok("kill", box)


def test_an_images_links_are_not_in_the_way_of_an_overlay(host, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nfilesystem: {workspace: {mode: overlay}}\n")
    for image, links in (("small", 0), ("linked", 2)):
        box = host.create("--image", image, "--policy", policy)
        done = sh(host, box, "echo x > here && cat here; "
                             "find / -maxdepth 1 -type l | wc -l; ls -A /")
        assert done.stdout.startswith(f"x\n{links}\n"), done.stderr
        assert ".layers" not in done.stdout
        assert not (host.workspace / "here").exists()
        host.ok("kill", box)


def test_an_image_that_there_is_not_is_refused(host):
    done = host.run("create", "--workspace", "-", "--image", "none")
    assert (done.returncode, "has none of that name" in done.stderr) == \
        (3, True)


def image_cli(host, *words):
    command = host.command(*words)
    command[1] = "image"
    return subprocess.run(command, env=host.env(), capture_output=True,
                          text=True, timeout=120, check=False)


def pull(host, name):
    return image_cli(host, "pull", name)


def test_a_tar_is_unpacked_once_and_its_digest_named(host, tars):
    digest = hashlib.sha256(tars["good"].read_bytes()).hexdigest()
    assert "not in the store" in host.run("create", "--image", "good").stderr
    done = pull(host, "good")
    assert done.stdout == f"sha256:{digest}\n", done.stderr
    box = create(host, "--image", "good")
    assert sh(host, box, "cat /etc/of-the-image; echo x > /etc/new; "
                         "cat /etc/new").stdout == "image\nx\n"
    assert host.show(box)["image"] == "good"
    # It is in use.
    assert pull(host, "good").returncode == 7
    assert image_cli(host, "rm", "good").returncode == 7
    host.ok("kill", box)
    assert pull(host, "good").returncode == 0
    rows = json.loads(image_cli(host, "list", "-o", "json").stdout)["images"]
    row, = [row for row in rows if row["name"] == "good"]
    assert row["available"] and row["digest"] == f"sha256:{digest}"
    assert image_cli(host, "rm", "good").returncode == 0
    assert "not in the store" in host.run("create", "--image", "good").stderr
    assert image_cli(host, "rm", "good").returncode == 6
    assert pull(host, "small").returncode == 7
    assert pull(host, "nothing").returncode == 6


def test_an_image_of_another_digest_is_refused(host):
    for name in ("other", "oci-other"):
        done = pull(host, name)
        assert done.returncode == 1 and "as host.yaml says" in done.stderr
        assert "not in the store" in host.run("create", "--image",
                                              name).stderr


@pytest.mark.parametrize("name", [*REFUSED, "cut", "garbage", "oci-none"])
def test_a_hostile_tar_is_refused(host, name):
    done = pull(host, name)
    words = REFUSED[name][1] if name in REFUSED else ""
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert not (host.dir / "store/images" / name).exists()


@pytest.mark.parametrize("name,words", [
    ("bomb", "unpacked, the image is larger than limits.image_bytes"),
    ("bomb-of-many", "unpacked, the image is larger than limits.image_bytes"),
    ("heavy", "packed, the image is larger than limits.image_bytes"),
    ("manifest", "manifest has more than 4194304 bytes")])
def test_an_image_that_is_too_large_is_refused(host, name, words):
    """The image "oci" is its twin: the same, but smaller."""
    done = pull(host, name)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert not (host.dir / "store/images" / name).exists()
    wait_until(lambda: not list((host.dir / "store/tmp").iterdir()))


def test_a_pull_that_takes_too_long_is_ended(gateway, layout, tmp_path):
    """The image "oci" is its twin: the same limit, and all that skopeo asks
    for is there."""
    def pulled(seconds):
        (tmp_path / str(seconds)).mkdir()
        host = Host(gateway, tmp_path / str(seconds),
                    images={"silent": f"docker://{where}/image",
                            "oci": layout[0]},
                    limits={"image_time": f"{seconds}s"}).start()
        try:
            start = time.monotonic()
            done = pull(host, "silent")
            assert done.returncode == 1 and (
                "image silent: it took longer than limits.image_time of "
                f"host.yaml: {seconds} s") in done.stderr, done.stderr
            assert time.monotonic() - start >= seconds
            wait_until(lambda: not list((host.dir / "store/tmp").iterdir()))
            assert pull(host, "oci").returncode == 0
        finally:
            host.stop()
        host.check()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = "127.0.0.1:%d" % silent.getsockname()[1]
        while_it_lives(pulled, (5, 30))


def test_a_pipe_that_is_named_as_an_image_keeps_nobody_waiting(gateway,
                                                              tmp_path):
    os.mkfifo(tmp_path / "pipe.tar")
    host = Host(gateway, tmp_path,
                images={"pipe": str(tmp_path / "pipe.tar")}).start()
    try:
        done = pull(host, "pipe")
        assert done.returncode == 1 and (
            "pipe.tar is neither a directory nor a tar") in done.stderr
    finally:
        host.stop()
    host.check()


def test_what_is_odd_in_a_tar_does_no_harm(host):
    assert pull(host, "odd").returncode == 0
    root = host.dir / "store/images/odd/root"
    assert not (root / "dev/sda").exists()
    assert not os.path.lexists(root / "etc/null")
    assert not os.path.lexists(root / "etc/pipe")
    assert (root / "bin/sh").stat().st_mode & 0o7777 == 0o755
    assert (root / "etc/absolute").read_text() == "inside\n"
    assert not os.listxattr(root / "etc/x")
    assert (root / "long" / ("n" * 200)).read_text() == "long"
    box = create(host, "--image", "odd")
    # Ours stand where they do, whatever was there.
    done = host.exec(box, "/bin/sh", "-c", "read a < /etc/resolv.conf; "
                     "read b < /etc/hosts; echo $a; echo $b; "
                     "read c < /etc/out || echo nothing")
    assert done.stdout == ("nameserver 198.18.0.1\n"
                           "127.0.0.1 localhost sandbox\nnothing\n"), \
        done.stderr
    host.ok("kill", box)


def test_an_oci_image_is_pulled_by_its_digest(host, layout):
    done = pull(host, "oci")
    assert done.stdout == layout[1] + "\n", done.stderr
    box = create(host, "--image", "oci")
    assert sh(host, box, "cat /etc/of-the-image; echo x > /opt/new; "
                         "cat /opt/new").stdout == "image\nx\n"
    host.ok("kill", box)


# ---- snapshots ----

def snapshots(host):
    command = host.command("list", "-o", "json")
    command[1] = "snapshot"
    done = subprocess.run(command, env=host.env(), capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)["snapshots"]


def remove(host, snapshot):
    command = host.command("rm", snapshot)
    command[1] = "snapshot"
    return subprocess.run(command, env=host.env(), capture_output=True,
                          text=True, check=False)


def test_a_snapshot_keeps_what_was_written(host):
    box = create(host, "--image", "small")
    done = sh(host, box, """
        set -e
        echo root > /opt/mine; rm /etc/passwd; rm -r /var/lib; mkdir /var/lib
        echo work > here; mkdir -p a/b; echo deep > a/b/c; ln -s /etc/shadow s
        ln here linked; dd if=/dev/zero of=sparse bs=1 count=1 seek=100000000
        chmod 755 here""")
    assert done.returncode == 0, done.stderr
    snapshot = host.ok("snapshot", box, "--name", "first").strip()
    # It goes on when the copy is made, a moment later.
    assert host.state(box) == "Running"
    sh(host, box, "echo later > here; rm -r /opt/mine")
    row, = [row for row in snapshots(host) if row["id"] == snapshot]
    assert (row["state"], row["name"], row["sandbox"], row["image"]) == \
        ("Ready", "first", box, "small")
    assert row["bytes"] < 1000000
    new = create(host, "--snapshot", snapshot)
    done = sh(host, new, "cat /opt/mine here a/b/c linked; ls /var/lib; "
                         "ls /etc/passwd; stat -c %a here; cat s; "
                         "stat -c %s sparse")
    assert done.stdout == "root\nwork\ndeep\nwork\n755\n100000001\n", \
        done.stderr
    assert host.show(new)["image"] == "small"
    host.ok("kill", box)
    # It stays when its sandbox has gone, and over restarts.
    host.kill()
    host.start()
    assert [row["state"] for row in snapshots(host)] == ["Ready"]
    other = create(host, "--snapshot", snapshot)
    assert sh(host, other, "cat here").stdout == "work\n"
    for one in (new, other):
        host.ok("kill", one)
    assert host.run("create", "--snapshot", snapshot).returncode == 3
    assert host.run("create", "--workspace", "-", "--image", "fixed",
                    "--snapshot", snapshot).returncode == 3
    assert remove(host, snapshot).returncode == 0
    assert remove(host, snapshot).returncode == 6
    assert host.run("create", "--workspace", "-", "--snapshot",
                    snapshot).returncode == 3
    wait_until(lambda: not list((host.dir / "store/snapshots").iterdir()))


def test_what_is_no_file_is_not_in_a_snapshot(host):
    box = create(host)
    done = host.exec(box, "python3", "-c", """
import os, socket
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
open("file", "w").write("x")
os.setxattr("file", "user.overlay.redirect", b"/etc")
""")
    assert done.returncode == 0, done.stderr
    snapshot = host.ok("snapshot", box).strip()
    work = host.dir / "store/snapshots" / snapshot / "workspace"
    assert [path.name for path in work.iterdir()] == ["file"]
    assert not os.listxattr(work / "file")
    host.ok("kill", box)
    remove(host, snapshot)


def test_snapshots_have_a_quota(host):
    box = create(host)
    sh(host, box, "dd if=/dev/urandom of=x bs=1M count=9")
    done = host.run("snapshot", box)
    assert done.returncode == 1 and "larger than allowed" in done.stderr
    assert host.state(box) == "Running"
    row, = snapshots(host)
    assert row["state"] == "Failed" and "larger" in row["message"]
    remove(host, row["id"])
    sh(host, box, "rm x; echo x > x")
    made = []
    for _ in range(5):
        made.append(host.ok("snapshot", box).strip())
        assert host.state(box) == "Running"
    done = host.run("snapshot", box)
    assert done.returncode == 1 and "limits.snapshots" in done.stderr
    host.ok("pause", box)
    remove(host, made.pop())
    made.append(host.ok("snapshot", box).strip())
    assert host.state(box) == "Paused"
    host.ok("kill", box)
    assert host.run("snapshot", box).returncode == 7
    assert host.run("snapshot", "sb-none").returncode == 6
    for one in made:
        assert remove(host, one).returncode == 0


DIG = """
import os, sys
for _ in range(int(sys.argv[1])):
    if not os.path.exists("d"):
        os.mkdir("d")
    os.chdir("d")
open("bottom", "a").write("x")
print(os.path.getsize("bottom"))
"""


def test_a_snapshot_that_is_too_deep_fails_and_says_so(host):
    box = create(host)
    assert host.exec(box, "python3", "-c", DIG, "1000").returncode == 0
    snapshot = host.ok("snapshot", box).strip()
    new = create(host, "--snapshot", snapshot)
    assert host.exec(new, "python3", "-c", DIG, "1000").stdout == "2\n"
    host.ok("kill", new)
    assert host.exec(box, "python3", "-c", DIG, "1100").returncode == 0
    done = host.run("snapshot", box)
    assert done.returncode == 1 and "1024 deep" in done.stderr
    # Nothing of it is left but that it failed.
    parts = {row["state"]: (host.dir / "store/snapshots" / row["id"] /
                            "workspace").exists() for row in snapshots(host)}
    assert parts == {"Ready": True, "Failed": False}
    for row in snapshots(host):
        remove(host, row["id"])
    host.ok("kill", box)


def test_what_its_owner_can_not_read_is_in_a_snapshot_as_it_is(host):
    box = create(host)
    assert sh(host, box, """
        echo closed > file; mkdir -p dir/below; echo deep > dir/below/x
        chmod 000 file dir/below; chmod 300 dir""").returncode == 0
    snapshot = host.ok("snapshot", box).strip()
    new = create(host, "--snapshot", snapshot)
    for one in (box, new):
        assert sh(host, one, "stat -c %a file dir dir/below; chmod 700 dir; "
                             "chmod 500 dir/below; chmod 400 file; "
                             "cat file dir/below/x").stdout == \
            "0\n300\n0\nclosed\ndeep\n"
        host.ok("kill", one)
    remove(host, snapshot)


def test_a_workspace_that_is_closed_itself_is_in_a_snapshot(host):
    box = create(host)
    assert sh(host, box, "mkdir sub; echo words > sub/file; "
                         "chmod 0 .").returncode == 0
    snapshot = host.ok("snapshot", box).strip()
    work = pathlib.Path(host.show(box)["workspace"])
    assert work.stat().st_mode & 0o777 == 0
    new = create(host, "--snapshot", snapshot)
    assert sh(host, new, "cat sub/file").stdout == "words\n"
    for one in (box, new):
        host.ok("kill", one)
    remove(host, snapshot)


def test_snapshots_that_are_made_at_once_have_one_quota(host):
    boxes = [create(host) for _ in range(3)]
    for box in boxes:
        sh(host, box, "dd if=/dev/urandom of=x bs=1M count=5")
    asking = [host.popen("snapshot", box) for box in boxes]
    codes = [one.wait(120) for one in asking]
    said = [one.communicate()[1] for one in asking]
    assert sorted(codes) == [0, 1, 1], said
    assert sum("larger than allowed" in text for text in said) == 2
    assert sorted(row["state"] for row in snapshots(host)) == [
        "Failed", "Failed", "Ready"]
    for box in boxes:
        assert host.state(box) == "Running"
        host.ok("kill", box)
    for row in snapshots(host):
        remove(host, row["id"])


def stores(host):
    """What copies for this service's daemon. A look at all processes of the
    machine would take as long as some copies do."""
    found = []
    for pid in children_of(host.process.pid):
        try:
            words = pathlib.Path(
                f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        fields = fields_of(pid)
        if words[0] == b"sallyport-store" and fields and fields[0] != "Z":
            found.append(pid)
    return found


def stop_a_copy(host):
    """Its process, which goes no further."""
    pid, = wait_until(lambda: stores(host), every=0.0005)
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: fields_of(pid)[0] == "T")
    return pid


def test_a_snapshot_that_is_removed_stays_for_who_begins_with_it(host):
    box = create(host)
    assert sh(host, box, "seq 6000 | xargs touch").returncode == 0
    snapshot = host.ok("snapshot", box).strip()
    host.ok("kill", box)
    with host.popen("create", "--workspace", "-", "--snapshot",
                    snapshot) as asking:
        pid = stop_a_copy(host)
        assert remove(host, snapshot).returncode == 0
        assert [row["state"] for row in snapshots(host)] == ["Deleting"]
        # It is nobody's to begin with any more.
        assert host.run("create", "--workspace", "-", "--snapshot",
                        snapshot).returncode == 3
        assert remove(host, snapshot).returncode == 0
        os.kill(pid, signal.SIGCONT)
        new = asking.stdout.read().strip()
        assert asking.wait(60) == 0
    assert sh(host, new, "ls | wc -l").stdout == "6000\n"
    assert not snapshots(host)
    wait_until(lambda: not list((host.dir / "store/snapshots").iterdir()))
    host.ok("kill", new)


def verb(host, command, box):
    return host.run(command, box).returncode


def test_what_is_wanted_while_a_snapshot_is_made_comes_afterwards(host):
    box = create(host)
    assert sh(host, box, "seq 6000 | xargs touch").returncode == 0
    # Who resumes it and pauses it again, and who only resumes it.
    for wanted, end in ((["pause"], "Paused"),
                        (["resume"], "Running"),
                        (["pause", "resume"], "Running"),
                        (["resume", "pause"], "Paused")):
        with host.popen("snapshot", box) as asking:
            pid = stop_a_copy(host)
            for one in wanted:
                assert verb(host, one, box) == 0, one
                # Nothing of it changes while it is copied.
                assert host.state(box) == "Paused"
            os.kill(pid, signal.SIGCONT)
            assert asking.wait(60) == 0
        assert host.state(box) == end, wanted
        if end == "Paused":
            # It is paused by somebody now: a second time is once too much.
            assert verb(host, "pause", box) == 7
            host.ok("resume", box)
        remove(host, snapshots(host)[0]["id"])
    # Of one that rests anyway a snapshot changes nothing.
    host.ok("pause", box)
    with host.popen("snapshot", box) as asking:
        pid = stop_a_copy(host)
        assert verb(host, "pause", box) == 7
        os.kill(pid, signal.SIGCONT)
        assert asking.wait(60) == 0
    assert host.state(box) == "Paused"
    remove(host, snapshots(host)[0]["id"])
    host.ok("kill", box)


@pytest.mark.parametrize("wanted,end", [
    (["pause"], "Paused"), (["pause", "resume"], "Running"),
    (["resume"], "Running")])
def test_what_is_wanted_as_a_sandbox_is_told_to_go_on_comes_then(host, wanted,
                                                                 end):
    """Its snapshot is made, and its supervisor has not heard of that yet."""
    box = create(host)
    assert sh(host, box, "seq 6000 | xargs touch").returncode == 0
    supervisor = host.supervisors()[box]
    with host.popen("snapshot", box) as asking:
        pid = stop_a_copy(host)
        os.kill(supervisor, signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: not stores(host))
        # The daemon has heard of it by then.
        for _ in range(3):
            assert host.state(box) == "Paused"
        for one in wanted:
            assert verb(host, one, box) == 0, one
        os.kill(supervisor, signal.SIGCONT)
        assert asking.wait(60) == 0
    assert host.state(box) == end
    assert verb(host, "pause", box) == (7 if end == "Paused" else 0)
    host.ok("kill", box)
    remove(host, snapshots(host)[0]["id"])


def test_one_that_is_given_its_files_can_be_killed(host):
    box = create(host)
    assert sh(host, box, "seq 6000 | xargs touch").returncode == 0
    snapshot = host.ok("snapshot", box).strip()
    with host.popen("create", "--workspace", "-", "--snapshot",
                    snapshot) as asking:
        ended = has_ended(stop_a_copy(host))
        new, = [one["id"] for one in host.list() if one["state"] == "Pending"]
        host.ok("kill", new)
        assert ended()
        assert asking.wait(60) == 7
        assert "ended before it began" in asking.stderr.read()
    shown = host.show(new)
    assert (shown["state"], shown["reason"]) == ("Terminated", "killed")
    wait_until(lambda: not (host.works / new).exists())
    # The next one has all of it.
    new = create(host, "--snapshot", snapshot)
    assert sh(host, new, "ls | wc -l").stdout == "6000\n"
    for one in (box, new):
        host.ok("kill", one)
    remove(host, snapshot)


def test_a_copy_ends_with_a_daemon_that_is_killed(host):
    box = create(host)
    assert sh(host, box, "seq 6000 | xargs touch").returncode == 0
    with host.popen("snapshot", box) as asking:
        pid = stop_a_copy(host)
        ended = has_ended(pid)
        copied = sorted((host.dir / "store/snapshots").glob("*/workspace/*"))
        host.kill()
        # One that had hardly begun sees it once it goes on.
        if not ended():
            os.kill(pid, signal.SIGCONT)
        wait_until(ended)
        assert asking.wait(60) != 0
    assert sorted((host.dir / "store/snapshots").glob("*/workspace/*")) == \
        copied and len(copied) < 6000
    host.start()
    wait_until(lambda: host.state(box) == "Running")
    assert [row["state"] for row in snapshots(host)] == ["Failed"]
    remove(host, snapshots(host)[0]["id"])
    host.ok("kill", box)


def test_who_waits_is_told_and_may_go_while_the_daemon_goes_on(host):
    box = create(host)
    pid = host.supervisors()[box]
    os.kill(pid, signal.SIGSTOP)
    try:
        with host.popen("snapshot", box) as asking:
            told = asking.stderr.readline()
            asking.send_signal(signal.SIGINT)
            assert asking.wait(60) == -signal.SIGINT
    finally:
        os.kill(pid, signal.SIGCONT)
    # Three seconds, or a moment later.
    waited = re.search("waiting for the snapshot, ([0-9]+) s so far", told)
    assert waited and int(waited[1]) >= 3, told
    assert "sallyport-host goes on" in told
    wait_until(lambda: snapshots(host)[0]["state"] == "Ready")
    # Its twin is not kept waiting, and told nothing.
    def seconds():
        began = time.monotonic()
        done = host.run("snapshot", box)
        taken = time.monotonic() - began
        assert done.returncode == 0
        assert done.stderr == "" or taken >= 3
        remove(host, done.stdout.strip())
        return taken
    at_best(3, seconds)
    for one in snapshots(host):
        remove(host, one["id"])
    host.ok("kill", box)


def test_a_snapshot_that_waits_for_its_sandbox_outlives_no_daemon(host):
    box, other = create(host), create(host)
    pid = host.supervisors()[box]
    os.kill(pid, signal.SIGSTOP)
    try:
        with host.popen("snapshot", box) as asking:
            wait_until(lambda: snapshots(host))
            host.process.send_signal(signal.SIGTERM)
            assert host.process.wait(60) == 0
            assert asking.wait(60) != 0
    finally:
        os.kill(pid, signal.SIGCONT)
    host.start()
    wait_until(lambda: snapshots(host)[0]["state"] == "Failed")
    assert "the daemon ended" in snapshots(host)[0]["message"]
    wait_until(lambda: host.state(box) == "Running")
    assert sh(host, box, "echo on").stdout == "on\n"
    remove(host, snapshots(host)[0]["id"])
    for one in (box, other):
        host.ok("kill", one)


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


def test_nothing_is_made_in_a_volume_for_another_one(host, roots):
    before = sorted(roots.rglob("*"))
    volumes = ("--volume", f"{roots}/other:/mnt/a",
               "--volume", f"{roots}/data:/mnt/a/in:ro")
    done = host.run("create", "--workspace", "-", "--image", "small", *volumes)
    assert (done.returncode, "nothing to mount it on" in done.stderr) == \
        (3, True), done.stderr
    assert sorted(roots.rglob("*")) == before
    # Its twin: the user made the place.
    (roots / "other/in").mkdir()
    box = create(host, "--image", "small", *volumes)
    assert sh(host, box, "cat /mnt/a/in/file").stdout == "a file\n"
    host.ok("kill", box)
    (roots / "other/in").rmdir()


# ---- pools ----

TIMED_S = 2


@pytest.fixture
def pooled(gateway, image, tmp_path):
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    (tmp_path / "timed.yaml").write_text("version: 1\n"
                                         f"limits: {{time: {TIMED_S}s}}\n")
    host = Host(gateway, tmp_path, images={"small": str(image)},
                pool={"plain": {"size": 2},
                      "other": {"size": 1, "image": "small", "policy":
                                str(tmp_path / "policy.yaml")},
                      "timed": {"size": 1, "policy":
                                str(tmp_path / "timed.yaml")}}).start()
    yield host
    host.stop()
    host.check()


def test_what_is_built_ahead_is_given_out_and_built_again(pooled, tmp_path):
    host = pooled
    wait_until(lambda: len(host.supervisors()) == 4 and
               host.log().count(": Running") == 4)
    assert host.list() == []
    before = host.supervisors()
    assert host.run("show", next(iter(before))).returncode == 6
    box = create(host, "--bare", "--name", "mine", "--metadata", "a=b",
                 "--timeout", "600")
    assert box in before
    row = host.show(box)
    assert (row["name"], row["metadata"], row["state"]) == \
        ("mine", {"a": "b"}, "Running")
    wait_until(lambda: host.show(box)["expires"])
    assert host.exec(box, "pwd").stdout.strip() == row["workspace"]
    # Of another kind, or with something of its own: not from there.
    for words in (("-e", "A=b"), ("--image", "small")):
        assert create(host, "--bare", *words) not in before
    other = create(host, "--bare", "--image", "small", "--policy",
                   tmp_path / "policy.yaml")
    assert other in before
    assert sh(host, other, "cat /etc/of-the-image").stdout == "image\n"
    wait_until(lambda: len(set(host.supervisors()) - set(before)) == 4)
    # The next daemon has no use for what it did not build.
    left = set(host.supervisors())
    host.kill()
    host.start()
    assert len(host.list()) == 4

    def is_filled():
        now = set(host.supervisors())
        return len(now) == 8 and len(now - left) == 4
    wait_until(is_filled)


def test_time_counts_from_when_it_is_given_out(pooled, tmp_path):
    host = pooled
    wait_until(lambda: host.log().count(": Running") == 4)
    before = host.supervisors()
    start = time.monotonic()
    wait_until(lambda: time.monotonic() > start + TIMED_S + 1)
    box = create(host, "--bare", "--policy", tmp_path / "timed.yaml")
    assert box in before
    wait_until(lambda: host.state(box) == "Terminated")
    assert host.show(box)["reason"] == "expired"


def test_one_of_a_pool_that_hears_of_its_end_too_late_ends(pooled):
    host = pooled
    wait_until(lambda: host.log().count(": Running") == 4)
    before = host.supervisors()
    for pid in before.values():
        os.kill(pid, signal.SIGSTOP)
    try:
        asking = host.popen("create", "--workspace", "-", "--bare",
                            "--timeout", "1")
        end = time.time() + 2
        wait_until(lambda: time.time() > end)
    finally:
        for pid in before.values():
            os.kill(pid, signal.SIGCONT)
    box = asking.communicate()[0].strip()
    assert box in before
    wait_until(lambda: host.state(box) == "Terminated")
    assert host.show(box)["reason"] == "expired"


# ---- many ----

def test_a_batch_has_an_answer_for_each(host):
    boxes = host.ok("create", "--workspace", "-", "--count", "5").split()
    assert len(set(boxes)) == 5
    for box in boxes:
        assert host.state(box) == "Running"
        host.ok("kill", box)
    assert host.run("create", "--count", "101").returncode == 2
    assert host.run("create", "--count", "0").returncode == 2


# ---- without root ----

@pytest.fixture
def ordinary(pki, image, tars, roots):
    """Gateway and service of a user without any help from root."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="sp."))
    root.chmod(0o755)
    (root / "gw").mkdir()
    (root / "host").mkdir()
    shutil.copytree(image, root / "image", symlinks=True)
    shutil.copy(tars["odd"], root / "odd.tar")
    shutil.copytree(roots, root / "volumes", symlinks=True)
    gateway = Gateway(root / "gw", {}, pki[1])
    host = Host(gateway, root / "host", volumes=[str(root / "volumes")],
                images={"small": str(root / "image"),
                        "odd": str(root / "odd.tar")})
    if os.geteuid() == 0:
        gateway.as_user = {"user": ORDINARY_UID, "group": ORDINARY_UID,
                           "extra_groups": []}
        for path in [root, *root.rglob("*")]:
            os.chown(path, ORDINARY_UID, ORDINARY_UID, follow_symlinks=False)
    gateway.start()
    yield host.start()
    host.stop()
    gateway.stop()
    host.check()
    gateway.check()
    shutil.rmtree(root)


def test_an_ordinary_user_has_images_and_volumes_as_well(ordinary):
    host = ordinary
    box = create(host, "--image", "small", "--volume",
                 f"{host.dir.parent}/volumes/data:/opt/data:ro")
    done = sh(host, box, "cat /etc/of-the-image /opt/data/file; "
                         "echo x > /etc/of-the-image; cat /etc/of-the-image; "
                         "rm /etc/passwd && echo gone; echo work > here")
    assert done.stdout == "image\na file\nx\ngone\n", done.stderr
    done = subprocess.run(
        [host.command("x")[0], "image", "pull", "odd"], env=host.env(),
        capture_output=True, text=True, check=False, **host.gateway.as_user)
    assert done.returncode == 0, done.stderr
    odd = create(host, "--image", "odd")
    done = host.exec(odd, "/bin/sh", "-c", "read a < /etc/absolute; echo $a")
    assert done.stdout == "inside\n", done.stderr
    # It can be copied where it can rest.
    if host.groups(host.supervisors()[box]):
        snapshot = host.ok("snapshot", box).strip()
        new = create(host, "--snapshot", snapshot)
        assert sh(host, new, "cat here /etc/of-the-image; ls /etc/passwd"
                  ).stdout == "work\nx\n"
    else:
        done = host.run("snapshot", box)
        assert done.returncode == 1 and "freezer" in done.stderr
        assert host.state(box) == "Running"
