"""The proxies that are measured beside ours, each on loopback: a floor of our
own (floor/), and squid, mitmproxy and HAProxy as their own documentation sets
them up for this job."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import bench


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer:
    """A process that listens; stopped by its pid. In a session of its own, as
    the gateway is: where the kernel shares CPUs by session (autogroups), a
    peer in the client's would get another share."""

    def __init__(self, directory, name, port, command, host="127.0.0.1",
                 **env):
        self.host = host
        self.port = port
        self.name = name
        self.log = directory / f"{name}.out"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=directory, start_new_session=True,
                env={"PATH": os.environ["PATH"] + ":/usr/sbin",
                     "HOME": str(directory), **env})
        self._wait()

    def _wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex((self.host, self.port)) == 0:
                    return
            time.sleep(0.05)
        raise bench.Missing(f"{self.name}: {self.log.read_text()[-2000:]}")

    def pids(self):
        return bench.children(self.process.pid)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def floor(address, directory, _, inspect):
    port = free_port()
    return Peer(directory, "floor-tls" if inspect else "floor", port, [
        directory / "floor", "proxy", port, address, directory,
        int(inspect)])


def sink(directory, address, port):
    """An origin that reads bodies, and an echo."""
    return Peer(directory, "sink", port, [
        directory / "floor", "origin", port, address, directory], address)


def squid(directory, hosts, inspect):
    """ssl-bump on every connection, or tunnels."""
    name = "squid-bump" if inspect else "squid"
    port = free_port()
    hosts_file = directory / f"{name}.hosts"
    hosts_file.write_text("".join(f"{address} {host}\n"
                                  for host, address in hosts.items()))
    bump = (f"http_port 127.0.0.1:{port} ssl-bump "
            f"generate-host-certificates=on "
            f"dynamic_cert_mem_cache_size=16MB tls-cert={directory}/ca.pem "
            f"tls-key={directory}/ca.key\n"
            f"sslcrtd_program /usr/lib/squid/security_file_certgen "
            f"-s {directory}/{name}.db -M 16MB\nsslcrtd_children 2\n"
            f"tls_outgoing_options cafile={directory}/ca.pem\n"
            "ssl_bump bump all\n" if inspect
            else f"http_port 127.0.0.1:{port}\n")
    conf = directory / f"{name}.conf"
    conf.write_text(bump + f"""
hosts_file {hosts_file}
acl denied_path urlpath_regex ^/denied
http_access deny denied_path
acl denied_host dstdomain .denied.{next(iter(hosts))}
http_access deny denied_host
http_access allow all
cache deny all
access_log none
cache_log {directory}/{name}.log
cache_store_log none
coredump_dir {directory}
pid_filename none
pinger_enable off
visible_hostname bench
shutdown_lifetime 0 seconds
max_filedescriptors 4096
via off
forwarded_for delete
""")
    if inspect:
        db = directory / f"{name}.db"
        subprocess.run(["/usr/lib/squid/security_file_certgen", "-c", "-s",
                        db, "-M", "16MB"], check=True, capture_output=True)
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", "proxy:proxy", db], check=True)
    for path in directory.glob("*.key"):
        path.chmod(0o644)
    if os.getuid() == 0:
        (directory / f"{name}.log").touch()
        shutil.chown(directory / f"{name}.log", "proxy")
    return Peer(directory, name, port, ["squid", "-N", "-f", conf])


def mitmproxy(directory, hosts, _):
    port = free_port()
    place = directory / "mitm"
    place.mkdir()
    (place / "mitmproxy-ca.pem").write_text(
        (directory / "ca.key").read_text() +
        (directory / "ca.pem").read_text())
    # It asks the system for names alone: this tells it the addresses.
    address = next(iter(hosts.values()))
    script = directory / "mitm.py"
    script.write_text(
        "def server_connect(data):\n"
        f"    data.server.address = ({address!r}, data.server.address[1])\n"
        "def request(flow):\n"
        "    if flow.request.path.startswith('/denied'):\n"
        "        from mitmproxy import http\n"
        "        flow.response = http.Response.make(403, b'refused\\n')\n")
    return Peer(directory, "mitmproxy", port, [
        "mitmdump", "-q", "-s", script, "--listen-host", "127.0.0.1",
        "--listen-port", port, "--set", f"confdir={place}",
        "--set", "connection_strategy=lazy",
        "--set", "stream_large_bodies=1m",
        "--set", f"ssl_verify_upstream_trusted_ca={directory}/ca.pem"])


def haproxy(directory, hosts, inspect):
    """One certificate made beforehand and no rules: the craft to match."""
    port = free_port()
    address = next(iter(hosts.values()))
    pem = directory / "haproxy.pem"
    pem.write_text((directory / "leaf.pem").read_text() +
                   (directory / "leaf.key").read_text())
    name = "haproxy-tls" if inspect else "haproxy"
    conf = directory / f"{name}.cfg"
    bind = (f"mode http\n bind 127.0.0.1:{port} ssl crt {pem}" if inspect
            else f"mode tcp\n bind 127.0.0.1:{port}")
    server = (f"mode http\n http-reuse always\n server o {address} ssl "
              f"verify required ca-file {directory}/ca.pem "
              f"sni str({next(iter(hosts))})"
              if inspect else f"mode tcp\n server o {address}")
    rules = (" http-request deny if { path_beg /denied }\n" if inspect
             else "")
    conf.write_text(f"""
global
 nbthread 1
 maxconn 4000
defaults
 timeout connect 10s
 timeout client 300s
 timeout server 300s
frontend f
 {bind}
{rules}
 default_backend b
backend b
 {server}
""")
    return Peer(directory, name, port, ["haproxy", "-db", "-f", conf])
