"""A corpus of messages that two readers may read in two ways, made from the
tricks of security.md A, and a recording origin that reads what was forwarded
as strictly as the grammar allows.

Each message is bytes with @H@ for the host and @N@ for its number. Its first
request asks for /ok/@N@; whatever is hidden in it asks for /bad/@N@."""
import io
import re
import socket
import threading

BAD = b"GET /bad/@N@ HTTP/1.1\r\nHost: @H@\r\n\r\n"
HOST = b"Host: @H@\r\n"
GET = b"GET /ok/@N@ HTTP/1.1\r\n" + HOST
POST = b"POST /ok/@N@ HTTP/1.1\r\n" + HOST
CHUNKED = b"Transfer-Encoding: chunked\r\n"
BYTES = [bytes([i]) for i in range(256)]
BLANKS = [b"", b" ", b"\t", b"\x0b", b"\x0c", b"\0", b"\xa0", b"\x85",
          b"  ", b" \t", b"\r", b"\n", b"\xc2\xa0", b"\xe3\x80\x80"]


def length(body):
    return b"Content-Length: %d\r\n" % len(body)


def tail():
    """A body that ends at once for whoever believes in chunks."""
    return b"0\r\n\r\n" + BAD


# ---- framing ----

CODINGS = [
    b"xchunked", b"chunkedx", b"Chunked,", b",chunked", b", chunked", b"chunked,",
    b"chunked, chunked", b"chunked,chunked", b"identity", b"identity, chunked",
    b"chunked, identity", b"gzip, chunked", b"chunked, gzip", b"gzip",
    b"deflate, chunked", b"compress", b"trailers", b"cow", b"\"chunked\"",
    b"'chunked'", b"chunked;q=1", b"chunked; a=b", b"chunked ;", b"(chunked)",
    b"ch\x00unked", b"chu nked", b"chunk", b"chunkeD\x00", b"\x0bchunked",
    b"chunked\x0b", b"\x0cchunked", b"chunked\x0c", b"\xa0chunked",
    b"chunked\xa0", b"\x85chunked", b"chunked\x85", b"\x00chunked", b"",
    b" ", b"\tchunked\tx", b"chunked\rx", b"chunked\r x", b"c\xc4\xa7unked",
    b"%63hunked", b"chunked%0d%0a", b"=?utf-8?q?chunked?=", b"[chunked]",
    b"{chunked}", b"chunked/1.0", b"0", b"1", b"true", b"chunked\\r\\n",
    b"identity;chunked", b"x=chunked", b"chunked=1", b"CHUNKEd, x",
]
LENGTHS = [
    b"+0", b"-0", b"00", b"0x0", b"0,0", b"0, 0", b"0;", b"0 ", b"0 0", b"0.0",
    b"0e0", b"1e1", b"+5", b"-5", b"05", b"005", b"5,5", b"5, 5", b"5,6",
    b"0x5", b"5h", b"5\x00", b"\x005", b"5\x0b", b"\x0b5", b"5\x0c", b"5\xa0",
    b"\xa05", b"5\r", b"5 5", b"5\t5", b"(5)", b"\"5\"", b"'5'", b"5;a=b",
    b"5.", b".5", b"5e0", b"five", b"", b",", b",5", b"5,", b"5;5", b"5_0",
    b"1_0", b"\xd9\xa5", b"\xef\xbc\x95", b"18446744073709551615",
    b"18446744073709551616", b"18446744073709551621", b"4294967301",
    b"9999999999999999", b"-18446744073709551611", b"1" * 400, b"5" + b"0" * 30,
    b"NaN", b"inf", b"0b101", b"0o5", b"5u", b"5L", b"%35", b"=5", b"5=",
]
NAMES = [b"Transfer-Encoding", b"Content-Length", b"Host", b"Connection"]


def framing():
    for coding in CODINGS:
        field = b"Transfer-Encoding: " + coding + b"\r\n"
        body = tail()
        yield POST + field + b"\r\n" + body
        yield POST + length(body) + field + b"\r\n" + body
        yield POST + field + length(body) + b"\r\n" + body
        yield POST + field + b"Content-Length: 5\r\n\r\n" + body
        yield POST + CHUNKED + field + b"\r\n" + body
        yield POST + field + CHUNKED + b"\r\n" + body
        yield (b"POST /ok/@N@ HTTP/1.0\r\n" + HOST + field + b"\r\n" + body)
        yield GET + field + b"\r\n" + body
    for value in LENGTHS:
        field = b"Content-Length: " + value + b"\r\n"
        yield POST + field + b"\r\n" + b"abcde" + BAD
        yield POST + field + b"Content-Length: 5\r\n\r\nabcde" + BAD
        yield POST + b"Content-Length: 5\r\n" + field + b"\r\nabcde" + BAD
        yield POST + field + CHUNKED + b"\r\n" + tail()
        yield GET + field + b"\r\n" + BAD
    yield POST + length(tail()) + CHUNKED + b"\r\n" + tail()
    yield POST + CHUNKED + length(tail()) + b"\r\n" + tail()
    yield POST + CHUNKED + CHUNKED + b"\r\n" + tail()


def names():
    for name in NAMES:
        value = {b"Transfer-Encoding": b"chunked", b"Host": b"@H@",
                 b"Content-Length": b"5", b"Connection": b"close"}[name]
        twisted = [name.replace(b"-", c) for c in
                   (b"_", b"", b" ", b".", b"--", b"-_", b"\xe2\x80\x90", b"+")]
        twisted += [blank + name for blank in BLANKS[1:]]
        twisted += [name + blank for blank in BLANKS[1:]]
        twisted += [b"X" + name[1:-1] + b"\0" + name[-1:], name.upper() + b"_",
                    b"_" + name, b"X:" + name, name[:3] + b"\r\n" + name[3:],
                    b"\xef\xbb\xbf" + name, b"\"" + name + b"\"", name + b";",
                    name[:-1] + b"\\" + name[-1:], b"$" + name, name + b"\x7f"]
        for odd in twisted:
            field = odd + b": " + value + b"\r\n"
            yield POST + field + b"\r\n" + tail()
            yield POST + CHUNKED + field + b"\r\n" + tail()
            yield POST + field + b"Content-Length: 5\r\n\r\nabcde" + BAD


def line_ends():
    lines = [b"POST /ok/@N@ HTTP/1.1", b"Host: @H@", b"X-First: a",
             b"Content-Length: 5", b"X-Last: b", b""]
    odd = [b"\n", b"\r", b"\r\r\n", b"\n\r", b"\x0b\r\n", b"\0\r\n", b"\r\n\r",
           b"\r\0\n", b"\x85", b"\r \n", b"\n\n", b"\r\rX", b"\r\n\x0b"]
    for place in range(len(lines)):
        for end in odd:
            yield b"".join(line + (end if i == place else b"\r\n")
                           for i, line in enumerate(lines)) + b"abcde" + BAD
    for end in (b"\n", b"\r"):
        yield b"".join(line + end for line in lines) + b"abcde" + BAD
    for fold in (b"\r\n ", b"\r\n\t", b"\n ", b"\r ", b"\r\n \r\n ", b"\r\n  "):
        for field in (b"Content-Length:" + fold + b"5", b"Host:" + fold + b"@H@",
                      b"Transfer-Encoding:" + fold + b"chunked",
                      b"X-A: b" + fold + b"Transfer-Encoding: chunked",
                      b"X-A: b" + fold + b"Content-Length: 5",
                      b"Connection:" + fold + b"close"):
            yield POST + field + b"\r\n\r\n" + tail()
            yield POST + field + b"\r\nContent-Length: 5\r\n\r\n" + tail()


# ---- chunks ----

SIZES = [
    b"0x5", b"+5", b"-5", b" 5", b"5 ", b"\t5", b"5\t", b"5\0", b"\x005",
    b"5\x0b", b"5,", b"5.", b"5h", b"g", b"", b"-0", b"0x", b"5 5", b"5\r5",
    b"10000000000000005", b"100000000000000000000005", b"8000000000000005",
    b"ffffffffffffffff", b"fffffffffffffffff", b"0" * 17 + b"5",
    b"0" * 5000 + b"5", b"\"5\"", b"5=", b"5_0", b"%35", b"\xef\xbc\x95",
    b"5e0", b"5\xa0", b"\x855", b"5\x85", b"\n5", b"\r\n5", b"5\r",
]
EXTENSIONS = [
    b";a\nb", b";a\rb", b";a\0b", b";" + b"x" * 300, b";" + b"x" * 100000,
    b";a=\"\r\n0\r\n\r\n\"", b";a=\"b\nc\"", b";\n", b"; \r", b";a=b\n",
    b";\x0b\n", b" ;a\n", b";a\r\r\n", b";\xff\n", b";a\n0\r\n\r\n",
]


def chunks():
    for size in SIZES:
        yield POST + CHUNKED + b"\r\n" + size + b"\r\nabcde\r\n" + tail()
        yield POST + CHUNKED + b"\r\n1\r\na\r\n" + size + b"\r\nabcde\r\n" + tail()
        yield POST + CHUNKED + b"\r\n" + size + b";a=b\r\nabcde\r\n" + tail()
        yield POST + CHUNKED + b"\r\n5\r\nabcde\r\n" + size + b"\r\n\r\n" + BAD
    for extension in EXTENSIONS:
        yield POST + CHUNKED + b"\r\n5" + extension + b"\r\nabcde\r\n" + tail()
        yield POST + CHUNKED + b"\r\n0" + extension + b"\r\n\r\n" + BAD
    for end in (b"", b"\n", b"\r", b"XX", b"\r\r\n", b"\n\r", b"\0\n", b"  ",
                b"\r\n\r\n", b"x\r\n", b"\x0b\n"):
        yield POST + CHUNKED + b"\r\n5\r\nabcde" + end + tail()
        yield POST + CHUNKED + b"\r\n5\r\nabcde\r\n0\r\n" + end + BAD
        yield POST + CHUNKED + b"\r\n5" + end + b"abcde\r\n" + tail()
    for trailer in (b"Content-Length: 5", b"Transfer-Encoding: chunked",
                    b"Host: other.example", b"Authorization: x", b" folded: x",
                    b"a b: c", b": x", b"X\0: y", b"X: y\0", b"X : y",
                    b"X: y\n", b"X: y\rZ", b"T: " + b"x" * 9000, b"Cookie: a",
                    b"Upgrade: h2c", b"Connection: close"):
        yield POST + CHUNKED + b"\r\n1\r\na\r\n0\r\n" + trailer + b"\r\n\r\n" + BAD


# ---- start lines, hosts, paths ----

METHODS = [b"get", b"Get", b"TRACE", b"TRACK", b"CONNECT", b"PRI", b"FOO",
           b"PROPFIND", b"GET\0", b" GET", b"\tGET", b"GE T", b"G\xc3\x8bT",
           b"\"GET\"", b"GET,", b"GET;", b"", b"X" * 5000, b"\r\nGET",
           b"\nGET", b"HTTP/1.1", b"GET/", b"DEBUG", b"PURGE", b"SEARCH"]
VERSIONS = [b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/2", b"HTTP/3",
            b"HTTP/1", b"HTTP/1.", b"HTTP/.1", b"HTTP/1.10", b"HTTP/01.1",
            b"HTTP/1.01", b"HTTP/1,1", b"HTTP/ 1.1", b"HTTP /1.1", b"http/1.1",
            b"HTTPS/1.1", b"HTTP/1.1 ", b" HTTP/1.1", b"HTTP/1.1 HTTP/1.1",
            b"HTTP\\1.1", b"HTTP/1.1\0", b"HTTP/-1.1", b"HTTP/1.1;", b"", b"1.1",
            b"ICY/1.1", b"HTTP/11", b"HTTP/999.1", b"HTTP/1.1\x0b", b"HTTP/1.0x"]
TARGETS = [
    b"/ok/../bad/@N@", b"/ok/./../bad/@N@", b"/ok//../bad/@N@",
    b"/ok/%2e%2e/bad/@N@", b"/ok/%2E%2E/bad/@N@", b"/ok/.%2e/bad/@N@",
    b"/ok/%252e%252e/bad/@N@", b"/ok/..%2fbad/@N@", b"/ok/..%5cbad/@N@",
    b"/ok/..\\bad/@N@", b"/ok\\..\\bad\\@N@", b"/ok/..;/bad/@N@",
    b"/ok/..;a=b/bad/@N@", b"/ok/%c0%ae%c0%ae/bad/@N@", b"/ok/..%00/bad/@N@",
    b"/ok/%2e%2e%2fbad/@N@", b"/ok/..%c0%afbad/@N@", b"/ok/..%u2216bad/@N@",
    b"/ok/#/../../bad/@N@", b"/ok/%23/../../bad/@N@", b"/bad/@N@?x=/ok/",
    b"/ok/?/../../bad/@N@", b"//ok/../bad/@N@", b"///bad/@N@", b"/%6fk/../bad/@N@",
    b"/ok/%", b"/ok/%zz", b"/ok/%2", b"/ok/%00", b"/ok/\xff", b"/ok/\xc3\xa9",
    b"/ok/ x", b"/ok/\tx", b"ok/@N@", b"*", b"", b"?", b"http:///ok/@N@",
    b"http://@H@/bad/@N@", b"https://@H@/ok/@N@", b"http://a@@H@/ok/@N@",
    b"http://@H@\\@evil/ok/@N@", b"http://other.example/ok/@N@", b"@H@:443",
    b"http://@H@#@other/ok/@N@", b"http://@H@:80:80/ok/@N@", b"HTTP://@H@/bad/@N@",
    b"ftp://@H@/ok/@N@", b"file:///ok/@N@", b"javascript:/ok", b"/ok/@N@#x",
    b"http://[::1]/ok/@N@", b"http://@H@%00.evil/ok/@N@", b"http:@H@/ok/@N@",
    b"http:/@H@/ok/@N@", b"//@H@/bad/@N@", b"/ok/@N@\"", b"/ok/{@N@}",
    b"/OK/../bad/@N@", b"/ok/.../../../bad/@N@", b"/ok/@N@/..", b"/ok/..",
    b"/ok/%ef%bc%8e%ef%bc%8e/bad/@N@", b"/ok/\x2e\x2e\x2fbad/@N@",
]
HOSTS = [
    b"other.example", b"@H@,other.example", b"@H@, @H@", b"@H@ other.example",
    b"a@@H@", b"@H@@a", b"@H@/", b"@H@/x", b"@H@?x", b"@H@#x", b"@H@\\x",
    b"@H@:", b"@H@:0", b"@H@:x", b"@H@:99999", b"@H@:80:80", b"@H@:+80",
    b"@H@:0080x", b":80", b"", b"[@H@]", b"[::1]", b"127.0.0.1", b"localhost",
    b"@H@.evil.example", b"evil@H@", b"@H@\0", b"\0@H@", b"@H@\x0b", b"@H@%00",
    b"%70lain.example", b"\xef\xbd\x90lain.example", b"x" * 300, b"..", b".",
    b"@H@..", b"http://@H@", b"@H@\r\nHost: other.example", b"\"@H@\"",
    b"@H@;a", b"@H@\xa0", b"@H@_", b"*", b"0x7f.1", b"2130706433",
]


def heads():
    for method in METHODS:
        yield method + b" /bad/@N@ HTTP/1.1\r\n" + HOST + b"\r\n"
        yield method + b" /ok/@N@ HTTP/1.1\r\n" + HOST + length(BAD) + b"\r\n" + BAD
    for version in VERSIONS:
        yield b"GET /bad/@N@ " + version + b"\r\n" + HOST + b"\r\n"
        yield b"POST /ok/@N@ " + version + b"\r\n" + HOST + CHUNKED + b"\r\n" + tail()
    for target in TARGETS:
        yield b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n"
        yield (b"POST " + target + b" HTTP/1.1\r\n" + HOST + length(BAD) + b"\r\n"
               + BAD)
    for host in HOSTS:
        yield b"GET /ok/@N@ HTTP/1.1\r\nHost: " + host + b"\r\n\r\n" + BAD
        yield GET + b"Host: " + host + b"\r\n\r\n" + BAD
        yield (b"GET /ok/@N@ HTTP/1.1\r\nHost: " + host + b"\r\n" + HOST + b"\r\n"
               + BAD)
        yield (b"GET http://" + host + b"/ok/@N@ HTTP/1.1\r\n" + HOST + b"\r\n"
               + BAD)
    for gap in (b"  ", b"\t", b"\x0b", b"\0", b" \t ", b"\r", b"\xa0", b"\x0c"):
        yield b"GET" + gap + b"/ok/@N@ HTTP/1.1\r\n" + HOST + b"\r\n" + BAD
        yield b"GET /ok/@N@" + gap + b"HTTP/1.1\r\n" + HOST + b"\r\n" + BAD
    for before in (b"\r", b"\n", b"\0", b" ", b"\r\n ", b"\xef\xbb\xbf", b"\x16\x03",
                   b"0\r\n\r\n", b"\r\n\0"):
        yield before + GET + b"\r\n" + BAD


def hops():
    for option in (b"Host", b"Content-Length", b"Transfer-Encoding", b"Cookie",
                   b"Authorization", b"X-A", b"close, Host", b"Upgrade, X",
                   b"HTTP2-Settings", b"keep-alive, Content-Length", b"\"close\"",
                   b"te, trailers", b"close;", b"close\0", b"Expect"):
        yield GET + b"Connection: " + option + b"\r\n\r\n" + BAD
        yield (POST + b"Connection: " + option + b"\r\nContent-Length: 5\r\n\r\n"
               b"abcde" + BAD)
    for value in (b"200-ok", b"100-Continue, x", b"", b"100-continue\0",
                  b"100", b"\"100-continue\"", b"100-continue;a", b"x" * 9000):
        yield POST + b"Expect: " + value + b"\r\nContent-Length: 5\r\n\r\nabcde" + BAD
    for upgrade in (b"h2c", b"websocket", b"HTTP/2.0", b"TLS/1.0", b"h2c, websocket",
                    b"WebSocket\0", b"foo"):
        for body in (b"", b"Content-Length: 5\r\n", CHUNKED):
            yield (GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: "
                   + upgrade + b"\r\nHTTP2-Settings: AAMAAABk\r\n" + body + b"\r\n"
                   + BAD)
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + BAD
    yield GET + b"X: " + b"y" * 9000 + b"\r\n\r\n" + BAD
    yield GET + b"".join(b"X%d: y\r\n" % i for i in range(200)) + b"\r\n" + BAD
    yield GET + b"".join(b"X%d: %s\r\n" % (i, b"y" * 900) for i in range(60)) + b"\r\n" + BAD
    yield GET + b"Connection: close\r\n\r\n" + BAD
    yield POST + b"Content-Length: 5\r\nConnection: close\r\n\r\nabcde" + BAD
    yield b"GET /ok/@N@ HTTP/1.0\r\n" + HOST + b"\r\n" + BAD
    yield GET + length(BAD) + b"\r\n" + BAD


def every_byte():
    """Each byte value in each place of a head and of a chunk."""
    for byte in BYTES:
        yield b"POST /ok/@N@" + byte + b" HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n" + tail()
        yield b"PO" + byte + b"ST /bad/@N@ HTTP/1.1\r\n" + HOST + b"\r\n"
        yield POST + b"X" + byte + b"Y: z\r\n" + CHUNKED + b"\r\n" + tail()
        yield POST + b"X: a" + byte + b"Transfer-Encoding: chunked\r\n\r\n" + tail()
        yield POST + byte + b"Transfer-Encoding: chunked\r\n\r\n" + tail()
        yield POST + b"Transfer-Encoding" + byte + b": chunked\r\n\r\n" + tail()
        yield POST + b"Transfer-Encoding:" + byte + b"chunked\r\n\r\n" + tail()
        yield POST + b"Transfer-Encoding: chunked" + byte + b"\r\n\r\n" + tail()
        yield POST + b"Content-Length: 5" + byte + b"\r\n\r\nabcde" + BAD
        yield POST + b"Content-Length" + byte + b": 5\r\n\r\nabcde" + BAD
        yield b"GET /ok/@N@ HTTP/1.1\r\nHost: @H@" + byte + b"\r\n\r\n" + BAD
        yield POST + CHUNKED + b"\r\n5" + byte + b"\r\nabcde\r\n" + tail()
        yield POST + CHUNKED + b"\r\n5\r\nabcde" + byte + b"\n" + tail()


def corpus():
    """Every message once."""
    seen = {}
    for part in (framing, names, line_ends, chunks, heads, hops, every_byte):
        for message in part():
            seen.setdefault(message, None)
    return list(seen)


def sound():
    """Messages that mean one thing: (message, bodies as they must arrive)."""
    body = BAD.replace(b"@N@", b"x").replace(b"@H@", b"x")
    yield GET + b"\r\n", [b""]
    yield GET + b"\r\n" + GET + b"Accept: */*\r\n\r\n", [b"", b""]
    yield POST + length(body) + b"\r\n" + body, [body]
    yield POST + CHUNKED + b"\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n", [body]
    yield (POST + CHUNKED + b"\r\n2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nT: u\r\n\r\n"
           + GET + b"\r\n", [b"abcde", b""])
    yield POST + b"Content-Length: 0\r\n\r\n" + GET + b"\r\n", [b"", b""]
    yield POST + b"transfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n", [b""]


# ---- responses ----

HIDDEN = b"HTTP/1.1 299 Hidden\r\nContent-Length: 6\r\n\r\nhidden"


def responses():
    """What an origin may say to be read in two ways; HIDDEN never arrives."""
    ok = b"HTTP/1.1 200 OK\r\n"
    for coding in CODINGS:
        field = b"Transfer-Encoding: " + coding + b"\r\n"
        for more in (b"", length(HIDDEN), CHUNKED):
            yield ok + field + more + b"\r\n0\r\n\r\n" + HIDDEN
            yield ok + more + field + b"\r\n0\r\n\r\n" + HIDDEN
    for value in LENGTHS:
        field = b"Content-Length: " + value + b"\r\n"
        yield ok + field + b"\r\nabcde" + HIDDEN
        yield ok + field + b"Content-Length: 5\r\n\r\nabcde" + HIDDEN
    for size in SIZES:
        yield ok + CHUNKED + b"\r\n" + size + b"\r\nabcde\r\n0\r\n\r\n" + HIDDEN
    for extension in EXTENSIONS:
        yield ok + CHUNKED + b"\r\n5" + extension + b"\r\nabcde\r\n0\r\n\r\n" + HIDDEN
    for name in NAMES[:2]:
        for blank in BLANKS[1:]:
            yield ok + name + blank + b": 5\r\nContent-Length: 5\r\n\r\nabcde" + HIDDEN
            yield ok + blank + name + b": 5\r\nContent-Length: 5\r\n\r\nabcde" + HIDDEN
    for start in (b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK", b"HTTP/1.1 000 OK",
                  b"HTTP/1.1 600 OK", b"HTTP/1.1 -20 OK", b"HTTP/1.1 2x0 OK",
                  b"HTTP/2.0 200 OK", b"HTTP/0.9 200 OK", b"ICY 200 OK",
                  b"HTTP/1.1  200 OK", b"HTTP/1.1 200\tOK", b"HTTP/1.1200 OK",
                  b"HTTP/1.1 200 O\0K", b"HTTP/1.1 200 OK\r", b" HTTP/1.1 200 OK",
                  b"HTTP/1.1 200 O\rK", b"http/1.1 200 OK", b"HTTP/1.1 101 Go",
                  b"\r\nHTTP/1.1 200 OK", b"\xef\xbb\xbfHTTP/1.1 200 OK"):
        yield start + b"\r\nContent-Length: 5\r\n\r\nabcde" + HIDDEN
    for status in (b"204 None", b"304 Same", b"200 OK"):
        yield b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n" + HIDDEN
    yield b"HTTP/1.1 204 None\r\n\r\n" + HIDDEN
    yield b"HTTP/1.1 304 Same\r\nContent-Length: 51\r\n\r\n" + HIDDEN
    yield b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + ok + b"Content-Length: 0\r\n\r\n" + HIDDEN
    yield b"HTTP/1.1 103 Early\r\nContent-Length: 5\r\n\r\nabcde" + HIDDEN
    for byte in BYTES:
        yield ok + b"X" + byte + b"Y: z\r\nContent-Length: 5\r\n\r\nabcde" + HIDDEN
        yield ok + b"Content-Length: 5" + byte + b"\r\n\r\nabcde" + HIDDEN
        yield ok + b"X: a" + byte + b"\r\nContent-Length: 5\r\n\r\nabcde" + HIDDEN
        yield ok + CHUNKED + b"\r\n5" + byte + b"\r\nabcde\r\n0\r\n\r\n" + HIDDEN


# ---- the origin ----

FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\t\x20-\x7e\x80-\xff]*")
START = re.compile(rb"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) "
                   rb"(/[\x21-\x22\x24-\x5b\x5d-\x7e]*) HTTP/1\.1")


class Hazard(Exception):
    """Bytes arrived that another reader could read in another way."""


def take_body(read, fields):
    lengths = fields.get(b"content-length", [])
    codings = fields.get(b"transfer-encoding", [])
    if len(lengths) + len(codings) > 1:
        raise Hazard(f"two framings: {fields}")
    if lengths:
        if not re.fullmatch(rb"0|[1-9][0-9]{0,14}", lengths[0]):
            raise Hazard(f"length {lengths[0]}")
        return read(int(lengths[0]))
    if not codings:
        return b""
    if codings != [b"chunked"]:
        raise Hazard(f"coding {codings}")
    body = b""
    while True:
        line = read(None)
        if not re.fullmatch(rb"[0-9a-fA-F]{1,16}", line):
            raise Hazard(f"chunk size {line[:80]}")
        piece = read(int(line, 16))
        body += piece
        if read(2) != b"\r\n":
            raise Hazard("a chunk without its end")
        if not piece:
            return body


def read_fields(read):
    fields = {}
    while line := read(None):
        if not FIELD.fullmatch(line):
            raise Hazard(f"field {line[:80]}")
        name, value = line.split(b": ", 1)
        fields.setdefault(name.lower(), []).append(value)
    return fields


def reader(stream):
    """read(count) from a file; read(None): a line without its CRLF."""
    def read(count):
        data = stream.readline(65536) if count is None else stream.read(count)
        if count is None and not data.endswith(b"\r\n"):
            raise EOFError
        if count is not None and len(data) < count:
            raise EOFError
        return data[:-2] if count is None else data
    return read


def statuses(data):
    """The statuses in what a client got, read by the grammar alone."""
    read, found = reader(io.BytesIO(data)), []
    try:
        while True:
            start = re.fullmatch(rb"HTTP/1\.1 ([1-5][0-9]{2}) ?[\t\x20-\xff]*",
                                 read(None))
            if not start:
                raise Hazard("a status line")
            found.append(int(start[1]))
            fields = read_fields(read)
            if found[-1] not in (204, 304):
                take_body(read, fields)
    except EOFError:
        return found


class RecordingOrigin:
    """Reads requests by the grammar alone and answers 200; keeps what it
    read, and every departure from the grammar."""

    def __init__(self, address, port):
        self.requests = []  # (method, path, body)
        self.hazards = []
        self.reply = None  # path -> bytes, or None for the usual answer
        self._server = socket.create_server((address, port), backlog=256)
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,),
                             daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(60)
        stream = connection.makefile("rb")

        read = reader(stream)
        try:
            while self._one(connection, read):
                pass
        except Hazard as hazard:
            self.hazards.append(str(hazard))
        except (EOFError, OSError):
            pass
        finally:
            stream.close()
            connection.close()

    def _one(self, connection, read):
        start = START.fullmatch(read(None))
        if not start:
            raise Hazard("a start line")
        fields = read_fields(read)
        if len(fields.get(b"host", [])) != 1:
            raise Hazard("hosts")
        body = take_body(read, fields)
        self.requests.append((start[1], start[2], body))
        if self.reply:
            # Who waits for more than there is hears the end soon.
            connection.settimeout(0.5)
            connection.sendall(self.reply(start[2]))
            return True
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return True
