"""Who asks which server, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from numalet.core.model.findings import NOWHERE, Location

Pem = bytes | Path
"""Certificates or a key: as they are, or the file that has them, which is read again."""


@dataclass(frozen=True, slots=True)
class CredentialPlugin:
    """A program that prints a token or a certificate.

    ``command`` is a name on the PATH or a whole path; ``hint`` says how it is installed;
    ``cluster`` is handed to it as JSON, None if it does not ask for that.
    """

    command: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    api_version: str
    hint: str = ""
    where: Location = NOWHERE
    cluster: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """In whose name to ask; all of it may be empty."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """A server and who asks.

    ``origin`` is the document that says so, for findings. ``token_file`` wins over ``token``.
    ``server_name`` is what the server's certificate is held against, empty for its address.
    """

    server: str
    origin: Location
    namespace: str = "default"
    authority: Pem | None = field(default=None, repr=False)
    is_verified: bool = True
    server_name: str = ""
    certificate: Pem | None = field(default=None, repr=False)
    key: Pem | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: CredentialPlugin | None = None
    impersonation: Impersonation = Impersonation()
    proxy_url: str = ""
