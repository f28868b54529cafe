"""Nodes as the dashboard shows them: a source that changes when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numalet
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.pod import Container, ContainerKey, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.dashboard.sources import (
    ContainerRow,
    EventRow,
    HistoryPoint,
    Level,
    NodeView,
    Note,
    PodRow,
    SourceKind,
)
from numalet.insight.maps import node_map
from numalet.wording import explanations, kubelet

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
GIB = 1 << 30
SCRIPT = "<script>alert(1)</script>"


class Shown:
    """A source whose view a test replaces; ``logs`` are files by key."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self._changed = asyncio.Event()
        self.logs: dict[ContainerKey, Path] = {}

    def view(self) -> NodeView:
        return self._view

    def show(self, view: NodeView) -> None:
        """From now on this view, with the next revision."""
        self._view = replace(view, revision=self._view.revision + 1)
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        await self._changed.wait()

    def history(self) -> Sequence[HistoryPoint]:
        return ()

    def log_path(self, key: ContainerKey) -> Path | None:
        return self.logs.get(key)


def guaranteed(name: str, cpus: int, memory_bytes: int, namespace: str = "default") -> Pod:
    """A pod of one container that has its CPUs and memory for itself."""
    wanted = {"cpu": Quantity.from_int(cpus), "memory": Quantity.from_bytes(memory_bytes)}
    return Pod(
        uid=f"uid-{name}", name=name, namespace=namespace,
        app_containers=(Container(name="app", requests=wanted, limits=wanted),),
        qos_class=QosClass.GUARANTEED,
    )  # fmt: skip


def started(policy: str = "restricted", shape: str = "2n8c2t") -> tuple[KubeletConfig, Node]:
    """A node with static managers, on which nothing runs."""
    config = KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        kube_reserved={"cpu": "1", "memory": "1Gi"},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.from_bytes(GIB)}),),
    )
    node = numalet.start_node(config, numalet.open_machine(shape, memory_per_node="32Gi"))
    assert isinstance(node, Node), node
    return config, node


def view_of(config: KubeletConfig, node: Node, pods: Sequence[Pod], title: str = "n1") -> NodeView:
    """The view after these pods asked for admission in this order."""
    rows = []
    for at, pod in enumerate(pods):
        node, decision = node.admit(pod)
        rejection = decision.rejection
        if rejection is not None:
            rows.append(
                PodRow(
                    pod=pod, status="Rejected", created_at=AT - timedelta(minutes=at),
                    reason=kubelet.reason(rejection), message=kubelet.message(rejection),
                    why=explanations.of_reason(rejection),
                )
            )  # fmt: skip
            continue
        node = node.pod_started(pod.uid)
        held = node_map.of_node(node, title).pod(pod.uid)
        assert held is not None
        container = ContainerRow(
            name="app", state="running", restarts=at, promised_nodes=held.nodes,
            promised_cpus=",".join(map(str, sorted(held.cpus))),
            promised_bytes=held.memory_bytes, devices={}, actual_bytes={0: GIB, 1: at * GIB},
            misplaced_bytes=at * GIB,
        )  # fmt: skip
        rows.append(
            PodRow(
                pod=pod, status="Running", containers=(container,),
                created_at=AT - timedelta(minutes=at),
            )
        )  # fmt: skip
    return NodeView(
        title=title, kind=SourceKind.SIMULATED, revision=1, at=AT, node=node, config=config,
        chart=node_map.of_node(node, title), rows=tuple(rows),
        events=(_event(),),
        notes=(Note(Level.WARNING, "node/note", "Something needs attention.", "Do this."),),
    )  # fmt: skip


def _event() -> EventRow:
    return EventRow(
        at=AT, is_warning=True, reason="Failed", message=f"see {SCRIPT}", pod="default/web-0"
    )
