"""Drafts a class file: reads the objects of a cluster, and compares its nodes with the profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model import input_error
from numalet.core.model.findings import NOWHERE, BadInput
from numalet.insight.fleet import class_draft
from numalet.insight.fleet.class_draft import ClassDraft, KubeletSettings
from numalet.insight.fleet.class_evidence import KnownMachine
from numalet.io import machines
from numalet.io.documents.cluster import cluster_dump
from numalet.io.documents.machine import profile_library


def drafted(given: ClusterObjects, pool_label: str, settings: KubeletSettings) -> ClassDraft:
    return class_draft.draft(given, known_machines(), pool_label, settings)


def dumped(paths: Sequence[str]) -> ClusterObjects:
    """Read the objects of dumps. Raises ``BadInput``, also if there are no nodes."""
    listed = cluster_dump.load(paths)
    if not listed.nodes:
        none = input_error.NotFound(
            f"no nodes in {', '.join(paths)}; write a dump with 'kubectl get nodes,pods -A -o json'"
        )
        raise BadInput([none, *listed.notes])
    return listed


def known_machines() -> list[KnownMachine]:
    """Return the sizes of all profiles, and the labels of nodes that are such machines."""
    return [_known(name) for name in profile_library.names()]


def _known(name: str) -> KnownMachine:
    by = profile_library.read(name, NOWHERE).known_by
    loaded = machines.open_machine(profile_library.PREFIX + name)
    return KnownMachine(
        name=name,
        cpus=loaded.info.cpu_count,
        memory_bytes=loaded.info.memory_capacity_bytes,
        cpu_nodes=sum(bool(each.cores) for each in loaded.info.nodes),
        devices={
            resource: tuple(_text(each.device_id, each.numa_nodes) for each in devices)
            for resource, devices in loaded.devices.items()
        },
        instance_types=by.instance_types,
        machines=by.machines,
        gpus=by.gpus,
    )


def _text(device: str, nodes: Iterable[int]) -> str:
    numbers = "+".join(map(str, nodes))
    return f"{device}@{numbers}" if numbers else device
