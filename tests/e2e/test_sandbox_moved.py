"""What another sandbox of the same workspace moves while one begins: between
its plan and its mounts, and again between those."""
import contextlib
import os
import subprocess
import threading
import time

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)

# A look at the size asks nobody: of what a mount covers there is none.
LOOK = ("touch begun; until test -e rests; do :; done; "
        "stat -c %s */key")
HIDES = {"a pattern": ["--hide", "**/key"],
         "an ignore file": ["--ignore", ".agentignore"]}


@contextlib.contextmanager
def moving(box, pause_s):
    """Move the directory to and fro, until the command has begun."""
    there, elsewhere = box.workspace / "a", box.workspace / "b"

    def move():
        while not (box.workspace / "begun").exists() and not over.is_set():
            os.rename(there, elsewhere)
            time.sleep(pause_s)
            os.rename(elsewhere, there)
            time.sleep(pause_s)
        (box.workspace / "rests").touch()

    over = threading.Event()
    mover = threading.Thread(target=move)
    mover.start()
    try:
        yield
    finally:
        over.set()
        mover.join()
    for name in ("begun", "rests"):
        (box.workspace / name).unlink(missing_ok=True)


def look(box, options, pause_s):
    if not (box.workspace / "a/key").exists():
        box.write("a/key", "SECRET")
    box.write(".agentignore", "key\n")
    command = box.command("/bin/sh", "-c", LOOK, options=options)
    with moving(box, pause_s):
        return subprocess.run(command, capture_output=True, text=True,
                              timeout=60, check=False)


@pytest.mark.parametrize("kind", HIDES)
def test_what_is_moved_while_a_sandbox_begins_is_hidden_by_a_mount(box, kind):
    for _ in range(10):
        seen = look(box, HIDES[kind], 0.0005)
        assert (seen.returncode, seen.stdout) == (0, "0\n"), seen.stderr


def test_without_the_hide_it_is_seen(box):
    seen = look(box, [], 0.0005)
    assert (seen.returncode, seen.stdout) == (0, "6\n"), seen.stderr


def test_what_never_rests_is_hidden_or_there_is_no_sandbox(box):
    for _ in range(10):
        seen = look(box, HIDES["a pattern"], 0)
        if seen.returncode == 125:
            assert "moved about" in seen.stderr
        else:
            assert (seen.returncode, seen.stdout) == (0, "0\n"), seen.stderr


def test_so_is_another_name_of_what_is_hidden(box):
    """That no pattern names."""
    box.write("held", "SECRET")
    (box.workspace / "a").mkdir()
    os.link(box.workspace / "held", box.workspace / "a/key")
    seen = [look(box, ["--hide", "./held"], 0.0005) for _ in range(10)]
    for one in seen:
        if one.returncode == 125:
            assert "moved or removed" in one.stderr
        else:
            assert (one.returncode, one.stdout) == (0, "0\n"), one.stderr
