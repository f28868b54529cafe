"""Names of pods for the uids in state files, from manifests and pod resources dumps.

A manifest, or the output of ``kubectl get pods -o json``, has uid and name. A dump is the kubelet's
pod resources API as JSON (as grpcurl prints it): names and holdings of containers, without uids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.listed_pod import Holdings, ListedPod
from numalet.core.model.pod_standing import PodStanding
from numalet.core.model.value import Value
from numalet.io.documents.pods import pod_history
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Files in a folder with other suffixes are skipped."""

_Number: TypeAlias = int | str
"""Protocol buffers write 64-bit numbers as texts in JSON."""


class _NumaNode(msgspec.Struct):
    ID: _Number = 0  # Left out where it is 0, as protocol buffers do.


class _Topology(msgspec.Struct):
    nodes: list[_NumaNode] = []


class _Memory(msgspec.Struct, rename="camel"):
    memory_type: str = ""
    size: _Number = 0
    topology: _Topology | None = None


class _Devices(msgspec.Struct, rename="camel"):
    resource_name: str = ""
    device_ids: list[str] = []


class _Container(msgspec.Struct, rename="camel"):
    name: str = ""
    devices: list[_Devices] = []
    cpu_ids: list[_Number] = []
    memory: list[_Memory] = []


class _Pod(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    containers: list[_Container] = []


class _Dump(msgspec.Struct, rename="camel"):
    pod_resources: list[_Pod]


class PodNames(Value):
    """Names by uid, listed pods with unknown uids, and the uids of finished pods."""

    by_uid: Mapping[str, str]
    listed: tuple[ListedPod, ...]
    finished: frozenset[str] = frozenset()


def load(paths: Sequence[Path]) -> PodNames:
    """A folder stands for its JSON and YAML files. Raises ``BadInput`` with all errors."""
    findings = Findings()
    by_uid: dict[str, str] = {}
    listed: list[ListedPod] = []
    finished: set[str] = set()
    for path in (file for given in paths for file in _files(given)):
        try:
            documents = yaml_source.load_documents(yaml_source.read_text(path), str(path))
        except BadInput as bad:
            findings.extend(bad.findings)
            continue
        for document in documents:
            value = document.value
            if isinstance(value, dict) and "podResources" in value:
                listed += _dump(value, Place(str(path), "$", document.line_of), findings)
            else:
                for uid, name, is_finished in _pods(value):
                    by_uid[uid] = name
                    finished |= {uid} if is_finished else set()
    findings.raise_errors()
    return PodNames(by_uid, tuple(listed), frozenset(finished))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in SUFFIXES and file.is_file())


def _pods(value: object) -> Iterator[tuple[str, str, bool]]:
    if not isinstance(value, dict):
        return
    items = value.get("items")
    for item in items if isinstance(items, list) else ():
        # No program writes lists of lists.
        yield from _pods({} if isinstance(item, dict) and "items" in item else item)
    metadata = value.get("metadata")
    # Items of a PodList may lack their kind.
    if isinstance(metadata, dict) and value.get("kind") in ("Pod", None):
        uid, name = metadata.get("uid"), metadata.get("name")
        if isinstance(uid, str) and isinstance(name, str):
            finished = pod_history.standing(value) is PodStanding.FINISHED
            yield uid, f"{metadata.get('namespace') or 'default'}/{name}", finished


def _dump(value: Mapping[str, Any], place: Place, findings: Findings) -> list[ListedPod]:
    dump = typed.decode(value, _Dump, place, findings)
    if dump is None:
        return []
    try:
        return [
            ListedPod(f"{pod.namespace}/{pod.name}", {c.name: _held(c) for c in pod.containers})
            for pod in dump.pod_resources
        ]
    except ValueError:
        where = Location(place.document, place.path)
        findings.extend(
            [
                input_error.Invalid(
                    f"{place.document!r} resembles a dump of the PodResources API, but a CPU, a "
                    "size or a NUMA node in it is not a number",
                    where=where,
                )
            ]
        )
        return []


def _held(container: _Container) -> Holdings:
    return Holdings(
        frozenset(map(int, container.cpu_ids)),
        frozenset(
            (
                each.memory_type,
                int(each.size),
                tuple(int(n.ID) for n in (each.topology or _Topology()).nodes),
            )
            for each in container.memory
        ),
        frozenset((each.resource_name, frozenset(each.device_ids)) for each in container.devices),
    )
