"""Answers that hold for every value of a configuration's unknown fields.

A vendor's file leaves fields to the vendor. The core computes the answer with each of the two
values that such a field may have. If the answers differ, the result is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, Final, TypeVar

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.findings.config import (
    ConfigNotAtHand,
    ConfigUndecided,
    FlagArgument,
    FlagInvalid,
    FlagSyntax,
    FlagUnknown,
)
from numalet.core.model.findings import Finding
from numalet.core.model.value import replace

T = TypeVar("T")

_OF_FLAGS: Final = {each.code for each in (FlagArgument, FlagInvalid, FlagSyntax, FlagUnknown)}
_ATTRIBUTES: Final = {
    "kubeReserved": "kube_reserved",
    "systemReserved": "system_reserved",
    "evictionHard": "eviction_hard",
    "maxPods": "max_pods",
}


def assumed(config: KubeletConfig) -> KubeletConfig:
    """Return the configuration with the first value of each unknown field."""
    return config if config.unknown is None else _with(config, {})


def variants(config: KubeletConfig) -> tuple[KubeletConfig, KubeletConfig]:
    """Return the configuration with the first and with the second values of its unknown fields."""
    every = () if config.unknown is None else config.unknown.fields
    return assumed(config), _with(config, every)


def decided(
    config: KubeletConfig, ask: Callable[[KubeletConfig], T | StartRefused]
) -> T | StartRefused:
    """Return the answer for this configuration, or that it depends on unknown fields."""
    if config.unknown is None:
        return ask(config)
    # Missing files may set any field, so two variants are not enough.
    if config.unknown.files:
        return _without_files(config, ask(assumed(config)))
    first, second = map(ask, variants(config))
    if not isinstance(first, StartRefused) and not isinstance(second, StartRefused):
        return first
    if isinstance(first, StartRefused) and isinstance(second, StartRefused):
        # Refused in both cases: only the common errors are certain.
        certain = in_both(first.findings, second.findings)
        if certain and first.stage is second.stage:
            further = in_both(first.further, second.further)
            return replace(first, findings=certain, further=further)
    # Name the fields that change the answer by themselves; if it takes several, name all.
    decisive = [
        name for name in config.unknown.fields if _differ(first, ask(_with(config, (name,))))
    ]
    return StartRefused(
        StartStage.UNDECIDED,
        (undecidable(config, decisive or config.unknown.fields, "whether the kubelet starts"),),
    )


def _without_files(config: KubeletConfig, answer: object) -> StartRefused:
    """Return errors that do not depend on missing files: flags that stop the start."""
    if isinstance(answer, StartRefused) and answer.stage is StartStage.FLAGS:
        return replace(answer, further=tuple(e for e in answer.further if e.code in _OF_FLAGS))
    finding = undecidable(config, (), "whether the kubelet starts")
    return StartRefused(StartStage.UNDECIDED, (finding,))


def undecidable(config: KubeletConfig, names: Iterable[str], question: str) -> Finding:
    """Return the finding that the answer depends on these unknown fields."""
    assert config.unknown is not None
    if config.unknown.files:
        files = ", ".join(config.unknown.files)
        command, where = config.unknown.command, config.unknown.where
        return ConfigNotAtHand(question=question, files=files, command=command, where=where)
    return ConfigUndecided(
        question=question,
        fields_unknown=", ".join(names),
        system=config.unknown.system,
        command=config.unknown.command,
        where=config.unknown.where,
    )


def in_both(first: Iterable[Finding], second: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that both have, to the letter."""
    others = {_identity(each) for each in second}
    return tuple(each for each in first if _identity(each) in others)


def _identity(finding: Finding) -> tuple[str, str]:
    return finding.code, repr((finding.where, finding.fields))


def _differ(one: object, other: object) -> bool:
    if isinstance(one, StartRefused) and isinstance(other, StartRefused):
        return not in_both(one.findings, other.findings)
    return isinstance(one, StartRefused) is not isinstance(other, StartRefused)


def _with(config: KubeletConfig, second: Iterable[str]) -> KubeletConfig:
    assert config.unknown is not None
    changes: dict[str, Any] = {"unknown": None}
    chosen = frozenset(second)
    for name, values in config.unknown.fields.items():
        field, _, key = name.partition(".")
        attribute, value = _ATTRIBUTES[field], values[name in chosen]
        if not value:
            continue
        if not key:
            changes[attribute] = int(value)
            continue
        former = changes.get(attribute, getattr(config, attribute))
        changes[attribute] = MappingProxyType({**former, key: value})
        # An explicit threshold switches off the defaults, as in the kubelet.
        if attribute == "eviction_hard":
            changes["uses_default_eviction"] = False
    return replace(config, **changes)
