"""The ways in which the processes that serve the API end while sandboxes go
on."""
import os
import signal

from api import Api
from waiting import wait_until


def kill_api(host):
    old, = host.api_pids()
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: old not in host.api_pids())


def stop_daemon(host):
    host.process.send_signal(signal.SIGTERM)
    assert host.process.wait(60) == 0


ENDS = {
    "the API is killed": kill_api,
    "the daemon is killed": Api.kill,
    "the daemon is stopped": stop_daemon,
}


def come_back(host):
    if host.process.poll() is not None:
        host.start()
    wait_until(host.is_healthy)
