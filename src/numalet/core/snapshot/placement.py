"""One container's allocation of CPUs, memory and devices, collected from all ledgers."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.managers.memory.ledger import Blocks
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.snapshot.snapshot import Snapshot


class Placement(Value):
    """One container's part of the node.

    ``cpus`` are its exclusive CPUs, empty if it runs in the shared pool. ``memory`` are its blocks
    by memory type, ``devices`` the ids of its devices by resource, all sorted.
    """

    cpus: CpuSet
    memory: Blocks
    devices: Mapping[str, tuple[str, ...]]

    @property
    def memory_nodes(self) -> tuple[int, ...]:
        """Ids of the NUMA nodes of its memory, ascending."""
        return tuple(sorted({node_id for block in self.memory for node_id in block.nodes}))


def of_container(snapshot: Snapshot, pod_uid: str, container: str) -> Placement:
    """Return the container's placement; empty if the container is unknown."""
    records = snapshot.device.records.get(pod_uid, {}).get(container, {})
    return Placement(
        cpus=snapshot.cpu.cpus_of(pod_uid, container) or cpu_set.EMPTY,
        memory=tuple(
            sorted(
                snapshot.memory.blocks_of(pod_uid, container) or (),
                key=lambda block: block.resource,
            )
        ),
        devices={
            resource: tuple(sorted(record.device_ids))
            for resource, record in sorted(records.items())
        },
    )


def of_pod(snapshot: Snapshot, pod: Pod) -> dict[str, Placement]:
    return {
        container.name: of_container(snapshot, pod.uid, container.name)
        for container in pod.containers()
    }


def of_all(snapshot: Snapshot) -> dict[ContainerKey, Placement]:
    """Return the placement of every container in any ledger, active or not; sorted."""
    holders = {
        *snapshot.cpu.holders(),
        *snapshot.memory.holders(),
        *snapshot.device.holders(),
    }
    return {key: of_container(snapshot, *key) for key in sorted(holders)}
