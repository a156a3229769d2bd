"""audit.export: every row of the record becomes a line of a file."""
import json
import os
import signal
import stat

import pytest
from gateway import wait_until


@pytest.fixture
def exported(own_gateway):
    """A gateway, the file that it exports to, and how to change that."""
    path = own_gateway.dir / "out" / "audit.jsonl"
    path.parent.mkdir()
    settings = json.loads(own_gateway.config.read_text())
    settings["audit"] = {"export": [{"jsonl": str(path)}]}
    own_gateway.config.write_text(json.dumps(settings))
    done = own_gateway.cli("config", "reload")
    assert "audit.export" in done.stdout, done.stderr
    return path


def make_rows(gateway, count=3):
    for i in range(count):
        gateway.put_secret(f"made-{i}", "x" * 20)


def lines(*paths):
    """Their rows; a line that is being written is none yet."""
    text = "".join(path.read_text() for path in paths if path.exists())
    return [json.loads(line) for line in text.split("\n")[:-1]]


def wait_for_all(gateway, *paths):
    """Every row of the record stands there once, in its order, as it is."""
    wait_until(lambda: lines(*paths) == gateway.audit())
    return lines(*paths)


def details(gateway):
    return [row.get("detail", "") for row in gateway.audit()]


def test_every_row_is_exported_and_the_chain_holds(own_gateway, exported):
    make_rows(own_gateway)
    rows = wait_for_all(own_gateway, exported)
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["prev"] == before["hash"]
               for before, row in zip(rows, rows[1:]))
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600


def test_it_goes_on_after_a_restart_and_a_kill(own_gateway, exported):
    wait_for_all(own_gateway, exported)
    own_gateway.stop()
    # Whoever is killed leaves a line that is cut.
    with open(exported, "rb+") as file:
        file.truncate(exported.stat().st_size - 30)
    own_gateway.start()
    make_rows(own_gateway)
    wait_for_all(own_gateway, exported)
    before = own_gateway.pid("ledger")
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: own_gateway.pid("ledger") not in (None, before))
    wait_until(own_gateway.is_ready)
    make_rows(own_gateway)
    wait_for_all(own_gateway, exported)


def test_a_file_that_is_moved_away_is_followed_by_another(own_gateway,
                                                          exported):
    make_rows(own_gateway)
    wait_for_all(own_gateway, exported)
    moved = exported.with_suffix(".1")
    exported.rename(moved)
    # Known at once, not at the next look: the configuration is read again.
    own_gateway.cli("config", "reload")

    def goes_on():
        make_rows(own_gateway, 1)
        return lines(exported)
    wait_until(goes_on)
    wait_for_all(own_gateway, moved, exported)


@pytest.mark.parametrize("spoil, words", [
    (lambda path: path.mkdir(), "Is a directory"),
    (lambda path: os.mkfifo(path), "is no file"),
    (lambda path: path.symlink_to("/etc/passwd"), "symbolic links"),
    (lambda path: path.write_text("somebody else's\n"),
     "does not end with a row of this record"),
], ids=["directory", "pipe", "link", "other"])
def test_what_cannot_be_written_stops_nothing(own_gateway, exported, spoil,
                                              words):
    wait_for_all(own_gateway, exported)
    moved = exported.with_suffix(".1")
    exported.rename(moved)
    spoil(exported)
    own_gateway.cli("config", "reload")
    make_rows(own_gateway)
    wait_until(lambda: any(words in text for text in details(own_gateway)))
    verified = own_gateway.cli("audit", "verify")
    assert verified.returncode == 0, verified.stdout
    if exported.is_dir():
        exported.rmdir()
    else:
        exported.unlink()
    # It is tried again now and then; at once when it is asked for.
    own_gateway.cli("config", "reload")
    wait_until(lambda: any("it goes on" in text
                           for text in details(own_gateway)))
    wait_for_all(own_gateway, moved, exported)
