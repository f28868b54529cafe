"""The manager: ``core.hints.provider.ResourceManager`` for devices. One policy, always on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from numalet.core.hints.provider import NO_HINTS, ActiveContainers, Hint, ProviderHints, Refused
from numalet.core.managers.device import allocation, hints
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model import pod_demand
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.pod_demand import Overhead
from numalet.core.model.value import Value, replace


class DevicePolicy(Value):
    """``all_nodes`` are the machine's NUMA nodes; empty on Windows.

    On Windows the kubelet does not pass NUMA nodes to its Device Manager, so no set of nodes can
    provide a resource with topology. ``hints_over_device_nodes`` is the rule
    ``device_hints_over_device_nodes`` of a release.
    """

    all_nodes: NumaMask
    plugins: PreferredDevices = NO_SAY
    hints_over_device_nodes: bool = False

    def container_hints(
        self, ledger: DeviceLedger, pod: Pod, container: Container
    ) -> ProviderHints | Refused:
        if ledger.is_unused:
            return NO_HINTS
        return {
            resource: hints.of_container(
                ledger,
                ContainerKey(pod.uid, container.name),
                resource,
                requested,
                self._nodes_of(ledger, resource),
            )
            for resource, requested in allocation.requests(ledger, container.limits)
        }

    def pod_hints(self, ledger: DeviceLedger, pod: Pod) -> ProviderHints | Refused:
        """Return hints for every device resource in the pod's limits, without overhead."""
        limits = pod_demand.effective_limits(pod, Overhead.EXCLUDED)
        return {
            resource: hints.of_pod(
                ledger, pod.uid, resource, requested, self._nodes_of(ledger, resource)
            )
            for resource, requested in allocation.requests(ledger, limits)
        }

    def _nodes_of(self, ledger: DeviceLedger, resource: str) -> NumaMask:
        if not self.hints_over_device_nodes:
            return self.all_nodes
        return ledger.inventory.devices_of(resource).nodes & self.all_nodes or self.all_nodes

    def allocate(
        self, ledger: DeviceLedger, pod: Pod, container: Container, affinity: Hint
    ) -> DeviceLedger | Refused:
        if ledger.is_unused:
            return ledger
        return allocation.allocate(ledger, pod, container, affinity, self.plugins)

    def forget_stale(self, ledger: DeviceLedger, active: ActiveContainers) -> DeviceLedger:
        """Release the devices of inactive pods.

        A pod is active as a whole: it keeps the devices of its ended containers.
        """
        stale = _stale_pods(ledger, active)
        after = allocation.release_pods(ledger, stale) if stale else ledger
        return replace(after, running=frozenset()) if after.running else after

    def forget_pods(self, ledger: DeviceLedger, pod_uids: Sequence[str]) -> DeviceLedger:
        return allocation.release_pods(ledger, pod_uids)

    def holders(self, ledger: DeviceLedger, pod_uid: str | None = None) -> Collection[ContainerKey]:
        return ledger.holders(pod_uid)

    def container_started(
        self, ledger: DeviceLedger, pod: Pod, container: Container
    ) -> DeviceLedger:
        """Return the same ledger: ended init containers keep their devices until the pod ends."""
        return ledger


def _stale_pods(ledger: DeviceLedger, active: ActiveContainers) -> set[str]:
    """Return the pods that have records but no active container at all."""
    stale = {
        uid
        for uid, containers in ledger.records.items()
        if not any((uid, name) in active for name in containers)
    }
    # A container without devices also keeps its pod active. The second scan rarely runs.
    return stale - {key.pod_uid for key in active} if stale else stale
