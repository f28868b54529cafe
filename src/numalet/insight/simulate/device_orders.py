"""Other devices that the kubelet may have given, where a plugin prefers none.

The kubelet takes what its map yields first, so a record shows one outcome of several. Which devices
a container got is not compared where the record says that it varied; but what the pods after it are
offered depends on it. So a record is met if it comes out with *some* order of the devices.
Here an order puts devices without a NUMA node last, as the kubelet does, and is else as if drawn.
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
"""How many orders are tried of a record that does not come out with the first."""


class DeviceOrder(Value):
    """Plugins that prefer the first devices of an order; ``number`` says of which."""

    devices: Devices
    number: int

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """The first devices of the order, besides those that must be included."""
        without_node = {
            device.device_id
            for device in self.devices.get(question.resource, ())
            if not device.numa_nodes
        }

        def place(device_id: str) -> tuple[bool, bytes]:
            about = repr((self.number, *question.container, question.resource, device_id))
            return device_id in without_node, hashlib.sha256(about.encode()).digest()

        count = question.size - len(question.must_include)
        others = sorted(question.available - question.must_include, key=place)
        return Preferred(question.must_include | frozenset(others[:count]))

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """Accepted."""
        return NO_SAY.allocate(container, resource, device_ids)
