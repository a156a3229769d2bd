"""Names that are hidden: by globs, by ignore files, and when they appear
after the start; other names of what is hidden or protected."""
import os
import random
import socket
import subprocess

import pytest

from sandbox_tool import PYTHON, box, host_view  # noqa: F401 (a fixture)

GIT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent",
       "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.mark.parametrize("glob,hidden", [
    ("**/.env", {".env", "a/.env", "a/b/.env"}),
    ("./.env", {".env"}),
    ("./a/*", {"a/.env", "a/x.pem", "a/b"}),
    ("**/*.{pem,key}", {"a/x.pem", "a/b/y.key"}),
    ("./a/**/?.[kp]e*", {"a/x.pem", "a/b/y.key"}),
    ("**/[!a-x].key", {"a/b/y.key"}),
    (r"./\[odd\]", {"[odd]"}),
])
def test_globs_hide_what_they_say(box, glob, hidden):
    for name in (".env", "a/.env", "a/b/.env", "a/x.pem", "a/b/y.key",
                 "[odd]", "o"):
        box.write(name, "text")
    result = box.sh("find . -type f ! -readable; find . -type d ! -readable",
                    options=["--hide", glob])
    assert {line[2:] for line in result.stdout.split()} == hidden, \
        result.stderr


def test_a_workspace_with_a_pattern_in_its_name_is_itself(box):
    box.workspace = box.root / "w[ab]{c,d}*"
    box.workspace.mkdir()
    box.write(".env", "SECRET")
    box.write("fine", "fine")
    result = box.sh("cat .env fine", options=["--hide", "**/.env"])
    assert result.stdout == "fine", result.stderr


@pytest.mark.parametrize("glob", ["./[a", "./a**", "./{a,b", "./a\\"])
def test_what_can_not_be_enforced_does_not_start(box, glob):
    result = box.sh("echo started", options=["--hide", glob])
    assert result.returncode == 125 and result.stdout == ""
    assert "pattern" in result.stderr


# ---- after the start ----

WAIT = "echo ready; read line; "


def meanwhile(box, change, script, options):
    """Run change on the host once the sandbox runs, then script inside."""
    child = box.start("/bin/sh", "-c", WAIT + script, options=options,
                      stdin=subprocess.PIPE)
    assert child.stdout.readline() == "ready\n"
    change()
    if os.geteuid() == 0:
        box.give()
    out, err = child.communicate("go\n", timeout=60)
    return out, err


READS = ("cat .env; cat a/.env; cat ./a/../.env; cat link; cp .env copy; "
         "ln .env other && cat other; mv .env moved && cat moved; "
         "cat /proc/self/cwd/.env; cat < .env; "
         "python3 -c 'print(open(\".env\").read())' 2>/dev/null; echo end")


def appear(box):
    box.write(".env", "SECRET")
    box.write("a/.env", "SECRET")


def test_what_appears_under_a_hidden_name_is_not_read(box):
    box.write("fine", "fine\n")
    box.write("a/fine", "")
    (box.workspace / "link").symlink_to(".env")
    out, err = meanwhile(box, lambda: appear(box), "cat fine; " + READS,
                         ["--hide", "**/.env"])
    assert out == "fine\nend\n", err
    assert f"read of {box.workspace}/.env denied by filesystem (hidden)" \
        in err
    assert (box.workspace / ".env").read_text() == "SECRET"


def test_without_the_hide_it_is(box):
    out, err = meanwhile(box, lambda: appear(box), "cat .env", [])
    assert out == "SECRET", err


def test_what_takes_the_place_of_a_hidden_file_is_not_read(box):
    """An editor saves by renaming, which takes the mount away."""
    box.write(".env", "old SECRET")

    def save():
        box.write("new", "SECRET")
        os.rename(box.workspace / "new", box.workspace / ".env")
    out, err = meanwhile(box, save, READS, ["--hide", "./.env"])
    assert out == "end\n", err


def test_hidden_names_are_not_made_inside(box):
    result = box.sh("echo x > .env; mkdir d; echo x > d/.env; "
                    "echo x > t; mv t .env; ls -A",
                    options=["--hide", "**/.env"])
    assert result.stdout.split() == ["d", "t"], result.stderr


def test_what_reads_much_still_works(box):
    result = box.sh("cat /proc/self/status | head -1; ls /proc/self/fd; "
                    "cat /proc/self/task/*/comm; cat /dev/null; "
                    "head -c1 /dev/zero | wc -c; python3 -c 'import json'; "
                    "git --version; echo x > f; cat < f",
                    options=["--hide", "**/.env"])
    assert result.returncode == 0 and "denied" not in result.stderr, \
        result.stderr
    assert result.stdout.startswith("Name:")
    assert result.stdout.endswith("\nx\n")


# ---- ignore files ----

def test_ignore_files_hide_what_they_name(box):
    box.write(".agentignore", "*.key\n!fine.key\n/top\nbuild/\n# no\n\\#yes\n")
    box.write("sub/.cursorignore", "local\n")
    for name in ("a.key", "fine.key", "top", "sub/top", "build/out",
                 "sub/build", "#yes", "local", "sub/local", "sub/b.key"):
        box.write(name, "text")
    result = box.sh("find . -type f ! -readable; find . -type d ! -readable",
                    options=["--ignore", ".agentignore", "--ignore",
                             ".cursorignore"])
    assert set(result.stdout.split()) == {
        "./a.key", "./top", "./build", "./#yes", "./sub/local",
        "./sub/b.key"}, result.stderr


def test_ignore_files_are_not_written_and_cover_what_comes(box):
    box.write(".agentignore", "*.key\n")
    box.write("sub/f", "")
    out, err = meanwhile(
        box, lambda: box.write("sub/new.key", "SECRET"),
        "cat sub/new.key; echo '!*' > .agentignore; rm -f .agentignore; "
        "echo '!*' > sub/.agentignore; mv .agentignore x; echo end",
        ["--ignore", ".agentignore"])
    assert out == "end\n", err
    assert (box.workspace / ".agentignore").read_text() == "*.key\n"
    assert not (box.workspace / "sub/.agentignore").exists()


NAMES = ["a", "b", "ab", "a.c", "b.c", "foo", "foo.bar", "x y", "[", "a]",
         "abc", "-", ".h", "é"]
ATOMS = ["a", "b", "*", "?", "**", "/", "[ab]", "[!a]", "[^b]", "[a-c]",
         "foo", ".c", "\\*", "[]-]", "[[:alpha:]]", "**/", "/**", "/**/",
         ".", "x\\ y", "é", "[", "\\"]
FIXED = ["*", "**", "/", "!", "/*", "a/", "/a/", "a/b", "/a/b", "a/**",
         "**/a", "a/**/b", "*.c", "!*.c", "foo*", "#a", "\\#a", "\\!a", "a ",
         "x\\ y", "a\\ ", "[", "[a", "a/*", "*/a", "*/*/a", "/**/a", "**/",
         "a**", "**a", "a**b", "/a", "a/b/", "?", "??", "[a-c]*", "a\r",
         "[[:nope:]]", "[[:alpha:]]", "[!a]", "[]]", "[a-]", "\\a", "é"]


def random_rules(chance):
    lines = ["".join(chance.choices(ATOMS, k=chance.randint(1, 4)))
             for _ in range(chance.randint(1, 3))]
    return "\n".join(("!" if chance.random() < 0.25 else "") + line
                     for line in lines) + "\n"


def test_ignore_files_mean_what_git_says(box, tmp_path):
    """Hundreds of rules against a tree of names, beside git check-ignore."""
    chance = random.Random(5)
    for one in NAMES:
        box.write(f"{one}/leaf", "")
        for two in chance.sample(NAMES, 4):
            box.write(f"{one}/{two}/leaf", "")
            box.write(f"{one}/{two}/foo", "")
    for one in ("c.c", "d", "foo.c"):
        box.write(one, "")
    box.write("a/b.d/a", "")
    paths = sorted(str(path.relative_to(box.workspace))
                   for path in box.workspace.rglob("*"))
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "g"], check=True,
                   env=GIT)
    rules = [text + "\n" for text in FIXED]
    rules += [f"*\n!{text}\n" for text in FIXED]
    rules += [random_rules(chance) for _ in range(160)]
    for text in rules:
        box.write(".gitignore", text)
        found = subprocess.run(
            ["git", f"--git-dir={tmp_path}/g", f"--work-tree={box.workspace}",
             "-c", "core.bare=false", "check-ignore", "--no-index", "-z",
             "--stdin"], input="\0".join(paths), capture_output=True,
            text=True, cwd=box.workspace, env=GIT)
        assert found.returncode in (0, 1), found.stderr
        expected = set(filter(None, found.stdout.split("\0")))
        plan = box.run("true", options=["--plan", "--ignore", ".gitignore"])
        assert plan.returncode == 0, (text, plan.stderr)
        mark = f"hide {box.workspace}/"
        hidden = {line[len(mark):] for line in plan.stdout.splitlines()
                  if line.startswith(mark)}
        ours = {path for path in paths
                if any(path == one or path.startswith(one + "/")
                       for one in hidden)}
        assert ours == expected - {".gitignore"}, (text, ours ^ expected)


# ---- other names ----

def test_another_name_of_a_protected_file_is_protected(box):
    box.write(".git/HEAD", "ref: refs/heads/main\n")
    box.write(".git/config", "[core]\n")
    box.write(".git/hooks/pre-commit", "true\n")
    box.write("deep/f", "")
    os.link(box.workspace / ".git/config", box.workspace / "deep/conf")
    os.link(box.workspace / ".git/hooks/pre-commit", box.workspace / "hook")
    before = box.view()
    result = box.sh("echo evil > deep/conf; echo evil >> hook; "
                    "chmod 755 hook; truncate -s 0 deep/conf")
    assert box.view() == before, result.stderr


def test_another_name_of_a_hidden_file_is_hidden(box):
    box.write(".env", "SECRET")
    box.write("d/f", "fine")
    os.link(box.workspace / ".env", box.workspace / "d/same")
    result = box.sh("cat d/same d/f", options=["--hide", "./.env"])
    assert result.stdout == "fine", result.stderr


def test_a_hidden_file_is_hidden_where_others_are_protected(box):
    """To protect is to let it be read."""
    box.write("d/key", "SECRET")
    box.write(".vscode/f", "fine")
    box.write(".envrc", "SECRET")
    os.link(box.workspace / "d/key", box.workspace / ".vscode/same")
    os.link(box.workspace / ".envrc", box.workspace / "d/same")
    read = "cat .vscode/same d/same .vscode/f"
    result = box.sh(read, options=["--hide", "./d/key", "--hide", "./.envrc"])
    assert result.stdout == "fine", result.stderr
    assert box.sh(read).stdout == "SECRETSECRETfine"


def test_other_hard_links_are_left_alone(box):
    box.write("f", "fine")
    os.link(box.workspace / "f", box.workspace / "g")
    assert box.sh("echo more >> g; cat f").stdout == "finemore\n"


@pytest.mark.parametrize("name", ["sub/repo/.git/config", "ci/x/deploy.yml"])
def test_directories_above_are_no_way_round(box, name):
    """By another thread's luck, not only past the reporter: they are
    mounts."""
    box.write(name, "theirs\n")
    box.write("sub/repo/.git/HEAD", "ref: refs/heads/main\n")
    top = name.split("/", maxsplit=1)[0]
    plan = box.run("true", options=["--plan", "--protect",
                                    "ci/x/deploy.yml"]).stdout.splitlines()
    parts = name.split("/")
    for i in range(1, len(parts) - 1):
        assert f"pin {box.workspace}/{'/'.join(parts[:i])}" in plan
    result = box.sh(f"mv {top} moved; mkdir -p {os.path.dirname(name)}; "
                    f"echo evil > {name}; ls",
                    options=["--protect", "ci/x/deploy.yml"])
    assert (box.workspace / name).read_text() == "theirs\n", result.stderr
    assert not (box.workspace / "moved").exists()


def test_links_in_the_place_of_protected_names(box):
    """A name that is a link: neither it nor what it leads to changes."""
    box.write("conf/tasks.json", "{}")
    box.write("rc", "true\n")
    (box.workspace / ".vscode").symlink_to("conf")
    (box.workspace / ".bashrc").symlink_to("rc")
    (box.workspace / ".envrc").symlink_to("missing")
    before = box.view()
    result = box.sh("echo x > conf/tasks.json; echo x > .vscode/new; "
                    "echo x > rc; echo x > .bashrc; rm .bashrc; "
                    "ln -sf evil .vscode; mv conf other")
    assert box.view() == before, result.stderr
    assert host_view(box.workspace).keys() >= {".vscode", "conf"}


def test_a_submodules_settings_are_protected(box):
    """.git is a file there, and its directory below the outer one's."""
    box.write("mod/.git", "gitdir: ../.git/modules/mod\n")
    box.write(".git/HEAD", "ref: refs/heads/main\n")
    for name in ("HEAD", "config", "hooks/post-checkout"):
        box.write(f".git/modules/mod/{name}", "theirs\n")
    before = box.view()
    result = box.sh("echo 'gitdir: ../evil' > mod/.git; rm -f mod/.git; "
                    "mv mod mod2; for f in config hooks/post-checkout "
                    "hooks/new commondir config.worktree; "
                    "do echo evil > .git/modules/mod/$f; done; "
                    "mv .git/modules/mod .git/modules/m; "
                    "mv .git/modules .git/m")
    assert box.view() == before, result.stderr


# ---- directories above what is hidden ----

@pytest.mark.parametrize("options,ignored", [
    (["--hide", "./conf/deep/key"], None),
    (["--hide", "./conf/*/ke?"], None),
    (["--hide", "**/deep/key"], None),
    (["--hide", "./conf/**/key"], None),
    (["--hide", "./conf/deep"], None),
    (["--ignore", ".agentignore"], "/conf/*/key\n"),
    (["--ignore", ".agentignore"], "**/deep/key\n"),
    (["--ignore", ".agentignore"], "key\n!/*/key\n"),
    (["--ignore", ".agentignore"], "/conf/\n"),
])
def test_what_is_hidden_is_not_moved_to_where_it_is_not(box, options,
                                                        ignored):
    """By one sandbox, for the next one to read."""
    box.write("conf/deep/key", "SECRET")
    box.write("fine/f", "fine\n")
    if ignored:
        box.write(".agentignore", ignored)
    box.sh("mv conf other; mv conf/deep other; mv conf/deep/key another; "
           "mv fine good", options=options)
    result = box.sh("cat good/f; grep -rs SECRET .", options=options)
    assert result.stdout == "fine\n", result.stderr
    assert (box.workspace / "conf/deep/key").read_text() == "SECRET"


@pytest.mark.parametrize("options,ignored", [
    (["--hide", "**/key"], None),
    (["--ignore", ".agentignore"], "key\n"),
])
def test_what_is_hidden_wherever_it_is_may_be_moved_with_others(
        box, options, ignored):
    box.write("conf/deep/key", "SECRET")
    if ignored:
        box.write(".agentignore", ignored)
    assert box.sh("mv conf other", options=options).returncode == 0
    result = box.sh("ls other/deep; grep -rs SECRET .", options=options)
    assert result.stdout == "key\n", result.stderr


def test_a_link_to_what_is_hidden_later_is_followed_as_it_is_written(box):
    """Behind a slash, whatever O_NOFOLLOW says."""
    for name in "secret", "fine":
        (box.workspace / f"to-{name}").symlink_to(name)
    child = box.start(PYTHON, "-c", """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for name in "to-secret/", "to-fine/":
    try:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        print(os.listdir(fd))
    except OSError as error:
        print(error.strerror)
""", options=["--hide", "**/secret"], stdin=subprocess.PIPE)
    assert child.stdout.readline() == "ready\n"
    box.write("secret/name")
    box.write("fine/name")
    box.view()  # gives all of it to its owner
    out, err = child.communicate("go on\n", timeout=60)
    assert out == "Permission denied\n['name']\n", err


def test_a_thread_with_directories_of_its_own_does_no_more(box):
    """/proc/self is its process, which may stand elsewhere."""
    result = box.python("""
import ctypes, os, threading
libc = ctypes.CDLL(None)
CLONE_FS, CLONE_FILES = 0x200, 0x400

def make(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
        print("made", path, flush=True)
    except OSError as error:
        print(error.strerror, path, flush=True)

def apart():
    assert libc.unshare(CLONE_FS | CLONE_FILES) == 0
    os.chdir("/tmp")
    os.dup2(os.open("/tmp", os.O_RDONLY), 100)
    for directory in "cwd", "fd/100":
        for name in ".env", ".bashrc", "fine":
            make(f"/proc/self/{directory}/{name}")
    make("/proc/thread-self/cwd/.bashrc")

os.dup2(os.open(".", os.O_RDONLY), 100)
thread = threading.Thread(target=apart)
thread.start()
thread.join()
""", options=["--hide", "**/.env"])
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        f"{said} /proc/self/{directory}/{name}"
        for directory in ["cwd", "fd/100"]
        for name, said in [(".env", "Permission denied"),
                           (".bashrc", "Permission denied"),
                           ("fine", "made")]
    ] + ["made /proc/thread-self/cwd/.bashrc"]
    assert [path.name for path in box.workspace.iterdir()] == ["fine"]


def test_what_is_called_like_a_directory_that_is_gone_is_not_it(box):
    """The kernel says "gone (deleted)", which may be another's name by then."""
    (box.workspace / "away/deep").mkdir(parents=True)
    result = box.python("""
import os
def make(path, directory=None):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, dir_fd=directory))
        print("made", path)
    except OSError as error:
        print(error.strerror)
top = os.getcwd()
os.mkdir("gone")
gone = os.open("gone", os.O_PATH)
os.rmdir("gone")
make("../.env", gone)
os.symlink("away/deep", "gone (deleted)")
make("../.env", gone)
make(f"/proc/self/fd/{gone}/../.env")
os.fchdir(gone)
make("../.env")
make("/proc/self/cwd/../.env")
make(f"/proc/{os.getpid()}/cwd/../.env")
os.chdir(top)
os.mkdir("is (deleted)")
os.chdir("is (deleted)")
make("../fine")
make("/proc/self/cwd/fine")
""", options=["--hide", ".env"])
    lines = result.stdout.splitlines()
    assert lines[0] == "No such file or directory", result.stderr
    assert lines[1:6] == ["Permission denied"] * 5, result.stderr
    assert lines[6:] == ["made ../fine", "made /proc/self/cwd/fine"], \
        result.stderr
    assert not (box.workspace / ".env").exists()


def test_threads_find_themselves_in_proc(box):
    result = box.python("""
import threading
def show():
    with open(f"/proc/self/task/{threading.get_native_id()}/status") as file:
        print(file.readline(), end="")
thread = threading.Thread(target=show)
thread.start()
thread.join()
""", options=["--hide", ".env"])
    assert result.stdout.startswith("Name:\t"), result.stderr


def test_a_name_that_is_hidden_later_is_not_moved_either(box):
    box.write("conf/fine", "fine\n")
    out, err = meanwhile(box, lambda: box.write("conf/key", "SECRET"),
                         "mv conf other; cat conf/fine; grep -rs SECRET .",
                         ["--hide", "./conf/key"])
    assert out == "fine\n", err


# A glob, or an ignore file's text; moves that lead out of it, and one that does
# not.
PLACED = [
    ("./*/sub/*.key", "", ["conf in/conf", "conf/sub sub",
                           "conf/sub conf/other"], "conf other"),
    ("./**/sub/*.key", "", ["conf/sub conf/other"], "conf in/conf"),
    ("", "/conf/sub/*.key", ["conf other", "conf/sub sub"], "in out"),
    ("", "conf/*/its.key", ["conf other", "conf/sub sub"],
     "conf/sub conf/other"),
    ("", "*.key\n!/in/*/*.key", ["conf/sub in/sub"], "conf other"),
]


@pytest.mark.parametrize("glob, rule, out_of_it, within", PLACED)
def test_what_is_hidden_by_its_place_is_not_moved_from_there(
        box, glob, rule, out_of_it, within):
    """With a directory above it, when it came after the start."""
    box.write("conf/sub/fine", "fine\n")
    box.write("in/fine", "fine\n")
    if rule:
        box.write(".agentignore", rule)
    script = "".join(f"mv {move} && echo moved {move}\n"
                     for move in [*out_of_it, within])
    out, err = meanwhile(box, lambda: box.write("conf/sub/its.key", "SECRET"),
                         script + "grep -rs SECRET .",
                         ["--hide", glob] if glob else
                         ["--ignore", ".agentignore"])
    assert out == f"moved {within}\n", err
    assert err.count("sandbox: move to ") == len(out_of_it), err


def test_a_socket_of_the_host_is_not_moved_to_where_it_is_not_known(box):
    path = box.workspace / "conf/deep/agent.sock"
    path.parent.mkdir(parents=True)
    script = """
import glob, socket
for path in glob.glob("**/agent.sock", recursive=True):
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(path)
            print("reached", path)
        except OSError:
            pass
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        os.chmod(path, 0o777)
        server.listen()
        box.sh("mv conf other; mv conf/deep other")
        result = box.python(script)
    assert result.returncode == 0 and result.stdout == "", result.stderr


@pytest.mark.parametrize("mode", ["0", "755"])
def test_what_was_closed_is_not_opened_where_something_is_hidden(box, mode):
    """By one sandbox, so that we do not find it for the next one."""
    path = box.workspace / "conf/agent.sock"
    path.parent.mkdir()
    box.write("conf/fine", "fine\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        os.chmod(path, 0o777)
        server.listen()
        box.sh(f"chmod {mode} conf")
        result = box.python("""
import os, socket
os.chmod("conf", 0o700)
print(os.path.exists("conf/fine"))
with socket.socket(socket.AF_UNIX) as client:
    client.connect("conf/agent.sock")
    print("reached")
""")
    # Where we do not find it there is no sandbox; root does.
    seen = mode != "0" or box.user == "root"
    assert ("True\n" in result.stdout) == seen, result
    assert "reached" not in result.stdout and result.returncode != 0
    assert (result.returncode == 125) == (not seen)
