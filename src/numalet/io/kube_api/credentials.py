"""The current credentials: token and certificates, read again while the program runs.

The kubelet rotates service account tokens about hourly, other tools rotate certificates, and
credentials of plugins expire. All are read again after a minute, and at once after 401.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.io.kube_api import plugin as plugins
from numalet.io.kube_api.pace import Clock
from numalet.io.kube_api.plugin import PluginCredential
from numalet.io.kube_api.values import Access, Pem

REREAD_SECONDS: Final = 60.0
_BEFORE_END: Final = timedelta(seconds=30)

Now = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class TlsMaterial:
    """The inputs of a TLS connection; equal ones may share connections."""

    authority: bytes = b""
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    authorization: str = field(default="", repr=False)
    tls: TlsMaterial = TlsMaterial()


def utc_now() -> datetime:
    return datetime.now(UTC)


class ApiCredentials:
    """The credentials of an access, refreshed when due."""

    def __init__(self, access: Access, clock: Clock, now: Now = utc_now) -> None:
        self._access = access
        self._clock = clock
        self._now = now
        self._identity: Identity | None = None
        self._read_seconds = 0.0
        self._printed: PluginCredential | None = None
        self._lock = asyncio.Lock()

    async def current(self) -> Identity:
        """Raises ``BadInput`` if the first read fails."""
        async with self._lock:
            age_seconds = self._clock.now_seconds() - self._read_seconds
            if self._identity is None or age_seconds >= REREAD_SECONDS or self._is_over():
                await self._read()
            assert self._identity is not None
            return self._identity

    async def renewed(self, refused: Identity) -> Identity:
        """A new identity after the server refused this one; the same one if nothing changed."""
        async with self._lock:
            # Several requests may fail with one identity; only the first renews it.
            if self._identity == refused:
                # Even if it has not expired: the server may have revoked it.
                self._printed = None
                await self._read()
            assert self._identity is not None
            return self._identity

    async def _read(self) -> None:
        self._read_seconds = self._clock.now_seconds()
        try:
            if self._access.plugin is not None and (self._printed is None or self._is_over()):
                self._printed = await plugins.run(self._access.plugin)
            # In a thread, because a file may be on a slow network mount.
            identity = await asyncio.to_thread(self._from_files, self._printed)
            if self._identity is None or identity.tls != self._identity.tls:
                # Fails halfway through a rotation, when certificate and key do not match.
                tls_context(identity.tls, self._access)
            self._identity = identity
        except BadInput:
            # During a rotation, keep the previous credentials.
            if self._identity is None:
                raise

    def _from_files(self, printed: PluginCredential | None) -> Identity:
        access = self._access
        certificate = self._content("client-certificate", access.certificate)
        key = self._content("client-key", access.key)
        token = access.token
        if access.token_file is not None:
            token = self._content("tokenFile", access.token_file).decode("ascii", "replace").strip()
        if printed is not None:
            token = token or printed.token
            if printed.certificate:
                certificate, key = printed.certificate, printed.key
        authority = self._content("certificate-authority", access.authority)
        return Identity(self._authorization(token), TlsMaterial(authority, certificate, key))

    def _authorization(self, token: str) -> str:
        access = self._access
        if token:
            return f"Bearer {token}"
        if access.username:
            pair = f"{access.username}:{access.password}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return ""

    def _content(self, name: str, pem: Pem | None) -> bytes:
        if not isinstance(pem, Path):
            return pem or b""
        try:
            return pem.read_bytes()
        except OSError as error:
            problem = error.strerror or str(error)
            finding = input_error.Unreadable(
                f"{name}: cannot read {pem!s}: {problem}", where=self._access.origin
            )
            raise BadInput([finding]) from None

    def _is_over(self) -> bool:
        expires = self._printed.expires if self._printed is not None else None
        if expires is None:
            return False
        expires = expires if expires.tzinfo else expires.replace(tzinfo=UTC)
        return self._now() >= expires - _BEFORE_END


class _NamedContext(ssl.SSLContext):
    """Verifies servers against one name whatever their address, through a proxy, too."""

    server_name: str = ""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Override the server name."""
        name = self.server_name or server_hostname
        return super().wrap_bio(incoming, outgoing, server_side, name, session)


def tls_context(material: TlsMaterial, access: Access) -> ssl.SSLContext:
    """By default with the system's authorities. Raises ``BadInput`` for invalid certificates."""
    where = access.origin
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = access.server_name
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if material.authority:
        # load_verify_locations reads a str as PEM, which must be ASCII; bytes would be DER.
        authority = material.authority.decode("ascii", "backslashreplace")
        try:
            context.load_verify_locations(cadata=authority)
        except (ssl.SSLError, ValueError) as error:
            raise _unusable("certificate-authority", error, where) from None
    elif access.is_verified and "https:" in (access.server + access.proxy_url).lower():
        # Only where a certificate is verified: reading the system's authorities takes 30 ms.
        context.load_default_certs()
    # The strict rules of newer Pythons refuse authorities that kube-apiserver generates.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not access.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if material.certificate:
        # The ssl module loads a key only from a file. This one is private and removed at once.
        with tempfile.NamedTemporaryFile(prefix="numalet-") as file:
            file.write(material.certificate + b"\n" + material.key)
            file.flush()
            try:
                # Without this, OpenSSL prompts for a password on the terminal.
                context.load_cert_chain(file.name, password=lambda: b"")
            except (ssl.SSLError, ValueError) as error:
                raise _unusable("client-certificate or client-key", error, where) from None
    return context


def _unusable(name: str, error: Exception, where: Location) -> BadInput:
    problem = getattr(error, "reason", None) or str(error)
    return BadInput([input_error.Invalid(f"cannot use {name}: {problem!s}", where=where)])
