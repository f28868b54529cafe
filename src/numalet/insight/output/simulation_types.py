"""The fields of a simulation, the document of ``numalet simulate -o json``.

Fields that do not apply are left out: hints under the topology policy "none", allocations of a
rejected pod. CPU lists are texts such as ``0-3,8``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from numalet.core.admission.reasons import Unknown
from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import StartStage
from numalet.core.model.pod import QosClass
from numalet.insight.maps.resource_maps import (
    SimulationBlockDocument,
    SimulationCpusDocument,
    SimulationDevicesDocument,
    SimulationHolderDocument,
    SimulationNodeDocument,
)
from numalet.insight.output.json_schema import OneOf, OutputDocument


class HintDocument(OutputDocument):
    """A set of NUMA nodes, null for any node, and whether it is preferred."""

    nodes: list[int] | None
    preferred: bool


class HintsByRuleDocument(OutputDocument):
    """A description of hints that are too many to list.

    ``singles`` are nodes that are offered alone, ``groups`` are single offered sets. Any larger
    set of ``open_nodes`` is offered too.
    """

    preferred_size: int
    smallest_size: int
    singles: list[int]
    groups: list[list[int]]
    open_nodes: list[int]


Hints = list[HintDocument] | HintsByRuleDocument | None
"""Null means no preference; an empty list means that no set of nodes is possible."""


class MergedDocument(HintDocument):
    """The merged hint of the policy; ``bounded``: the search stopped at its limit."""

    admit: bool
    bounded: Literal[True] | UnsetType = UNSET


class GroupMaskDocument(OutputDocument):
    """CPUs of one group of a Windows machine, as a mask of 64 bits."""

    cpu_group: int
    cpu_mask: int


class RuntimeDocument(OutputDocument):
    """The settings that the container runtime would get, with the names of its API.

    ``affinity_cpus`` is for Windows, the others are for Linux. Empty settings are left out.
    """

    cpuset_cpus: str | UnsetType = UNSET
    cpuset_mems: str | UnsetType = UNSET
    affinity_cpus: list[GroupMaskDocument] | UnsetType = UNSET


class StatusDocument(OutputDocument):
    """The status that the kubelet writes to a rejected pod."""

    phase: Literal["Failed"]
    reason: str
    message: str


class EventDocument(OutputDocument):
    """The event that the kubelet emits for a rejected pod."""

    type: Literal["Warning"]
    reason: str
    message: str


class NotAskedDocument(OutputDocument):
    """A predicate that was not evaluated for lack of data, with the name of its reason."""

    predicate: str
    why: Unknown


class DecisionDocument(OutputDocument):
    """The decision on one pod; ``reason`` and ``message`` are the kubelet's, empty if admitted.

    Hints are by subject (a container, or ``pod``), provider and resource. Allocations are by
    container: ``devices`` has ids by resource, ``devices_by_numa`` their numbers by NUMA nodes.
    ``evicted`` are uids of pods that end for a critical pod, ``passed_over`` extended resources
    that the node does not have. Only a rejected pod has ``why`` (a sentence) and the fields after
    it; ``left_behind`` are containers whose resources stay allocated until the next admission.
    """

    namespace: str
    name: str
    uid: str
    qos_class: QosClass
    admitted: bool
    reason: str
    message: str
    evicted: list[str]
    not_asked: list[NotAskedDocument]
    passed_over: list[str]
    hints: dict[str, dict[str, dict[str, Hints]]] | UnsetType = UNSET
    merged: dict[str, MergedDocument] | UnsetType = UNSET
    affinity: dict[str, HintDocument] | UnsetType = UNSET
    cpuset: dict[str, str] | UnsetType = UNSET
    memory: dict[str, list[SimulationBlockDocument]] | UnsetType = UNSET
    devices: dict[str, dict[str, list[str]]] | UnsetType = UNSET
    devices_by_numa: dict[str, dict[str, dict[str, int]]] | UnsetType = UNSET
    runtime: dict[str, RuntimeDocument] | UnsetType = UNSET
    why: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    status: StatusDocument | UnsetType = UNSET
    event: EventDocument | UnsetType = UNSET
    left_behind: list[str] | UnsetType = UNSET


class RestartDocument(OutputDocument):
    """A restart: the new decisions on running pods, or the error of a kubelet that fails."""

    readmitted: list[DecisionDocument] | UnsetType = UNSET
    start_error: str | UnsetType = UNSET


class StepDocument(OutputDocument):
    """One step: the decision on a pod, the uid of a removed pod, or a restart."""

    admit: DecisionDocument | UnsetType = UNSET
    remove: str | UnsetType = UNSET
    restart: OneOf[RestartDocument] | UnsetType = UNSET


class RefusedDocument(OutputDocument):
    """A rejected pod with the kubelet's reason and message."""

    pod: str
    reason: str
    message: str


class SimulationDocument(OutputDocument):
    """Steps with their decisions, and the node after them.

    ``state_files`` are the kubelet's state files by name, parsed. ``left_behind`` are inactive
    containers that still hold resources. ``cpus`` is empty without exclusive CPUs.
    ``assumed_running`` and ``forgotten`` are uids of pods that are listed only in the state
    files. ``ignored`` counts objects of the input without a pod, by reason. ``replay_refused``
    are pods that are rejected here although their status says that they run: the real node is in
    another state.
    """

    schema: Literal["numalet.simulation/1"]
    mode: Mode
    release: str
    start_error: None
    steps: list[OneOf[StepDocument]]
    nodes: list[SimulationNodeDocument]
    holders: list[SimulationHolderDocument]
    left_behind: list[SimulationHolderDocument]
    state_files: dict[str, Any]
    replay_refused: list[RefusedDocument]
    cpus: list[SimulationCpusDocument]
    devices: list[SimulationDevicesDocument]
    assumed_running: list[str]
    forgotten: list[str]
    ignored: dict[str, int]


class NotStartedDocument(OutputDocument):
    """The kubelet does not start, and ``steps`` is empty.

    The text is the kubelet's own, except in the stage ``numalet``: there it would crash or hang.
    """

    schema: Literal["numalet.simulation/1"]
    release: str
    start_error: str
    start_error_stage: StartStage
    steps: Annotated[list[Any], Meta(max_length=0)]
