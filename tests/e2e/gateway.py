"""A gateway of the tests' own: its processes, its control API, its CLI."""
import contextlib
import http.client
import json
import mmap
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.parse

from forge import SOURCE
from waiting import wait_until

BUILD = pathlib.Path(os.environ.get("SALLYPORT_BUILD",
                                    SOURCE / "build/dev")).resolve()
PROGRAM = BUILD / "libexec/sallyport/sallyport-gateway"
CLI = BUILD / "bin/sallyport"
READY_S = STOPPED_S = 60
# A process that ended so was broken, whatever the test was about: a
# sanitizer, an assert, a system call that its filter did not know.
CRASH = re.compile(r"killed by signal (?!9\b|15\b)\d+|exited with [1-9]|"
                   r"SIGSYS|AddressSanitizer|runtime error:|Assertion ")
# LeakSanitizer says so of a process that is killed while it looks.
NO_REPORT = re.compile(r"==\d+==Unable to get registers from thread \d+\.\n?")


def crashes_in(log):
    """What a log says of the first processes that were broken, and what came
    before it; "" if none was."""
    lines = log.splitlines()
    found = [i for i, line in enumerate(lines) if CRASH.search(line)]
    return "\n\n".join("\n".join(lines[max(0, i - 15):i + 1])
                       for i in found[:5])


class ApiError(Exception):
    def __init__(self, status, problem):
        super().__init__(f"{status}: {problem}")
        self.status = status
        self.problem = problem


class _Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Gateway:
    def __init__(self, directory, hosts, ca_pem, limits=None, config=None):
        self.dir = pathlib.Path(directory)
        self.run_dir = self.dir / "run"
        self.state = self.dir / "state"
        self.process = None
        self.program = PROGRAM
        self.as_user = {}  # whom to run as, for subprocess
        (self.dir / "ca.pem").write_text(ca_pem)
        # Sanitized processes of any user write here.
        self.sanitizer = self.dir / "sanitizer"
        self.sanitizer.mkdir(mode=0o777, exist_ok=True)
        self.sanitizer.chmod(0o1777)
        settings = {"state": str(self.state), "run": str(self.run_dir),
                    "dns": {"hosts": hosts},
                    "tls": {"ca_bundle": str(self.dir / "ca.pem")},
                    **(config or {})}
        if limits:
            settings["limits"] = limits
        self.config = self.dir / "gateway.yaml"
        self.config.write_text(json.dumps(settings, indent=1))

    def env(self, **more):
        # Leaks are looked for in every process that ends in order. The edge
        # of a session that ends is killed: whether it holds ever more is a
        # test of its own.
        log = f"detect_leaks=1:log_path={self.sanitizer}/log"
        return {"PATH": os.environ["PATH"], "HOME": str(self.dir),
                "SALLYPORT_RUN": str(self.run_dir),
                "SALLYPORT_STATE": str(self.state),
                "ASAN_OPTIONS": f"{log}:quarantine_size_mb=8",
                "UBSAN_OPTIONS": f"{log}:print_stacktrace=1", **more}

    # ---- life ----

    def start(self):
        with open(self.dir / "log", "a") as log:
            self.process = subprocess.Popen(
                [self.program, "-c", self.config], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=self.env(), cwd="/",
                start_new_session=True, **self.as_user)
        try:
            wait_until(self.is_ready, READY_S)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        return self

    def is_ready(self):
        assert self.process.poll() is None, self.log()[-3000:]
        try:
            return all(p["ready"] for p in self.status()["processes"])
        except (OSError, ValueError, ApiError, http.client.HTTPException):
            return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOPPED_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("the gateway did not end in "
                                     f"{STOPPED_S} s")

    def check(self):
        """Nothing may have crashed, unless a test killed it."""
        reports = [NO_REPORT.sub("", path.read_text())[:4000].strip()
                   for path in self.sanitizer.iterdir()]
        assert not any(reports), "\n".join(reports)
        assert not crashes_in(self.log()), crashes_in(self.log())
        if self.process:
            assert self.process.returncode == 0, self.log()[-2000:]

    def log(self):
        path = self.dir / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    # ---- the control API ----

    def call(self, method, path, body=None, kind="application/json",
             timeout=60):
        connection = _Unix(self.run_dir / "control.sock", timeout)
        try:
            fields = {"Content-Type": kind} if body is not None else {}
            # Its head may be refused before the rest was sent.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body=body, headers=fields)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            raise ApiError(answer.status, text.decode(errors="replace"))
        return text

    def get(self, path):
        return json.loads(self.call("GET", path))

    def status(self):
        return self.get("/v1/status")

    def pid(self, role, session=None):
        """The pid of a process that runs now, or None."""
        for process in self.status()["processes"]:
            if process["role"] == role and process["pid"] and (
                    session is None or process["session"] == session):
                return process["pid"]
        return None

    def create(self, policy, repo="", branch="", ttl=600, proxy=False,
               permissions=None):
        body = {"policy": policy if isinstance(policy, str)
                else json.dumps(policy, indent=1),
                "policy_name": "test", "repo": repo, "branch": branch,
                "ttl_s": ttl, "proxy": proxy}
        if permissions is not None:
            body["permissions"] = permissions
        return json.loads(self.call("POST", "/v1/sessions", json.dumps(body)))

    def end(self, session, reason="revoked"):
        self.call("DELETE", f"/v1/sessions/{session}?reason={reason}")

    def audit(self, session="", kind="", limit=5000):
        query = urllib.parse.urlencode(
            {k: v for k, v in [("session", session), ("kind", kind),
                               ("limit", limit)] if v})
        text = self.call("GET", f"/v1/audit?{query}").decode()
        return [json.loads(line) for line in text.splitlines() if line]

    def put_secret(self, name, value):
        self.call("PUT", f"/v1/secrets/{name}", value.encode(),
                  "application/octet-stream")

    # ---- the CLI ----

    def cli(self, *args, stdin=None, timeout=60, cwd=None, **env):
        return subprocess.run([CLI, *map(str, args)], input=stdin, text=True,
                              stdin=subprocess.DEVNULL if stdin is None
                              else None,
                              capture_output=True, timeout=timeout,
                              check=False, cwd=cwd or self.dir,
                              env=self.env(**env), **self.as_user)

    def run(self, policy, command, workspace, repo="", branch="",
            timeout=120, options=(), **env):
        """`sallyport run`; command is a list, or text for sh."""
        path = self.dir / "policy.yaml"
        path.write_text(policy if isinstance(policy, str)
                        else json.dumps(policy, indent=1))
        if isinstance(command, str):
            command = ["sh", "-c", command]
        args = ["run", "--policy", path, "--workspace", workspace, *options]
        if repo:
            args += ["--repo", repo]
        if branch:
            args += ["--branch", branch]
        return self.cli(*args, "--", *command, timeout=timeout,
                        cwd=workspace, **env)


def memory_now(pid):
    """Memory of a process that is no file's, in bytes."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text)[1]) * 1024


def is_sanitized(pid):
    """Its freed memory then waits in a quarantine (of 8 MiB). The library is
    a part of the program (cmake/Sanitizers.cmake), and no file of its own."""
    with open(f"/proc/{pid}/exe", "rb") as program:
        with mmap.mmap(program.fileno(), 0, prot=mmap.PROT_READ) as text:
            return text.find(b"AddressSanitizer") >= 0


def memory_peak(pid):
    """Private and shared memory that a process ever had, in bytes."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) * 1024
