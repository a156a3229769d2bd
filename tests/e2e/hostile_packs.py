"""Packs that no git would make. make(name, good) gives the bytes; good is a
sound pack of one small commit."""
import hashlib
import struct
import zlib

COMMIT, TREE, BLOB, TAG, BY_PLACE, BY_ID = 1, 2, 3, 4, 6, 7
MIB = 1024 * 1024


def entry(kind, size):
    byte, size, head = kind << 4 | size & 15, size >> 4, b""
    while size:
        head += bytes([byte | 0x80])
        byte, size = size & 0x7f, size >> 7
    return head + bytes([byte])


def whole(kind, content, level=9):
    return entry(kind, len(content)) + zlib.compress(content, level)


def varint(number):
    out = b""
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def place(back):
    out = bytes([back & 0x7f])
    back >>= 7
    while back:
        back -= 1
        out = bytes([back & 0x7f | 0x80]) + out
        back >>= 7
    return out


def sealed(count, *entries):
    body = b"PACK" + struct.pack(">II", 2, count) + b"".join(entries)
    return body + hashlib.sha1(body).digest()


def of(*entries):
    return sealed(len(entries), *entries)


def oid(kind, content):
    return hashlib.sha1(kind + b" %d\0" % len(content) + content).digest()


def copies(base, result, length):
    """A delta that copies the start of its base again and again."""
    size = min(length, base)
    copy = bytes([0x80 | 0x10 | 0x20 | 0x40, size & 255, size >> 8 & 255,
                  size >> 16])
    return varint(base) + varint(result) + copy * (result // size)


def by_id(base, delta):
    return entry(BY_ID, len(delta)) + base + zlib.compress(delta)


def by_place(back, delta):
    return entry(BY_PLACE, len(delta)) + place(back) + zlib.compress(delta)


def chain(depth):
    """One byte, and so many deltas of it, each of the one before."""
    delta = varint(1) + varint(1) + b"\x90\x01"
    entries, back = [whole(BLOB, b"x")], 0
    for _ in range(depth):
        back = len(entries[-1])
        entries.append(by_place(back, delta))
    return of(*entries)


def delta_bomb():
    """1 MiB of base; deltas that make 128 MiB each."""
    base = b"\0" * MIB
    delta = copies(MIB, 128 * MIB, MIB)
    return of(whole(BLOB, base),
              *[by_id(oid(b"blob", base), delta + b"") for _ in range(30)])


def cycle():
    """Two deltas, each other's base; no one knows what of."""
    delta = varint(1) + varint(1) + b"\x90\x01"
    return of(by_id(b"\1" * 20, delta), by_id(b"\2" * 20, delta))


# name -> (constraint, the pack)
PACKS = {
    "zip bomb": ("push_too_large",
                 lambda good: of(*[whole(BLOB, b"\0" * (32 * MIB) + bytes([n]))
                                    for n in range(12)])),
    "delta bomb": ("push_too_large", lambda good: delta_bomb()),
    "one huge object": ("push_too_large",
                        lambda good: of(entry(BLOB, 1 << 40) +
                                        zlib.compress(b"x"))),
    "deep chain": ("push_too_large", lambda good: chain(5000)),
    "many objects": ("push_too_large", lambda good: sealed(0xfffffff0)),
    "more objects than there are": ("push_pack_invalid",
                                    lambda good: sealed(5, whole(BLOB, b"x"))),
    "fewer objects than there are": (
        "push_pack_invalid",
        lambda good: sealed(1, whole(BLOB, b"x"), whole(BLOB, b"y"))),
    "cut short": ("push_pack_invalid", lambda good: good[:-30]),
    "no trailer": ("push_pack_invalid", lambda good: good[:-20]),
    "wrong trailer": ("push_pack_invalid",
                      lambda good: good[:-1] + bytes([good[-1] ^ 1])),
    "bytes behind": ("push_pack_invalid", lambda good: good + b"more"),
    "flipped bit": ("push_pack_invalid",
                    lambda good: good[:40] + bytes([good[40] ^ 4]) +
                    good[41:]),
    "garbage": ("push_pack_invalid",
                lambda good: of(entry(BLOB, 100) + b"\x55" * 200)),
    "too little": ("push_pack_invalid",
                   lambda good: of(entry(BLOB, 100) + zlib.compress(b"x"))),
    "too much": ("push_pack_invalid",
                 lambda good: of(entry(BLOB, 1) + zlib.compress(b"x" * 99))),
    "no such type": ("push_pack_invalid", lambda good: of(whole(5, b"x"))),
    "base before the pack": (
        "push_pack_invalid",
        lambda good: of(by_place(1 << 20, varint(1) + varint(1) +
                                 b"\x90\x01"))),
    "own base": ("push_pack_invalid",
                 lambda good: of(by_place(0, varint(1) + varint(1) +
                                          b"\x90\x01"))),
    "base of another size": (
        "push_pack_invalid",
        lambda good: of(whole(BLOB, b"xy"),
                        by_id(oid(b"blob", b"xy"),
                              varint(9) + varint(1) + b"\x90\x01"))),
    "delta beyond its base": (
        "push_pack_invalid",
        lambda good: of(whole(BLOB, b"xy"),
                        by_id(oid(b"blob", b"xy"),
                              varint(2) + varint(99) + b"\x90\x63"))),
    "base that is nowhere": (
        "push_pack_invalid",
        lambda good: of(by_id(b"\7" * 20, varint(1) + varint(1) +
                              b"\x90\x01"))),
    "cycle": ("push_pack_invalid", lambda good: cycle()),
    "unsound commit": ("push_object_unsound",
                       lambda good: of(whole(COMMIT, b"not a commit"))),
    "unsound tree": ("push_object_unsound",
                     lambda good: of(whole(TREE, b"100644 a"))),
}
