"""An overlay workspace: nothing reaches the user's directory until it is
committed, and then only what may."""
import json
import os
import signal
import stat
import subprocess
import time

import pytest

from sandbox_tool import BUILD, box, host_view  # noqa: F401 (a fixture)

CLI = BUILD / "bin/sallyport"
ID = "c-1"


class Kept:
    """The state directory of a box, and the CLI over it."""

    def __init__(self, box):
        self.box = box
        self.state = box.root / "state"
        self.dir = self.state / "changes" / ID
        self.dir.parent.mkdir(parents=True, mode=0o700)

    def run(self, script, options=(), **popen):
        return self.box.sh(script, options=["--changes", str(self.dir),
                                            *options], **popen)

    def cli(self, *words):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.box.home),
               "SALLYPORT_STATE": str(self.state)}
        return subprocess.run([*self.box.prefix(), str(CLI), "sandbox",
                               *map(str, words)], env=env, check=False,
                              capture_output=True, text=True, timeout=60)

    def diff(self):
        done = self.cli("diff", ID, "-o", "json")
        assert done.returncode == 0, done.stderr
        return {(row["kind"], row["path"]): row
                for row in json.loads(done.stdout)["changes"]}

    def commit(self, *words):
        done = self.cli("commit", ID, *words)
        return done.returncode, done.stderr


@pytest.fixture
def kept(box):  # noqa: F811
    for name, text in {"a": "one\n", "b": "two\n", "d/x": "x\n",
                       "d/y": "y\n", "e/z": "z\n"}.items():
        box.write(name, text)
    return Kept(box)


WORK = """
set -e
echo more >> a; rm b; rm -r d; mkdir d; echo new > d/n
mkdir -p f/g; echo deep > f/g/h; ln f/g/h f/g/i; ln -s a link
chmod 755 e/z; mv e/z e/w; echo 1 > run; chmod 755 run
cat a d/n f/g/i link; ls d; ls e
"""


def test_the_workspace_is_not_written(kept):
    before = kept.box.view()
    result = kept.run(WORK)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "one\nmore\nnew\ndeep\none\nmore\nn\nw\n"
    assert kept.box.view() == before


def test_what_changed_is_told(kept):
    kept.run(WORK)
    rows = kept.diff()
    assert set(rows) == {
        ("changed", "a"), ("deleted", "b"), ("deleted", "d/x"),
        ("deleted", "d/y"), ("added", "d/n"), ("added", "f"),
        ("added", "f/g"), ("added", "f/g/h"), ("added", "f/g/i"),
        ("added", "link"), ("deleted", "e/z"), ("added", "e/w"),
        ("added", "run")}
    assert "\n one\n+more\n" in rows["changed", "a"]["diff"]
    assert rows["deleted", "b"]["diff"].startswith("--- a/b\n+++ /dev/null\n")
    assert rows["added", "link"]["target"] == "a"
    shown = kept.cli("diff", ID).stdout
    assert "changed  a\n" in shown and "+more\n" in shown
    assert ID in kept.cli("diff").stdout


def test_a_commit_makes_the_workspace_what_it_was_inside(kept):
    result = kept.run(WORK + "find . -type f -printf '%m %p\\n' | sort")
    inside = result.stdout.split("n\nw\n", 1)[1]
    assert kept.commit() == (0, "")
    box = kept.box
    found = subprocess.run(["find", ".", "-type", "f", "-printf", "%m %p\n"],
                           cwd=box.workspace, capture_output=True, text=True,
                           check=True).stdout
    assert "".join(sorted(found.splitlines(True))) == inside
    assert (box.workspace / "a").read_text() == "one\nmore\n"
    assert os.readlink(box.workspace / "link") == "a"
    assert (box.workspace / "f/g/h").stat().st_nlink == 2
    owners = {path.lstat().st_uid for path in box.workspace.rglob("*")}
    assert owners == {box.uid}
    # What is done is not kept, and there is nothing to commit again.
    assert not kept.dir.exists()
    assert kept.commit()[0] == 6


def test_one_path_is_committed_alone(kept):
    kept.run(WORK)
    before = host_view(kept.box.workspace)
    assert kept.commit("f/g/h") == (0, "")
    after = host_view(kept.box.workspace)
    assert after.keys() - before.keys() == {"f", "f/g", "f/g/h"}
    assert ("changed", "a") in kept.diff()
    assert kept.commit(kept.box.workspace / "d/") == (0, "")
    assert (kept.box.workspace / "d/n").read_text() == "new\n"
    assert not (kept.box.workspace / "d/x").exists()
    assert kept.cli("commit", ID, "/etc").returncode == 2


def test_a_discard_leaves_nothing(kept):
    before = kept.box.view()
    # Closed directories, and one deeper than a path can be long.
    kept.run("""mkdir -p shut/in; echo x > shut/in/f; chmod 000 shut/in shut
i=0; while [ $i -lt 300 ]; do mkdir a_long_name_of_a_directory_$i
cd a_long_name_of_a_directory_$i; i=$((i + 1)); done; echo x > end""")
    assert kept.dir.exists()
    assert kept.cli("discard", ID).returncode == 0
    assert not kept.dir.exists()
    assert kept.box.view() == before
    assert kept.cli("discard", ID).returncode == 6


@pytest.mark.parametrize("change", [
    "echo theirs > a", "rm a; echo other > a", "echo x > f",
    "echo x > d/more", "rm b; echo again > b"])
def test_a_workspace_that_changed_meanwhile_is_a_conflict(kept, change):
    kept.run("echo mine >> a; rm b; rm -r d; echo mine > f")
    subprocess.run(["sh", "-c", change], cwd=kept.box.workspace, check=True)
    before = kept.box.view()
    code, told = kept.commit()
    assert code == 7 and "conflict" in told, told
    assert kept.box.view() == before
    assert kept.commit("--force")[0] == 0
    assert (kept.box.workspace / "a").read_text() == "one\nmine\n"
    assert (kept.box.workspace / "f").read_text() == "mine\n"
    assert not (kept.box.workspace / "d").exists()


def test_other_files_may_change_meanwhile(kept):
    kept.run("echo mine >> a")
    kept.box.write("e/new", "x")
    kept.box.write("b", "theirs\n")
    assert kept.commit() == (0, "")
    assert (kept.box.workspace / "b").read_text() == "theirs\n"


def test_another_directory_in_its_place_is_refused(kept):
    kept.run("echo mine >> a")
    kept.box.workspace.rename(kept.box.root / "moved")
    kept.box.workspace.mkdir()
    code, told = kept.commit("--force")
    assert code == 3 and "another directory" in told, told
    assert list(kept.box.workspace.iterdir()) == []
    assert kept.cli("discard", ID).returncode == 0




def test_links_are_made_and_not_followed(kept):
    """A link where the user has a directory replaces it, and what lies
    behind it is not touched."""
    box = kept.box
    box.write("victim", "theirs", box.home)
    kept.run(f"rm -r d; ln -s {box.home} d; mkdir n; ln -s {box.home} n/out; "
             "ln -s a l; rm l; mkdir l; echo x > l/f")
    assert kept.commit() == (0, "")
    assert os.readlink(box.workspace / "d") == str(box.home)
    assert os.readlink(box.workspace / "n/out") == str(box.home)
    assert host_view(box.home)["victim"][2] == b"theirs"
    assert host_view(box.home).keys() == {"victim"}


def test_a_link_put_in_the_users_way_is_not_followed(kept):
    box = kept.box
    kept.run("mkdir n; echo evil > n/f; echo evil > d/x")
    os.rename(box.workspace / "d", box.workspace / "d2")
    (box.workspace / "d").symlink_to(box.home)
    (box.workspace / "n").symlink_to(box.home)
    assert kept.commit("--force")[0] == 0
    assert host_view(box.home) == {}
    assert (box.workspace / "n/f").read_text() == "evil\n"
    assert (box.workspace / "d/x").read_text() == "evil\n"


def layer(kept):
    return kept.dir / "layers/upper"


def plant(kept, name, text="evil"):
    """As if the sandbox had got past mounts and reporter."""
    path = layer(kept) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    kept.box.give() if os.geteuid() == 0 else None


@pytest.mark.parametrize("name", [
    ".git/hooks/pre-commit", ".git/config", ".GIT/config", ".bashrc",
    ".vscode/tasks.json", ".envrc", "sub/.git/config", "new/.git/HEAD",
    ".git/modules/m/config", ".git/worktrees/w/commondir", ".config/git/x",
    "ci/deploy.yml", "deep/Jenkinsfile"])
def test_protected_names_are_never_written(kept, name):
    box = kept.box
    box.write(".git/HEAD", "ref: refs/heads/main\n")
    box.write("sub/.git/HEAD", "ref: refs/heads/main\n")
    kept.run("echo fine > fine", options=["--protect", "ci", "--protect",
                                          "**/Jenkinsfile"])
    plant(kept, name)
    before = host_view(box.workspace)
    code, told = kept.commit("--force")
    assert code == 5 and "protected" in told, told
    after = host_view(box.workspace)
    new = {path for path in after.keys() - before.keys() if "/" not in path
           or (box.workspace / path).is_file()}
    assert new - {"new", "deep", "ci", ".config", ".vscode"} == {"fine"}
    assert not (box.workspace / name).is_file()


def test_a_branch_called_config_is_no_setting(kept):
    kept.box.write(".git/HEAD", "ref: refs/heads/main\n")
    kept.run("mkdir -p .git/refs/heads; echo 1 > .git/refs/heads/config")
    assert kept.commit() == (0, "")
    assert (kept.box.workspace / ".git/refs/heads/config").exists()


@pytest.mark.parametrize("made", ["HEAD objects/x refs/x config",
                                  "HEAD commondir config", "HEAD config"])
def test_a_repository_by_another_name_is_not_made(kept, made):
    """git takes any directory for one that has these, and what its config
    says is run when somebody asks for its status."""
    kept.run(f"mkdir -p r/objects r/refs; cd r; for name in {made} other; do "
             "echo text > $name; done; rmdir objects refs")
    code, err = kept.commit()
    there = {path.name for path in (kept.box.workspace / "r").rglob("*")}
    if made != "HEAD config":
        assert code == 5 and "repository" in err
        assert there == {"other"}
        return
    assert code == 0, err
    assert there == {"HEAD", "config", "other"}
    # Nor does one that is there get settings, but what it keeps.
    kept.cli("discard", ID)
    kept.box.write("r/objects/x")
    kept.box.write("r/refs/x")
    kept.run("echo evil > r/config; echo fine > r/objects/x")
    assert kept.commit()[0] == 5
    assert (kept.box.workspace / "r/config").read_text() == "text\n"
    assert (kept.box.workspace / "r/objects/x").read_text() == "fine\n"


def test_a_directory_with_hooks_in_it_is_not_removed(kept):
    kept.box.write("sub/.git/hooks/pre-commit", "theirs")
    kept.box.write("sub/.git/HEAD", "ref: refs/heads/main\n")
    kept.run("echo x > fine")
    (layer(kept) / "sub").write_text("a file now")
    kept.box.give() if os.geteuid() == 0 else None
    assert kept.commit()[0] == 5
    assert (kept.box.workspace / "sub/.git/hooks/pre-commit").exists()


def test_pipes_sockets_and_closed_directories_are_refused(kept):
    kept.run("mkfifo pipe; mkdir shut; echo x > shut/f; chmod 000 shut; "
             "echo x > fine")
    code, told = kept.commit()
    assert code == 5 and "pipe" in told
    assert (kept.box.workspace / "fine").exists()
    assert not (kept.box.workspace / "pipe").exists()
    assert kept.cli("discard", ID).returncode == 0


def test_directories_that_nobody_writes_are_committed(kept):
    """As caches of modules are: read-only when they are whole."""
    box = kept.box
    box.write("m/x", "x\n")
    box.write("gone/deep/x", "x\n")
    for name in "m", "gone/deep", "gone":
        (box.workspace / name).chmod(0o555)
    result = kept.run("set -e; mkdir -p c/s; echo 1 > c/s/f; echo 2 > c/g; "
                      "chmod 555 c/s c; chmod 755 m; echo y > m/x; rm -f a; "
                      "chmod 555 m; chmod 755 gone gone/deep; rm -r gone")
    assert result.returncode == 0, result.stderr
    assert kept.commit() == (0, "")
    work = box.workspace
    assert (work / "c/s/f").read_text() == "1\n"
    assert (work / "c/g").read_text() == "2\n"
    assert (work / "m/x").read_text() == "y\n"
    assert not (work / "a").exists() and not (work / "gone").exists()
    modes = {name: stat.S_IMODE((work / name).stat().st_mode)
             for name in ("c", "c/s", "m")}
    assert modes == dict.fromkeys(modes, 0o555)
    for name in modes:
        (work / name).chmod(0o755)


def test_set_id_bits_do_not_pass(kept):
    kept.run("echo x > f; mkdir g")
    os.chmod(layer(kept) / "f", 0o6755)
    os.chmod(layer(kept) / "g", 0o2755)
    assert kept.commit() == (0, "")
    for name in "fg":
        mode = stat.S_IMODE((kept.box.workspace / name).stat().st_mode)
        assert mode == 0o755


def test_a_file_of_holes_stays_one(kept):
    kept.run("truncate -s 1T big; echo end >> big")
    assert kept.commit() == (0, "")
    made = (kept.box.workspace / "big").stat()
    assert made.st_size == (1 << 40) + 4
    assert made.st_blocks < 1024


def test_names_are_shown_without_what_a_terminal_acts_on(kept):
    kept.run("printf x > \"$(printf 'a\\033[2Jb\\nc')\"")
    done = kept.cli("diff", ID)
    assert "\033" not in done.stdout
    assert "added    a?[2Jb?c\n" in done.stdout
    assert kept.commit() == (0, "")
    assert (kept.box.workspace / "a\033[2Jb\nc").exists()


def test_changes_in_use_are_not_committed(kept):
    child = kept.box.start("/bin/sh", "-c", "echo started; read x",
                           options=["--changes", str(kept.dir)],
                           stdin=subprocess.PIPE)
    try:
        assert child.stdout.readline() == "started\n"
        assert kept.commit()[0] == 7
        done = kept.cli("discard", ID)
        assert done.returncode == 7
        assert "in use: end the sandbox" in done.stderr
        assert kept.cli("diff", ID).returncode == 0
    finally:
        child.communicate("x\n")
    assert kept.cli("discard", ID).returncode == 0


def test_changes_survive_a_kill(kept):
    before = kept.box.view()
    child = kept.box.start("/bin/sh", "-c", "echo mine > f; echo started; "
                           "sleep 1000",
                           options=["--changes", str(kept.dir)])
    assert child.stdout.readline() == "started\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert kept.box.view() == before
    deadline = time.monotonic() + 30
    while (code := kept.commit()[0]) == 7 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert code == 0
    assert (kept.box.workspace / "f").read_text() == "mine\n"


def test_a_second_sandbox_goes_on_with_the_changes(kept):
    kept.run("echo mine > f")
    result = kept.run("cat f; echo more >> f")
    assert result.stdout == "mine\n", result.stderr
    assert kept.commit() == (0, "")
    assert (kept.box.workspace / "f").read_text() == "mine\nmore\n"


def test_nothing_is_written_beside_an_overlay(kept):
    """`write` in the workspace would reach the user's directory."""
    result = kept.run("true", options=["--write", "./d"])
    assert result.returncode == 125
    assert "the workspace is an overlay" in result.stderr


def test_hidden_and_protected_hold_in_an_overlay(kept):
    kept.box.write(".env", "SECRET")
    kept.box.write(".vscode/tasks.json", "{}")
    result = kept.run("cat .env; echo x > .vscode/tasks.json; "
                      "touch .bashrc; echo fine > fine",
                      options=["--hide", "**/.env"])
    assert result.stdout == ""
    assert set(kept.diff()) == {("added", "fine")}


def test_git_works_in_an_overlay(kept):
    git = ["git", "-c", "safe.directory=*", "-c", "user.name=n", "-c",
           "user.email=e@x"]
    box = kept.box
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=box.workspace,
                   check=True)
    result = kept.run("git add . && git -c user.name=n -c user.email=e@x "
                      "commit -qm one && git log --format=%s")
    assert result.stdout == "one\n", result.stderr
    assert kept.commit() == (0, "")
    log = subprocess.run([*git, "log", "--format=%s"], cwd=box.workspace,
                         check=True, capture_output=True, text=True)
    assert log.stdout == "one\n"
    assert subprocess.run([*git, "status", "--short"], cwd=box.workspace,
                          check=True, capture_output=True).stdout == b""
