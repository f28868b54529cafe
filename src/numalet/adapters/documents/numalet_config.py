"""Reads a NumaletConfiguration (``numalet.dev/v1alpha1``): our own settings.

It is the second document of a kubelet's configuration file, which a kubelet does not read, or a
part of a scenario. No kubelet is lenient here, so what is unknown is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from numalet.adapters.documents import typed
from numalet.adapters.documents.typed import Place
from numalet.config.behaviour import Mode
from numalet.config.numalet_config import AS_THE_KUBELET, NumaletConfig
from numalet.model.findings import Findings

API_VERSION: Final = "numalet.dev/v1alpha1"
KIND: Final = "NumaletConfiguration"


class _Shape(msgspec.Struct, frozen=True, rename="camel"):
    mode: str | None = None


_MEMBERS: Final = ("apiVersion", "kind", *_Shape.__struct_encode_fields__)


def is_meant(value: object) -> bool:
    """Whether a document is meant as a NumaletConfiguration."""
    return isinstance(value, Mapping) and (
        value.get("kind") == KIND or str(value.get("apiVersion")).startswith("numalet.dev/")
    )


def decode(value: object, place: Place, findings: Findings) -> NumaletConfig:
    """The settings of a mapping of fields; what is wrong is found, and keeps its default."""
    shape = typed.decode(value, _Shape, place, findings)
    if shape is None or not isinstance(value, Mapping):
        return AS_THE_KUBELET
    typed.check_members(value, _MEMBERS, place, findings)
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if value.get(name, wanted) != wanted:
            _unknown(value[name], (wanted,), place.member(name), findings)
    config = AS_THE_KUBELET
    if shape.mode is not None:
        modes = {mode.value: mode for mode in Mode}
        if shape.mode in modes:
            config = replace(config, mode=modes[shape.mode])
        else:
            _unknown(shape.mode, modes, place.member("mode"), findings)
    return config


def _unknown(
    value: object, allowed: Mapping[str, Any] | tuple[str, ...], place: Place, findings: Findings
) -> None:
    findings.add(
        "numalet-config/unknown-value",
        place.location,
        value=typed.described(value),
        allowed=", ".join(allowed),
    )
