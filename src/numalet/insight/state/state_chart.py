"""State files as a node to be drawn: memory of the NUMA nodes, and who holds what.

The files do not say which CPUs a NUMA node has. So blocks have no CPUs, and the exclusive CPUs of a
pod stand with the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from numalet.core.managers.cpu import ledger as cpu_ledger
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory import ledger as memory_ledger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import MapPod, NodeMap
from numalet.insight.state.reading import States

_NO_DEVICES: Final = DeviceLedger()


def state_chart(states: States, title: str, names: Mapping[str, str]) -> NodeMap:
    """The node that the files describe; ``names`` are ``namespace/pod`` by uid, where known."""
    memory = memory_ledger.EMPTY_LEDGER if states.memory is None else states.memory.ledger
    snapshot = Snapshot(
        memory=memory,
        cpu=cpu_ledger.EMPTY_LEDGER if states.cpu is None else states.cpu.ledger,
        device=_NO_DEVICES
        if states.device is None
        else DeviceLedger(records=states.device.written.records),
    )
    chart = node_map.of_snapshot(snapshot, _machine(memory), title, {})
    return replace(
        chart,
        # That no CPU is known does not make a NUMA node one without CPUs.
        nodes=tuple(replace(each, node_class=NodeClass.CPU) for each in chart.nodes),
        pods=tuple(_named(each, names) for each in chart.pods),
    )


def _named(pod: MapPod, names: Mapping[str, str]) -> MapPod:
    namespace, slash, name = names.get(pod.uid, "").partition("/")
    return replace(pod, namespace=namespace, name=name) if slash else pod


def _machine(memory: MemoryLedger) -> MachineInfo:
    """A machine with these NUMA nodes, of which no more is known."""
    sizes = {
        node_id: sum(table.total for table in node.tables.values())
        for node_id, node in memory.nodes.items()
    }
    nodes = tuple(NumaNodeInfo(node_id, size) for node_id, size in sorted(sizes.items()))
    return MachineInfo(
        nodes=nodes, memory_capacity_bytes=sum(sizes.values()), cpu_count=0, socket_count=0
    )
