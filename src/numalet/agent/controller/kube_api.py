"""Serves the API for kubectl on a port. Off by default.

Every local user can connect to a port, so only the token protects it.
"""

from __future__ import annotations

import hashlib
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from numalet.agent.host import kube_credentials
from numalet.agent.host.kube_credentials import Credentials
from numalet.agent.servers.api import listening
from numalet.agent.servers.dashboard import PATH, AgentNode, DashboardLinks
from numalet.agent.servers.door import Door
from numalet.agent.servers.endpoints import KubeApi
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.dashboard import history
from numalet.dashboard.application import served as served_dashboard
from numalet.dashboard.remembering import remembering


class Serving(Value):
    url: str
    kubeconfig: Path


@asynccontextmanager
async def served(
    door: Door,
    wanted: KubeApi,
    root: Path,
    now: datetime,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    links: DashboardLinks | None = None,
) -> AsyncIterator[Serving]:
    """Serve during the block, with the dashboard. Raises ``BadInput`` if it cannot start.

    ``links`` creates dashboard links meanwhile.
    """
    node_name = door.view().node_name
    credentials = _credentials(wanted, root, node_name, now)
    tls = listening.tls_context(credentials.certificate, credentials.key)
    listener, address = listening.bound(wanted.address)
    try:
        path = kube_credentials.write_kubeconfig(root, credentials, address.url(), node_name)
    except BadInput:
        listener.close()
        raise
    links = links or DashboardLinks()
    source = AgentNode(door, _utc_now)
    async with remembering(
        source, root / history.FILE_NAME, _utc_now, report_bug=report_bug
    ) as node:
        shown = served_dashboard(node, report_bug=report_bug, path=PATH)
        links.make = lambda: shown.link(address.url())
        if wanted.certificate is None:
            links.fingerprint = _fingerprint(credentials.certificate)
        try:
            async with listening.on_tcp(
                door, listener, tls, credentials.token, report_bug, shown, links
            ):
                yield Serving(address.url(), path)
        finally:
            links.make = None


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _fingerprint(certificate: Path) -> str:
    """The SHA-256 fingerprint as browsers show it."""
    encoded = ssl.PEM_cert_to_DER_cert(certificate.read_text(encoding="ascii"))
    return hashlib.sha256(encoded).digest().hex(":").upper()


def _credentials(wanted: KubeApi, root: Path, node_name: str, now: datetime) -> Credentials:
    if wanted.certificate is not None and wanted.key is not None:
        return kube_credentials.given(root, wanted.certificate, wanted.key)
    host = ipaddress.ip_address(wanted.address.host)
    return kube_credentials.own(root, node_name, host, now)
