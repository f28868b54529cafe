"""Where the agent can be reached and how often asked, as values of the command line.

Apart from the servers themselves, so that who only reads settings loads none of them.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final

from numalet.agent.findings.servers import (
    KubeApiAddress,
    KubeApiHalfACertificate,
    KubeApiNotLoopback,
)
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value

REQUESTS_PER_SECOND: Final = 100
"""So many the PodResources API answers, unless configured otherwise; a kubelet's limit."""

LONGEST_PATH_BYTES: Final = 107
"""What the kernel accepts as the name of a socket."""

_HIGHEST_PORT: Final = 65_535


class PodResourcesSettings(Value, kw_only=True):
    """Whether ``Get`` is offered (KubeletPodResourcesGet), and the limit; None for no limit."""

    get_is_enabled: bool = False
    requests_per_second: float | None = REQUESTS_PER_SECOND


class Address(Value):
    """Where to listen. Port 0 is any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return ipaddress.ip_address(self.host).is_loopback

    def url(self) -> str:
        """Where clients on this machine find it."""
        address = ipaddress.ip_address(self.host)
        if address.is_unspecified:
            address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
        host = f"[{address}]" if address.version == 6 else str(address)
        return f"https://{host}:{self.port}"


class KubeApi(Value):
    """Where to listen, and the administrator's own certificate and key, if there are any."""

    address: Address
    certificate: Path | None = None
    key: Path | None = None


def parse_address(text: str) -> Address:
    """The address in ``[HOST:]PORT``; the host is 127.0.0.1 by default. Raises ``BadInput``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    try:
        ipaddress.ip_address(host)
    except ValueError:
        port = ""
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= _HIGHEST_PORT):
        raise BadInput([KubeApiAddress(value=text, where=Location("--kube-api"))])
    return Address(host, int(port))


def resolve(address: str, certificate: Path | None, key: Path | None) -> KubeApi | None:
    """What the options come to; None without them. Raises ``BadInput``."""
    if (certificate is None) != (key is None) or (certificate is not None and not address):
        raise BadInput([KubeApiHalfACertificate(where=Location("--kube-api-cert"))])
    if not address:
        return None
    parsed = parse_address(address)
    if certificate is None and not parsed.is_loopback:
        raise BadInput([KubeApiNotLoopback(host=parsed.host, where=Location("--kube-api"))])
    return KubeApi(parsed, certificate, key)
