"""Files into a sandbox that runs, and out of it: `sandbox cp`, and the agent
inside that serves it."""
import hashlib
import json
import os
import pathlib
import stat

import pytest
from host import Host

BIG = 20 << 20


@pytest.fixture(scope="module")
def host(gateway, tmp_path_factory):
    host = Host(gateway, tmp_path_factory.mktemp("host")).start()
    yield host
    host.stop()
    host.check()


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(json.dumps({
        "version": 1, "name": "files",
        "filesystem": {"hide": ["./secret.txt", "**/*.pem"],
                       "protect": ["./kept.txt"]}}))
    return path


@pytest.fixture(scope="module")
def box(host, policy):
    (host.workspace / "secret.txt").write_text("hush")
    (host.workspace / "kept.txt").write_text("kept")
    (host.workspace / ".git/hooks").mkdir(parents=True)
    return host.create("--policy", policy, "--workspace", host.workspace)


def inside(host, box, script, **more):
    done = host.exec(box, "sh", "-c", script, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_goes_in_and_comes_out_as_it_was(host, box, tmp_path):
    data = os.urandom(BIG)
    (tmp_path / "data").write_bytes(data)
    (tmp_path / "data").chmod(0o751)
    host.ok("cp", tmp_path / "data", f"{box}:/tmp/new/data")
    assert inside(host, box, "sha256sum < /tmp/new/data; stat -c %a /tmp/new/data").split() == \
        [hashlib.sha256(data).hexdigest(), "-", "751"]
    host.ok("cp", f"{box}:/tmp/new/data", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == data
    assert stat.S_IMODE((tmp_path / "back").stat().st_mode) == 0o751
    assert inside(host, box, "ls -A /tmp/new") == "data\n"


def test_paths_are_read_as_cp_reads_them(host, box, tmp_path):
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/file").write_text("1")
    (tmp_path / "tree/link").symlink_to("sub/file")
    host.ok("cp", tmp_path / "tree", f"{box}:/tmp/one")
    host.ok("cp", tmp_path / "tree", f"{box}:/tmp/one")
    host.ok("cp", f"{tmp_path}/tree/.", f"{box}:/tmp/two")
    assert inside(host, box, "cd /tmp; find one two | sort").split() == [
        "one", "one/link", "one/sub", "one/sub/file",
        "one/tree", "one/tree/link", "one/tree/sub", "one/tree/sub/file",
        "two", "two/link", "two/sub", "two/sub/file"]
    host.ok("cp", f"{box}:/tmp/one", tmp_path / "out")
    assert (tmp_path / "out/tree/link").readlink() == pathlib.Path("sub/file")
    assert (tmp_path / "out/sub/file").read_text() == "1"
    host.ok("cp", f"{box}:/tmp/one/sub/file", tmp_path / "out")
    assert (tmp_path / "out/file").read_text() == "1"
    assert host.run("cp", f"{box}:/tmp/nothing", tmp_path).returncode == 6
    assert host.run("cp", tmp_path / "out/file", f"{box}:/tmp/nothing/"
                    ).returncode == 6
    # A name of this host's: as in any command.
    (tmp_path / "loop").symlink_to("loop")
    for wrong in "nothing", "loop", "out/file/below":
        done = host.run("cp", tmp_path / wrong, f"{box}:/tmp")
        assert done.returncode == 3 and wrong in done.stderr
    assert host.run("cp", f"{box}:/tmp/one/sub/file", f"{tmp_path}/nothing/"
                    ).returncode == 3
    assert host.run("cp", tmp_path / "tree", f"{box}:/tmp/one/sub/file"
                    ).returncode == 3
    assert host.run("cp", "a", "b").returncode == 2


def test_what_a_command_may_not_reach_the_agent_may_not_either(
        host, box, tmp_path):
    (tmp_path / "mine").write_text("mine")
    for path, words in [("secret.txt", "hidden"), ("/etc/shadow", "hidden")]:
        done = host.run("cp", f"{box}:{path}", tmp_path / "stolen")
        assert done.returncode == 5 and words in done.stderr, done.stderr
    for path, words in [("kept.txt", "protected"), ("/etc/motd", "read-only"),
                        ("secret.txt", "hidden"), ("new.pem", "hidden"),
                        (".git/hooks/pre-commit", "protected")]:
        done = host.run("cp", tmp_path / "mine", f"{box}:{path}")
        assert done.returncode == 5 and words in done.stderr, (path, done)
    assert (host.workspace / "kept.txt").read_text() == "kept"
    assert (host.workspace / "secret.txt").read_text() == "hush"
    host.ok("cp", tmp_path / "mine", f"{box}:other.txt")
    assert (host.workspace / "other.txt").read_text() == "mine"


def test_the_agent_knows_what_ignore_files_say_of_names_to_come(
        host, tmp_path):
    """As the reporter does: they hide what was not there at the start."""
    (tmp_path / "policy.yaml").write_text(json.dumps(
        {"version": 1, "filesystem": {"ignore-files": [".agentignore"]}}))
    work = tmp_path / "work"
    work.mkdir()
    (work / ".agentignore").write_text("*.key\n")
    box = host.create("--policy", tmp_path / "policy.yaml", "--workspace",
                      work)
    for name in ("later.key", "later.txt"):
        (work / name).write_text("hush")
    done = host.run("cp", f"{box}:later.key", tmp_path / "stolen")
    assert done.returncode == 5 and "hidden" in done.stderr, done.stderr
    host.ok("cp", f"{box}:later.txt", tmp_path / "taken")
    host.ok("kill", box)


def test_a_link_leads_where_it_leads_inside(host, box, tmp_path):
    inside(host, box, "ln -sf /etc/shadow shadow; ln -sf /proc/self/root/etc/"
                      "shadow deep; echo real > real; ln -sf real alias")
    for name in ("shadow", "deep", "../../../../../../etc/shadow",
                 "/proc/self/root/etc/shadow", "/proc/1/root/etc/shadow"):
        done = host.run("cp", f"{box}:{name}", tmp_path / "stolen")
        assert done.returncode in (1, 5, 6), done
        assert not (tmp_path / "stolen").exists() or \
            not (tmp_path / "stolen").read_bytes()
    (tmp_path / "mine").write_text("mine")
    host.ok("cp", tmp_path / "mine", f"{box}:alias")
    assert inside(host, box, "cat real; readlink alias") == "minereal\n"


def test_a_hostile_tree_writes_nothing_elsewhere(host, box, tmp_path):
    (tmp_path / "victim").mkdir()
    inside(host, box, f"""
        rm -rf /tmp/bad; mkdir -p /tmp/bad/deep; cd /tmp/bad
        ln -s {tmp_path}/victim out
        ln -s ../../victim up
        ln -s ../fine deep/good
        mkdir -p d/e; ln -s ../.. d/e/top; ln -s d/e/top/fine chained
        ln -s d/e/top/../victim chain
        echo 1 > fine; mkfifo pipe; chmod 000 deep; chmod 700 deep
        printf 1 > "$(printf 'a\\033b')" """)
    done = host.run("cp", f"{box}:/tmp/bad", tmp_path / "got")
    assert done.returncode == 1
    assert "\033" not in done.stderr
    assert sorted(p.name for p in (tmp_path / "got").iterdir()) == \
        ["a\x1bb", "chained", "d", "deep", "fine"]
    assert (tmp_path / "got/chained").read_text() == "1\n"
    assert not list((tmp_path / "victim").iterdir())
    # Once more, onto links that stand where directories were.
    os.unlink(tmp_path / "got/deep/good")
    (tmp_path / "got/deep").rmdir()
    (tmp_path / "got/deep").symlink_to(tmp_path / "victim")
    assert host.run("cp", f"{box}:/tmp/bad/.", tmp_path / "got"
                    ).returncode == 1
    assert not list((tmp_path / "victim").iterdir())


def test_a_file_in_an_overlay_or_a_read_only_workspace(host, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").write_text("before")
    (tmp_path / "mine").write_text("after")
    policy = tmp_path / "policy.yaml"
    for mode, code in (("overlay", 0), ("read", 5)):
        policy.write_text("version: 1\nname: p\nfilesystem: {workspace: "
                          f"{{mode: {mode}}}}}\n")
        box = host.create("--policy", policy, "--workspace", work)
        for name in ("file", "new/file"):
            done = host.run("cp", tmp_path / "mine", f"{box}:{name}")
            assert done.returncode == code, (mode, done)
            assert code == 0 or "read-only" in done.stderr
        if code == 0:
            assert inside(host, box, "cat file new/file; ls -A") == \
                "afterafterfile\nnew\n"
        host.ok("kill", box)
    assert [path.name for path in work.iterdir()] == ["file"]
    assert (work / "file").read_text() == "before"


def test_a_file_that_is_a_mount_is_written_where_it_is(host, tmp_path):
    single = tmp_path / "single"
    single.write_text("a longer text before")
    single.chmod(0o666)
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nname: p\nfilesystem: {write: "
                      f"[{json.dumps(str(single))}]}}\n")
    box = host.create("--policy", policy, "--workspace", "-")
    (tmp_path / "mine").write_text("after")
    host.ok("cp", tmp_path / "mine", f"{box}:{single}")
    assert single.read_text() == "after"
    host.ok("kill", box)


def test_a_sandbox_that_rests_is_not_copied_from(host, tmp_path):
    box = host.create()
    host.ok("pause", box)
    done = host.run("cp", f"{box}:/etc/hostname", tmp_path / "x")
    assert done.returncode == 7 and "Paused" in done.stderr
    host.ok("resume", box)
    host.ok("cp", f"{box}:/etc/hostname", tmp_path / "x")
    host.ok("kill", box)
