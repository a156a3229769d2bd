"""Waiting for what a machine may be slow to show."""
import os
import shutil
import time


def wait_until(what, timeout=60, every=None):
    """Wait for what() to be true, and return it. It is looked at often in
    the beginning, and then ever less (or so often as `every` says)."""
    end = time.monotonic() + timeout
    pause = every or 0.002
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < end, f"{what} was never true"
        time.sleep(pause)
        if not every:
            pause = min(pause * 1.5, 0.05)


def at_best(seconds, attempt, tries=8):
    """attempt() says how long something took. It takes less than this: the
    machine may be busy with others for a while, but not each time."""
    taken = []
    while not taken or (min(taken) >= seconds and len(taken) < tries):
        if taken:
            time.sleep(1)
        taken.append(attempt())
    assert min(taken) < seconds, taken


def remove_tree(path):
    """Processes that end may still be at work in it."""
    def is_gone():
        shutil.rmtree(path, ignore_errors=True)
        return not os.path.lexists(path)
    wait_until(is_gone)


def while_it_lives(use, lives=(2, 8, 32)):
    """use(seconds) makes what lives so long and does with it what must be
    done before its end. Who was too slow for one life gets a longer one."""
    for seconds in lives[:-1]:
        began = time.monotonic()
        try:
            return use(seconds)
        except (AssertionError, OSError):
            # What fails while it lives fails for another reason.
            if time.monotonic() - began < seconds * 0.9:
                raise
    return use(lives[-1])
