"""Others that run a command in a sandbox, each as its users call it, and the
floor in C: {name: command}. One that does not start on this host is told, with
why, and left out: nobody can be measured beside it."""
import json
import pathlib
import shutil
import subprocess

import bench

RUNTIME = pathlib.Path(__file__).resolve().parent / "sandbox_runtime"
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
TRUE = "/bin/true"


def floor(directory):
    """The same namespaces, and nothing else."""
    program = directory / "floor"
    subprocess.run(["cc", "-O2", "-o", program,
                    bench.SOURCE / "tests/bench/sandbox_start_floor.c"],
                   check=True)
    return [program, TRUE]


def bubblewrap(workspace):
    links = [word for name, to in LINKS.items()
             for word in ("--symlink", to, f"/{name}")]
    return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session",
            "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", *links,
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
            "--bind", workspace, workspace, TRUE]


def crun(directory, workspace):
    """A bundle whose root is the host's /usr and /etc. Without groups: where
    those are of both versions (hybrid), crun starts nothing that has one."""
    bundle = directory / "bundle"
    root = bundle / "rootfs"
    for name in ("usr", "etc", "proc", "tmp", "dev"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, to in LINKS.items():
        (root / name).symlink_to(to)
    (root / str(workspace)[1:]).mkdir(parents=True)

    def bind(path, *options):
        return {"destination": str(path), "source": str(path), "type": "bind",
                "options": ["rbind", *options]}
    (bundle / "config.json").write_text(json.dumps({
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0},
                    "args": [TRUE], "cwd": "/",
                    "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": True},
        "mounts": [
            {"destination": "/proc", "source": "proc", "type": "proc"},
            {"destination": "/tmp", "source": "tmpfs", "type": "tmpfs"},
            {"destination": "/dev", "source": "tmpfs", "type": "tmpfs"},
            bind("/usr", "ro"), bind("/etc", "ro"), bind(workspace)],
        "linux": {"namespaces": [
            {"type": kind} for kind in ("pid", "mount", "ipc", "uts",
                                        "network", "cgroup")]}}))
    return ["crun", f"--root={directory}/crun", "--cgroup-manager=disabled",
            "run", f"--bundle={bundle}", "bench"]


def sandbox_runtime(directory, workspace):
    """npm's @anthropic-ai/sandbox-runtime, with a network that denies."""
    place = directory / "runtime"
    place.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(RUNTIME / name, place)
    done = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline",
         "--ignore-scripts"], cwd=place, capture_output=True, text=True,
        check=False)
    if done.returncode != 0:
        raise bench.Missing(done.stderr)
    settings = directory / "srt.json"
    settings.write_text(json.dumps({
        "network": {"allowedDomains": ["example.com"], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [str(workspace)],
                       "denyWrite": []}}))
    return [place / "node_modules/.bin/srt", "--settings", settings, TRUE]


def run(command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   capture_output=True)


def all_of(directory, workspace):
    """{name: command} of those that start here, {name: why} of the others."""
    commands = {"floor": floor(directory), "bubblewrap": bubblewrap(workspace),
                "crun": crun(directory, workspace),
                "sandbox-runtime": sandbox_runtime(directory, workspace)}
    absent = {}
    for name, command in commands.items():
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            absent[name] = (done.stderr + done.stdout).strip()[-300:]
    for name in ("floor", "bubblewrap"):
        if name in absent:
            raise bench.Missing(f"{name}: {absent[name]}")
    return {name: command for name, command in commands.items()
            if name not in absent}, absent
