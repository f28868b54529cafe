"""Allocate all devices of one container, resource by resource in order of name; release them.

Kubelet: ``allocateContainerResources``, ``UpdateAllocatedDevices``, v1.32.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from numalet.core.hints.provider import Hint, Reason, Refused, RefusedMidway
from numalet.core.managers.device import choice, init_reuse, ledger, registration
from numalet.core.managers.device.choice import Stuck
from numalet.core.managers.device.ledger import NO_NODE, DeviceLedger, DeviceRecord
from numalet.core.managers.device.preference import CallFailed, EmptyAnswer, PreferredDevices
from numalet.core.managers.device.reasons import (
    ChangedRequest,
    EmptyResponse,
    HeldNotHealthy,
    NoneHealthy,
    NotRegistered,
    Vetoed,
)
from numalet.core.model.pod import Container, ContainerKey, Pod, Resources
from numalet.core.model.value import replace, without_keys


def requests(of: DeviceLedger, limits: Resources) -> list[tuple[str, int]]:
    """Return the device resources among the limits with their numbers, by name."""
    registered, in_use = of.inventory.registered, of.in_use
    return sorted(
        [
            (resource, limit.value)
            for resource, limit in limits.items()
            if resource in registered or resource in in_use
        ]
    )


def allocate(
    before: DeviceLedger,
    pod: Pod,
    container: Container,
    affinity: Hint,
    plugins: PreferredDevices,
) -> DeviceLedger | Refused:
    after = init_reuse.of_this_pod_only(before, pod)
    for resource, required in requests(after, container.limits):
        key = ContainerKey(pod.uid, container.name)
        outcome = _one_resource(after, key, resource, required, affinity, plugins)
        if isinstance(outcome, Refused):
            # Earlier resources stay recorded, so the refusal includes the ledger.
            return outcome
        after = outcome
    # The kubelet writes the checkpoint once per container, after its last resource, and only if the
    # container got a device.
    if after.records is not before.records:
        after = registration.checkpointed(after)
    return init_reuse.after(after, pod, container)


def _one_resource(
    before: DeviceLedger,
    key: ContainerKey,
    resource: str,
    required: int,
    affinity: Hint,
    plugins: PreferredDevices,
) -> DeviceLedger | Refused:
    record = before.record(key, resource)
    if record is not None and len(record.device_ids) != required:
        held = len(record.device_ids)
        return _refused(before, ChangedRequest(*key, resource, held, required))
    # While the kubelet restarts, a running container is admitted without a check.
    if key in before.running:
        return before
    unfit = _unfit(before, key, resource, record)
    if unfit is not None:
        return _refused(before, unfit)
    # A container that has its devices keeps them, after the checks above.
    if record is not None or required == 0:
        return before
    chosen = choice.choose(before, key, resource, required, affinity, plugins)
    if isinstance(chosen, Stuck):
        return _refused(_using(before, resource, chosen.in_use), chosen.reason)
    return _given(_using(before, resource, chosen), key, resource, chosen, plugins)


def _unfit(
    of: DeviceLedger, key: ContainerKey, resource: str, record: DeviceRecord | None
) -> Reason | None:
    """Return why the resource is unusable, regardless of the requested number."""
    if resource not in of.inventory.registered:
        return NotRegistered(key.container, resource)
    healthy = of.inventory.healthy(resource)
    if not healthy:
        return NoneHealthy(key.container, resource)
    lost = frozenset() if record is None else record.device_ids - healthy
    if lost:
        return HeldNotHealthy(key.container, resource, min(lost))
    return None


def _given(
    using: DeviceLedger,
    key: ContainerKey,
    resource: str,
    chosen: frozenset[str],
    plugins: PreferredDevices,
) -> DeviceLedger | Refused:
    """Record the chosen devices, if the plugin accepts them."""
    devices = using.inventory.devices_of(resource)
    device_ids = tuple(sorted(chosen))
    answer = plugins.allocate(key, resource, device_ids)
    if isinstance(answer, CallFailed):
        # After a failed Allocate call the kubelet recomputes the devices in use from all records,
        # which also frees devices that earlier failures left behind.
        reset = replace(using, in_use=ledger.in_use_by(using.records))
        return _refused(reset, Vetoed(key.container, resource, answer.error))
    if isinstance(answer, EmptyAnswer):
        # Kubelet bug: the devices stay in use without a record.
        return _refused(using, EmptyResponse(key.container, resource, answer.answer))
    by_node: dict[int, tuple[str, ...]] = {}
    for name in device_ids:
        known = devices.by_id.get(name)
        for node in (known.numa_nodes if known is not None else ()) or (NO_NODE,):
            by_node[node] = (*by_node.get(node, ()), name)
    record = DeviceRecord(dict(sorted(by_node.items())), answer.response)
    return replace(using, records=ledger.with_record(using.records, key, resource, record))


def _using(before: DeviceLedger, resource: str, device_ids: Collection[str]) -> DeviceLedger:
    in_use: Mapping[str, frozenset[str]] = before.in_use
    if not device_ids and resource in in_use:
        return before
    return replace(
        before,
        in_use={**in_use, resource: in_use.get(resource, frozenset()) | frozenset(device_ids)},
    )


def _refused(so_far: DeviceLedger, reason: Reason) -> Refused:
    return RefusedMidway(reason, so_far)


def release_pods(before: DeviceLedger, pod_uids: Collection[str]) -> DeviceLedger:
    """Remove the records of these pods; return the same ledger if they have no records."""
    records = without_keys(before.records, pod_uids)
    if len(records) == len(before.records):
        return before
    # Rebuilding the table of devices in use also frees devices without a record.
    return replace(before, records=records, in_use=ledger.in_use_by(records))
