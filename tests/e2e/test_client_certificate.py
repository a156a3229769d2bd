"""A client certificate towards upstream: nginx asks for one, the courier
shows it, the sandbox never sees its key."""
import json
import os
import shutil
import signal
import subprocess

import pytest
from gateway import wait_until
from pki import Authority

NAME = "plain.example"
PID = os.getpid()


@pytest.fixture(scope="module")
def address():
    return f"127.{64 + (PID >> 8) % 128}.{PID & 255}.14"


@pytest.fixture(scope="module")
def authority():
    return Authority("client CA")


@pytest.fixture(scope="module")
def nginx(tmp_path_factory, address, authority, pki, origin):
    directory = tmp_path_factory.mktemp("nginx")
    (directory / "clients.pem").write_text(authority.pem())
    config = directory / "nginx.conf"
    user = "user root;" if os.getuid() == 0 else ""
    config.write_text(f"""
{user} daemon off; pid {directory}/pid; error_log {directory}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {directory}/t1;
  proxy_temp_path {directory}/t2; fastcgi_temp_path {directory}/t3;
  uwsgi_temp_path {directory}/t4; scgi_temp_path {directory}/t5;
  server {{
    listen {address}:{origin.port} ssl;
    ssl_certificate {pki[0][NAME]}; ssl_certificate_key {pki[0][NAME]};
    ssl_client_certificate {directory}/clients.pem;
    ssl_verify_client optional;
    location / {{
      default_type application/json;
      return 200 '{{"verified": "$ssl_client_verify",
                    "subject": "$ssl_client_s_dn",
                    "authorization": "$http_authorization"}}';
    }}
  }}
}}""")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    process = subprocess.Popen([program, "-c", config, "-e",
                                directory / "error.log"],
                               stdin=subprocess.DEVNULL)
    wait_until(lambda: (directory / "pid").exists())
    yield address
    process.terminate()
    process.wait(60)


@pytest.fixture(scope="module")
def gateway(make_gateway, nginx, origin, authority):
    gateway = make_gateway("mtls", config={
        "dns": {"hosts": {NAME: nginx, "good.example": origin.address}}})
    gateway.key = authority.leaf("robot", usage=False)
    gateway.put_secret("robot", gateway.key)
    gateway.put_secret("stranger", Authority("nobody").leaf("robot",
                                                            usage=False))
    gateway.put_secret("token", "only-a-token")
    mixed = authority.leaf("robot", usage=False).split("-----BEGIN ")
    other = authority.leaf("other", usage=False).split("-----BEGIN ")
    key = next(part for part in other if "PRIVATE KEY" in part[:30])
    gateway.put_secret("mixed", "-----BEGIN ".join(
        [part for part in mixed if "PRIVATE KEY" not in part[:30]] + [key]))
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def web(make_session, policies, nginx):
    def make(secret):
        rule = {"hosts": [NAME], "ports": policies.ports, "action": "allow",
                "paths": ["/**"]}
        policy = policies.make([rule])
        policy["network"]["addresses"] = {"allow": [f"{nginx}/32"]}
        if secret:
            rule["credential"] = "robot"
            rule["ports"] = policies.ports[:1]
            policy["credentials"] = [
                {"name": "robot", "secret": secret, "attach": "certificate",
                 "hosts": [NAME]}]
        return make_session(policy)
    return make


def test_the_certificate_is_shown(web, origin):
    session = web("robot")
    answer = session.curl(origin.url("/", NAME), "-H",
                          "Authorization: Bearer of-the-client")
    assert answer.status == 200, answer.text
    assert answer.json["verified"] == "SUCCESS"
    assert answer.json["subject"] == "CN=robot"
    assert answer.json["authorization"] == ""
    rows = session.audit("secret.use")
    assert [row["method"] for row in rows] == ["TLS", "GET"]
    assert {row["credential"] for row in rows} == {"robot"}


def test_none_is_shown_that_is_not_on_record_first(web, origin, gateway):
    """Twin of the one above, with a ledger that stands still."""
    session = web("robot")
    ledger = gateway.pid("ledger")
    os.kill(ledger, signal.SIGSTOP)
    try:
        answer = session.curl(origin.url("/", NAME))
    finally:
        os.kill(ledger, signal.SIGCONT)
    assert answer.status == 503, answer.text
    assert answer.json["constraint"] == "audit_unavailable"
    assert session.curl(origin.url("/", NAME)).status == 200


def test_without_the_rule_none_is_shown(web, origin):
    answer = web(None).curl(origin.url("/", NAME))
    assert answer.status == 200, answer.text
    assert answer.json["verified"] == "NONE"


def test_one_session_shows_nothing_of_anothers(web, origin):
    """Also when TLS could be resumed."""
    with_it, without = web("robot"), web(None)
    for _ in range(3):
        assert with_it.curl(origin.url("/", NAME)).json[
            "verified"] == "SUCCESS"
        assert without.curl(origin.url("/", NAME)).json["verified"] == "NONE"


def test_another_authoritys_certificate_is_upstreams_to_refuse(web, origin):
    answer = web("stranger").curl(origin.url("/", NAME))
    assert answer.status == 400, answer.text


@pytest.mark.parametrize("secret,words", [
    ("token", "private key in PEM"), ("mixed", "not the certificate's"),
    ("absent", "")])
def test_a_secret_that_is_no_certificate_is_told(web, origin, secret, words):
    answer = web(secret).curl(origin.url("/", NAME))
    assert answer.status == 502
    assert answer.json["constraint"] == "credential_unavailable"
    assert words in answer.json["detail"]
    assert "only-a-token" not in answer.text


def test_it_never_goes_in_the_clear(web, origin):
    answer = web("robot").curl(origin.plain_url("/", NAME))
    assert answer.status == 403
    assert answer.json["constraint"] in ("scheme_not_allowed",
                                         "port_not_allowed")


def test_the_key_is_nowhere_but_in_the_vault(web, origin, gateway):
    session = web("robot")
    session.curl(origin.url("/", NAME))
    line = next(part for part in gateway.key.split("-----")
                if "\n" in part and len(part) > 60).split("\n")[1]
    texts = [gateway.log(), json.dumps(session.audit())]
    for path in gateway.state.rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
    for text in texts:
        assert line not in text
