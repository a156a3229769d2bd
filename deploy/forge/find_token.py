#!/usr/bin/env python3
"""Search files for a token in every way it could be written down.

    find_token.py TOKEN_FILE PATH...

Plain, base64 at each of its three offsets, hex of either case; also across
the lines of git's and curl's traces. Exits 1 and names the files when it is
found, 2 when there was nothing to search.
"""
import base64
import pathlib
import re
import sys


def spellings(token):
    for plain in (token, b"x-access-token:" + token):
        yield plain
        yield plain.hex().encode()
        yield plain.hex().upper().encode()
        for shift in range(3):
            text = base64.b64encode(bytes(shift) + plain)
            # The first and the last group depend on the neighbours.
            yield text[4 if shift else 0:-4]


def holds(data, needles):
    return any(needle in data for needle in needles)


def untraced(data):
    """The bytes that git's and curl's traces show broken into lines."""
    yield b"".join(re.findall(rb"(?:Recv|Send) data: (.*)\n", data))
    dump = re.findall(rb"^[0-9a-f]{4}: ((?:[0-9a-f]{2} ){1,16})", data, re.M)
    yield bytes.fromhex(b"".join(dump).decode())


def check_the_search(token, needles):
    """A search that finds nothing must be able to find something."""
    pair = b"x-access-token:" + token
    lines = b"\n".join(b"<= Recv data: " + token[i:i + 7]
                       for i in range(0, len(token), 7)) + b"\n"
    dump = b"0000: " + token[:16].hex(" ").encode() + b" x\n" + \
        b"0010: " + token[16:32].hex(" ").encode() + b" x\n" + \
        b"0020: " + token[32:48].hex(" ").encode() + b" x\n"
    for text in (token, token.hex().encode(), base64.b64encode(pair),
                 base64.b64encode(b"a" + token + b"z"),
                 base64.b64encode(b"ab" + token), *untraced(lines),
                 *untraced(dump)):
        if text and not holds(b"<" + text + b">", needles):
            sys.exit("find_token: the search itself is broken")


def files_below(paths):
    for path in map(pathlib.Path, paths):
        if path.is_file():
            yield path
        for name in sorted(path.rglob("*")):
            if name.is_file() and not name.is_symlink():
                yield name


def main():
    token = pathlib.Path(sys.argv[1]).read_bytes().strip()
    needles = list(spellings(token))
    check_the_search(token, needles)
    count = size = 0
    found = []
    for path in files_below(sys.argv[2:]):
        data = path.read_bytes()
        count += 1
        size += len(data)
        if holds(data, needles) or any(holds(text, needles)
                                       for text in untraced(data)):
            found.append(path)
    for path in found:
        print(f"the token is in {path}", file=sys.stderr)
    print(f"searched {count} files, {size} bytes: "
          f"{'FOUND' if found else 'not found'}")
    sys.exit(1 if found else 0 if count and size else 2)


main()
