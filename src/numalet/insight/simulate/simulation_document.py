"""A simulation: what ``numalet simulate -o json`` prints.

Hints, affinities and allocations have the form of recorded outcomes, so that one description serves
both. Fields without meaning are left out: hints under the topology policy "none", allocations of a
rejected pod. CPU lists are texts such as ``0-3,8``.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import Rejection, Unknown
from numalet.core.config.behaviour import Mode
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.value import UNSET, Meta, OneOf, OutputDocument, UnsetType
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import (
    SimulationBlockDocument,
    SimulationCpusDocument,
    SimulationDevicesDocument,
    SimulationHolderDocument,
    SimulationNodeDocument,
)
from numalet.insight.simulate import outcome
from numalet.insight.simulate.outcome import LinuxSettings, Settings, WindowsSettings
from numalet.insight.simulate.session import (
    Record,
    RemoveStep,
    RestartStep,
    Result,
    Session,
    Step,
    decisions,
)
from numalet.wording import explanations, kubelet, kubelet_start


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
    ``cause`` says which amounts were short, as in an explanation. Only the first 100 rejections
    have it, and none after which the node restarted with another configuration.
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
    cause: str | UnsetType = UNSET
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
    """A rejected pod with the kubelet's reason and message; ``cause`` as in an explanation."""

    pod: str
    reason: str
    message: str
    cause: str | UnsetType = UNSET


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


def simulation(
    session: Session,
    records: Iterable[Record],
    *,
    causes: Mapping[int, str] = MappingProxyType({}),
    running: Container[str] = (),
    assumed_running: Iterable[str] = (),
    forgotten: Iterable[str] = (),
    ignored: Mapping[str, int] | None = None,
) -> SimulationDocument:
    """Return the steps with their decisions; maps and state files of the node after them.

    Uids of pods: ``running`` run on the user's node; ``assumed_running`` and ``forgotten`` are
    those that only the state files know. ``ignored`` counts objects that are not pods.
    ``causes`` are those of rejections, by the identity of the decision.
    """
    records = list(records)
    node = session.node
    after = resource_maps.memory_map(
        node.snapshot, node.rules.machine, node.leftovers(), session.pods
    )
    return SimulationDocument(
        schema="numalet.simulation/1",
        mode=node.rules.behaviour.mode,
        release=node.rules.behaviour.release.name,
        start_error=None,
        steps=[_step(*record, causes) for record in records],
        nodes=after.nodes,
        holders=after.active,
        left_behind=after.left_behind,
        state_files={name: json.loads(text) for name, text in sorted(node.state_files().items())},
        replay_refused=[
            refused(each.pod, each.rejection)
            for each in decisions(records)
            if each.rejection is not None and each.pod.uid in running
        ],
        cpus=resource_maps.cpu_lists(resource_maps.cpus_of_node(node)),
        devices=resource_maps.device_map(node.snapshot.device),
        assumed_running=list(assumed_running),
        forgotten=list(forgotten),
        ignored=dict(ignored or {}),
    )


def not_started(refused: StartRefused, release: Release = DEFAULT) -> NotStartedDocument:
    """Return the document of a simulation without steps: the kubelet does not start."""
    return NotStartedDocument(
        schema="numalet.simulation/1",
        release=release.name,
        start_error=kubelet_start.text(refused),
        start_error_stage=refused.stage,
        steps=[],
    )


def refused(pod: Pod, rejection: Rejection, cause: str = "") -> RefusedDocument:
    reason, message = kubelet.reason(rejection), kubelet.message(rejection)
    return RefusedDocument(str(pod), reason, message, cause or UNSET)


def not_asked(decision: Decision) -> list[NotAskedDocument]:
    return [NotAskedDocument(each.predicate, each.why) for each in decision.not_asked]


def _step(step: Step, result: Result, causes: Mapping[int, str]) -> StepDocument:
    """Return the document of a step; ``causes`` are by the identity of a decision."""
    match step:
        case Pod():
            assert not isinstance(result, StartRefused)
            (decision,) = result
            return StepDocument(admit=_decision(decision, causes))
        case RemoveStep(pod_uid):
            return StepDocument(remove=pod_uid)
        case RestartStep():
            if isinstance(result, StartRefused):
                return StepDocument(restart=RestartDocument(start_error=kubelet_start.text(result)))
            readmitted = [_decision(each, causes) for each in result]
            return StepDocument(restart=RestartDocument(readmitted))
        case _:
            assert_never(step)


def _decision(decision: Decision, causes: Mapping[int, str]) -> DecisionDocument:
    pod = decision.pod
    rejection = decision.rejection
    document = DecisionDocument(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        qos_class=pod.qos_class,
        evicted=list(decision.evicted),
        not_asked=not_asked(decision),
        passed_over=list(decision.passed_over),
        **outcome.verdict(decision, kubelet.reason(rejection), kubelet.message(rejection)),
    )
    if rejection is None:
        runtime = outcome.runtime_settings(decision)
        document.runtime = {name: _settings(settings) for name, settings in runtime.items()}
    else:
        document.why = explanations.of_reason(rejection)
        document.cause = causes.get(id(decision)) or UNSET
        document.code = rejection.code
        status, event = kubelet.status(rejection), kubelet.event(rejection)
        document.status = StatusDocument("Failed", status["reason"], status["message"])
        document.event = EventDocument("Warning", event["reason"], event["message"])
        document.left_behind = [key.container for key in decision.left_behind]
    return document


def _settings(settings: Settings) -> RuntimeDocument:
    """Return the settings with the field names of the container runtime's API."""
    match settings:
        case LinuxSettings(cpuset_cpus, cpuset_mems):
            return RuntimeDocument(cpuset_cpus=cpuset_cpus, cpuset_mems=cpuset_mems)
        case WindowsSettings(affinity_cpus):
            masks = [GroupMaskDocument(**each._asdict()) for each in affinity_cpus]
            return RuntimeDocument(affinity_cpus=masks)
        case _:
            assert_never(settings)
