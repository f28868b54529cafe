"""Other device allocations that the kubelet may have made if a plugin has no preference.

The kubelet takes devices in the order of its map, so a record shows one outcome of several, and the
devices of later pods depend on it. A record passes if it is reproduced with *some* order.
"""

from __future__ import annotations

import hashlib

from numalet.core.managers.device.preference import (
    NO_SAY,
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
)
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.node.node import Devices

ORDER_COUNT = 12
"""Number of orders that are tried if the first does not reproduce a record."""


class DeviceOrder(Value):
    """Plugins that prefer devices by a pseudo-random order with the seed ``number``."""

    devices: Devices
    number: int

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """Prefer the required devices, then the first ones of the order."""
        without_node = {
            device.device_id
            for device in self.devices.get(question.resource, ())
            if not device.numa_nodes
        }

        def place(device_id: str) -> tuple[bool, bytes]:
            about = repr((self.number, *question.container, question.resource, device_id))
            # Like the kubelet, an order puts devices without a NUMA node last.
            return device_id in without_node, hashlib.sha256(about.encode()).digest()

        count = question.size - len(question.must_include)
        others = sorted(question.available - question.must_include, key=place)
        return Preferred(question.must_include | frozenset(others[:count]))

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        return NO_SAY.allocate(container, resource, device_ids)
