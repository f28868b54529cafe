"""Who asks, at this moment: token and certificates, read again while the program runs.

A service account's token is changed by the kubelet about every hour, certificates by whatever
manages them, and a plugin's credential has an end. All are read again after a minute, and at
once after the server answered that it does not know who asks.
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
    """What a TLS connection is made with; equal ones may share connections."""

    authority: bytes = b""
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a request is sent with."""

    authorization: str = field(default="", repr=False)
    tls: TlsMaterial = TlsMaterial()


def utc_now() -> datetime:
    """The time of day, for the end of a credential."""
    return datetime.now(UTC)


class ApiCredentials:
    """The identity of an access, read again when it is due."""

    def __init__(self, access: Access, clock: Clock, now: Now = utc_now) -> None:
        self._access = access
        self._clock = clock
        self._now = now
        self._identity: Identity | None = None
        self._read_seconds = 0.0
        self._printed: PluginCredential | None = None
        self._lock = asyncio.Lock()

    async def current(self) -> Identity:
        """Raises ``BadInput`` if it can not be read and never could."""
        async with self._lock:
            age_seconds = self._clock.now_seconds() - self._read_seconds
            if self._identity is None or age_seconds >= REREAD_SECONDS or self._is_over():
                await self._read()
            assert self._identity is not None
            return self._identity

    async def renewed(self, refused: Identity) -> Identity:
        """Another identity than this one, which the server does not know, if there is one."""
        async with self._lock:
            if self._identity == refused:
                self._printed = None
                await self._read()
            assert self._identity is not None
            return self._identity

    async def _read(self) -> None:
        self._read_seconds = self._clock.now_seconds()
        try:
            if self._access.plugin is not None and (self._printed is None or self._is_over()):
                self._printed = await plugins.run(self._access.plugin)
            identity = await asyncio.to_thread(self._from_files, self._printed)
            if self._identity is None or identity.tls != self._identity.tls:
                # A certificate beside the key of another, in the middle of being replaced, is none.
                tls_context(identity.tls, self._access)
            self._identity = identity
        except BadInput:
            # Files are replaced while they are read: what was there before goes on serving.
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
        """Whether a plugin's credential is about to end."""
        expires = self._printed.expires if self._printed is not None else None
        if expires is None:
            return False
        expires = expires if expires.tzinfo else expires.replace(tzinfo=UTC)
        return self._now() >= expires - _BEFORE_END


class _NamedContext(ssl.SSLContext):
    """Holds servers against one name, whatever they are addressed by, through a proxy, too."""

    server_name: str = ""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """As its own, with the one name."""
        name = self.server_name or server_hostname
        return super().wrap_bio(incoming, outgoing, server_side, name, session)


def tls_context(material: TlsMaterial, access: Access) -> ssl.SSLContext:
    """What connections are made with; the system's authorities if there is none.

    Raises:
        BadInput: a certificate or key is none.
    """
    where = access.origin
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = access.server_name
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if material.authority:
        # As a text it must be ASCII, and as bytes it would be DER, which Kubernetes does not read.
        authority = material.authority.decode("ascii", "backslashreplace")
        try:
            context.load_verify_locations(cadata=authority)
        except (ssl.SSLError, ValueError) as error:
            raise _unusable("certificate-authority", error, where) from None
    elif access.is_verified:
        context.load_default_certs()
    # The strict rules of newer Pythons refuse authorities that kube-apiserver makes for itself.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not access.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if material.certificate:
        # Only from a file; it is its owner's alone, and gone at once.
        with tempfile.NamedTemporaryFile(prefix="numalet-") as file:
            file.write(material.certificate + b"\n" + material.key)
            file.flush()
            try:
                # A password would be asked of the terminal.
                context.load_cert_chain(file.name, password=lambda: b"")
            except (ssl.SSLError, ValueError) as error:
                raise _unusable("client-certificate or client-key", error, where) from None
    return context


def _unusable(name: str, error: Exception, where: Location) -> BadInput:
    problem = getattr(error, "reason", None) or str(error)
    return BadInput([input_error.Invalid(f"cannot use {name}: {problem!s}", where=where)])
