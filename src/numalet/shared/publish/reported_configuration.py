"""The configuration that a running kubelet reports (``/configz``), read through the API server.

This needs the right to ``nodes/proxy``, so it is read only where the user asks for it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import NEWEST
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.kube_api import paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient


class _Configz(msgspec.Struct):
    kubeletconfig: dict[str, Any]


def place(node_name: str) -> str:
    return f"{paths.node(node_name)}/proxy/configz"


async def read(api: ApiClient, node_name: str, release: Release = NEWEST) -> KubeletConfig:
    """Return the configuration that the kubelet of this node reports.

    Raises:
        BadInput: The request is refused, there is no answer, or it is no configuration.
    """
    try:
        content = await api.get(place(node_name))
    except (ApiRefused, ApiUnreachable) as failed:
        raise BadInput([failed.finding]) from None
    try:
        document = msgspec.json.decode(content, type=_Configz)
    except msgspec.MsgspecError:
        raise input_error.Invalid(
            "this is not a kubelet's answer to /configz", where=Location(place(node_name))
        ).bad_input() from None
    return kubelet_config.decode(document.kubeletconfig, place(node_name), release)
