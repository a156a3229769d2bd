"""The operator's own roots (tls.ca_bundle) are trusted inside as well: for
hosts whose TLS is not terminated."""
import re

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
