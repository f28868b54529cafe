"""The API server and the credentials, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from numalet.core.model.findings import NOWHERE, Location

Pem = bytes | Path
"""Certificates or a key: the content, or a file that is read again."""


@dataclass(frozen=True, slots=True)
class CredentialPlugin:
    """A program that prints a token or a certificate.

    ``command`` is a name on the PATH or a path; ``hint`` describes its installation; ``cluster`` is
    its JSON input, if it requests one.
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
    """The user to impersonate, if any."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """A server and the credentials for it.

    ``origin`` is the document for findings. ``token_file`` wins over ``token``. ``server_name`` is
    the name to verify the certificate against; by default the server's address.
    """

    server: str
    origin: Location
    namespace: str = "default"
    cluster: str = ""
    """Its name in the kubeconfig."""
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
