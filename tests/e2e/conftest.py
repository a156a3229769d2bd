"""The end-to-end tests' parts. SALLYPORT_BUILD names the build to test
(default: build/dev). Nothing is ever skipped."""
import contextlib
import ctypes
import fcntl
import os
import pathlib
import signal
import struct
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
# What the tests are compiled to, once for all processes of all runs: each
# would take 5 s for it. Of this process alone: whatever a test starts would
# find none of Python's own modules compiled.
sys.pycache_prefix = str(pathlib.Path(__file__).parents[2] / "build/pycache")
sys.dont_write_bytecode = False

from forge import NAMES, Forge  # noqa: E402
from gateway import CLI, PROGRAM, Gateway  # noqa: E402
from origin import Origin  # noqa: E402
from pki import certificates  # noqa: E402
from programs import give_programs  # noqa: E402,F401
from session import Session  # noqa: E402

# Names that resolve to an address without being any server's.
ODD_HOSTS = {"metadata.example": "169.254.169.254",
             "private.example": "10.255.255.1",
             "loopback.example": "127.0.0.1"}

LONGEST = [f"test_{name}.py" for name in (
    "push", "attack_push", "taint", "crash", "api_residents",
    "upstream_failures", "remotes", "host", "push_hostile", "clients",
    "host_images", "tokens", "run_start", "git_clients", "push_content",
    "memory", "output", "dns_upstream", "attack_floods", "api_isolated_ends",
    "sandbox_hidden", "push_secrets", "sandbox_overlay", "api_isolated",
    "lease", "audit", "push_commits", "door", "host_ready", "host_config",
    "push_differential", "door_socks", "upstream_proxy_odd", "host_work")]


CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
EXT4_TOPDIR_FL = 0x20000


def have_mounts_of_our_own():
    """What somebody mounts beside us (another process of pytest-xdist, or of
    another build's tests) is nothing to us: a process 1 that waits for its
    sandbox is thrown away when a mount of the host's changes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(
            None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None) != 0:
        raise pytest.UsageError(os.strerror(ctypes.get_errno()))


def pytest_configure(config):
    # Whoever was started with & in a script ignores these, and so would
    # every command that is to be shown to hear them. A worker of xdist has
    # them from who started it, and may run this in another thread.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if os.geteuid() == 0:
        have_mounts_of_our_own()
    for program in (PROGRAM, CLI):
        if not program.exists():
            raise pytest.UsageError(f"{program} is not built")


def pytest_collection_modifyitems(items):
    """The longest files first: none is begun when all others are done. An
    address in a name is another one in each process of pytest-xdist."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} has an address in it")
    rank = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


def pytest_make_parametrize_id(val, argname):
    """Bytes that may be others in another process (a time, a random number)
    name no test: pytest-xdist wants the same names in each."""
    if isinstance(val, bytes) and not val.decode("latin-1").isprintable():
        return argname
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: a test may not be skipped"


@pytest.fixture(scope="session", autouse=True)
def _apart(tmp_path_factory):
    """Each test's files in a part of the disk of their own, if it is ext4's:
    that looks at all that was deleted beside a new file in the minutes
    before, which takes ten times as long as the file."""
    directory = os.open(tmp_path_factory.getbasetemp(), os.O_RDONLY)
    with contextlib.suppress(OSError):
        flags, = struct.unpack("i", fcntl.ioctl(
            directory, FS_IOC_GETFLAGS, bytes(4)))
        fcntl.ioctl(directory, FS_IOC_SETFLAGS,
                    struct.pack("i", flags | EXT4_TOPDIR_FL))
    os.close(directory)


def _addresses():
    """Two loopback addresses that other runs of the tests do not use."""
    pid = os.getpid()
    middle = f"{64 + (pid >> 8) % 128}.{pid & 255}"
    return f"127.{middle}.2", f"127.{middle}.3"


@pytest.fixture(scope="session")
def forge(tmp_path_factory):
    # Unix sockets' paths are short; pytest's directories are not.
    forge = Forge(tmp_path_factory.mktemp("forge"), _addresses()[0])
    forge.start()
    yield forge
    forge.stop()


@pytest.fixture(scope="session")
def pki(tmp_path_factory):
    return certificates(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="session")
def origin(pki):
    origin = Origin(_addresses()[1], pki[0])
    yield origin
    origin.stop()


@pytest.fixture(scope="session")
def make_gateway(forge, origin, pki, tmp_path_factory):
    """Make a gateway that knows forge and origin; it is started."""
    def make(name="gw", secret=True, more_ca="", **options):
        hosts = {name: forge.address for name in NAMES}
        hosts |= {name: origin.address for name in pki[0]} | ODD_HOSTS
        gateway = Gateway(tmp_path_factory.mktemp(name), hosts,
                          forge.ca_pem + pki[1] + more_ca, **options)
        gateway.start()
        if secret:
            gateway.put_secret("forge", forge.token)
        return gateway
    return make


@pytest.fixture(scope="module")
def gateway(make_gateway):
    """The gateway that a module's tests share; sessions are their own."""
    gateway = make_gateway()
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def own_gateway(make_gateway):
    """One for a test that kills, stops or spoils it."""
    gateway = make_gateway("own")
    yield gateway
    gateway.stop()
    gateway.check()


class Policies:
    """Policies for the forge and the origin, as plain data."""

    def __init__(self, forge, origin):
        self.ports = [forge.port, origin.plain_port]
        self.addresses = {"allow": [f"{forge.address}/32",
                                    f"{origin.address}/32"]}

    def make(self, rules=(), repo=None, push=None, read=True, **more):
        policy = {"version": 1,
                  "network": {"rules": list(rules),
                              "addresses": self.addresses}}
        if repo:
            policy["credentials"] = [
                {"name": "forge", "secret": "forge", "attach": "github",
                 "hosts": ["github.com", "api.github.com"]}]
            policy["git"] = [{"repo": repo.url, "credential": "forge",
                              "read": read}]
            policy["git"][0]["push"] = push or {
                "branches": ["${session.branch}"]}
        return policy | more

    def rule(self, *hosts, action="allow", **more):
        return {"hosts": list(hosts), "ports": self.ports, "action": action,
                **more}


@pytest.fixture(scope="session")
def policies(forge, origin):
    return Policies(forge, origin)


@pytest.fixture
def make_session(gateway, tmp_path):
    """Open sessions on the module's gateway (or another); closed after."""
    made = []

    def make(policy, repo=None, branch="agent/1", on=None, ttl=600,
             permissions=None):
        session = Session(on or gateway, tmp_path / f"s{len(made)}", policy,
                          repo, branch if repo else "", ttl, permissions)
        made.append(session)
        return session
    yield make
    for session in made:
        session.close()


@pytest.fixture
def repo(forge):
    return forge.repo()


@pytest.fixture
def session(make_session, policies, repo):
    """A session with a repository of its own and the default rights."""
    return make_session(policies.make(repo=repo), repo)


@pytest.fixture
def work(session):
    return session.clone()


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "workspace"
    path.mkdir()
    return path
