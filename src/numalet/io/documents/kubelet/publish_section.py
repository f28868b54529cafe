"""Reads ``publish:`` of a NumaletConfiguration: where to publish this node, and how."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from numalet.core.config.numalet_config import LEAST_REFRESH_SECONDS, PublishSettings
from numalet.core.model import input_error
from numalet.core.model.findings import Findings
from numalet.io.documents.kubelet.numalet_config_types import PublishFields
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place


def decode(
    section: PublishFields, value: Mapping[str, object], place: Place, findings: Findings
) -> PublishSettings:
    typed.check_members(value, PublishFields.__struct_encode_fields__, place, findings)
    seconds = section.refresh_seconds
    if seconds is not None and not LEAST_REFRESH_SECONDS <= seconds < math.inf:
        where = place.member("refreshSeconds").location
        findings.add(
            input_error.Invalid(
                f"refreshSeconds is {typed.described(seconds)}",
                expected=f"{LEAST_REFRESH_SECONDS:g} or more",
                where=where,
            )
        )
        seconds = None
    return PublishSettings(
        kubeconfig=_path(section.kubeconfig, place),
        context=section.context or None,
        node_resource_topology=section.node_resource_topology,
        force=section.force,
        refresh_seconds=seconds,
        configz=section.configz,
    )


def _path(kubeconfig: str | None, place: Place) -> str | None:
    # Relative to the file that names it, like paths in a kubelet's configuration.
    return str(Path(place.document).parent / kubeconfig) if kubeconfig else None
