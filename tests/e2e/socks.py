"""A SOCKS 5 client by hand: what a well-behaved one says, and what not."""
import ipaddress
import struct


def receive(stream, size):
    """So many bytes, or what came before the end."""
    got = b""
    while len(got) < size:
        part = stream.recv(size - len(got))
        if not part:
            break
        got += part
    return got


def address_bytes(host):
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return b"\3" + bytes([len(host)]) + host.encode()
    return (b"\1" if address.version == 4 else b"\4") + address.packed


def greet(stream, user=None, password=""):
    """True: we may go on."""
    if user is None:
        stream.sendall(b"\5\1\0")
        return receive(stream, 2) == b"\5\0"
    stream.sendall(b"\5\1\2")
    assert receive(stream, 2) == b"\5\2"
    stream.sendall(b"\1" + bytes([len(user)]) + user.encode()
                   + bytes([len(password)]) + password.encode())
    return receive(stream, 2) == b"\1\0"


def ask(stream, host, port, command=1):
    """The reply's code."""
    stream.sendall(b"\5" + bytes([command]) + b"\0" + address_bytes(host)
                   + struct.pack(">H", port))
    return receive(stream, 10)[1]
