"""The schemas of ``numalet state ... -o json``: what ``insight.state.state_document`` builds.

The reports build plain data; here its shape is written down once more as types, from which the
JSON Schemas in ``docs/schemas`` are generated. Sizes are bytes; ``cpus`` are lists such as
``0-3,8``, empty where there are none.
"""

from __future__ import annotations

from typing import Any, Literal

from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import StartStage
from numalet.core.model.findings import Severity
from numalet.insight.output import json_schema
from numalet.insight.output.json_schema import OutputDocument, Schema
from numalet.insight.output.memory_schema import TypeDocument
from numalet.insight.state.reading import Seal
from numalet.insight.state.restart_check import RestartAnswer
from numalet.insight.state.verify import Soundness


class StateFindingDocument(OutputDocument):
    """One finding: a stable code, the values in its sentence by name, and the sentence.

    ``file`` and ``path`` say where; they are empty where that is no place in a file.
    """

    code: str
    severity: Severity
    file: str
    path: str
    fields: dict[str, Any]
    text: str


class StateContainerDocument(OutputDocument):
    """A container."""

    pod_uid: str
    container: str


class StateNodeDocument(OutputDocument):
    """A NUMA node of a group."""

    node_id: int
    assignments: int
    types: list[TypeDocument]


class GroupDocument(OutputDocument):
    """NUMA nodes that are given away together; ``types`` are the sums over them.

    ``containers`` hold memory on exactly these nodes.
    """

    numa_nodes: list[int]
    types: list[TypeDocument]
    nodes: list[StateNodeDocument]
    containers: list[StateContainerDocument]


class PartDocument(OutputDocument):
    """Memory of one type on a set of NUMA nodes; ``size`` in bytes."""

    numa_nodes: list[int]
    type: str
    size: int


class StateHolderDocument(StateContainerDocument):
    """A container with all that it holds; ``name`` is namespace/pod, or the uid.

    ``devices`` are texts such as ``gpu0@0, gpu1@0+1`` by resource: ids, and their NUMA nodes.
    ``stale`` says that its pod is known to be gone or finished.
    """

    name: str
    memory: list[PartDocument]
    cpus: str
    devices: dict[str, str]
    stale: bool


class ShownDocument(OutputDocument):
    """What state files say. ``policies`` are by manager, as far as there is a file.

    ``default_cpu_set`` is the shared pool, null without a file of the CPU Manager.
    """

    schema: Literal["numalet.state-show/1"]
    policies: dict[Literal["cpu", "memory"], str]
    groups: list[GroupDocument]
    default_cpu_set: str | None
    registered_devices: dict[str, list[str]]
    holders: list[StateHolderDocument]
    unreadable: list[StateFindingDocument]


class BreachDocument(StateFindingDocument):
    """A finding with the rule that is broken."""

    rule: str


class StateFileDocument(OutputDocument):
    """A state file. What can not be known of a file that can not be decoded is null.

    ``expected_checksum`` is the one that a kubelet v1.32 would write for this content.
    """

    file: str
    soundness: Soundness
    policy: str | None
    seal: Seal | None
    checksum: int | None
    expected_checksum: int | None
    findings: list[BreachDocument]


class VerifiedDocument(OutputDocument):
    """Whether state files are sound."""

    schema: Literal["numalet.state-verify/1"]
    files: list[StateFileDocument]


class DifferenceDocument(OutputDocument):
    """One member that is not the same in both; null is "not there".

    Numbers are bytes, but for assignments. ``change_bytes`` is there where both are sizes.
    """

    file: str
    subject: str
    what: str
    before: int | str | None
    after: int | str | None
    change_bytes: int | None


class ComparedDocument(OutputDocument):
    """What differs between two sets of state files."""

    schema: Literal["numalet.state-diff/1"]
    differences: list[DifferenceDocument]
    unreadable: list[StateFindingDocument]


class LostDocument(StateFindingDocument):
    """A container's record that does not fit any more, and why."""

    pod_uid: str
    container: str


class KeptDocument(OutputDocument):
    """What a rebase does: files that change, and what is kept and lost, by file.

    ``unusable`` are files from which nothing can be kept.
    """

    changes: list[str]
    kept: dict[str, list[StateContainerDocument]]
    lost: list[LostDocument]
    unusable: list[StateFindingDocument]


class CheckedDocument(OutputDocument):
    """Whether a kubelet would start with the files, and what became different since.

    ``start_error`` is the kubelet's own text; it is null where the kubelet starts, and where it
    would crash or hang. ``rebase`` is null where it does not start whatever the files say.
    """

    schema: Literal["numalet.state-restore-check/1"]
    mode: Mode
    answer: RestartAnswer
    start_error: str | None
    start_error_stage: StartStage | None
    drift: list[StateFindingDocument]
    rebase: KeptDocument | None


class RebasedDocument(KeptDocument):
    """What a rebase did; ``written`` are the backups by the paths that were replaced."""

    schema: Literal["numalet.state-rebase/1"]
    written: dict[str, str]


def shown() -> Schema:
    """The JSON Schema of what ``numalet state show`` prints."""
    return json_schema.of(ShownDocument)


def verified() -> Schema:
    """The JSON Schema of what ``numalet state verify`` prints."""
    return json_schema.of(VerifiedDocument)


def compared() -> Schema:
    """The JSON Schema of what ``numalet state diff`` prints."""
    return json_schema.of(ComparedDocument)


def checked() -> Schema:
    """The JSON Schema of what ``numalet state restore-check`` prints."""
    return json_schema.of(CheckedDocument)


def rebased() -> Schema:
    """The JSON Schema of what ``numalet state rebase`` prints."""
    return json_schema.of(RebasedDocument)
