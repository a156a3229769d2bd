"""Certificates, an nginx, and a client's network namespace."""
import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

NAME = "origin.example"
# Names below these are new to a proxy in each round of a benchmark.
ROUNDS = [f"r{number}.{NAME}" for number in range(6)]
NGINX = "/usr/sbin/nginx"
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
# Where NAME seems to be, inside a client's namespace.
SEEMING = "192.0.2.7"
PORT_INSIDE = 3128
# The rules that sandbox-host loads into every sandbox.
RULES = f"""
table inet bench {{
 chain out_nat {{
  type nat hook output priority -100; policy accept;
  ip daddr 127.0.0.0/8 accept
  meta l4proto tcp redirect to :{PORT_INSIDE}
 }}
 chain out_filter {{
  type filter hook output priority 0; policy drop;
  ct state established,related accept
  ip daddr 127.0.0.0/8 accept
  meta l4proto tcp reject with tcp reset
 }}
}}
"""


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificates(directory):
    """ca.pem, ca.key, leaf.pem and leaf.key (ECDSA P-256) for NAME and
    names below ROUNDS."""
    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *ec, "-keyout", directory / "ca.key", "-out",
            directory / "ca.pem", "-days", 2, "-subj", "/CN=bench CA",
            "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *ec, "-keyout", directory / "leaf.key", "-out",
            directory / "leaf.csr", "-subj", f"/CN={NAME}")
    (directory / "leaf.ext").write_text(
        "basicConstraints=critical,CA:FALSE\n"
        "keyUsage=critical,digitalSignature\n"
        "extendedKeyUsage=serverAuth\nsubjectAltName=" + ",".join(
            f"DNS:{name}" for name in [NAME, *ROUNDS,
                                       *(f"*.{name}" for name in ROUNDS)])
        + "\n")
    openssl("x509", "-req", "-in", directory / "leaf.csr", "-CA",
            directory / "ca.pem", "-CAkey", directory / "ca.key",
            "-set_serial", 7, "-days", 2, "-extfile", directory / "leaf.ext",
            "-out", directory / "leaf.pem")


class Nginx:
    """One worker: as many processes as a session's edge."""

    def __init__(self, directory, name, server, inherited=None):
        self.conf = directory / f"{name}.conf"
        self.error_log = directory / f"{name}.log"
        user = "user root;" if os.getuid() == 0 else ""
        self.conf.write_text(f"""
daemon off; {user}
worker_processes 1;
worker_rlimit_nofile 4096;
pid {directory}/{name}.pid;
error_log {self.error_log} warn;
events {{ worker_connections 2048; }}
http {{
	access_log off;
	keepalive_requests 1000000000;
	keepalive_timeout 300s;
	client_body_temp_path {directory}/{name}-body;
	proxy_temp_path {directory}/{name}-proxy;
	fastcgi_temp_path {directory}/{name}-fastcgi;
	uwsgi_temp_path {directory}/{name}-uwsgi;
	scgi_temp_path {directory}/{name}-scgi;
	ssl_protocols TLSv1.2 TLSv1.3;
	ssl_certificate {directory}/leaf.pem;
	ssl_certificate_key {directory}/leaf.key;
{server}
}}
""")
        env, fds = {"PATH": os.environ["PATH"]}, ()
        if inherited:
            # How nginx hands its listeners to its own next version.
            env["NGINX"], fds = f"{inherited.fileno()};", [inherited.fileno()]
        self.process = subprocess.Popen(
            [NGINX, "-p", directory, "-e", self.error_log, "-c", self.conf],
            stdin=subprocess.DEVNULL, env=env, pass_fds=fds)

    def workers(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/task/"
                            f"{self.process.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def pids(self):
        return [self.process.pid, *self.workers()]

    def wait_ready(self):
        for _ in range(200):
            if self.process.poll() is not None:
                raise RuntimeError(self.error_log.read_text())
            if self.workers():
                return self
            time.sleep(0.02)
        raise RuntimeError("nginx did not start")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


def origin(directory, address, port, clear_port=None):
    clear = f"listen {address}:{clear_port} backlog=4096;" \
        if clear_port else ""
    return Nginx(directory, "origin", f"""
	server {{
		listen {address}:{port} ssl backlog=4096;
		{clear}
		server_name {NAME};
		default_type text/plain;
		location / {{ return 200 "{'x' * 127}\\n"; }}
		location /files/ {{ root {directory}; }}
	}}""").wait_ready()


def peer(directory, listener, address, port):
    """Terminates and originates TLS, verifies, keeps both alive."""
    return Nginx(directory, "peer", f"""
	upstream origin {{
		server {address}:{port};
		keepalive 256;
		keepalive_requests 1000000000;
	}}
	server {{
		listen {PORT_INSIDE} ssl;
		server_name {NAME};
		location / {{
			proxy_pass https://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host {NAME};
			proxy_ssl_server_name on;
			proxy_ssl_name {NAME};
			proxy_ssl_verify on;
			proxy_ssl_trusted_certificate {directory}/ca.pem;
			proxy_ssl_protocols TLSv1.2 TLSv1.3;
		}}
	}}""", listener).wait_ready()


# ---- a client's network namespace ----

def _become_inside(directory):
    """New namespaces, like a sandbox's; everything ends at one port."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)
    if libc.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if uid:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    hosts = directory / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{SEEMING} {NAME}\n")
    for command in (["mount", "--make-rprivate", "/"],
                    ["mount", "--bind", str(hosts), "/etc/hosts"],
                    ["ip", "link", "set", "lo", "up"],
                    ["ip", "address", "add", "198.18.0.1/32", "dev", "lo"],
                    ["ip", "route", "add", "default", "dev", "lo"]):
        subprocess.run(command, check=True)
    subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)


class Inside:
    """A namespace of the same make for each proxy that is measured."""

    def __init__(self, directory):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                ours.close()
                _become_inside(directory)
                listener = socket.create_server(("0.0.0.0", PORT_INSIDE),
                                                backlog=1024)
                socket.send_fds(theirs, [b"x"], [listener.fileno()])
                listener.close()
                theirs.recv(1)
            os._exit(1)
        theirs.close()
        self._hold = ours
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        if not fds:
            raise RuntimeError("no network namespace could be made")
        self.listener = socket.socket(fileno=fds[0])

    def command(self, *command):
        user = [] if os.getuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self.pid), "-n", "-m", *user, "--",
                *command]

    def close(self):
        self.listener.close()
        self._hold.close()
        os.waitpid(self.pid, 0)
