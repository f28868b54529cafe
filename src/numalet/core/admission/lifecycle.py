"""A pod after its admission: its containers start, and the pod ends."""

from __future__ import annotations

from numalet.core.admission import scopes
from numalet.core.admission.roster import Roster
from numalet.core.hints.provider import ZERO_HINT, Refused, RefusedMidway
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import replace
from numalet.core.snapshot.snapshot import NO_PODS, Snapshot


def pod_started(roster: Roster, snapshot: Snapshot, pod_uid: str) -> Snapshot:
    """Return the snapshot after all containers of an active pod started, in order."""
    pod = snapshot.pods[pod_uid]
    for container in pod.containers():
        snapshot = _started(roster, snapshot, pod, container)
    return snapshot


def container_started(roster: Roster, snapshot: Snapshot, key: ContainerKey) -> Snapshot:
    """Return the snapshot as this container is about to start.

    Kubelet: the hook before a container's start, ``PreStartContainer``, v1.32.
    """
    pod = snapshot.pods[key.pod_uid]
    return _started(roster, snapshot, pod, pod.by_name[key.container])


def _started(roster: Roster, snapshot: Snapshot, pod: Pod, container: Container) -> Snapshot:
    if scopes.devices_wait(roster, pod):
        snapshot = _with_devices(roster, snapshot, pod, container)
    after = snapshot
    for slot in roster.slots:
        after = slot.container_started(after, pod, container)
    # Only records of this active pod are new, so the stale pods stay the same.
    return replace(after, revision=after.revision + 1).with_stale(snapshot.may_be_stale)


def _with_devices(roster: Roster, snapshot: Snapshot, pod: Pod, container: Container) -> Snapshot:
    """Allocate devices for a container of a pod placed as a whole, at its start.

    If the devices are in use now, the kubelet cannot create the container and retries. Kubelet:
    ``ManagerImpl.GetDeviceRunContainerOptions``, v1.36.
    """
    affinity = snapshot.affinities.get(pod.uid, {}).get(container.name, ZERO_HINT)
    for slot in roster.slots:
        if slot.places_pods:
            continue
        after = slot.allocate(snapshot, pod, container, affinity)
        if isinstance(after, RefusedMidway):
            snapshot = after.so_far
        elif not isinstance(after, Refused):
            snapshot = after
    return snapshot


def remove(roster: Roster, snapshot: Snapshot, pod_uid: str) -> Snapshot:
    """Return the snapshot after a pod was deleted and its containers stopped."""
    gone = snapshot.after_removal({pod_uid})
    # Until all sources are ready, a missing pod may be unseen and not deleted: release nothing.
    is_now = roster.rules.behaviour.release_at_once and gone.sources_ready
    return release_stale(roster, gone) if is_now else gone


def release_stale(roster: Roster, snapshot: Snapshot) -> Snapshot:
    # If it is known which pods are gone, releasing these is faster than comparing every record with
    # every active container.
    gone = snapshot.gone(snapshot.may_be_stale)
    if gone is not None:
        for slot in roster.slots:
            snapshot = slot.forget_pods(snapshot, gone)
        return snapshot.with_stale(NO_PODS)
    active = snapshot.active_containers()
    for slot in roster.slots:
        snapshot = slot.forget_stale(snapshot, active)
    return snapshot.with_stale(NO_PODS)


def sources_ready(roster: Roster, snapshot: Snapshot) -> Snapshot:
    """Mark every source of pods as ready: managers may now release stale records."""
    ready = replace(snapshot, sources_ready=True, revision=snapshot.revision + 1)
    return release_stale(roster, ready) if roster.rules.behaviour.release_at_once else ready


def leftovers(
    roster: Roster, snapshot: Snapshot, pod_uid: str | None = None
) -> tuple[ContainerKey, ...]:
    """Return inactive containers that still hold resources, sorted; of one pod or of all."""
    held = {key for slot in roster.slots for key in slot.holders(snapshot, pod_uid)}
    if not held:
        return ()
    is_gone = pod_uid is not None and pod_uid not in snapshot.pods
    active = snapshot.assumed if is_gone else snapshot.active_containers()
    return tuple(sorted(held - active))
