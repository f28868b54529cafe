"""Certificate, token and kubeconfig for ``kubectl`` access to the agent.

``kube-api/`` has ``ca.crt``, ``tls.crt``, ``tls.key`` and ``token``. The certificate is replaced
when it has less than a year left, names another node or does not match its key. To replace the
token, remove its file and restart the agent.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.io.agent_client.places import KUBECONFIG
from numalet.io.files import atomic

FOLDER: Final = "kube-api"
LIFETIME: Final = timedelta(days=3650)
RENEWAL: Final = timedelta(days=365)
_PRIVATE: Final = 0o600
_SHORTEST_TOKEN: Final = 32
_LOOPBACK: Final = ("127.0.0.1", "::1")

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class _Names(Value):
    dns: frozenset[str]
    addresses: frozenset[IpAddress]

    @classmethod
    def of(cls, node_name: str, host: IpAddress) -> _Names:
        own = {node_name} if node_name.isascii() else set()
        loopback = {ipaddress.ip_address(text) for text in _LOOPBACK}
        return cls(frozenset({"localhost", *own}), frozenset({host, *loopback}))


class Credentials(Value):
    """``trusted`` is the CA bundle in PEM.

    ``server_name`` is the name that clients verify; empty: the address they connect to.
    """

    trusted: str
    certificate: Path
    key: Path
    token: str
    server_name: str = ""


def own(root: Path, node_name: str, host: IpAddress, now: datetime) -> Credentials:
    """Read the agent's own credentials, or create them. Raises ``BadInput``."""
    folder = _folder(root)
    ca, certificate, key = (folder / name for name in ("ca.crt", "tls.crt", "tls.key"))
    names = _Names.of(node_name, host)
    if not _is_good(ca, certificate, key, names, now):
        made = _made(names, now)
        # The CA key is discarded after this one signature, so a leak of the folder cannot mint
        # more.
        _write(dict(zip((ca, certificate, key), made, strict=True)))
    return Credentials(ca.read_text("ascii"), certificate, key, _token(folder))


def given(root: Path, certificate: Path, key: Path) -> Credentials:
    """Use the administrator's certificate. Raises ``BadInput`` if it is unreadable."""
    try:
        trusted = certificate.read_text("ascii")
        trusted_certificate = x509.load_pem_x509_certificate(trusted.encode())
        names = _names(trusted_certificate)
    except (OSError, ValueError) as error:
        where = Location(str(certificate))
        problem = getattr(error, "strerror", None) or str(error)
        raise input_error.Unreadable(
            f"cannot read the certificate: {problem}", where=where
        ).bad_input() from None
    return Credentials(
        trusted, certificate, key, _token(_folder(root)), next(iter(sorted(names.dns)), "")
    )


def write_kubeconfig(root: Path, credentials: Credentials, url: str, node_name: str) -> Path:
    """Write a kubeconfig with mode 0600. Raises ``BadInput``."""
    path = root / KUBECONFIG
    document = kubeconfig(credentials, url, node_name)
    _write({path: yaml.safe_dump(document, sort_keys=False)})
    return path


def kubeconfig(credentials: Credentials, url: str, node_name: str) -> Mapping[str, Any]:
    trusted = base64.b64encode(credentials.trusted.encode()).decode()
    cluster = {"server": url, "certificate-authority-data": trusted}
    if credentials.server_name:
        cluster["tls-server-name"] = credentials.server_name
    context = {"cluster": node_name, "user": "admin", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": node_name, "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": credentials.token}}],
        "contexts": [{"name": node_name, "context": context}],
        "current-context": node_name,
    }


def _folder(root: Path) -> Path:
    folder = root / FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise input_error.Unwritable(
            f"cannot create the folder of the API's certificate: {os_problem.text(error)}",
            where=Location(str(folder)),
        ).bad_input() from None
    return folder


def _token(folder: Path) -> str:
    path = folder / "token"
    token = ""
    with contextlib.suppress(OSError, ValueError):
        token = path.read_text("ascii").strip()
    # A short token may be a truncated file; never accept it.
    if len(token) < _SHORTEST_TOKEN:
        token = secrets.token_urlsafe(32)
        _write({path: token + "\n"})
    path.chmod(_PRIVATE)
    return token


def _write(texts: Mapping[Path, str]) -> None:
    # An existing file may be readable by others: restrict it before the new secret is in it.
    for path in texts:
        with contextlib.suppress(FileNotFoundError):
            path.chmod(_PRIVATE)
    atomic.write_texts(texts)


def _is_good(ca: Path, certificate: Path, key: Path, names: _Names, now: datetime) -> bool:
    try:
        signer = x509.load_pem_x509_certificate(ca.read_bytes())
        own = x509.load_pem_x509_certificate(certificate.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        own.verify_directly_issued_by(signer)
        named = _names(own)
    except Exception:
        # The parser raises many kinds of error; any of them means that new credentials are needed.
        return False
    lasts = min(own.not_valid_after_utc, signer.not_valid_after_utc) - now > RENEWAL
    return lasts and named == names and private.public_key() == own.public_key()


def _names(certificate: x509.Certificate) -> _Names:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return _Names(frozenset(), frozenset())
    addresses = names.get_values_for_type(x509.IPAddress)
    hosts = (each for each in addresses if isinstance(each, IpAddress))
    return _Names(frozenset(names.get_values_for_type(x509.DNSName)), frozenset(hosts))


def _made(names: _Names, now: datetime) -> tuple[str, str, str]:
    """Return CA certificate, server certificate and server key as PEM."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = _name(f"numalet-ca-{secrets.token_hex(4)}")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    called: list[x509.GeneralName] = [
        *map(x509.DNSName, sorted(names.dns)),
        *map(x509.IPAddress, sorted(names.addresses, key=str)),
    ]
    certificate = (
        _builder(_name("numalet"), ca_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(called), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return _pem(ca), _pem(certificate), private.decode()


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    now = now.astimezone(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Tolerates clients whose clock is slow.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
