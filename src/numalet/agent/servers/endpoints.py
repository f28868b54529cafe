"""Addresses and rate limits from the command line.

Separate from the servers, so that reading settings does not import them.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value

REQUESTS_PER_SECOND: Final = 100
"""Default limit of the PodResources API; the kubelet's."""

LONGEST_PATH_BYTES: Final = 107
"""The kernel's limit for a socket path."""

_HIGHEST_PORT: Final = 65_535


class PodResourcesSettings(Value, kw_only=True):
    """``get_is_enabled`` is the feature gate KubeletPodResourcesGet; no limit: unlimited."""

    get_is_enabled: bool = False
    requests_per_second: float | None = REQUESTS_PER_SECOND


class Address(Value):
    """An address to listen on; port 0 is any free port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.host).is_loopback

    def url(self) -> str:
        """The URL for clients on this machine."""
        address = ipaddress.ip_address(self.host)
        if address.is_unspecified:
            address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
        host = f"[{address}]" if address.version == 6 else str(address)
        return f"https://{host}:{self.port}"


class KubeApi(Value):
    """The address, and the administrator's certificate and key, if given."""

    address: Address
    certificate: Path | None = None
    key: Path | None = None


def parse_address(text: str) -> Address:
    """Parse ``[HOST:]PORT``; the default host is 127.0.0.1. Raises ``BadInput``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(host)
    except ValueError:
        port = ""
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= _HIGHEST_PORT):
        raise input_error.Invalid(
            f"invalid address {text!r}",
            expected="[HOST:]PORT with an IP address as the host, such as 127.0.0.1:6443",
            where=Location("--kube-api"),
        ).bad_input()
    return Address(host, int(port))


def resolve(address: str, certificate: Path | None, key: Path | None) -> KubeApi | None:
    """Resolve the options. Raises ``BadInput``."""
    if (certificate is None) != (key is None) or (certificate is not None and not address):
        raise input_error.Required(
            "--kube-api-cert needs both --kube-api-key and --kube-api, and the key needs both "
            "others",
            where=Location("--kube-api-cert"),
        ).bad_input()
    if not address:
        return None
    parsed = parse_address(address)
    # Without a trusted certificate, remote clients could not detect an attacker.
    if certificate is None and not parsed.is_loopback:
        raise input_error.Forbidden(
            f"other machines can reach {parsed.host}, and there is no certificate; set "
            "--kube-api-cert and --kube-api-key, or listen on 127.0.0.1",
            where=Location("--kube-api"),
        ).bad_input()
    return KubeApi(parsed, certificate, key)
