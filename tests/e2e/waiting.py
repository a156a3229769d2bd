"""Waiting for what a machine may be slow to show."""
import time


def wait_until(what, timeout=30, every=0.02):
    """Wait for what() to be true, and return it."""
    end = time.monotonic() + timeout
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < end, f"{what} was never true"
        time.sleep(every)
