"""The devices that a kubelet allocated, from its PodResources API, and what they mean for a pod.

The kubelet allocates the devices of a pod when it admits it, before it asks the runtime for a
sandbox. So the plugin reads them again after each start of a sandbox, beside the handlers: a
handler takes the latest reading and never waits for one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from numalet.core.managers.device import ledger
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.ledger import NO_NODE, DeviceRecord
from numalet.core.model.findings import BadInput
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Container, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, field, replace, without_keys
from numalet.core.node.node import Node
from numalet.io.pod_resources_client import JsonAnswer, PodResourcesClient
from numalet.shared.kubernetes.pod_resources import PodEntry, PodResourcesDevice
from numalet.shared.publish.node_view import allocatable_of, pods_of
from numalet.wording.log_line import LogLine

SOCKET: Final = Path("pod-resources", "kubelet.sock")
STATIC_CPUS: Final = "the kubelet's cpuManagerPolicy is static"
STATIC_MEMORY: Final = "the kubelet's memoryManagerPolicy is Static"
_ANSWER_SECONDS: Final = 2.0

Inventory = Mapping[str, tuple[Device, ...]]
OfContainer = Mapping[str, frozenset[str]]
"""Ids of devices by resource."""
OfPod = Mapping[str, OfContainer]
"""By container."""


class KubeletDevices(Value):
    """One reading. ``held`` is by namespace and name of the pod.

    ``manager`` says which manager of the kubelet gives CPUs or memory, if one does.
    """

    inventory: Inventory = field(default_factory=dict)
    held: Mapping[tuple[str, str], OfPod] = field(default_factory=dict)
    manager: str = ""


NO_DEVICES: Final = KubeletDevices()


def of_answers(
    machine: MachineInfo, allocatable: Mapping[str, Any], listed: Mapping[str, Any]
) -> KubeletDevices:
    """Return what the JSON forms of GetAllocatableResources and List say."""
    offered, pods = allocatable_of(allocatable), pods_of(listed)
    # The first list has healthy devices only.
    places: dict[str, dict[str, set[int]]] = {}
    in_use = (device for pod in pods for each in pod.containers for device in each.devices)
    for device in (*offered.devices, *in_use):
        known = places.setdefault(device.resource, {}).setdefault(device.device_id, set())
        known.update(_near_cpus(machine, device))
    manager = ""
    if offered.cpus:
        # A kubelet whose policies are none offers neither.
        manager = STATIC_CPUS
    elif offered.memory:
        manager = STATIC_MEMORY
    return KubeletDevices(
        inventory={
            resource: tuple(Device(name, tuple(sorted(ids))) for name, ids in sorted(found.items()))
            for resource, found in sorted(places.items())
        },
        held={(each.namespace, each.name): _held(each) for each in pods},
        manager=manager,
    )


def _near_cpus(machine: MachineInfo, device: PodResourcesDevice) -> Iterable[int]:
    """Return the nearest NUMA nodes with CPUs: some devices name the node of their own memory."""
    by_id = {each.node_id: each for each in machine.nodes}
    if device.node_id is None or device.node_id not in by_id:
        return ()
    named = by_id[device.node_id]
    if named.cores:
        return (device.node_id,)
    distances = dict(zip(machine.node_ids, named.distances or (), strict=False))
    with_cpus = [each.node_id for each in machine.nodes if each.cores and each.node_id in distances]
    least = min((distances[each] for each in with_cpus), default=0)
    return [each for each in with_cpus if distances[each] == least]


def _held(pod: PodEntry) -> OfPod:
    held: dict[str, OfContainer] = {}
    for container in pod.containers:
        by_resource: dict[str, set[str]] = {}
        for device in container.devices:
            by_resource.setdefault(device.resource, set()).add(device.device_id)
        held[container.name] = {name: frozenset(ids) for name, ids in by_resource.items()}
    return held


def unknown_of(pod: Pod, held: OfPod, devices: KubeletDevices) -> list[str]:
    """Return the resources of devices that a pod limits and that no reading has for it."""
    return sorted(
        {
            name
            for each in pod.containers()
            for name, limit in each.limits.items()
            if name in devices.inventory and limit.sign > 0 and name not in held.get(each.name, {})
        }
    )


def with_devices(node: Node, pod: Pod, held: OfPod, devices: KubeletDevices) -> tuple[Node, Pod]:
    """Return the node with the devices of a pod, and the pod with limits of exactly these.

    Without a reading of a container's devices it has none here: the engine must not choose some.
    """
    given = {
        name: {resource: _record(devices, resource, ids) for resource, ids in of.items()}
        for name, of in held.items()
        if of and name in pod.by_name
    }
    if given:
        node = node.devices_reported(devices.inventory)
        before = node.snapshot.device
        records = {**before.records, pod.uid: given}
        after = replace(before, records=records, in_use=ledger.in_use_by(records))
        node = node.at(node.snapshot.with_devices(after))

    def changed(each: Container) -> Container:
        others = without_keys(each.limits, devices.inventory)
        of_container = held.get(each.name, {})
        counts = {name: Quantity.from_int(len(ids)) for name, ids in of_container.items()}
        return replace(each, limits={**others, **counts})

    if not given and not any(devices.inventory.keys() & each.limits for each in pod.containers()):
        return node, pod
    return node, replace(
        pod,
        init_containers=tuple(map(changed, pod.init_containers)),
        app_containers=tuple(map(changed, pod.app_containers)),
    )


def _record(devices: KubeletDevices, resource: str, ids: Iterable[str]) -> DeviceRecord:
    by_node: dict[int, tuple[str, ...]] = {}
    places = {each.device_id: each.numa_nodes for each in devices.inventory[resource]}
    for device_id in sorted(ids):
        for node_id in places[device_id] or (NO_NODE,):
            by_node[node_id] = (*by_node.get(node_id, ()), device_id)
    return DeviceRecord(by_node)


class DeviceReader:
    """Reads a kubelet's devices every few seconds, and when a pod is announced.

    ``latest`` has nothing of a pod that was announced after the reading began: what it has may be
    of an earlier pod with the same name.
    """

    def __init__(
        self, kubelet_root: Path, machine: MachineInfo, say: Callable[[LogLine], None]
    ) -> None:
        self.latest = NO_DEVICES
        self._wanted = asyncio.Event()
        self._announced: set[tuple[str, str]] = set()
        self._client = PodResourcesClient(kubelet_root / SOCKET, _ANSWER_SECONDS)
        self._machine = machine
        self._say = say
        self._problem = ""

    def announce(self, namespace: str, name: str) -> None:
        """Read again at once, because this pod begins. Called in the loop of ``follow``."""
        self._announced.add((namespace, name))
        self._keep(self.latest)
        self._wanted.set()

    async def follow(self, seconds: float, changed: Callable[[KubeletDevices], object]) -> None:
        while True:
            self._wanted.clear()
            await self.read()
            changed(self.latest)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wanted.wait()

    async def read(self) -> None:
        """Read once. Without an answer the last reading stays."""
        before = set(self._announced)
        reading = await asyncio.to_thread(self._read)
        problem = reading if isinstance(reading, str) else ""
        if isinstance(reading, KubeletDevices):
            self._announced -= before
            self._keep(reading)
        if problem and problem != self._problem:
            self._say(LogLine("Devices of the kubelet are unknown", {"why": problem}))
        self._problem = problem

    def _keep(self, reading: KubeletDevices) -> None:
        held = without_keys(reading.held, self._announced)
        self.latest = replace(reading, held=held)

    def _read(self) -> KubeletDevices | str:
        documents = []
        try:
            for ask in (self._client.allocatable, self._client.list_pods):
                answer = ask()
                if not isinstance(answer, JsonAnswer):
                    return f"{answer.code}: {answer.text}"
                documents.append(answer.document)
        except BadInput as bad:
            return "; ".join(map(str, bad.findings))
        return of_answers(self._machine, *documents)
