"""Reads fleet.yaml: a described fleet, or classes for the nodes of a dump.

    pools:
    - name: gpu
      count: 200
      machine: profile:dgx-h100
      configuration: kubelet.yaml
      release: "1.34"
      labels: {node.kubernetes.io/instance-type: dgx-h100}
      taints: [nvidia.com/gpu=present:NoSchedule]
    pods: [jobs.yaml]

``insight.usecases.fleets`` opens the files that it names. See docs/reference/fleet-file.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from numalet.core.cluster.cluster import NO_LABELS, Taint, TaintEffect
from numalet.core.config.releases.release import Release
from numalet.core.model import input_error, node_constraints
from numalet.core.model.findings import BadInput, Findings
from numalet.core.model.value import Value, field
from numalet.io.documents.cluster import cluster_values
from numalet.io.documents.cluster.fleet_file_types import (
    MOST_NODES,
    FleetFileFields,
    FleetMatchFields,
    FleetPoolFields,
)
from numalet.io.documents.kubelet import kubelet_version
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place

_BEGINNING_BYTES: Final = 64 * 1024
_POOLS: Final = re.compile(rb"^(?:pools:|\s*\{\s*\"pools\")", re.MULTILINE)
_MAY_BE_BLANK: Final = ("machine", "configuration", "devices")
_TAINT: Final = re.compile(r"([^=:]+)(?:=([^:]*))?:([A-Za-z]+)")


class FleetPool(Value, kw_only=True):
    """One pool as written; ``names`` and ``match_labels`` select its nodes in a dump.

    ``configuration`` is a path or fields of KubeletConfiguration, ``devices`` a path or a list.
    ``blank`` are the fields that are written without a value: they are not known.
    """

    name: str
    count: int
    machine: str | None
    place: Place
    blank: tuple[str, ...] = ()
    memory_per_node: str | None = None
    hugepages_per_node: Mapping[str, str] = field(default_factory=dict)
    configuration: str | Mapping[str, Any] | None = None
    release: Release | None = None
    devices: str | list[Any] | None = None
    labels: Mapping[str, str] = NO_LABELS
    taints: tuple[Taint, ...] = ()
    names: tuple[str, ...] = ()
    match_labels: Mapping[str, str] = NO_LABELS


class FleetFile(Value, kw_only=True):
    """A fleet file; ``pods`` are paths and Pod objects, relative paths start at ``folder``."""

    document: str
    folder: Path
    pools: tuple[FleetPool, ...]
    pods: tuple[tuple[str | Mapping[str, Any], Place], ...] = ()


def is_fleet_file(path: str) -> bool:
    """Whether a file, or the standard input, begins like a fleet file rather than a dump."""
    if path == yaml_source.STANDARD_INPUT:
        # Peeking leaves the bytes in the buffer for the reader that follows.
        source = sys.stdin.buffer
        begins = source.peek() if isinstance(source, BufferedReader) else b""
        return _POOLS.search(begins) is not None
    try:
        with Path(path).open("rb") as file:
            return _POOLS.search(file.read(_BEGINNING_BYTES)) is not None
    except (OSError, ValueError):
        return False


def load(path: str) -> FleetFile:
    """``-`` is the standard input. Raises ``BadInput`` with all errors."""
    if path == yaml_source.STANDARD_INPUT:
        return read(yaml_source.decode(sys.stdin.buffer.read(), path), path)
    return read(yaml_source.read_text(path), path, Path(path).parent)


def read(text: str, document: str, folder: Path = Path()) -> FleetFile:
    """Parse the text of a fleet file. Raises ``BadInput`` with all errors."""
    documents = yaml_source.load_documents(text, document)
    findings = Findings()
    if len(documents) != 1:
        findings.add(
            input_error.Invalid(
                f"a fleet file must contain one document, and this one has {len(documents)}",
                where=Place(document).location,
            )
        )
        raise BadInput(findings.all)
    (only,) = documents
    findings.extend(only.duplicates)
    place = Place(document, "$", only.line_of)
    given = typed.decode(only.value, FleetFileFields, place, findings)
    pools: list[FleetPool] = []
    pods: list[tuple[str | Mapping[str, Any], Place]] = []
    if given is not None:
        typed.check_members(only.value, FleetFileFields.__struct_fields__, place, findings)
        if not given.pools:
            findings.add(
                input_error.Required(
                    "the fleet file has no pools; add at least one with a name and a machine",
                    where=place.location,
                )
            )
        pools = _pools(given.pools, place.member("pools"), findings)
        pods = _pods(given.pods, place.member("pods"), findings)
    findings.raise_errors()
    return FleetFile(document=document, folder=folder, pools=tuple(pools), pods=tuple(pods))


def _pools(values: list[Any], place: Place, findings: Findings) -> list[FleetPool]:
    pools: dict[str, FleetPool] = {}
    for index, value in enumerate(values):
        at = place.item(index)
        pool = _pool(value, at, findings)
        if pool is not None and pool.name in pools:
            where = at.member("name").location
            findings.add(
                input_error.Duplicate(f"two pools have the name {pool.name!r}", where=where)
            )
        elif pool is not None:
            pools[pool.name] = pool
    return list(pools.values())


def _pool(value: object, place: Place, findings: Findings) -> FleetPool | None:
    given = typed.decode(value, FleetPoolFields, place, findings)
    if given is None or not isinstance(value, Mapping):
        return None
    typed.check_members(value, FleetPoolFields.__struct_fields__, place, findings)
    if not 0 <= given.count <= MOST_NODES:
        where = place.member("count").location
        findings.add(
            input_error.Invalid(
                f"{given.count} is out of range", expected=f"0 to {MOST_NODES}", where=where
            )
        )
    release = None
    if given.release is not None:
        where = place.member("release").location
        release = kubelet_version.read(given.release, where, findings)
    _check_labels(given.labels, place.member("labels"), findings)
    match = _match(given.match, place.member("match"), findings)
    return FleetPool(
        name=given.name,
        count=given.count,
        machine=given.machine,
        place=place,
        blank=tuple(each for each in _MAY_BE_BLANK if each in value and value[each] is None),
        memory_per_node=given.memory_per_node,
        hugepages_per_node={size: str(each) for size, each in given.hugepages_per_node.items()},
        configuration=given.configuration,
        release=release,
        devices=given.devices,
        labels=given.labels,
        taints=_taints(given.taints, place.member("taints"), findings),
        names=tuple(match.names),
        # Without a match, the pool's own labels select its nodes.
        match_labels=given.labels if given.match is None else match.labels,
    )


def _match(value: Mapping[str, Any] | None, place: Place, findings: Findings) -> FleetMatchFields:
    if value is None:
        return FleetMatchFields()
    typed.check_members(value, FleetMatchFields.__struct_fields__, place, findings)
    return typed.decode(value, FleetMatchFields, place, findings) or FleetMatchFields()


def _check_labels(labels: Mapping[str, str], place: Place, findings: Findings) -> None:
    for key, value in labels.items():
        if not node_constraints.is_label_name(key) or not node_constraints.is_label_value(value):
            where = place.member(key).location
            findings.add(
                input_error.Invalid(
                    f"invalid node label {f'{key}={value}'[:80]}",
                    expected="a label such as disk=ssd",
                    where=where,
                )
            )


def _taints(values: list[Any], place: Place, findings: Findings) -> tuple[Taint, ...]:
    taints = []
    for index, value in enumerate(values):
        at = place.item(index)
        parts = _taint_parts(value)
        if parts is None:
            findings.add(
                input_error.Invalid(
                    f"invalid taint {typed.described(value)}",
                    expected="key=value:NoSchedule, or an object with key, value and effect",
                    where=at.location,
                )
            )
            continue
        effect = cluster_values.taint_effect(parts[2], at, findings)
        taints.append(Taint(parts[0], parts[1], effect or TaintEffect.NO_SCHEDULE))
    return tuple(taints)


def _taint_parts(value: object) -> tuple[str, str, object] | None:
    """Key, value and effect of ``key=value:effect`` or of an object."""
    if isinstance(value, str):
        match = _TAINT.fullmatch(value)
        return None if match is None else (match[1], match[2] or "", match[3])
    if isinstance(value, Mapping) and {*value} <= {"key", "value", "effect"}:
        key, said, effect = value.get("key"), value.get("value", ""), value.get("effect")
        if isinstance(key, str) and key and isinstance(said, str) and effect is not None:
            return key, said, effect
    return None


def _pods(
    values: str | list[Any], place: Place, findings: Findings
) -> list[tuple[str | Mapping[str, Any], Place]]:
    if isinstance(values, str):
        return [(values, place)]
    pods: list[tuple[str | Mapping[str, Any], Place]] = []
    for index, value in enumerate(values):
        at = place.item(index)
        if isinstance(value, str | Mapping):
            pods.append((value, at))
        else:
            typed.wrong_type(value, "a file or a Pod object", at, findings)
    return pods
