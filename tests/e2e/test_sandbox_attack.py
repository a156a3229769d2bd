"""Ways out that were tried, each with the twin that must stay open."""
import os
import stat
import subprocess

import pytest

from sandbox_tool import BUILD, box  # noqa: F401 (a fixture)

CLI = BUILD / "bin/sallyport"

USER = ["-c", "user.name=n", "-c", "user.email=e@x"]
SET_ID = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
bits = int(sys.argv[1], 8)
open('plain', 'w').close()
def try_it(call):
    try:
        call()
    except OSError:
        pass
try_it(lambda: os.chmod('plain', bits))
try_it(lambda: os.fchmod(os.open('plain', os.O_RDONLY), bits))
try_it(lambda: os.close(os.open('opened', os.O_CREAT | os.O_WRONLY, bits)))
try_it(lambda: os.mknod('made', 0o100000 | bits))
libc.syscall(452, -100, b'plain', bits, 0)
how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, bits, 0)
libc.syscall(437, -100, b'opened2', how, 24)
"""


def modes(box):
    return {path.name: stat.S_IMODE(path.stat().st_mode)
            for path in box.workspace.iterdir()}


@pytest.mark.parametrize("bits", ["4755", "2755", "6711"])
def test_no_file_gets_a_set_id_bit(box, bits):
    """On the host it would act for the workspace's owner: root, perhaps."""
    result = box.run("/usr/bin/python3", "-c", SET_ID, bits)
    assert result.returncode == 0, result.stderr
    assert not [mode for mode in modes(box).values() if mode & 0o6000]
    assert "(no set-id bits)" in result.stderr


def test_other_modes_are_set(box):
    result = box.run("/usr/bin/python3", "-c", SET_ID, "1711")
    assert result.returncode == 0, result.stderr
    made = modes(box)
    assert made["plain"] == 0o1711
    assert made["opened"] & 0o777 == 0o711
    assert "denied" not in result.stderr


def test_a_directory_as_a_standard_descriptor_is_refused(box):
    """openat(0, "etc") would start on the host."""
    with subprocess.Popen(["true"]):
        directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        result = box.sh("ls", stdin=directory)
    finally:
        os.close(directory)
    assert result.returncode == 125
    assert "descriptor 0 is a directory" in result.stderr


REOPEN = """
for f in /proc/self/fd/0 /dev/stdin; do echo x > $f; done
cat /proc/self/fd/0
"""


def test_what_was_opened_to_be_read_is_not_written(box):
    """/proc/self/fd opens the file anew, on the host's own mount."""
    given = box.write("given", "text\n", box.home)
    box.give() if os.geteuid() == 0 else None
    given.chmod(0o666)
    with open(given, "rb") as stdin:
        result = box.sh(REOPEN, stdin=stdin)
    assert given.read_text() == "text\n"
    assert result.stdout == "text\n", result.stderr


def test_what_was_opened_to_be_written_is_written(box):
    given = box.write("given", "", box.home)
    box.give() if os.geteuid() == 0 else None
    given.chmod(0o666)
    with open(given, "wb") as stdout:
        result = box.run("/bin/sh", "-c", "echo one; echo two > /dev/stdout",
                         stdout=stdout)
    assert result.returncode == 0, result.stderr
    assert "two\n" in given.read_text()


@pytest.mark.parametrize("option", ["--read", "--write"])
def test_a_link_in_the_workspace_opens_nothing_outside(box, option):
    """Whoever wrote the workspace would choose what is mounted."""
    box.write("secret", "SECRET", box.home)
    (box.workspace / "out").symlink_to(box.home)
    result = box.sh("cat out/secret; echo x > out/new",
                    options=["--no-read", option, "./out"])
    assert result.returncode == 125
    assert "leads out of the workspace" in result.stderr
    assert not (box.home / "new").exists()


def test_a_link_within_the_workspace_is_followed(box):
    (box.workspace / "real").mkdir()
    (box.workspace / "out").symlink_to("real")
    result = box.sh("echo x > out/new && cat real/new",
                    options=["--write", "./out"])
    assert result.stdout == "x\n", result.stderr


# ---- what git on the host would run later ----

def git(box, *args, cwd=None):
    path = cwd or box.workspace
    subprocess.run(["git", "-c", "safe.directory=*", *USER, *args], cwd=path,
                   check=True, capture_output=True,
                   env={"PATH": os.environ["PATH"], "HOME": "/nonexistent",
                        "GIT_CONFIG_NOSYSTEM": "1"})


def ran_on_host(box, marker, cwd=None):
    """Does git, run by the owner in the workspace, start something?"""
    subprocess.run(["git", "-c", "safe.directory=*", "status"],
                   cwd=cwd or box.workspace, check=False, capture_output=True,
                   env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    return marker.exists()


EVIL = """
mkdir evil
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = %s\\n' \
    "$1" > evil/config
cp -r .git/objects .git/refs evil/
"""


def plant(box, script):
    """Run script inside with $1 a program that leaves a marker."""
    marker = box.root / "marker"
    program = box.write("program", f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    box.run("/bin/sh", "-c", EVIL + script, "sh", str(program))
    return marker


def test_git_takes_no_configuration_from_elsewhere(box):
    git(box, "init", "-q")
    git(box, "commit", "-q", "--allow-empty", "-m", "one")
    marker = plant(box, "echo ../evil > .git/commondir")
    assert not (box.workspace / ".git/commondir").exists()
    assert not ran_on_host(box, marker)


def test_it_would_have_without_the_guard(box):
    """The attack is one: done on the host it works."""
    git(box, "init", "-q")
    git(box, "commit", "-q", "--allow-empty", "-m", "one")
    marker = plant(box, "")
    (box.workspace / ".git/commondir").write_text("../evil\n")
    assert ran_on_host(box, marker)


def test_a_linked_git_directory_is_protected_where_it_is(box):
    git(box, "init", "-q")
    (box.workspace / ".git").rename(box.workspace / "real")
    (box.workspace / ".git").symlink_to("real")
    before = box.view()
    box.sh("echo x > real/hooks/pre-commit; echo x > .git/hooks/new; "
           "echo x > real/config; echo x > real/commondir; "
           "mv real other; rm .git; ln -sfn evil .git")
    assert box.view() == before


def test_a_file_that_names_the_git_directory_stays(box):
    git(box, "init", "-q", "--separate-git-dir", str(box.workspace / "real"))
    before = box.view()
    result = box.sh("echo 'gitdir: evil' > .git; rm -f .git; mv .git x; "
                    "echo x > real/config; echo x > real/hooks/pre-commit; "
                    "mv real other")
    assert box.view() == before, result.stderr


def worktree(box):
    """A workspace that is a worktree of a repository beside it."""
    repo = box.root / "repo"
    repo.mkdir()
    git(box, "init", "-q", "-b", "main", cwd=repo)
    git(box, "commit", "-q", "--allow-empty", "-m", "one", cwd=repo)
    box.workspace.rmdir()
    git(box, "worktree", "add", "-q", "-b", "side", str(box.workspace),
        cwd=repo)
    return repo


def test_a_worktree_is_one_inside(box):
    repo = worktree(box)
    result = box.sh("echo x > f && git add f && "
                    f"git {' '.join(USER)} commit -qm two && git status -s")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    log = subprocess.run(["git", "-c", "safe.directory=*", "log", "-1",
                          "--format=%s", "side"], cwd=repo, check=True,
                         capture_output=True, text=True)
    assert log.stdout == "two\n"


def test_the_repository_of_a_worktree_is_protected(box):
    repo = worktree(box)
    own = repo / ".git/worktrees/workspace"
    box.give() if os.geteuid() == 0 else None
    kept = {path: path.read_bytes() for path in (
        repo / ".git/config", own / "commondir", box.workspace / ".git")}
    result = box.sh(
        f"echo x > {repo}/.git/config; echo x > {repo}/.git/hooks/new; "
        f"echo x > {repo}/.git/commondir; echo x > {own}/commondir; "
        f"echo x > {own}/config.worktree; mv {own} {own}2; "
        f"mv {repo}/.git/worktrees {repo}/.git/w; echo x > .git; "
        f"echo x > {repo}/new")
    assert {path: path.read_bytes() for path in kept} == kept
    assert "(protected)" in result.stderr
    for name in (".git/hooks/new", ".git/commondir", "new",
                 ".git/worktrees/workspace/config.worktree"):
        assert not (repo / name).exists()


def test_a_git_file_opens_no_repository_that_does_not_name_it_back(box):
    repo = worktree(box)
    other = box.root / "other"
    other.mkdir()
    (other / ".git").write_text((box.workspace / ".git").read_text())
    box.workspace = other
    result = box.sh(f"echo x > {repo}/.git/planted; git status")
    assert result.returncode != 0
    assert "does not name it back" in result.stderr
    assert not (repo / ".git/planted").exists()


RUNS = "touch {mark}; cat"
CONFIG = """
set -e
git init -q .
git config core.fsmonitor 'touch {mark}; false'
git config core.sshCommand 'touch {mark}; false'
git config core.pager 'touch {mark}'
git config filter.x.clean '{runs}'
git config filter.x.smudge '{runs}'
git config filter.x.process 'touch {mark}; false'
git config credential.helper '!touch {mark}'
git config alias.status '!touch {mark}'
echo '* filter=x' > .gitattributes
for hook in pre-commit post-checkout post-index-change reference-transaction
do
	printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/$hook
	chmod 755 .git/hooks/$hook
done
echo text > file
"""


def test_nothing_outside_runs_what_a_repository_says(box):
    """A workspace's own git configuration and hooks (security E22): whoever
    works on it outside, before, after and for a sandbox, runs none of it."""
    mark = box.home / "mark"
    words = {"mark": mark, "runs": RUNS.format(mark=mark)}
    git = {"env": {"PATH": os.environ["PATH"], "HOME": str(box.home)},
           "cwd": box.workspace, "capture_output": True}
    box.give()
    subprocess.run([*box.prefix(), "sh", "-c", CONFIG.format(**words)],
                   check=True, **git)
    mark.unlink(missing_ok=True)
    changes = box.root / "state/changes/c-1"
    changes.parent.mkdir(parents=True, mode=0o700)
    env = {"PATH": os.environ["PATH"], "HOME": str(box.home),
           "SALLYPORT_STATE": str(box.root / "state")}
    assert box.sh("echo more > file").returncode == 0
    assert box.sh("echo more >> file",
                  options=["--changes", str(changes)]).returncode == 0
    for words in (["diff", "c-1"], ["commit", "c-1"]):
        done = subprocess.run([*box.prefix(), str(CLI), "sandbox", *words],
                              env=env, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    assert (box.workspace / "file").read_text() == "more\nmore\n"
    assert not mark.exists()
    # The twin: git itself, outside, does.
    subprocess.run([*box.prefix(), "git", "status"], check=False, **git)
    assert mark.exists()
