"""Warns of sizes without a unit that are too small for bytes.

The kubelet accepts them: ``--kube-reserved memory=500`` reserves 500 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import resources
from numalet.core.model.findings import Finding
from numalet.io.findings.config_files import ConfigSizeWithoutUnit

_COUNTS: Final = ("cpu", "pid", "pid.available")


def warnings(config: KubeletConfig) -> tuple[Finding, ...]:
    return tuple(
        ConfigSizeWithoutUnit(field=place, value=text.strip(), where=config.where(place))
        for place, text in _sizes(config)
        if resources.lacks_unit(text)
    )


def _sizes(config: KubeletConfig) -> Iterator[tuple[str, str]]:
    for field, sizes in (
        ("kubeReserved", config.kube_reserved),
        ("systemReserved", config.system_reserved),
        ("evictionHard", config.eviction_hard),
    ):
        for name, text in sizes.items():
            if name not in _COUNTS and not name.endswith("inodesFree"):
                yield f"{field}.{name}", text
    for index, entry in enumerate(config.reserved_memory):
        for name, size in entry.limits.items():
            yield f"reservedMemory[{index}].limits.{name}", str(size)
