"""Determines which release to follow: the named one, or that of a kubelet in the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from numalet.core.config.releases import versions
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import NEWEST
from numalet.core.config.releases.versions import MinorVersion
from numalet.core.model import input_error
from numalet.core.model.findings import NOWHERE, BadInput, Finding, Findings, Location, Severity
from numalet.core.model.value import Value
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

RELEASE_FLAG: Final = "--release"
VERSION_FLAG: Final = "--kubelet-version"

_VERSION: Final = ("status", "nodeInfo", "kubeletVersion")


class ShownBy(IntEnum):
    """How the input shows a kubelet; the first kind in this order decides."""

    FLAG = 1
    NODE_OBJECT = 2
    PROCESS = 3


class KubeletAtHand(Value):
    """A kubelet in the input, by its version as written there.

    ``source`` describes the origin in a few words, such as ``node worker-1``; ``node`` is its
    node's name if known.
    """

    version: str
    shown: ShownBy
    source: str
    where: Location = NOWHERE
    node: str = ""


class ChosenRelease(Value):
    """The release to follow, if any, with findings about it."""

    release: Release | None
    notes: tuple[Finding, ...] = ()


class _Read(NamedTuple):
    minor: MinorVersion
    kubelet: KubeletAtHand


def read(value: object, where: Location, findings: Findings) -> Release | None:
    """The release of a text or a number; an invalid or unknown one is a finding."""
    minor = versions.minor_version(_text(value))
    if minor is None:
        findings.add(_unreadable(value, where))
        return None
    if minor.release is None:
        findings.add(_unknown(minor, "", where))
    return minor.release


def of_name(value: object, flag: str = RELEASE_FLAG) -> Release:
    """The release named by a flag or by a program. Raises ``BadInput``."""
    findings = Findings()
    release = read(value, Location(flag), findings)
    if release is None:
        raise BadInput(findings.all)
    return release


def of_flag(version: str, findings: Findings) -> KubeletAtHand:
    where = Location(VERSION_FLAG)
    if versions.minor_version(version) is None:
        findings.add(_unreadable(version, where))
    return KubeletAtHand(version.strip(), ShownBy.FLAG, VERSION_FLAG, where)


def of_option(version: str | None, findings: Findings) -> tuple[KubeletAtHand, ...]:
    return () if version is None else (of_flag(version, findings),)


def of_node(value: object, place: Place) -> KubeletAtHand | None:
    version, name = _at(value, *_VERSION), _at(value, "metadata", "name")
    if not isinstance(version, str) or not isinstance(name, str):
        return None
    for member in _VERSION:
        place = place.member(member)
    where = place.location
    return KubeletAtHand(version, ShownBy.NODE_OBJECT, f"node {name}", where, node=name)


def choose(
    named: Release | None, named_by: str, kubelets: Iterable[KubeletAtHand], findings: Findings
) -> ChosenRelease:
    """The named release; without a name, the release of the kubelet in the input.

    Invalid versions are ignored. Kubelets of unknown or of several releases are a finding unless a
    release is named.
    """
    kubelets = tuple(kubelets)
    strange = tuple(_strange(kubelets))
    found = sorted(_readable(kubelets), key=lambda each: each.kubelet.shown)
    if named is not None:
        return ChosenRelease(named, (*_others(named, named_by, found), *strange))
    if not found:
        return ChosenRelease(None, strange)
    minor, kubelet = found[0]
    alike = {each.minor: each.kubelet for each in found if each.kubelet.shown is kubelet.shown}
    if len(alike) > 1:
        findings.add(_several(alike))
    elif minor.release is None:
        findings.add(_unknown(minor, f" of {kubelet.source}", kubelet.where))
    else:
        note = input_error.Assumed(
            f"release {minor.name} is used, because {kubelet.source} has kubelet {kubelet.version}"
        )
        others = _others(minor.release, kubelet.source, found)
        return ChosenRelease(minor.release, (note, *others, *strange))
    return ChosenRelease(None)


def _readable(kubelets: Iterable[KubeletAtHand]) -> Iterator[_Read]:
    for each in kubelets:
        minor = versions.minor_version(each.version)
        if minor is not None:
            yield _Read(minor, each)


def _strange(kubelets: Iterable[KubeletAtHand]) -> Iterator[Finding]:
    for each in kubelets:
        # A node without a version has not joined yet.
        if each.version.strip() and versions.minor_version(each.version) is None:
            yield input_error.Ignored(
                f"{each.source} has the kubelet version {each.version[:80]!r}, which is not a "
                "version",
                where=each.where,
            )


def _others(chosen: Release, chosen_by: str, found: Iterable[_Read]) -> Iterator[Finding]:
    others = {each.version: each for minor, each in found if minor.release is not chosen}
    for each in others.values():
        yield input_error.Conflict(
            f"release {chosen.name} of {chosen_by} is used, but {each.source} has kubelet "
            f"{each.version}",
            where=each.where,
            severity=Severity.WARNING,
        )


def _several(kubelets: Mapping[MinorVersion, KubeletAtHand]) -> Finding:
    oldest = kubelets[min(kubelets)]
    newest = max(kubelets).release or NEWEST
    sources = [f"{kubelets[each].version} of {kubelets[each].source}" for each in sorted(kubelets)]
    return input_error.Conflict(
        f"the kubelets have different releases: {', '.join(sources)}; choose the node with "
        f"--node-name NAME, or the release with --release {newest.name}",
        where=oldest.where,
    )


def _unreadable(value: object, where: Location) -> Finding:
    known = versions.known_names()
    return input_error.Invalid(
        f"invalid Kubernetes release {typed.described(value)}",
        expected=f"1.34, v1.34 or a version such as v1.34.9; known releases: {known}",
        where=where,
    )


def _unknown(minor: MinorVersion, source: str, where: Location) -> Finding:
    return input_error.NotSupported(
        f"unknown release {minor.name}{source}: {minor.why_unknown}",
        expected=(
            f"one of: {versions.known_names()}; the nearest is --release {minor.nearest.name}"
        ),
        where=where,
    )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    # YAML reads 1.34 without quotes as a number.
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _at(value: object, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
