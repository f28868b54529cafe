"""The fields of a simulation: what ``numalet simulate -o json`` prints.

Fields without meaning are left out: hints under the topology policy "none", allocations of a
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
    """Hints that are too many to be listed.

    ``singles`` are the nodes that are offered alone, ``groups`` the sets that are offered as they
    are, ``open_nodes`` those of which larger sets are offered.
    """

    preferred_size: int
    smallest_size: int
    singles: list[int]
    groups: list[list[int]]
    open_nodes: list[int]


Hints = list[HintDocument] | HintsByRuleDocument | None
"""Null is no preference; with an empty list, no set of nodes will do."""


class MergedDocument(HintDocument):
    """What the policy made of the hints; ``bounded`` says that the search was cut short."""

    admit: bool
    bounded: Literal[True] | UnsetType = UNSET


class GroupMaskDocument(OutputDocument):
    """CPUs of one group of a Windows machine, as a mask of 64 bits."""

    cpu_group: int
    cpu_mask: int


class RuntimeDocument(OutputDocument):
    """The settings that the container runtime would get, with the names of its API.

    ``affinity_cpus`` on Windows, the others on Linux. What is empty is not set.
    """

    cpuset_cpus: str | UnsetType = UNSET
    cpuset_mems: str | UnsetType = UNSET
    affinity_cpus: list[GroupMaskDocument] | UnsetType = UNSET


class StatusDocument(OutputDocument):
    """What the kubelet writes into the status of a rejected pod."""

    phase: Literal["Failed"]
    reason: str
    message: str


class EventDocument(OutputDocument):
    """The event that the kubelet emits for a rejected pod."""

    type: Literal["Warning"]
    reason: str
    message: str


class NotAskedDocument(OutputDocument):
    """A predicate that might have refused the pod, had more been known; named as its reason."""

    predicate: str
    why: Unknown


class DecisionDocument(OutputDocument):
    """What became of one pod; ``reason`` and ``message`` are the kubelet's, empty if admitted.

    Hints are by subject (a container, or ``pod``), provider and resource. Placements are by
    container: ``devices`` ids by resource, ``devices_by_numa`` how many of them have which nodes.
    ``evicted`` are uids of pods that end so that a critical pod has room, ``passed_over`` extended
    resources that no node offers. Only a rejected pod has ``why`` (a sentence), ``code`` and what
    follows; ``left_behind`` are containers whose resources stay allocated until the next admission.
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
    """A restart: what became of the pods that it saw, or why the kubelet does not start again."""

    readmitted: list[DecisionDocument] | UnsetType = UNSET
    start_error: str | UnsetType = UNSET


class StepDocument(OutputDocument):
    """One step: a pod that asked, the uid of one that was removed, or a restart."""

    admit: DecisionDocument | UnsetType = UNSET
    remove: str | UnsetType = UNSET
    restart: OneOf[RestartDocument] | UnsetType = UNSET


class RefusedDocument(OutputDocument):
    """A pod that was rejected, in the kubelet's words."""

    pod: str
    reason: str
    message: str


class SimulationDocument(OutputDocument):
    """Steps with their decisions, and the node after them.

    ``state_files`` are the kubelet's state files by name, parsed. ``left_behind`` hold something
    without being active. ``cpus`` is empty unless the CPU Manager gives out CPUs.
    ``assumed_running`` and ``forgotten`` are uids of pods that only the state files know;
    ``ignored`` counts objects of the input that give no pod, by why. ``replay_refused`` are pods
    that run by their status and were rejected here: then the node is in another state.
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
    """The kubelet does not start, so there are no steps.

    The text is the kubelet's own, but for the stage ``numalet``: there it would crash or hang.
    """

    schema: Literal["numalet.simulation/1"]
    release: str
    start_error: str
    start_error_stage: StartStage
    steps: Annotated[list[Any], Meta(max_length=0)]
