"""The operator's own roots (tls.ca_bundle) are trusted inside as well: for
hosts whose TLS is not terminated."""
import re

import pytest
from programs import PROGRAMS

CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?"
                         r"-----END CERTIFICATE-----", re.S)


def tunnelled(policies):
    policy = policies.make([policies.rule("good.example")])
    policy["network"]["tls"] = {"tunnel": ["good.example"]}
    return policy


def test_a_sandbox_trusts_a_tunnelled_host_under_a_private_root(
        gateway, policies, origin, workspace):
    done = gateway.run(tunnelled(policies),
                       f"curl -sS {origin.url('/echo')}", workspace)
    assert done.returncode == 0, done.stderr
    assert '"method": "GET"' in done.stdout


def test_it_is_the_private_root_that_makes_it_trusted(
        gateway, policies, origin, workspace):
    """The twin: with the session's own certificate alone it is not."""
    done = gateway.run(
        tunnelled(policies),
        "awk '{print} /END CERT/ {exit}' $NODE_EXTRA_CA_CERTS > one.pem; "
        f"curl -sS --cacert one.pem {origin.url('/echo')}", workspace)
    assert done.returncode == 60, (done.stdout, done.stderr)


def test_what_a_session_is_given_to_trust(make_session, policies, pki, forge):
    session = make_session(policies.make())
    found = CERTIFICATE.findall(session.ca.read_text())
    for pem in (pki[1], forge.ca_pem):
        assert CERTIFICATE.search(pem)[0] in found
    # And the session's own.
    assert len(found) == 3


@pytest.mark.parametrize("inspected", [False, True],
                         ids=["tunnelled", "inspected"])
@pytest.mark.parametrize("other", PROGRAMS)
def test_other_truststores_have_both_roots(
        gateway, policies, origin, give_programs, workspace, other,
        inspected):
    """The operator's, and the session's own."""
    policy = tunnelled(policies)
    if inspected:
        policy = policies.make([policies.rule("good.example",
                                              methods=["GET"])])
    give_programs(PROGRAMS[other], workspace)
    done = gateway.run(policy, f"{PROGRAMS[other]} {origin.url('/echo')}",
                       workspace)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("200 ")
    assert '"method": "GET"' in done.stdout


def test_java_trusts_what_its_truststore_has_and_no_more(
        gateway, policies, origin, give_programs, workspace):
    """The twin: a store of the session's own certificate alone."""
    give_programs(PROGRAMS["java HttpClient"], workspace)
    done = gateway.run(
        tunnelled(policies),
        "awk '{print} /END CERT/ {exit}' $NODE_EXTRA_CA_CERTS > one.pem; "
        "unset JAVA_TOOL_OPTIONS; keytool -importcert -noprompt -alias one "
        "-file one.pem -keystore one.p12 -storepass changeit && "
        "java -Djavax.net.ssl.trustStore=one.p12 "
        "-Djavax.net.ssl.trustStorePassword=changeit -cp . Get "
        f"{origin.url('/echo')}", workspace)
    assert done.returncode != 0
    assert "SSLHandshakeException" in done.stderr, done.stderr


def test_java_trusts_the_hosts_own_bundle_too(gateway, policies, workspace):
    """As other programs do, for hosts whose TLS is not terminated."""
    done = gateway.run(
        policies.make(),
        "grep -c BEGIN.CERT $SSL_CERT_FILE; "
        "keytool -list -keystore /run/sallyport/ca.p12 -storepass changeit",
        workspace)
    assert done.returncode == 0, done.stderr
    count, _, listed = done.stdout.partition("\n")
    assert f"contains {count} entries" in listed, listed[:500]
    assert listed.count("trustedCertEntry") == int(count) > 3
