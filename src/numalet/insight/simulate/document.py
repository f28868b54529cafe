"""A simulation as one plain document: what ``numalet simulate -o json`` prints.

Hints, affinities and placements have the form of recorded outcomes, so that one description
serves both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import StartRefused
from numalet.core.model import cpu_set
from numalet.insight import decision_notes
from numalet.insight.maps.memory_map import MemoryHolder, MemoryMap, MemoryNodeRow
from numalet.insight.simulate import outcome, runtime_settings
from numalet.insight.simulate.runtime_settings import LinuxSettings, Settings, WindowsSettings
from numalet.insight.simulate.session import Asked, NotRestarted, Record, Removed, Restarted
from numalet.wording import english, kubelet, kubelet_start

SCHEMA = "numalet.simulation/1"


def simulation(
    records: Iterable[Record], after: MemoryMap, files: Mapping[str, str], mode: Mode = Mode.EXACT
) -> dict[str, Any]:
    """The steps with their decisions, the node map after them, the state files."""
    return {
        "schema": SCHEMA,
        "mode": mode.value,
        "start_error": None,
        "steps": [_record(record) for record in records],
        "nodes": [_node(node) for node in after.nodes],
        "holders": [_holder(holder) for holder in after.active],
        "left_behind": [_holder(holder) for holder in after.left_behind],
        "state_files": {name: json.loads(text) for name, text in sorted(files.items())},
    }


def not_started(refused: StartRefused) -> dict[str, Any]:
    """The document of a simulation that has no step, because the kubelet does not start."""
    return {
        "schema": SCHEMA,
        "start_error": kubelet_start.text(refused),
        "start_error_stage": refused.stage.value,
        "steps": [],
    }


def _record(record: Record) -> dict[str, Any]:
    match record:
        case Asked(decision):
            return {"admit": _decision(decision)}
        case Removed(pod_uid):
            return {"remove": pod_uid}
        case Restarted(decisions):
            return {"restart": {"readmitted": [_decision(each) for each in decisions]}}
        case NotRestarted(refused):
            return {"restart": {"start_error": kubelet_start.text(refused)}}
        case _:
            assert_never(record)


def _decision(decision: Decision) -> dict[str, Any]:
    pod = decision.pod
    rejection = decision.rejection
    document: dict[str, Any] = {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "qos_class": pod.qos_class.value,
    }
    document |= outcome.verdict(decision, kubelet.reason(rejection), kubelet.message(rejection))
    document |= decision_notes.fields(decision)
    if rejection is None:
        runtime = runtime_settings.of_decision(decision)
        document["runtime"] = {name: _settings(settings) for name, settings in runtime.items()}
    else:
        document["why"] = english.of_reason(rejection)
        document["code"] = rejection.code
        document["status"] = kubelet.status(rejection)
        document["event"] = kubelet.event(rejection)
        document["left_behind"] = [key.container for key in decision.left_behind]
    return document


def _settings(settings: Settings) -> dict[str, Any]:
    """In the words of the container runtime's API."""
    match settings:
        case LinuxSettings(cpuset_cpus, cpuset_mems):
            return {"cpuset_cpus": cpuset_cpus, "cpuset_mems": cpuset_mems}
        case WindowsSettings(affinity_cpus):
            return {"affinity_cpus": [each._asdict() for each in affinity_cpus]}
        case _:
            assert_never(settings)


def _node(node: MemoryNodeRow) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "class": node.node_class.value,
        "assignments": node.assignments,
        "group": list(node.group),
        "types": [
            {
                "resource": row.resource,
                "total_bytes": row.total_bytes,
                "system_reserved_bytes": row.system_reserved_bytes,
                "allocatable_bytes": row.allocatable_bytes,
                "reserved_bytes": row.reserved_bytes,
                "free_bytes": row.free_bytes,
            }
            for row in node.types
        ],
    }


def _holder(holder: MemoryHolder) -> dict[str, Any]:
    return {
        "pod_uid": holder.key.pod_uid,
        "container": holder.key.container,
        "name": holder.name,
        "memory": [
            {"numa_affinity": list(nodes), "type": resource, "size": size_bytes}
            for nodes, resource, size_bytes in holder.blocks
        ],
        "cpuset": cpu_set.text(holder.cpus),
        "devices": {resource: list(ids) for resource, ids in holder.devices.items()},
    }
