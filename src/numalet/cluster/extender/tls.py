"""TLS for the extender, with certificates that are renewed on disk.

The files are compared at each handshake, so a renewed certificate is used without a restart.
Unusable files, such as a new certificate with the old key, leave the former ones in use and are
logged once.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value
from numalet.io import os_problem

_Signature: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class TlsFiles(Value):
    """A certificate with its chain, its key, and the CA of client certificates, if required."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.certificate, self.key, *((self.client_ca,) if self.client_ca else ()))


class RenewedTls:
    """``context`` serves with the current content of the files at each handshake.

    ``complain`` is called with why renewed files cannot be used, ``say`` when they are used.

    Raises:
        BadInput: the files cannot be used at the beginning.
    """

    def __init__(
        self,
        files: TlsFiles,
        complain: Callable[[Finding], None] = lambda finding: None,
        say: Callable[[], None] = lambda: None,
    ) -> None:
        self._files = files
        self._complain = complain
        self._say = say
        self._seen = _signature(files)
        self._newest = made(files)
        self.context = self._newest
        # OpenSSL calls it whether or not the client names a server.
        self.context.sni_callback = self._renew

    def _renew(self, connection: Any, _name: str | None, _context: ssl.SSLContext) -> None:
        seen = _signature(self._files)
        if seen != self._seen:
            self._seen = seen
            try:
                self._newest = made(self._files)
            except BadInput as bad:
                for each in bad.findings:
                    self._complain(each)
            else:
                self._say()
        # The listening socket keeps its first context, so each handshake replaces it with the
        # newest one.
        connection.context = self._newest


def made(files: TlsFiles) -> ssl.SSLContext:
    """Return a context for the current files. Raises ``BadInput`` if they cannot be used."""
    for path in files.paths:
        try:
            path.read_bytes()
        except OSError as error:
            raise _unusable(path, os_problem.text(error)) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Without session tickets: a resumed session would not be checked against a renewed authority.
    # Every scheduler in use supports TLS 1.3.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    try:
        # An empty password makes OpenSSL fail on an encrypted key instead of prompting on the
        # terminal.
        context.load_cert_chain(files.certificate, files.key, password="")
    except (OSError, ValueError) as error:
        raise _unusable(files.certificate, _problem(error)) from None
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except (OSError, ValueError) as error:
            raise _unusable(files.client_ca, _problem(error)) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _problem(error: OSError | ValueError) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)


def _signature(files: TlsFiles) -> _Signature:
    """Return data that changes when the files are renewed."""
    signs: list[tuple[int, int, int] | None] = []
    for path in files.paths:
        try:
            seen = path.stat()
        except OSError:
            signs.append(None)
        else:
            # A projected Secret is replaced by renaming a symbolic link, so the inode changes even
            # if size and time are equal.
            signs.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return tuple(signs)


def _unusable(path: Path, problem: str) -> BadInput:
    return BadInput(
        [input_error.Invalid(f"not usable for TLS: {problem}", where=Location(str(path)))]
    )
