"""The gauges of a node, computed from its state.

Two of them change with events in exact mode (``cpu_gauges``). Next to a kubelet, CPU gauges have
numalet's names, because the kubelet exports its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol, TypeAlias

from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.telemetry import cpu_gauges
from numalet.agent.telemetry import metric_definitions as names
from numalet.agent.telemetry.cpu_gauges import CpuGauges
from numalet.agent.telemetry.metrics import Labels
from numalet.core.config.releases.versions import FollowedRelease
from numalet.core.enforcement.audit import Audit
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.insight.maps.resource_maps import type_rows
from numalet.insight.state.verify import Soundness

Gauges: TypeAlias = Mapping[str, tuple[tuple[Labels, float], ...]]
"""Labels and value of every series, by metric."""

_OF_KUBELETS = (
    names.KUBELET_UP,
    names.KUBELET_RELEASE,
    names.KUBELET_STATE,
    names.KUBELET_PROBLEMS,
    names.KUBELET_CONTAINERS,
)
_NO_AUDITS: Mapping[ContainerKey, Audit] = MappingProxyType({})


class NamedPod(Protocol):
    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def name(self) -> str:
        """Its name in the namespace."""


def gauges(
    node: Node,
    level: GuaranteeLevel,
    pods: Mapping[str, NamedPod],
    audits: Mapping[ContainerKey, Audit] = _NO_AUDITS,
    kubelet: KubeletObservation | None = None,
    *,
    unpromised: int = 0,
    moved: CpuGauges | None = None,
) -> Gauges:
    """Compute all gauges; ``pods`` by uid name the audited containers.

    ``unpromised`` is the number of pods that lost an allocation; ``moved`` are CPU gauges that
    change with events.
    """
    held = cpu_gauges.by_ledger(node)
    # In exact mode the kubelet's names show the kubelet's drift; numalet's names never do.
    promised = held if moved is None else moved
    return {
        names.SHARED_POOL: (((), 1000.0 * promised.shared_count),),
        names.EXCLUSIVE_CPUS: (((), float(promised.exclusive_count)),),
        names.CPUS_BY_NODE: tuple(
            ((("numa_node", str(node_id)),), float(count))
            for node_id, count in sorted(promised.by_node.items())
        ),
        names.KUBELET_SHARED_POOL: (((), 1000.0 * held.shared_count),),
        names.KUBELET_EXCLUSIVE_CPUS: (((), float(held.exclusive_count)),),
        **_memory(node),
        names.IN_GROUP: tuple(_membership(node)),
        names.MISPLACED: tuple(_misplaced(pods, audits)),
        names.GUARANTEE: tuple(
            ((("level", each.value),), float(each is level)) for each in GuaranteeLevel
        ),
        names.UNPROMISED: (((), float(unpromised)),),
        **_kubelet(kubelet),
    }


def _kubelet(observation: KubeletObservation | None) -> Gauges:
    if observation is None:
        return dict.fromkeys(_OF_KUBELETS, ())
    problems = Counter(each.finding.code for each in observation.lasting_problems)
    aligned = Counter(each.aligned for each in observation.audits.values())
    running = observation.evidence.running
    return {
        names.KUBELET_UP: () if running is None else (((), float(bool(running))),),
        names.KUBELET_RELEASE: ((_release(observation.evidence.followed), 1.0),),
        names.KUBELET_STATE: tuple(
            ((("file", each.name), ("soundness", word.value)), float(each.soundness is word))
            for each in observation.files
            for word in Soundness
        ),
        names.KUBELET_PROBLEMS: tuple(
            ((("code", code),), float(count)) for code, count in sorted(problems.items())
        ),
        names.KUBELET_CONTAINERS: tuple(
            ((("aligned", str(is_so).lower()),), float(aligned[is_so])) for is_so in (True, False)
        ),
    }


def _release(followed: FollowedRelease) -> Labels:
    return (
        ("release", followed.release.name),
        ("kubelet_version", followed.kubelet_version),
        ("known", str(not followed.may_have_unknown_rules).lower()),
    )


def _memory(node: Node) -> Gauges:
    rows = [
        ((("numa_node", str(node_id)), ("type", row.resource)), row)
        for node_id, memory in sorted(node.snapshot.memory.nodes.items())
        for row in type_rows(memory)
    ]
    return {
        names.ALLOCATABLE: tuple((labels, float(row.allocatable_bytes)) for labels, row in rows),
        names.RESERVED: tuple((labels, float(row.reserved_bytes)) for labels, row in rows),
        names.FREE: tuple((labels, float(row.free_bytes)) for labels, row in rows),
    }


def _membership(node: Node) -> Iterator[tuple[Labels, float]]:
    for node_id, memory in sorted(node.snapshot.memory.nodes.items()):
        group = cpu_set.text(numa_mask.ids(memory.group))
        yield (("numa_node", str(node_id)), ("group", group)), 1.0


def _misplaced(
    pods: Mapping[str, NamedPod], audits: Mapping[ContainerKey, Audit]
) -> Iterator[tuple[Labels, float]]:
    for key, audit in sorted(audits.items()):
        pod = pods.get(key.pod_uid)
        # An audit may outlive its pod until the next resync.
        if pod is not None:
            labels = (
                ("namespace", pod.namespace),
                ("pod", pod.name),
                ("container", key.container),
            )
            yield labels, float(audit.misplaced_bytes)
