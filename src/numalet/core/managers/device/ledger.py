"""The Device Manager's ledger: inventory, records, devices in use, and all other state."""

from __future__ import annotations

from collections.abc import Mapping, Set

from numalet.core.managers.device.inventory import NOTHING_REPORTED, Inventory
from numalet.core.model.pod import ContainerKey, container_keys
from numalet.core.model.value import Value, field

NO_NODE = -1
"""The group of devices without a NUMA node in a record."""


class DeviceRecord(Value):
    """One container's devices of one resource.

    ``by_node`` groups the ids by NUMA node, as reported at allocation. A device of several nodes is
    in several groups, one without a node in the group ``NO_NODE``. ``response`` is the plugin's
    serialized response.
    """

    by_node: Mapping[int, tuple[str, ...]]
    response: bytes = b""

    @property
    def device_ids(self) -> frozenset[str]:
        return frozenset(name for group in self.by_node.values() for name in group)


Records = Mapping[str, Mapping[str, Mapping[str, DeviceRecord]]]
"""By pod uid, container and resource."""

InUse = Mapping[str, frozenset[str]]
"""Device ids by resource."""


class ReusableDevices(Value):
    pod_uid: str
    device_ids: Mapping[str, frozenset[str]]

    def of(self, pod_uid: str, resource: str) -> frozenset[str]:
        return (
            self.device_ids.get(resource, frozenset()) if pod_uid == self.pod_uid else frozenset()
        )


NOTHING_REUSABLE = ReusableDevices("", {})


class WrittenCheckpoint(Value, dict=True):
    """The content of the checkpoint at its last write.

    The kubelet does not write when it frees devices, so the file may list deleted pods. After a
    restart these hold their devices again until the next clean-up. ``registered`` has the healthy
    ids of each registered resource.
    """

    records: Records
    registered: Mapping[str, tuple[str, ...]]


class DeviceLedger(Value):
    """The Device Manager's state.

    ``in_use`` are the devices that cannot be allocated; some may have no record after a failed
    allocation. ``running`` are containers that ran when the kubelet started; the manager needs them
    only until every source of pods is ready. ``written`` is unset until the first write of a
    checkpoint.
    """

    inventory: Inventory = NOTHING_REPORTED
    records: Records = field(default_factory=dict)
    in_use: InUse = field(default_factory=dict)
    reusable: ReusableDevices = NOTHING_REUSABLE
    running: frozenset[ContainerKey] = frozenset()
    written: WrittenCheckpoint | None = None

    @property
    def is_unused(self) -> bool:
        """Whether no resource is registered and no device is held, with or without a record."""
        return not (self.inventory.registered or self.in_use or self.reusable.device_ids)

    def is_handled(self, resource: str) -> bool:
        """Return whether the Device Manager handles the resource: registered, or in use.

        Kubelet: ``isDevicePluginResource``, v1.32.
        """
        return resource in self.inventory.registered or resource in self.in_use

    @property
    def handled(self) -> Set[str]:
        return self.inventory.registered.keys() | self.in_use.keys()

    def record(self, key: ContainerKey, resource: str) -> DeviceRecord | None:
        return self.records.get(key.pod_uid, {}).get(key.container, {}).get(resource)

    def held_by_pod(self, pod_uid: str, resource: str) -> frozenset[str]:
        return frozenset(
            name
            for resources in self.records.get(pod_uid, {}).values()
            if resource in resources
            for name in resources[resource].device_ids
        )

    def free(self, resource: str) -> frozenset[str]:
        return self.inventory.healthy(resource) - self.in_use.get(resource, frozenset())

    def holders(self, pod_uid: str | None = None) -> list[ContainerKey]:
        """Return every container with a record, of one pod or of all."""
        return container_keys(self.records, pod_uid)


EMPTY_LEDGER = DeviceLedger()


def in_use_by(records: Records) -> dict[str, frozenset[str]]:
    """Return the devices of all records, by resource (``podDevices.devices``, v1.32)."""
    in_use: dict[str, set[str]] = {}
    for containers in records.values():
        for resources in containers.values():
            for resource, record in resources.items():
                in_use.setdefault(resource, set()).update(record.device_ids)
    return {resource: frozenset(in_use[resource]) for resource in sorted(in_use)}


def with_record(
    records: Records, key: ContainerKey, resource: str, record: DeviceRecord
) -> Records:
    of_pod = records.get(key.pod_uid, {})
    of_container = {**of_pod.get(key.container, {}), resource: record}
    return {**records, key.pod_uid: {**of_pod, key.container: of_container}}
