"""Devices of init containers that later containers of the pod reuse.

The kubelet allocates reused devices wherever they are: it does not check their health or the
affinity again. Kubelet: ``devicesToReuse`` of ``ManagerImpl.Allocate``, v1.32.
"""

from __future__ import annotations

from numalet.core.managers.device.ledger import NOTHING_REUSABLE, DeviceLedger, ReusableDevices
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.value import replace


def of_this_pod_only(ledger: DeviceLedger, pod: Pod) -> DeviceLedger:
    if ledger.reusable.pod_uid in ("", pod.uid):
        return ledger
    return replace(ledger, reusable=NOTHING_REUSABLE)


def after(ledger: DeviceLedger, pod: Pod, container: Container) -> DeviceLedger:
    held = ledger.records.get(pod.uid, {}).get(container.name)
    if not held:
        return ledger
    if container.kind is not ContainerKind.INIT and not ledger.reusable.device_ids:
        return ledger
    device_ids = dict(ledger.reusable.device_ids)
    for resource, record in held.items():
        before = device_ids.get(resource, frozenset())
        # An init container has ended when the next one runs, so its devices become reusable.
        # Sidecars and app containers keep theirs.
        if container.kind is ContainerKind.INIT:
            device_ids[resource] = before | record.device_ids
        else:
            device_ids[resource] = before - record.device_ids
    kept = {
        resource: device_ids[resource] for resource in sorted(device_ids) if device_ids[resource]
    }
    reusable = ReusableDevices(pod.uid, kept) if kept else NOTHING_REUSABLE
    return ledger if reusable == ledger.reusable else replace(ledger, reusable=reusable)
