"""The place of one command: ``numalet run --dry-run -o json``, and an agent's answer.

Sizes are whole bytes. ``schema`` is a name with a number, which grows when a field is removed or
changes its meaning; a new field does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from numalet.core.enforcement import desired
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model import cpu_set
from numalet.core.model.pod import Pod
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.output.explanation_types import Explanation
from numalet.insight.output.json_schema import OutputDocument

SCHEMA: Final = "numalet.run/3"

By: TypeAlias = Literal["agent", "node-state"]


class PodPart(OutputDocument, kw_only=True):
    """The pod that the command is to the managers."""

    namespace: str
    name: str
    uid: str


class RunMemoryDocument(OutputDocument, kw_only=True):
    """Memory of one type, such as ``memory`` or ``hugepages-1Gi``, and where it comes from."""

    type: str
    size_bytes: int
    numa_nodes: list[int]


class RunDocument(OutputDocument, kw_only=True):
    """The place of a command, or why there is none.

    ``fits_when_empty`` says whether there would be one if nothing else ran.

    ``cpus`` are its own in the kernel's list form, empty if it runs on those that are shared,
    ``shared_cpus``. ``numa_nodes`` are where its pages are kept, whether a size is promised or
    not. ``reason`` and ``message`` are the kubelet's, empty if admitted.
    ``guarantee`` says what would hold it there, ``shortfalls`` are codes of what can
    not be enforced. ``decided_by`` is the agent, or the node
    state that commands share (``node-state``);
    ``release`` is that of the kubelet by whose rules it decided.

    ``explanation`` is that of a dry run that does not fit, as from ``numalet explain -o json``.
    """

    schema: Literal["numalet.run/3"]
    pod: PodPart
    admitted: bool
    reason: str
    message: str
    fits_when_empty: bool
    cpus: str
    shared_cpus: str
    numa_nodes: list[int]
    memory: list[RunMemoryDocument]
    devices: dict[str, list[str]]
    guarantee: GuaranteeLevel
    shortfalls: list[str]
    decided_by: By
    release: str = ""
    explanation: Explanation | None = None


def refused(
    pod: Pod, reason: str, message: str, fits_when_empty: bool, by: By, *, release: str = ""
) -> RunDocument:
    return RunDocument(
        schema=SCHEMA,
        pod=_pod(pod),
        admitted=False,
        reason=reason,
        message=message,
        fits_when_empty=fits_when_empty,
        cpus="",
        shared_cpus="",
        numa_nodes=[],
        memory=[],
        devices={},
        guarantee=GuaranteeLevel.NONE,
        shortfalls=[],
        decided_by=by,
        release=release,
    )


def placed(
    pod: Pod,
    snapshot: Snapshot,
    level: GuaranteeLevel,
    shortfalls: tuple[str, ...],
    by: By,
    memory_nodes: Iterable[int] | None = None,
    *,
    release: str = "",
) -> RunDocument:
    """Return the document of a command whose pod of one container is in this snapshot.

    ``memory_nodes`` are where the kernel keeps its pages; by default those of its allocation.
    """
    (container,) = pod.containers()
    held = placement.of_container(snapshot, pod.uid, container.name)
    shared = None if held.cpus else desired.cpus(snapshot, pod.uid, container.name)
    return RunDocument(
        schema=SCHEMA,
        pod=_pod(pod),
        admitted=True,
        reason="",
        message="",
        fits_when_empty=True,
        cpus=cpu_set.text(held.cpus),
        shared_cpus=cpu_set.text(shared or ()),
        numa_nodes=list(memory_nodes or held.memory_nodes),
        memory=[
            RunMemoryDocument(
                type=each.resource, size_bytes=each.size_bytes, numa_nodes=list(each.nodes)
            )
            for each in held.memory
        ],
        devices={name: list(ids) for name, ids in held.devices.items()},
        guarantee=level,
        shortfalls=list(shortfalls),
        decided_by=by,
        release=release,
    )


def _pod(pod: Pod) -> PodPart:
    return PodPart(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def decode(value: Any) -> RunDocument:
    """Decode an agent's answer.

    Raises:
        msgspec.ValidationError: It is another document.
    """
    # An agent of a later release may send fields that this release does not have.
    known = {name: value[name] for name in RunDocument.__struct_fields__ if name in value}
    return msgspec.convert(known, RunDocument)
