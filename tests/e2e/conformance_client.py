"""Runs inside a sandbox, or outside as a client of the door: sends each row
of the table on every way out, and prints what came back, a JSON list of
[status, constraint, path] or [null, why, null]. Argument: the table's file."""
import concurrent.futures
import functools
import ipaddress
import json
import re
import socket
import ssl
import struct
import sys

PROXY = ("198.18.0.1", 3128)
TIMEOUT_S = 30
DOOR = {}  # where it is, and the lease; empty inside


class Refused(Exception):
    """The way was closed before HTTP could speak."""


def receive(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            raise Refused("closed")
        data += part
    return data


def dial(address):
    return socket.create_connection(address, TIMEOUT_S)


def resolve(host, port):
    try:
        return socket.getaddrinfo(host, port, socket.AF_INET,
                                  socket.SOCK_STREAM)[0][4]
    except socket.gaierror:
        raise Refused("no such name") from None


# ---- the ways ----

def by_connect(host, port):
    stream = dial(PROXY)
    stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n"
                   f"Host: {host}:{port}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += receive(stream, 1)
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise Refused(head.split(b"\r\n")[0].decode())
    return stream


def by_socks(host, port, is_address):
    if is_address:
        host = resolve(host, port)[0]
        where = b"\1" + ipaddress.ip_address(host).packed
    else:
        where = b"\3" + bytes([len(host)]) + host.encode()
    stream = dial(PROXY)
    stream.sendall(b"\5\1\0")
    assert receive(stream, 2) == b"\5\0"
    return socks_request(stream, where, port)


def socks_request(stream, where, port):
    stream.sendall(b"\5\1\0" + where + struct.pack(">H", port))
    code = receive(stream, 10)[1]
    if code:
        raise Refused(f"SOCKS {code}")
    return stream


def by_door(host, port):
    lease = DOOR["lease"].encode()
    stream = dial(tuple(DOOR["address"]))
    stream.sendall(b"\5\1\2")
    assert receive(stream, 2) == b"\5\2"
    stream.sendall(b"\1\1x" + bytes([len(lease)]) + lease)
    assert receive(stream, 2) == b"\1\0"
    return socks_request(stream, b"\3" + bytes([len(host)]) + host.encode(),
                         port)


WAYS = {
    "connect": by_connect,
    "socks-name": lambda host, port: by_socks(host, port, False),
    "socks-address": lambda host, port: by_socks(host, port, True),
    "transparent": lambda host, port: dial(resolve(host, port)),
    "absolute": lambda host, port: dial(PROXY),
    "door-socks": by_door,
}
INSIDE = [way for way in WAYS if way != "door-socks"]


# ---- HTTP ----

@functools.cache
def trust(*protocols):
    """The host's roots take long to read: once for all."""
    context = ssl.create_default_context()
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def request_of(row, is_tls, port, is_absolute):
    default = 443 if is_tls else 80
    authority = row["host"] + ("" if port == default else f":{port}")
    target = row["target"]
    if is_absolute:
        target = f"http://{authority}{target}"
    lines = [f"{row['method']} {target} HTTP/1.1",
             f"Host: {row.get('says_host') or authority}",
             "Connection: close"]
    lines += [f"{name}: {value}" for name, value in row.get("fields", [])]
    body = row.get("body", "").encode()
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer_of(stream, method):
    data = b""
    while True:
        try:
            part = stream.recv(65536)
        except ssl.SSLEOFError:
            break
        if not part:
            break
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    line = head.split(b"\r\n")[0].decode()
    if not line:
        raise Refused("no answer")
    status = int(line.split()[1])
    found = re.search(r"egress denied: (\w+)", line)
    path = json.loads(body)["path"] if status == 200 and body else None
    return [status, found[1] if found else None, path]


# ---- HTTP/2 ----

def h2_fields(row, port):
    authority = row["host"] + ("" if port == 443 else f":{port}")
    return [(":method", row["method"]), (":scheme", "https"),
            (":authority", row.get("says_host") or authority),
            (":path", row["target"])] + [
                (name.lower(), value) for name, value in row.get("fields", [])]


def h2_events(link, stream):
    """What comes until the answer's end: (status, body)."""
    status, body = None, b""
    while True:
        data = stream.recv(65536)
        if not data:
            raise Refused("closed")
        for event in link.receive_data(data):
            kind = type(event).__name__
            if kind == "ResponseReceived":
                status = int(dict(event.headers)[":status"])
            elif kind == "DataReceived":
                body += event.data
            elif kind == "StreamEnded":
                return status, body
            elif kind in ("StreamReset", "ConnectionTerminated"):
                raise Refused(kind)
        stream.sendall(link.data_to_send())


def ask_h2(row, way, port):
    import h2.config
    import h2.connection
    context = trust("h2", "http/1.1")
    config = h2.config.H2Configuration(
        header_encoding="utf-8", validate_outbound_headers=False,
        normalize_outbound_headers=False)
    with WAYS[way](row["host"], port) as plain, \
            context.wrap_socket(plain, server_hostname=row["host"]) as stream:
        if stream.selected_alpn_protocol() != "h2":
            raise Refused("no h2")
        link = h2.connection.H2Connection(config)
        link.initiate_connection()
        body = row.get("body", "").encode()
        link.send_headers(1, h2_fields(row, port), end_stream=not body)
        if body:
            link.send_data(1, body, end_stream=True)
        stream.sendall(link.data_to_send())
        status, text = h2_events(link, stream)
    told = json.loads(text) if text[:1] == b"{" else {}
    return [status, told.get("constraint"),
            told.get("path") if status == 200 else None]


def ask(row, way, is_tls, port):
    with WAYS[way](row["host"], port) as stream:
        if is_tls:
            stream = trust().wrap_socket(stream, server_hostname=row["host"])
        stream.sendall(request_of(row, is_tls, port, way == "absolute"))
        return answer_of(stream, row["method"])


def ways():
    if DOOR:
        return [("door-socks", kind) for kind in ("tls", "plain", "h2")]
    return [(way, kind) for way in INSIDE for kind in ("tls", "plain", "h2")
            if way != "absolute" or kind == "plain"]


def try_row(row, way, kind, ports):
    """Each way has its own {way} in the target."""
    row = row | {"target": row["target"].replace("{way}", f"{way}-{kind}")}
    port = ports[row["port"]][1 if kind == "plain" else 0]
    try:
        return ask_h2(row, way, port) if kind == "h2" \
            else ask(row, way, kind == "tls", port)
    except (Refused, OSError) as e:
        return [None, str(e), None]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    DOOR.update(table.get("door", {}))
    trust()
    trust("h2", "http/1.1")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for row in table["rows"]:  # each on all ways at one time
            for (way, kind), got in zip(ways(), pool.map(
                    lambda to, row=row: try_row(row, *to, table["ports"]),
                    ways())):
                print(json.dumps([row["name"], f"{way}-{kind}", got]),
                      flush=True)


if __name__ == "__main__":
    main()
