"""The kubelet's NUMA resource managers as a library.

Build a machine and a configuration, start a node, admit pods, read the decisions:

>>> import numalet
>>> machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
>>> config = numalet.decode_config(
...     {
...         "cpuManagerPolicy": "static",
...         "reservedSystemCPUs": "0",
...         "memoryManagerPolicy": "Static",
...         "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
...         "topologyManagerPolicy": "restricted",
...     },
...     "example",
... )
>>> gpus = [numalet.Device("gpu0", numa_nodes=(1,)), numalet.Device("gpu1", numa_nodes=(1,))]
>>> node = numalet.start_node(config, machine, devices={"example.com/gpu": gpus})
>>> pods = numalet.read_pods(
...     '''
... {apiVersion: v1, kind: Pod, metadata: {name: near}, spec: {containers: [
...   {name: c, resources: {limits: {cpu: "2", memory: 1Gi, example.com/gpu: "1"}}}]}}
... ---
... {apiVersion: v1, kind: Pod, metadata: {name: wide}, spec: {containers: [
...   {name: c, resources: {limits: {cpu: "8", memory: 1Gi}}}]}}
... ''',
...     "example",
... ).pods
>>> after, decision = node.admit(pods[0])
>>> decision.admitted
True

What its containers hold: CPUs, memory and devices of the node where the device is.

>>> held = decision.placements["c"]
>>> sorted(held.cpus), held.memory_nodes, held.devices
([4, 12], (1,), {'example.com/gpu': ('gpu0',)})

A rejected pod is a value too, with its reason, and the kubelet's words for it:

>>> last, decision = after.admit(pods[1])
>>> decision.rejection.code
'admission/not-aligned'
>>> numalet.rejection_status(decision.rejection)["reason"]
'TopologyAffinityError'

Nodes and snapshots are values: the earlier ones are still there, and can be compared.

>>> changes = numalet.diff_snapshots(node.snapshot, after.snapshot)
>>> [(key.container, sorted(now.cpus)) for key, now in changes.allocated.items()]
[('c', [4, 12])]
>>> changes.reserved_bytes
{1: {'memory': 1073741824}}
"""

from __future__ import annotations

# Not from ``typing``, which takes as long to import as Python takes to start.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from numalet.core.admission.decision import Decision as Decision
    from numalet.core.admission.decision import Recorder as Recorder
    from numalet.core.cluster.cluster import Cluster as Cluster
    from numalet.core.config.behaviour import EXACT as EXACT
    from numalet.core.config.behaviour import NATIVE as NATIVE
    from numalet.core.config.behaviour import Behaviour as Behaviour
    from numalet.core.config.kubelet_config import KubeletConfig as KubeletConfig
    from numalet.core.config.releases.release import Release as Release
    from numalet.core.config.releases.table import RELEASES as RELEASES
    from numalet.core.config.rules import NodeRules as NodeRules
    from numalet.core.config.rules import StartRefused as StartRefused
    from numalet.core.hints.merging import merge as merge_hints
    from numalet.core.hints.provider import Candidates as Candidates
    from numalet.core.hints.provider import Hint as Hint
    from numalet.core.hints.provider import HintFamily as HintFamily
    from numalet.core.hints.provider import Impossible as Impossible
    from numalet.core.hints.provider import NoPreference as NoPreference
    from numalet.core.hints.provider import Reason as Reason
    from numalet.core.hints.provider import Refused as Refused
    from numalet.core.hints.provider import RefusedMidway as RefusedMidway
    from numalet.core.hints.provider import ResourceManager as ResourceManager
    from numalet.core.managers.device.inventory import Device as Device
    from numalet.core.managers.device.inventory import Health as Health
    from numalet.core.managers.device.preference import PreferredDevices as PreferredDevices
    from numalet.core.managers.memory.ledger import MemoryBlock as MemoryBlock
    from numalet.core.model.findings import BadInput as BadInput
    from numalet.core.model.findings import Finding as Finding
    from numalet.core.model.findings import Location as Location
    from numalet.core.model.findings import Severity as Severity
    from numalet.core.model.machine import Machine as Machine
    from numalet.core.model.machine_info import MachineInfo as MachineInfo
    from numalet.core.model.pod import Container as Container
    from numalet.core.model.pod import ContainerKey as ContainerKey
    from numalet.core.model.pod import ContainerKind as ContainerKind
    from numalet.core.model.pod import Pod as Pod
    from numalet.core.model.pod import QosClass as QosClass
    from numalet.core.model.quantity import Quantity as Quantity
    from numalet.core.node.node import Node as Node
    from numalet.core.snapshot.placement import Changes as Changes
    from numalet.core.snapshot.placement import Placement as Placement
    from numalet.core.snapshot.slots import ExtraManager as ExtraManager
    from numalet.core.snapshot.snapshot import Snapshot as Snapshot
    from numalet.insight.python_api.clusters import fit as fit
    from numalet.insight.python_api.clusters import free as free
    from numalet.insight.python_api.clusters import open_cluster as open_cluster
    from numalet.insight.python_api.clusters import rejected as rejected
    from numalet.insight.python_api.clusters import traps as traps
    from numalet.insight.python_api.clusters import why as why
    from numalet.insight.python_api.fleet import Fleet as Fleet
    from numalet.insight.python_api.nodes import machine_info as machine_info
    from numalet.insight.python_api.nodes import restart_node as restart_node
    from numalet.insight.python_api.nodes import start_node as start_node
    from numalet.insight.python_api.questions import check as check
    from numalet.insight.python_api.questions import check_restart as check_restart
    from numalet.insight.python_api.questions import explain as explain
    from numalet.insight.python_api.questions import read_state_files as read_state_files
    from numalet.insight.python_api.questions import reserve as reserve
    from numalet.insight.python_api.questions import simulate as simulate
    from numalet.insight.python_api.questions import verify_state_files as verify_state_files
    from numalet.insight.python_api.questions import what_if as what_if
    from numalet.insight.python_api.reading import decode_config as decode_config
    from numalet.insight.python_api.reading import diff_snapshots as diff_snapshots
    from numalet.insight.python_api.reading import load_claims as load_claims
    from numalet.insight.python_api.reading import load_config as load_config
    from numalet.insight.python_api.reading import load_pods as load_pods
    from numalet.insight.python_api.reading import open_machine as open_machine
    from numalet.insight.python_api.reading import read_claims as read_claims
    from numalet.insight.python_api.reading import read_pods as read_pods
    from numalet.insight.python_api.reading import rejection_status as rejection_status
    from numalet.insight.python_api.reading import replay as replay
    from numalet.insight.python_api.reading import runtime_settings as runtime_settings
    from numalet.insight.python_api.reading import sentence as sentence
    from numalet.insight.python_api.tables import Answer as Answer
    from numalet.insight.python_api.tables import decision_rows as decision_rows
    from numalet.insight.python_api.tables import placement_rows as placement_rows
    from numalet.io.documents.kubelet.kubelet_config import ConfigSources as ConfigSources
    from numalet.io.machines import LoadedMachine as LoadedMachine

__version__ = "0.1.0"

# The public names and where they live. They are imported when they are first used, so that
# `import numalet`, and with it `numalet --version`, costs nothing.
_PUBLIC = {
    "Answer": "numalet.insight.python_api.tables",
    "BadInput": "numalet.core.model.findings",
    "Behaviour": "numalet.core.config.behaviour",
    "Candidates": "numalet.core.hints.provider",
    "Changes": "numalet.core.snapshot.placement",
    "Cluster": "numalet.core.cluster.cluster",
    "ConfigSources": "numalet.io.documents.kubelet.kubelet_config",
    "Container": "numalet.core.model.pod",
    "ContainerKey": "numalet.core.model.pod",
    "ContainerKind": "numalet.core.model.pod",
    "Decision": "numalet.core.admission.decision",
    "Device": "numalet.core.managers.device.inventory",
    "EXACT": "numalet.core.config.behaviour",
    "ExtraManager": "numalet.core.snapshot.slots",
    "Finding": "numalet.core.model.findings",
    "Fleet": "numalet.insight.python_api.fleet",
    "Health": "numalet.core.managers.device.inventory",
    "Hint": "numalet.core.hints.provider",
    "HintFamily": "numalet.core.hints.provider",
    "Impossible": "numalet.core.hints.provider",
    "KubeletConfig": "numalet.core.config.kubelet_config",
    "LoadedMachine": "numalet.io.machines",
    "Location": "numalet.core.model.findings",
    "Machine": "numalet.core.model.machine",
    "MachineInfo": "numalet.core.model.machine_info",
    "MemoryBlock": "numalet.core.managers.memory.ledger",
    "NATIVE": "numalet.core.config.behaviour",
    "NoPreference": "numalet.core.hints.provider",
    "Node": "numalet.core.node.node",
    "NodeRules": "numalet.core.config.rules",
    "Placement": "numalet.core.snapshot.placement",
    "Pod": "numalet.core.model.pod",
    "PreferredDevices": "numalet.core.managers.device.preference",
    "QosClass": "numalet.core.model.pod",
    "Quantity": "numalet.core.model.quantity",
    "RELEASES": "numalet.core.config.releases.table",
    "Reason": "numalet.core.hints.provider",
    "Recorder": "numalet.core.admission.decision",
    "Refused": "numalet.core.hints.provider",
    "RefusedMidway": "numalet.core.hints.provider",
    "Release": "numalet.core.config.releases.release",
    "ResourceManager": "numalet.core.hints.provider",
    "Severity": "numalet.core.model.findings",
    "Snapshot": "numalet.core.snapshot.snapshot",
    "StartRefused": "numalet.core.config.rules",
    "check": "numalet.insight.python_api.questions",
    "check_restart": "numalet.insight.python_api.questions",
    "decode_config": "numalet.insight.python_api.reading",
    "decision_rows": "numalet.insight.python_api.tables",
    "diff_snapshots": "numalet.insight.python_api.reading",
    "explain": "numalet.insight.python_api.questions",
    "fit": "numalet.insight.python_api.clusters",
    "free": "numalet.insight.python_api.clusters",
    "load_claims": "numalet.insight.python_api.reading",
    "load_config": "numalet.insight.python_api.reading",
    "load_pods": "numalet.insight.python_api.reading",
    "machine_info": "numalet.insight.python_api.nodes",
    "open_cluster": "numalet.insight.python_api.clusters",
    "open_machine": "numalet.insight.python_api.reading",
    "placement_rows": "numalet.insight.python_api.tables",
    "read_claims": "numalet.insight.python_api.reading",
    "read_pods": "numalet.insight.python_api.reading",
    "read_state_files": "numalet.insight.python_api.questions",
    "rejected": "numalet.insight.python_api.clusters",
    "rejection_status": "numalet.insight.python_api.reading",
    "replay": "numalet.insight.python_api.reading",
    "reserve": "numalet.insight.python_api.questions",
    "restart_node": "numalet.insight.python_api.nodes",
    "runtime_settings": "numalet.insight.python_api.reading",
    "sentence": "numalet.insight.python_api.reading",
    "simulate": "numalet.insight.python_api.questions",
    "start_node": "numalet.insight.python_api.nodes",
    "traps": "numalet.insight.python_api.clusters",
    "verify_state_files": "numalet.insight.python_api.questions",
    "what_if": "numalet.insight.python_api.questions",
    "why": "numalet.insight.python_api.clusters",
}
_RENAMED = {
    "merge_hints": ("numalet.core.hints.merging", "merge"),
}

__all__ = [
    "EXACT",
    "NATIVE",
    "RELEASES",
    "Answer",
    "BadInput",
    "Behaviour",
    "Candidates",
    "Changes",
    "Cluster",
    "ConfigSources",
    "Container",
    "ContainerKey",
    "ContainerKind",
    "Decision",
    "Device",
    "ExtraManager",
    "Finding",
    "Fleet",
    "Health",
    "Hint",
    "HintFamily",
    "Impossible",
    "KubeletConfig",
    "LoadedMachine",
    "Location",
    "Machine",
    "MachineInfo",
    "MemoryBlock",
    "NoPreference",
    "Node",
    "NodeRules",
    "Placement",
    "Pod",
    "PreferredDevices",
    "QosClass",
    "Quantity",
    "Reason",
    "Recorder",
    "Refused",
    "RefusedMidway",
    "Release",
    "ResourceManager",
    "Severity",
    "Snapshot",
    "StartRefused",
    "check",
    "check_restart",
    "decision_rows",
    "decode_config",
    "diff_snapshots",
    "explain",
    "fit",
    "free",
    "load_claims",
    "load_config",
    "load_pods",
    "machine_info",
    "merge_hints",
    "open_cluster",
    "open_machine",
    "placement_rows",
    "read_claims",
    "read_pods",
    "read_state_files",
    "rejected",
    "rejection_status",
    "replay",
    "reserve",
    "restart_node",
    "runtime_settings",
    "sentence",
    "simulate",
    "start_node",
    "traps",
    "verify_state_files",
    "what_if",
    "why",
]


def __getattr__(name: str) -> Any:
    """The public name, imported now."""
    from importlib import import_module

    module, attribute = _RENAMED.get(name) or (_PUBLIC.get(name), name)
    if module is None:
        raise AttributeError(f"module 'numalet' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), attribute)
    import_module("numalet.notebook").attach()
    return value


def __dir__() -> list[str]:
    """What there is, the names that are not imported yet included."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
