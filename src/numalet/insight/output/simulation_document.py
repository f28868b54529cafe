"""Builds a simulation: what ``numalet simulate -o json`` prints.

Hints, affinities and allocations have the form of recorded outcomes, so that one description serves
both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import assert_never

from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import Rejection
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused
from numalet.core.model.pod import Pod
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import MemoryMap, NodeCpus, SimulationDevicesDocument
from numalet.insight.output.simulation_types import (
    DecisionDocument,
    EventDocument,
    GroupMaskDocument,
    NotAskedDocument,
    NotStartedDocument,
    RefusedDocument,
    RestartDocument,
    RuntimeDocument,
    SimulationDocument,
    StatusDocument,
    StepDocument,
)
from numalet.insight.simulate import outcome
from numalet.insight.simulate.outcome import LinuxSettings, Settings, WindowsSettings
from numalet.insight.simulate.session import Asked, NotRestarted, Record, Removed, Restarted
from numalet.wording import explanations, kubelet, kubelet_start


def simulation(
    records: Iterable[Record],
    after: MemoryMap,
    files: Mapping[str, str],
    behaviour: Behaviour = EXACT,
    *,
    replay_refused: Iterable[tuple[Pod, Rejection]] = (),
    nodes: Iterable[NodeCpus] = (),
    device_rows: Iterable[SimulationDevicesDocument] = (),
    assumed_running: Iterable[str] = (),
    forgotten: Iterable[str] = (),
    ignored: Mapping[str, int] | None = None,
) -> SimulationDocument:
    """Return the steps with their decisions, the maps of the node after them, the state files.

    ``replay_refused`` are pods that run and were rejected, ``assumed_running`` and ``forgotten``
    uids of pods that only the state files know, ``ignored`` counts objects that are not pods.
    """
    return SimulationDocument(
        schema="numalet.simulation/1",
        mode=behaviour.mode,
        release=behaviour.release.name,
        start_error=None,
        steps=[_step(record) for record in records],
        nodes=after.nodes,
        holders=after.active,
        left_behind=after.left_behind,
        state_files={name: json.loads(text) for name, text in sorted(files.items())},
        replay_refused=[refused(pod, rejection) for pod, rejection in replay_refused],
        cpus=resource_maps.cpu_lists(nodes),
        devices=list(device_rows),
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


def refused(pod: Pod, rejection: Rejection) -> RefusedDocument:
    return RefusedDocument(str(pod), kubelet.reason(rejection), kubelet.message(rejection))


def not_asked(decision: Decision) -> list[NotAskedDocument]:
    return [NotAskedDocument(each.predicate, each.why) for each in decision.not_asked]


def _step(record: Record) -> StepDocument:
    match record:
        case Asked(decision):
            return StepDocument(admit=_decision(decision))
        case Removed(pod_uid):
            return StepDocument(remove=pod_uid)
        case Restarted(decisions):
            return StepDocument(restart=RestartDocument([_decision(each) for each in decisions]))
        case NotRestarted(refused):
            return StepDocument(restart=RestartDocument(start_error=kubelet_start.text(refused)))
        case _:
            assert_never(record)


def _decision(decision: Decision) -> DecisionDocument:
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
