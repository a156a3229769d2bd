"""The way out leads through the operator's proxy."""
import base64
import os

import pytest
from upstream_proxy import (PASSWORD, USER, Microsocks, Tinyproxy,
                            gateway_behind)

PORTS = {Tinyproxy: 3801, Microsocks: 3802}


@pytest.fixture(scope="module")
def address():
    pid = os.getpid()
    return f"127.{64 + (pid >> 8) % 128}.{pid & 255}.5"


@pytest.fixture(scope="module", params=[Tinyproxy, Microsocks])
def proxy(request, tmp_path_factory, address, origin, forge, pki):
    from forge import NAMES
    hosts = {name: origin.address for name in pki[0]}
    hosts |= {name: forge.address for name in NAMES}
    proxy = request.param(tmp_path_factory.mktemp("proxy") / "p", address,
                          PORTS[request.param], hosts)
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, proxy, address):
    gateway = gateway_behind(make_gateway, "by",
                       f"{proxy.scheme}://{address}:{proxy.port}")
    yield gateway
    gateway.stop()
    gateway.check()


@pytest.fixture
def session(make_session, policies):
    return make_session(policies.make(
        [policies.rule("good.example", "other.example", "169.254.169.254",
                       paths=["/**"])]))


def test_https_and_http_go_by_the_proxy(session, origin, proxy):
    for url in (origin.url("/echo"),
                origin.plain_url("/echo", "good.example")):
        answer = session.curl(url)
        assert answer.status == 200, answer.text
        assert "proxy-authorization" not in answer.json["headers"]
    assert proxy.asked_for("good.example")


def test_a_tunnel_goes_by_the_proxy(make_session, policies, origin, proxy,
                                    pki):
    policy = policies.make([policies.rule("good.example")])
    policy["network"]["tls"] = {"tunnel": ["good.example"]}
    session = make_session(policy)
    session.ca.write_text(pki[1])
    answer = session.curl(origin.url("/echo"))
    assert answer.status == 200, answer.error


def test_what_no_proxy_names_does_not(session, origin, proxy):
    assert session.curl(origin.url("/echo", "other.example")).status == 200
    assert not proxy.asked_for("other.example")


def test_a_push_with_its_credential_goes_by_the_proxy(make_session, policies,
                                                      repo, proxy):
    session = make_session(policies.make(repo=repo), repo)
    work = session.clone()
    work.commit()
    assert work.push("HEAD:agent/1").returncode == 0
    assert repo.tip("agent/1")
    assert proxy.asked_for("github.com")


def test_a_forbidden_literal_is_not_asked_for(session, origin, proxy):
    answer = session.curl(f"http://169.254.169.254{origin.plain_suffix}/")
    assert answer.status == 403
    assert answer.json["constraint"] == "address_forbidden"
    assert not proxy.asked_for("169.254.169.254")


def test_the_proxys_credential_is_nowhere(session, origin, gateway, proxy):
    session.curl(origin.url("/echo"))
    encoded = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    for text in (gateway.log(), str(session.audit())):
        assert PASSWORD not in text
        assert encoded not in text


def test_wrong_credentials_are_told(make_gateway, policies, make_session,
                                    proxy, address, origin):
    gateway = gateway_behind(make_gateway, "wrong",
                       f"{proxy.scheme}://{address}:{proxy.port}", "wrong")
    try:
        session = make_session(policies.make(
            [policies.rule("good.example", paths=["/**"])]), on=gateway)
        answer = session.curl(origin.url("/echo"))
        assert answer.status == 502
        assert answer.json["constraint"] == "proxy_failed"
        assert "credentials" in answer.json["detail"]
        session.close()
    finally:
        gateway.stop()
        gateway.check()
