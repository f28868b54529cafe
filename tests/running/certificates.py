"""Certificates for servers and clients of tests, by an authority of their own."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LOOPBACK: Final = ipaddress.ip_address("127.0.0.1")


class Authority:
    """Signs certificates for 127.0.0.1, localhost, and whatever else they name."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self._own = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = self._own.public_bytes(serialization.Encoding.PEM)

    def sign(self, name: str) -> tuple[bytes, bytes]:
        """A certificate and its key, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(_LOOPBACK)]
        signed = (
            _builder(_named(name), self._name, key)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return signed.public_bytes(serialization.Encoding.PEM), private

    def server_context(self, folder: Path) -> ssl.SSLContext:
        """What a server listens with; it asks no client for a certificate."""
        certificate, key = self.sign("server")
        path = folder / "server.pem"
        path.write_bytes(certificate + key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )
