"""Canaries, and a search for them in whatever can be read: in every spelling,
in files, in answers, and in the memory of processes."""
import array
import base64
import json
import os
import pathlib
import random
import stat
import string
import urllib.parse

PAGE = 4096
WORD = 8
PRESENT = 1 << 63 | 1 << 62  # in memory, or swapped
# Larger mappings are a sanitizer's shadow.
MAPPING_MAX = 1 << 30
# What stands in both ends of a canary: a secret of which one end was
# overwritten is found as well.
MARK = "".join(random.SystemRandom().choices(
    string.ascii_letters + string.digits, k=18))


def canary(kind, length=0):
    """A secret with the mark in it, and with what every encoding changes."""
    middle = f'/{kind}+{os.urandom(6).hex()} "&%\\='
    while len(middle) < length - 2 * len(MARK):
        middle += MARK + middle[:40]
    return MARK + middle + MARK


def _base64(plain):
    """In each alignment, less what the neighbours change."""
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + plain).rstrip(b"=")
        text = text[4 if shift else 0:-1]
        yield f"base64/{shift}", text
        yield f"base64url/{shift}", text.translate(
            bytes.maketrans(b"+/", b"-_"))


def forms(plain):
    """name: how these bytes could be written down."""
    made = {"plain": plain, "reversed": plain[::-1],
            "hex": plain.hex().encode(), "HEX": plain.hex().upper().encode(),
            "percent": b"".join(b"%%%02x" % c for c in plain),
            "PERCENT": b"".join(b"%%%02X" % c for c in plain),
            **dict(_base64(plain))}
    if plain.isascii() and plain.decode("ascii").isprintable():
        text = plain.decode()
        made |= {"utf-16le": text.encode("utf-16le"),
                 "utf-16be": text.encode("utf-16be"),
                 "quoted": urllib.parse.quote(text, safe="").encode(),
                 "json": json.dumps(text)[1:-1].encode(),
                 "json-u": "".join(f"\\u{ord(c):04x}"
                                   for c in text).encode()}
    return made


def words_of(data):
    """The whole words of data. Wherever a pattern of 2 * WORD - 1 bytes
    stands, it has one of them: data without a word of any pattern, in any
    alignment, is clean, and a look at each says so ten times as fast as a
    search for each pattern."""
    return array.array("Q", data[:len(data) // WORD * WORD])


class Search:
    """Looks for everything in wanted: {name: bytes or text}."""

    def __init__(self, **wanted):
        self._patterns = {}
        self._words = set()
        self._clean = set()
        for name, value in wanted.items():
            self.add(name, value)

    def add(self, name, value):
        value = value.encode() if isinstance(value, str) else value
        assert len(value) >= 16, name
        for form, pattern in forms(value).items():
            assert len(pattern) >= 2 * WORD - 1, (name, form)
            self._patterns.setdefault(pattern, f"{name} ({form})")
            for at in range(WORD):
                self._words |= set(words_of(pattern[at:]))

    def find(self, data):
        """Names of what stands in data."""
        if isinstance(data, str):
            data = data.encode()
        if self._words.isdisjoint(words_of(data)):
            return []
        return [name for pattern, name in self._patterns.items()
                if pattern in data]

    def find_again(self, data):
        """find(), quicker for bytes that were clean the last time."""
        known = hash((data, len(self._patterns)))
        if known in self._clean:
            return []
        found = self.find(data)
        if not found:
            self._clean.add(known)
        return found


def memory_of(pid):
    """All that is in a process' memory and is not a program's file."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, \
            open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pages:
        for line in maps.splitlines():
            where, rights, *rest = line.split(None, 5)
            start, end = (int(x, 16) for x in where.split("-"))
            if "r" not in rights or end - start > MAPPING_MAX or \
                    ("w" not in rights and len(rest) > 3) or \
                    rest[-1] in ("[vvar]", "[vsyscall]"):
                continue
            try:
                yield from _runs(memory, pages, start, end)
            except OSError:
                pass  # it went away meanwhile


def _runs(memory, pages, start, end):
    """The pages of a mapping that are there, neighbours together."""
    count = (end - start) // PAGE
    there = array.array("Q")
    there.frombytes(os.pread(pages.fileno(), count * 8, start // PAGE * 8))
    run = None
    for i in range(len(there) + 1):
        is_there = i < len(there) and there[i] & PRESENT
        if is_there and run is None:
            run = i
        elif not is_there and run is not None:
            yield os.pread(memory.fileno(), (i - run) * PAGE,
                           start + run * PAGE)
            run = None


def family(*roots):
    """These processes and all that descend from them: {pid: name}."""
    parents, names = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")
        names[int(entry.name)] = _program(entry) or name
        parents[int(entry.name)] = int(rest.split()[1])
    found = set(roots)
    while True:
        more = {pid for pid, parent in parents.items()
                if parent in found} - found
        if not more:
            return {pid: names[pid] for pid in found if pid in names}
        found |= more


def _program(entry):
    try:
        return os.path.basename(os.readlink(entry / "exe"))
    except OSError:
        return ""


def shown_by_proc(pid):
    """(what, bytes) of a process but for its memory: what /proc tells of it,
    and the files that it has open or mapped."""
    proc = pathlib.Path(f"/proc/{pid}")
    for name in ("environ", "cmdline", "maps", "status", "limits", "comm"):
        yield name, (proc / name).read_bytes()
    for folder in ("fd", "map_files"):
        for link in (proc / folder).iterdir():
            try:
                target = os.readlink(link)
                info = link.stat()
                yield f"{folder}/{link.name}", target.encode()
                if stat.S_ISREG(info.st_mode) and not is_installed(target):
                    yield f"{folder}/{link.name} -> {target}", \
                        link.read_bytes()
            except OSError:
                pass  # closed meanwhile


def is_installed(path):
    """Nothing of a run is written there."""
    return path.startswith(("/usr/", "/lib", "/proc/", "/sys/")) or \
        "/libexec/sallyport/" in path


class Sweep:
    """What was found in processes: {process' name: {canary, ...}}."""

    def __init__(self, search):
        self.search = search
        self.found = {}
        self.read = {}
        self.cores = {}

    def take(self, *roots):
        # By name: the courier soon, which has a connection's key as long as
        # the connection is kept.
        for pid, name in sorted(family(*roots).items(), key=lambda one: one[1]):
            try:
                self._look(pid, name)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended

    def _look(self, pid, name):
        found = self.found.setdefault(name, set())
        self.read.setdefault(name, 0)
        for what, data in shown_by_proc(pid):
            found |= {f"{hit} in {what}" for hit in self.search.find(data)}
            if what == "limits":
                line = next(line for line in data.decode().splitlines()
                            if line.startswith("Max core file size"))
                self.cores[name] = line.split()[4:6]
        for data in memory_of(pid):
            self.read[name] += len(data)
            found |= {f"{hit} in memory"
                      for hit in self.search.find_again(data)}

    def holders(self, *but):
        """{name: what it holds}, less the processes that may."""
        return {name: sorted(found) for name, found in self.found.items()
                if found and name not in but}
