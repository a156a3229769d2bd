"""Where the connections of a sandbox end."""
import socket

import pytest

from sandbox_tool import box  # noqa: F401 (a fixture)
from waiting import at_best

CONNECT = """
import socket, time
def tcp(family, *address):
    started = time.monotonic()
    try:
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect(address)
            return s.recv(100).decode().split()
    except OSError as e:
        return [type(e).__name__, time.monotonic() - started]
def udp(family, *address):
    started = time.monotonic()
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.settimeout(5)
            s.connect(address)
            s.send(b"question")
            return s.recv(100).decode().split()
    except OSError as e:
        return [type(e).__name__, time.monotonic() - started]
"""


def ask(box, expression):
    result = box.python(CONNECT + f"print({expression})",
                        options=["--accept", str(box.log)])
    assert result.returncode == 0, result.stderr
    return eval(result.stdout)


def refused_at_once(box, expression):
    """The kind of the error, which comes in less than a second."""
    kinds = set()

    def attempt():
        kind, seconds = ask(box, expression)
        kinds.add(kind)
        return seconds
    at_best(1, attempt)
    kind, = kinds
    return kind


@pytest.mark.parametrize("address", [
    "1.2.3.4", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "198.18.0.7", "0.0.0.1"])
def test_tcp_to_any_address_ends_at_the_listener(box, address):
    assert ask(box, f"tcp(socket.AF_INET, {address!r}, 443)") \
        == ["tcp4", address, "443"]


@pytest.mark.parametrize("address", ["2001:db8::5", "fe80::1%lo", "fd00::7"])
def test_tcp_over_ipv6_ends_there_as_well(box, address):
    host = address.split("%")[0]
    scope = ", 0, 1" if "%" in address else ""
    assert ask(box, f"tcp(socket.AF_INET6, {host!r}, 8443{scope})") \
        == ["tcp6", host, "8443"]


def test_an_explicit_proxy_client_keeps_our_address(box):
    assert ask(box, "tcp(socket.AF_INET, '198.18.0.1', 3128)") \
        == ["tcp4", "198.18.0.1", "3128"]
    assert ask(box, "tcp(socket.AF_INET6, 'fd00::1', 3128)") \
        == ["tcp6", "fd00::1", "3128"]


def test_dns_ends_at_our_resolver_whoever_is_asked(box):
    assert ask(box, "udp(socket.AF_INET, '198.18.0.1', 53)") == ["question"]
    assert ask(box, "udp(socket.AF_INET, '8.8.8.8', 53)") == ["question"]
    assert ask(box, "tcp(socket.AF_INET, '9.9.9.9', 53)")[0] == "tcp4"
    assert box.log.read_text().splitlines() == ["udp", "udp",
                                                "tcp4 9.9.9.9 53"]
    assert box.sh("cat /etc/resolv.conf").stdout == "nameserver 198.18.0.1\n"


@pytest.mark.parametrize("call", [
    "udp(socket.AF_INET, '1.2.3.4', 443)",
    "udp(socket.AF_INET6, '2001:db8::1', 443)",
    "udp(socket.AF_INET, '1.2.3.4', 123)",
    "udp(socket.AF_INET6, '2001:4860:4860::8888', 53)",
    "udp(socket.AF_INET, '255.255.255.255', 68)"])
def test_everything_else_is_refused_at_once(box, call):
    assert refused_at_once(box, call).endswith("Error")
    assert not box.log.exists() or box.log.read_text() == ""


def test_loopback_is_the_sandboxes_own(box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert refused_at_once(
            box, f"tcp(socket.AF_INET, '127.0.0.1', {port})") \
            == "ConnectionRefusedError"
    result = box.python("""
import socket
server = socket.create_server(("127.0.0.1", 8080))
client = socket.create_connection(("127.0.0.1", 8080))
server.accept()[0].send(b"inside")
print(client.recv(10))
""")
    assert result.stdout == "b'inside'\n", result.stderr


def test_there_is_one_device_and_nobody_can_change_it(box):
    result = box.sh("ip -o link | wc -l; ip link add d type dummy; "
                    "ip addr add 10.9.9.9/8 dev lo; ip route del default; "
                    "ip route | grep -c default")
    assert result.stdout.split() == ["1", "1"]


def test_without_a_gateway_connections_wait_or_end(box):
    result = box.python(CONNECT + """
print(tcp(socket.AF_INET, "1.2.3.4", 443))
""")
    assert result.returncode == 0
    assert "Error" in result.stdout


@pytest.mark.parametrize("family,address", [
    ("AF_INET", "1.2.3.4"), ("AF_INET6", "2001:db8::1")])
def test_a_udp_client_hears_at_once_that_nobody_is_there(box, family,
                                                         address):
    """So QUIC falls back to TCP: sending fails, or an ICMP error arrives."""
    result = box.python(f"""
import socket
s = socket.socket(socket.{family}, socket.SOCK_DGRAM)
s.settimeout(10)
s.connect(({address!r}, 443))
try:
    s.send(b"a QUIC packet")
    s.recv(100)
except (PermissionError, ConnectionRefusedError):
    print("refused")
""")
    assert result.stdout == "refused\n", result.stderr
