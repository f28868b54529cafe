"""Node: rules and a snapshot, and all events that change them.

Every method returns the next node and leaves the old one unchanged. A restart uses only the state
files, so it loses the same state as a kubelet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from numalet.core.admission import lifecycle, roster
from numalet.core.admission.decision import SILENT, Decision, Recorder
from numalet.core.admission.roster import Roster
from numalet.core.checkpoint import state_files
from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.config import start as configuration
from numalet.core.config import unknown
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import NodeRules, StartRefused
from numalet.core.managers.device import registration
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import ShownValue, replace
from numalet.core.snapshot.slots import ExtraManager
from numalet.core.snapshot.snapshot import Snapshot

Devices: TypeAlias = Mapping[str, Iterable[Device]]
"""The device plugins' reports, by resource."""

NO_DEVICES: Devices = MappingProxyType({})


class Node(ShownValue):
    """A kubelet's managers at one moment. Made by ``start``."""

    roster: Roster
    snapshot: Snapshot

    def __repr__(self) -> str:
        return (
            f"<Node: {len(self.rules.machine.node_ids)} NUMA nodes,"
            f" topology policy {self.rules.topology.policy.value},"
            f" pods {len(self.snapshot.pods)}, revision {self.snapshot.revision}>"
        )

    @property
    def rules(self) -> NodeRules:
        """The configuration, resolved for the machine."""
        return self.roster.rules

    def admit(self, pod: Pod, recorder: Recorder = SILENT) -> tuple[Node, Decision]:
        """Decide this pod; return the next node and the decision."""
        if not isinstance(pod, Pod):
            raise TypeError(f"a Pod is expected, not {type(pod).__name__}; read_pods makes them")
        decision = lifecycle.admit(self.roster, self.snapshot, pod, recorder)
        return replace(self, snapshot=decision.after), decision

    def pod_started(self, pod_uid: str) -> Node:
        """Return the node after all containers of an active pod started, in order."""
        return self.at(lifecycle.pod_started(self.roster, self.snapshot, pod_uid))

    def container_started(self, key: ContainerKey) -> Node:
        """Return the node as one container of an active pod is about to start."""
        return self.at(lifecycle.container_started(self.roster, self.snapshot, key))

    def fits(self, pod: Pod) -> bool:
        """Return whether the node would admit the pod now, without calling device plugins."""
        _, decision = self.without_plugins().admit(pod)
        return decision.admitted

    def remove(self, pod_uid: str) -> Node:
        """Return the node after a pod was deleted. Unknown uids change nothing."""
        if not isinstance(pod_uid, str):
            raise TypeError(f"the uid of a pod is expected, not {type(pod_uid).__name__}")
        return self.at(lifecycle.remove(self.roster, self.snapshot, pod_uid))

    def awaiting_sources(self) -> Node:
        """Return the node before every source of pods is ready: no record is stale yet."""
        return self.at(replace(self.snapshot, sources_ready=False))

    def sources_ready(self) -> Node:
        """Return the node after every source of pods became ready."""
        return self.at(lifecycle.sources_ready(self.roster, self.snapshot))

    def assume_running(self, keys: Iterable[ContainerKey]) -> Node:
        """Treat these containers as active, although their pods have no known manifest."""
        return self.at(replace(self.snapshot, assumed=self.snapshot.assumed | set(keys)))

    def keep_active(self, pod: Pod) -> Node:
        """Make this pod active with its current allocations, if any, without a decision.

        For a running pod that could not be admitted again.
        """
        return self.at(self.snapshot.with_pod(pod))

    def release_stale(self) -> Node:
        """Release the records of inactive pods, as the next admission would."""
        return self.at(lifecycle.release_stale(self.roster, self.snapshot))

    def leftovers(self) -> tuple[ContainerKey, ...]:
        """Return inactive containers that still hold resources."""
        return lifecycle.leftovers(self.roster, self.snapshot)

    def state_files(self) -> dict[str, str]:
        """Return the kubelet's state files as texts by name."""
        return state_files.write(self.rules, self.snapshot)

    def restart(
        self,
        config: KubeletConfig,
        machine: MachineInfo,
        files: StateFiles,
        devices: Devices = NO_DEVICES,
    ) -> Node | StartRefused:
        """Return the node after a restart: no pods yet, their sources not ready.

        The containers of the active pods keep running; ``devices`` are the plugins' reports.
        """
        started = start(
            config,
            machine,
            files,
            devices,
            running=self.snapshot.active_containers(),
            behaviour=self.rules.behaviour,
            identity=self.rules.identity,
            managers=self.roster.extra,
        )
        if isinstance(started, StartRefused):
            return started
        return started.awaiting_sources()

    def devices_reported(self, devices: Devices) -> Node:
        """Apply device plugins' reports, by resource."""
        ledger = registration.all_reported(self.snapshot.device, devices)
        return self.at(self.snapshot.with_devices(ledger))

    def plugin_stopped(self, resource: str) -> Node:
        """Stop the plugin of a registered resource; other names change nothing."""
        if resource not in self.snapshot.device.inventory.registered:
            return self
        ledger = registration.plugin_stopped(self.snapshot.device, resource)
        return self.at(self.snapshot.with_devices(ledger))

    def resource_expired(self, resource: str) -> Node:
        """End the grace period of a stopped plugin."""
        ledger = registration.resource_expired(self.snapshot.device, resource)
        return self.at(self.snapshot.with_devices(ledger))

    def without_plugins(self) -> Node:
        """Return a node that decides without its device plugins, for hypothetical decisions.

        A plugin may act on a device when the kubelet calls it for an allocation.
        """
        return self.asking(NO_SAY)

    def asking(self, plugins: PreferredDevices) -> Node:
        """Return a node that calls these plugins when it decides."""
        staff = roster.asking(self.roster, plugins)
        return self if staff is self.roster else replace(self, roster=staff)

    def at(self, snapshot: Snapshot) -> Node:
        """Return the same rules with another snapshot."""
        return replace(self, snapshot=snapshot)


def start(
    config: KubeletConfig,
    machine: MachineInfo,
    files: StateFiles | None = None,
    devices: Devices = NO_DEVICES,
    *,
    running: Iterable[ContainerKey] = (),
    plugins: PreferredDevices = NO_SAY,
    behaviour: Behaviour = EXACT,
    identity: NodeIdentity = UNKNOWN_NODE,
    managers: Iterable[ExtraManager[Any]] = (),
) -> Node | StartRefused:
    """Start a node with this configuration on this machine, or return why a kubelet would not.

    ``files`` are existing state files by name; ``devices`` are the plugins' reports at the start,
    by resource; ``running`` are containers that already run; ``identity`` is the known part of the
    node's name and labels; ``managers`` handle resources that the kubelet has no manager for.

    The order is the kubelet's: build the managers, start them with their files, check node
    allocatable, register devices.
    """
    managers, running = tuple(managers), tuple(running)

    def started(config: KubeletConfig) -> Node | StartRefused:
        rules = configuration.resolve(config, machine, behaviour=behaviour)
        if isinstance(rules, StartRefused):
            return rules
        staff = roster.build(replace(rules, identity=identity), plugins, managers)
        if isinstance(staff, StartRefused):
            return staff
        snapshot = state_files.restore(staff, files or {}, running)
        if isinstance(snapshot, StartRefused):
            return snapshot
        refused = configuration.check_node_allocatable(rules)
        if refused is not None:
            return refused
        return Node(staff, snapshot).devices_reported(devices)

    return unknown.decided(config, started)
