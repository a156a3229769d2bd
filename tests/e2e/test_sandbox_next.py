"""What one sandbox leaves behind for the next one of the same workspace to
find: links that lead elsewhere, directories that are closed."""
import os
import subprocess

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)

SEARCH = "grep -rs SECRET . ; cat fine"


def tries(*commands):
    return "; ".join(commands) + "; true"


# ---- links that a hidden path goes through ----

LINKS = {  # policy, links, the hidden file
    "a directory": (["--hide", "./cfg/key"], {"cfg": "real/cfg"},
                    "real/cfg/key"),
    "two links": (["--hide", "./cfg/sub/key"],
                  {"cfg": "real/one", "real/one": "two/"},
                  "real/two/sub/key"),
    "a link in a directory": (["--hide", "./top/cfg/key"],
                              {"top/cfg": "../real/cfg"}, "real/cfg/key"),
    "a link with a way back": (["--hide", "./top/cfg/key"],
                               {"top/cfg": "d/../../real"}, "real/key"),
    "the name itself": (["--hide", "./cfg"], {"cfg": "real/key"}, "real/key"),
    "a name of a glob": (["--hide", "**/cfg"], {"top/cfg": "../real/key"},
                         "real/key"),
    "a glob behind one": (["--hide", "./cfg/*.pem"], {"cfg": "real"},
                          "real/a.pem"),
    "a glob far behind one": (["--hide", "./top/cfg/**/key"],
                              {"top/cfg": "../real"}, "real/x/y/key"),
    "an ignore file": (["--ignore", ".agentignore"], {"top/cfg": "../real/key"},
                       "real/key"),
}
MOVES = tries(
    "rm -f cfg top/cfg real/one", "mv top/d gone", "mv cfg gone", "mv top/cfg top/gone",
    "mv real/one real/gone", "mv top other", "mv real other",
    "ln -sfn fine cfg", "ln -sfn ../fine top/cfg", "ln -s fine new",
    "mv -T new cfg", "mv -T new top/cfg", "mkdir d", "mv -T d cfg",
    "rm -rf real top")


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_on_the_way_to_what_is_hidden_is_held(box, kind):
    options, links, hidden = LINKS[kind]
    box.write(hidden, "SECRET")
    box.write("fine", "fine\n")
    box.write(".agentignore", "cfg\n")
    for name, target in links.items():
        box.write(f"{name}.d")
        (box.workspace / name).symlink_to(target)
    box.write("top/d/f")
    before = box.view()[0]
    for script in (MOVES, SEARCH):
        result = box.sh(script, options=options)
        assert "SECRET" not in result.stdout, result.stderr
    assert result.stdout == "fine\n", result.stderr
    plan = box.run("true", options=["--plan", *options]).stdout
    assert f"\nhide {box.workspace}/{hidden}\n" in plan
    after = box.view()[0]
    for name in [hidden, *links]:
        assert after[name] == before[name]


def test_a_link_is_held_by_a_mount_too(box):
    """Not by the reporter alone, which looks at memory of the program's."""
    box.write("real/cfg/key", "SECRET")
    box.write("top/fine")
    (box.workspace / "top/cfg").symlink_to("../real/cfg")
    plan = box.run("true", options=["--plan", "--hide", "./top/cfg/key"])
    lines = plan.stdout.splitlines()
    for name in ("top", "top/cfg", "real", "real/cfg"):
        assert f"pin {box.workspace}/{name}" in lines
    result = box.sh("grep -c /top/cfg /proc/self/mountinfo; readlink top/cfg; "
                    "ls -A top/cfg; tar cf - top | tar tf - | sort",
                    options=["--hide", "./top/cfg/key"])
    assert result.stdout.split() == ["1", "../real/cfg", "key", "top/",
                                     "top/cfg", "top/fine"], result.stderr


def test_other_links_may_be_replaced(box):
    box.write("real/cfg/key", "SECRET")
    box.write("fine", "fine\n")
    (box.workspace / "cfg").symlink_to("real/cfg")
    (box.workspace / "free").symlink_to("real")
    result = box.sh("rm free && ln -s fine free && cat free && mv free more "
                    "&& cat more && ln -sfn real more && ls more",
                    options=["--hide", "./cfg/key"])
    assert result.stdout == "fine\nfine\ncfg\n", result.stderr


def test_what_appears_behind_a_link_is_hidden(box):
    """The reporter compares where a path leads."""
    box.write("real/fine", "fine\n")
    (box.workspace / "cfg").symlink_to("real")
    for options in (["--hide", "./cfg/key"], ["--hide", "./cfg/k*"]):
        result = box.sh("echo x > cfg/key; echo x > real/key; cat cfg/fine; "
                        "mv real other; ls",
                        options=options)
        assert result.stdout == "fine\ncfg\nreal\n", result.stderr
        assert "(hidden)" in result.stderr
        assert not (box.workspace / "real/key").exists()


@pytest.mark.parametrize("option", ["--hide", "--protect"])
@pytest.mark.parametrize("name", ["./conf/key", "./conf/*.pem"])
def test_nothing_is_put_in_the_place_of_a_directory_to_come(box, option,
                                                            name):
    """It would bring the name along, or take it away once it is there."""
    box.write("t/key", "x")
    box.write("t/a.pem", "x")
    result = box.sh("mv t conf; ln -s t conf; mkdir conf && mv conf other; "
                    "mkdir -p fine/deep && mv fine good; ls",
                    options=[option, name])
    assert result.stdout.split() == ["conf", "good", "t"], result.stderr
    assert (box.workspace / "conf").is_dir()
    assert not list((box.workspace / "conf").iterdir())


def test_what_is_ignored_is_not_moved_to_gits_own(box):
    """There it was nobody's to ignore, and only the reporter's to hide."""
    box.write(".agentignore", "key\n")
    for name in ("one/key", "two/x/key", ".git/HEAD"):
        box.write(name, "SECRET")
    options = ["--ignore", ".agentignore"]
    box.sh("mkdir x; mv one x/.git; mv two .git/two; mv two/x .git/x; "
           "mkdir y; mv two y/.git", options=options)
    plan = box.run("true", options=["--plan", *options]).stdout
    for path in box.workspace.rglob("key"):
        assert f"\nhide {path}\n" in plan
    assert (box.workspace / "x/.git/key").exists()
    result = box.sh("find . -name key | wc -l; cat x/.git/key y/.git/x/key",
                    options=options)
    assert result.stdout == "2\n", result.stderr


# ---- links that a protected path goes through ----

def test_links_above_protected_names_are_held(box):
    box.write("conf/git/config", "theirs\n")
    box.write("dir/tasks.json", "{}")
    box.write("githooks/pre-commit", "true\n")
    for name in ("HEAD", "config"):
        box.write(f".git/{name}", "theirs\n")
        box.write(f"store/r/{name}", "theirs\n")
        box.write(f"store/s/{name}", "theirs\n")
    links = {".config": "conf", ".vscode": "dir", ".git/hooks": "../githooks",
             "sub/r/.git": "../../store/r", "sub/gl": "../store",
             ".envrc": "missing"}
    box.write("sub/s/.git", "gitdir: ../gl/s\n")
    box.write("sub/r/f")
    for name, target in links.items():
        (box.workspace / name).symlink_to(target)
    before = box.view()
    result = box.sh(tries(
        *(f"rm -f {name}; mv {name} gone; ln -sfn evil {name}"
          for name in links),
        "echo evil > .envrc", "echo evil > missing", "mv sub other",
        "mv sub/r other", "mv store other", "mv conf other",
        "echo evil > .config/git/config", "echo evil > conf/git/config",
        "echo evil > .config/git/new", "mkdir -p conf/fish",
        "echo evil > githooks/new", "echo evil > store/r/config",
        "mkdir store/r/hooks", "echo evil > sub/gl/s/config"))
    assert box.view() == before, result.stderr


def test_a_link_of_which_nobody_may_know_where_it_leads(box):
    """The sandbox begins, and the link is held as another is."""
    for name in ("sub/.git", "sub/key"):
        box.write(f"{name}.d")
        (box.workspace / name).symlink_to("/proc/1/root")
    result = box.sh("rm -f sub/.git sub/key; mv sub other; ls -A sub; ls",
                    options=["--hide", "**/key"])
    assert result.stdout.split() == [".git", ".git.d", "key", "key.d",
                                     "sub"], result.stderr


# ---- repositories that are not to be known again ----

def test_gits_directories_of_modules_are_known_without_head(box):
    names = []
    for name in ("worktrees/w", "modules/m", "modules/lib/n"):
        for part in ("HEAD", "config", "commondir", "hooks/pre-commit"):
            box.write(f".git/{name}/{part}", "theirs\n")
        names += [f".git/{name}/{part}" for part in
                  ("config", "commondir", "hooks/pre-commit")]
    box.write(".git/HEAD", "ref: refs/heads/main\n")
    result = box.sh("rm .git/*/*/HEAD .git/modules/lib/n/HEAD && echo removed")
    assert result.stdout == "removed\n", result.stderr
    result = box.sh(tries(*(f"echo evil > {name}; rm -f {name}; mv {name} x"
                            for name in names),
                          "mv .git/modules/m x", "mv .git/modules/lib x"))
    for name in names:
        assert (box.workspace / name).read_text() == "theirs\n", result.stderr
    assert "(protected)" in result.stderr


def test_many_links_to_one_repository(box):
    """Each had mounts of its own there, up to the kernel's bound."""
    box.write("store/config", "theirs\n")
    result = box.python("""
import os
for i in range(600):
    os.makedirs(f"l/{i}")
    os.symlink("../../store", f"l/{i}/.git")
""")
    assert result.returncode == 0, result.stderr
    result = box.sh("echo evil > store/config; mv store other; mkdir "
                    "store/hooks; rm -f l/599/.git; grep -c /store "
                    "/proc/self/mountinfo; ls; ls -A store")
    assert result.stdout == "2\nl\nstore\nconfig\n", result.stderr
    assert (box.workspace / "store/config").read_text() == "theirs\n"
    assert (box.workspace / "l/599/.git").is_symlink()


# ---- directories that are closed ----

HOOK = "sub/repo/.git/hooks/pre-commit"


def closed_case(box):
    box.write("fine", "fine\n")
    box.write("sub/key", "SECRET")
    box.write("sub/.agentignore", "more\n")
    box.write("sub/more", "SECRET")
    box.write("sub/repo/.git/HEAD", "ref: refs/heads/main\n")
    box.write(HOOK, "true\n")
    box.write("sub/deep/f", "fine\n")


OPEN = tries("chmod 700 sub sub/deep", "mv sub other", "rm -rf sub",
             f"echo evil > {HOOK}", "chmod 755 .",
             "echo evil > sub/repo/.git/config", SEARCH)


@pytest.mark.parametrize("mode", ["0", "300", "400"])
@pytest.mark.parametrize("options", [
    [], ["--hide", "**/key", "--hide", "**/more"],
    ["--hide", "./sub/k*", "--hide", "./sub/*o*e"],
    ["--ignore", ".agentignore", "--hide", "./sub/key"],
    ["--protect", "**/x"],
], ids=["hooks", "anywhere", "here", "ignored", "protect"])
def test_where_one_is_closed_there_is_no_sandbox(box, mode, options):
    """As an ordinary user we find nothing in it; root does."""
    closed_case(box)
    before = box.view()[0]
    box.sh(f"chmod {mode} sub", options=options)
    result = box.sh(OPEN, options=options)
    if options and options[0] != "--protect":
        assert "SECRET" not in result.stdout
    (box.workspace / "sub").chmod(0o755)
    assert box.view()[0][HOOK] == before[HOOK]
    if box.user == "root":
        assert "fine\n" in result.stdout, result.stderr
    else:
        assert result.returncode == 125 and result.stdout == ""
        assert f"{box.workspace}/sub is closed to us" in result.stderr


def test_what_is_hidden_may_hold_links_and_repositories(box):
    """Nothing is mounted in what is not seen."""
    closed_case(box)
    box.write("sub/real/deep/f")
    box.write("sub/l/f")
    (box.workspace / "sub/link").symlink_to("real")
    (box.workspace / "sub/l/.git").symlink_to("../repo/.git")
    (box.workspace / "way").symlink_to("sub/link")
    result = box.sh("ls sub; cat fine", options=[
        "--hide", "./sub", "--hide", "./sub/real/deep/f", "--hide",
        "./way/deep/f", "--hide", "./sub/link/deep/*"])
    assert result.stdout == "fine\n", result.stderr


@pytest.mark.parametrize("options", [
    ["--hide", "./sub"], ["--hide", "**/key", "--hide", "./sub"],
    ["--ignore", ".agentignore", "--hide", "./sub"],
])
def test_one_that_is_hidden_may_be_closed(box, options):
    """By whom it belongs to."""
    closed_case(box)
    (box.workspace / "sub").chmod(0)
    result = box.sh(OPEN, options=options)
    assert result.stdout == "fine\n", result.stderr
    assert (box.workspace / "sub").stat().st_mode & 0o777 == 0


def test_the_name_of_a_closed_one_is_not_for_the_terminal(box):
    box.sh("mkdir 'a\033[31m\nb\u009b'; chmod 0 a*")
    result = box.sh("echo fine")
    if box.user == "root":
        assert result.stdout == "fine\n", result.stderr
    else:
        assert f"{box.workspace}/a?[31m?b?? is closed to us" in result.stderr
        assert result.returncode == 125


def test_a_closed_one_that_is_opened_again_is_as_ever(box):
    closed_case(box)
    box.sh("chmod 0 sub")
    (box.workspace / "sub").chmod(0o755)
    result = box.sh("cat sub/deep/f; mv sub/deep sub/moved && echo moved")
    assert result.stdout == "fine\nmoved\n", result.stderr
    assert "closed" not in result.stderr


def test_a_workspace_that_can_not_be_looked_through_is_none(box):
    closed_case(box)
    box.sh("chmod 300 .")
    result = box.sh("chmod 700 .; cat sub/key fine", options=["--hide",
                                                              "**/key"])
    box.workspace.chmod(0o755)
    if box.user == "root":  # which looks through it all the same
        assert result.stdout == "fine\n"
    else:
        assert result.returncode == 125 and result.stdout == ""
        assert f"{box.workspace}: Permission denied" in result.stderr


@pytest.mark.parametrize("links", [
    {"cfg": "real"}, {"cfg": "mid/link", "mid/link": "../real"}])
def test_a_closed_directory_on_the_way_of_links(box, links):
    """What they lead to is not to be known."""
    box.write("real/key", "SECRET")
    box.write("mid/f")
    for name, target in links.items():
        (box.workspace / name).symlink_to(target)
    options = ["--hide", "./cfg/key"]
    closed = "mid" if "mid/link" in links else "real"
    box.sh(f"chmod 0 {closed}", options=options)
    result = box.sh(f"chmod 755 {closed}; cat cfg/key real/key; ls",
                    options=options)
    if box.user == "root":
        assert result.stdout == "cfg\nmid\nreal\n", result.stderr
    else:
        assert result.returncode == 125 and result.stdout == ""
        assert f"{box.workspace}/{closed} is closed to us" in result.stderr


@pytest.mark.parametrize("kind", ["another name", "a link", "a repository"])
def test_what_a_closed_one_says_of_other_places(box, kind):
    box.write("sub/f", "SECRET")
    box.write("fine", "fine\n")
    if kind == "another name":
        os.link(box.workspace / "sub/f", box.workspace / "same")
        os.rename(box.workspace / "sub/f", box.workspace / "sub/key")
    elif kind == "a link":
        box.write("same", "SECRET")
        (box.workspace / "sub/key").symlink_to("../same")
    else:
        box.write("sub/.git", "gitdir: ../store\n")
        box.write("store/HEAD", "ref: refs/heads/main\n")
        box.write("store/config", "theirs\n")
    options = ["--hide", "**/key"]
    box.sh("chmod 0 sub", options=options)
    result = box.sh("cat same; echo evil > store/config; cat fine",
                    options=options)
    assert "SECRET" not in result.stdout
    assert result.stdout == ("fine\n" if box.user == "root" else "")
    if kind == "a repository":
        assert (box.workspace / "store/config").read_text() == "theirs\n"


@pytest.mark.parametrize("closed", ["a/b/c/d/e", "a/b/c/d/e/store"])
def test_a_repository_that_a_file_names_is_closed(box, closed):
    """Deeper than repositories are looked for: the file alone leads there."""
    names = [f"a/b/c/d/e/store/{name}" for name in ("config", "hooks/x")]
    box.write("sub/.git", "gitdir: ../a/b/c/d/e/store\n")
    for name in names:
        box.write(name, "theirs\n")
    box.sh(f"chmod 0 {closed}")
    result = box.sh(tries(f"chmod 755 {closed}", *(
        f"echo evil > {name}" for name in names)))
    (box.workspace / closed).chmod(0o755)
    for name in names:
        assert (box.workspace / name).read_text() == "theirs\n"
    if box.user == "root":
        assert "(protected)" in result.stderr
    else:
        assert result.returncode == 125
        assert f"{box.workspace}/{closed} is closed to us" in result.stderr


@pytest.mark.parametrize("mode", ["read", "overlay"])
def test_a_closed_one_where_nothing_is_written(box, mode):
    closed_case(box)
    (box.workspace / "sub").chmod(0)
    options = {"read": ["--workspace-read"],
               "overlay": ["--changes", str(box.root / "changes")]}[mode]
    (box.root / "changes").mkdir(mode=0o700)
    result = box.sh("chmod 700 sub; cat sub/key; cat fine",
                    options=[*options, "--hide", "**/key"])
    if box.user == "root" or mode == "read":
        assert result.stdout == "fine\n", result.stderr
    else:
        assert result.returncode == 125 and result.stdout == ""
    assert (box.workspace / "sub").stat().st_mode & 0o777 == 0


def test_a_directory_of_another_users_is_passed_by(box):
    """Nobody inside can open it."""
    box.write("sub/key", "SECRET")
    box.write("fine", "fine\n")
    command = box.command("/bin/sh", "-c", "chmod 755 sub; cat sub/key fine")
    other = 0 if box.user == "ordinary" else 4242
    if os.geteuid() == 0:
        os.chown(box.workspace / "sub", other, other)
    (box.workspace / "sub").chmod(0o700)
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=60, check=False)
    if os.geteuid() == 0:
        assert result.stdout == "fine\n", result.stderr
    assert "closed" not in result.stderr
