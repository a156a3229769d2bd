"""What the benchmarks share: options, the build, processes, rows.

Every benchmark starts our side, the peer and the origin itself, on
loopback, runs them in turn, and prints one row for each. Ratios within one
run count; absolute figures are this machine's.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_BUILD = SOURCE / "build/release"
# What e2e/gateway.py reads when it is imported.
BUILD = pathlib.Path(os.environ.setdefault("SALLYPORT_BUILD",
                                           str(DEFAULT_BUILD))).resolve()
PROGRAMS = ["sallyport"] + ["sallyport-" + role for role in (
    "gateway", "edge", "minter", "dialer", "courier", "vault", "packcheck",
    "ledger", "control", "door", "script", "framer", "exchange", "host",
    "supervisor", "api", "store")]
sys.path.insert(1, str(SOURCE / "tests/e2e"))


class Missing(Exception):
    """A peer or a tool is not there: an error, never a skip."""


def options(doc, runs):
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs,
                        help="how often each is run, in turn")
    parser.add_argument("--quick", action="store_true",
                        help="less of everything: does it work?")
    parser.add_argument("--json", action="store_true",
                        help="one JSON object a row")
    return parser


def need(*programs):
    for program in programs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            raise Missing(f"{program} is not installed: "
                          "deploy/deps.sh bench installs it")


def build():
    """The release preset, unless SALLYPORT_BUILD names another tree."""
    if BUILD == DEFAULT_BUILD.resolve():
        for command in (["cmake", "--preset", "release"],
                        ["cmake", "--build", "--preset", "release",
                         "--target", *PROGRAMS]):
            done = subprocess.run(command, cwd=SOURCE, text=True, check=False,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise Missing(done.stdout)
    if not (BUILD / "bin/sallyport").exists():
        raise Missing(f"{BUILD}/bin/sallyport is not built")


def address(last):
    """A loopback address that other runs do not use."""
    pid = os.getpid()
    return f"127.{192 + (pid >> 8) % 62}.{pid & 255}.{last}"


# ---- processes ----

def children(pid):
    """A process and everything below it."""
    found = [pid]
    for parent in found:
        try:
            found += map(int, pathlib.Path(
                f"/proc/{parent}/task/{parent}/children").read_text().split())
        except FileNotFoundError:
            pass
    return found


def cpu_s(pids):
    """Seconds on a CPU, of single-threaded processes."""
    return sum(int(pathlib.Path(f"/proc/{pid}/schedstat").read_text()
                   .split()[0]) for pid in pids) / 1e9


def memory_kib(pid, *kinds):
    """Of smaps_rollup: Private_Clean, Private_Dirty, Pss... One that has
    ended meanwhile has none."""
    total = 0
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in kinds:
            total += int(value.split()[0])
    return total


def private_kib(pids):
    return sum(memory_kib(pid, "Private_Clean", "Private_Dirty")
               for pid in pids)


def pss_kib(pids):
    return sum(memory_kib(pid, "Pss") for pid in pids)


# ---- rows ----

def spread(values, digits=2):
    return {"median": round(statistics.median(values), digits),
            "min": round(min(values), digits),
            "max": round(max(values), digits)}


def number(value):
    if isinstance(value, float) and abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def show(rows, as_json):
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    names = []
    for row in rows:
        names += [name for name in row if name not in names]
    table = [names] + [[number(row.get(name, "")) for name in names]
                       for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(names))]
    for line in table:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))))


def judge(what, value, target, at_most):
    """Say on stderr whether a target is met."""
    met = value <= target if at_most else value >= target
    print(f"{what}: {value} ({'at most' if at_most else 'at least'} {target})"
          f" {'met' if met else 'NOT MET'}", file=sys.stderr)
    return met


def main(run):
    try:
        sys.exit(0 if run() else 1)
    except Missing as missing:
        print(f"{pathlib.Path(sys.argv[0]).name}: {missing}", file=sys.stderr)
        sys.exit(2)
