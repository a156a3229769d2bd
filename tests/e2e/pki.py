"""Certificates of every kind, right and wrong, for test_tls.py."""
import datetime
import ipaddress

from OpenSSL import crypto
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def new_key(bits=None):
    if bits:
        return rsa.generate_private_key(65537, bits)
    return ec.generate_private_key(ec.SECP256R1())


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    def __init__(self, name="test CA"):
        self.key = new_key()
        self.name = _name(name)
        self.cert = self._sign(self.name, self.key.public_key(), [
            (x509.BasicConstraints(True, None), True),
            (x509.SubjectKeyIdentifier.from_public_key(
                self.key.public_key()), False),
            (x509.KeyUsage(False, False, False, False, False, True, True,
                           False, False), True)])

    def _sign(self, subject, public, extensions, start=-DAY, end=5 * DAY,
              digest="sha256", issuer=None, key=None):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (x509.CertificateBuilder().subject_name(subject)
                   .issuer_name(issuer or self.name).public_key(public)
                   .serial_number(x509.random_serial_number())
                   .not_valid_before(now + start).not_valid_after(now + end))
        for value, critical in extensions:
            builder = builder.add_extension(value, critical)
        key = key or self.key
        cert = crypto.X509.from_cryptography(
            builder.sign(key, hashes.SHA256()))
        # cryptography 43 no longer signs with SHA-1.
        cert.sign(crypto.PKey.from_cryptography_key(key), digest)
        return cert.to_cryptography()

    def pem(self):
        return self.cert.public_bytes(serialization.Encoding.PEM).decode()

    def leaf(self, *names, bits=None, san=True, usage=True, is_ca=False,
             cn=None, self_signed=False, **signing):
        """A leaf for names as PEM: key and certificate."""
        key = new_key(bits)
        extensions = [(x509.BasicConstraints(is_ca, None), True)]
        if san:
            extensions.append((x509.SubjectAlternativeName(
                [_general(n) for n in names]), False))
        purpose = (ExtendedKeyUsageOID.SERVER_AUTH if usage
                   else ExtendedKeyUsageOID.CLIENT_AUTH)
        extensions.append((x509.ExtendedKeyUsage([purpose]), False))
        subject = _name(cn or names[0])
        if self_signed:
            signing.update(issuer=subject, key=key)
        else:  # Python asks for it since 3.13
            extensions.append((
                x509.AuthorityKeyIdentifier.from_issuer_public_key(
                    self.key.public_key()), False))
        cert = self._sign(subject, key.public_key(), extensions, **signing)
        return (key.private_bytes(serialization.Encoding.PEM,
                                  serialization.PrivateFormat.PKCS8,
                                  serialization.NoEncryption())
                + cert.public_bytes(serialization.Encoding.PEM)).decode()


def _general(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def certificates(directory):
    """name -> PEM file of origin.example's relatives: each wrong in one way,
    good.example not at all. Returns the trusted CA's PEM as well."""
    ca, stranger = Authority(), Authority("nobody's CA")
    made = {
        "good.example": ca.leaf("good.example", "other.example"),
        "other.example": ca.leaf("other.example"),
        "plain.example": ca.leaf("plain.example"),
        "expired.example": ca.leaf("expired.example", start=-3 * DAY,
                                   end=-DAY),
        "future.example": ca.leaf("future.example", start=DAY, end=2 * DAY),
        "wrong-host.example": ca.leaf("another.example"),
        "self-signed.example": ca.leaf("self-signed.example",
                                       self_signed=True),
        "untrusted.example": stranger.leaf("untrusted.example"),
        "no-san.example": ca.leaf("no-san.example", san=False),
        "ca-leaf.example": ca.leaf("ca-leaf.example", is_ca=True),
        "no-usage.example": ca.leaf("no-usage.example", usage=False),
        "weak-key.example": ca.leaf("weak-key.example", bits=1024),
        "sha1.example": ca.leaf("sha1.example", digest="sha1"),
    }
    paths = {}
    for name, pem in made.items():
        paths[name] = directory / f"{name}.pem"
        paths[name].write_text(pem)
    return paths, ca.pem()
