"""A configuration as ``/configz`` of a kubelet shows it: v1beta1 names, durations as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import go_duration
from numalet.io.documents.kubelet_fields import HONOURED, FieldShape

_LEFT_OUT_WHEN_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def configz(config: KubeletConfig) -> dict[str, Any]:
    """The fields that are honoured; an empty one is left out, as the kubelet leaves it out."""
    shown: dict[str, Any] = {}
    for name, (attribute, shape) in HONOURED.items():
        value = _plain(getattr(config, attribute), shape)
        if value not in _LEFT_OUT_WHEN_EMPTY:
            shown[name] = value
    return {"kubeletconfig": shown}


def _plain(value: Any, shape: FieldShape) -> Any:
    match shape:
        case FieldShape.DURATION:
            return go_duration.text(value)
        case FieldShape.SWAP:
            return {"swapBehavior": value} if value else {}
        case FieldShape.RESERVED_MEMORY:
            return [
                {
                    "numaNode": entry.numa_node,
                    "limits": {name: str(size) for name, size in sorted(entry.limits.items())},
                }
                for entry in value
            ]
        case _:
            if isinstance(value, Mapping):
                return dict(sorted(value.items()))
            return list(value) if isinstance(value, tuple) else value
