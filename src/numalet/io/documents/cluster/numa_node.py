"""NumaNode: the published state of one node, as an object of the API server.

The state is written as a whole; the texts next to it are for ``kubectl get`` only. See
docs/reference/numanode.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from numalet.core.cluster.published_state import (
    DevicesState,
    NodeMemoryState,
    PublishedState,
)
from numalet.core.model import cpu_set, input_error, numa_mask
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.value import Value
from numalet.io.documents.cluster import published_text
from numalet.io.documents.cluster.published_text import PublishedTextError
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

GROUP: Final = "numalet.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "NumaNode"
PLURAL: Final = "numanodes"
PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"


class NumaNodeMemory(Struct, omit_defaults=True):
    """Memory of a NUMA node with allocations."""

    assignments: Annotated[int, Meta(description="How many blocks are on it.", ge=0)]
    group: Annotated[str, Meta(description="The NUMA nodes that are used together, as 0-1.")]
    reserved: Annotated[
        dict[str, str], Meta(description="Allocated amounts by memory type, in bytes or as 64Gi.")
    ] = {}
    free: Annotated[
        dict[str, str],
        Meta(description="Free amounts, only where they differ from allocatable minus reserved."),
    ] = {}


class NumaNodeDevices(Struct, omit_defaults=True):
    """Devices of a resource that are not all known and healthy; lists of positions, as 0-3,6."""

    count: Annotated[int, Meta(description="Number of devices, including unknown ones.", ge=0)]
    known: Annotated[
        str, Meta(description="Positions of the devices that the class has, in its order.")
    ] = ""
    healthy: Annotated[str, Meta(description="Positions of the healthy devices.")] = ""
    unhealthy: Annotated[str, Meta(description="Positions of the unhealthy devices.")] = ""
    registered: Annotated[bool, Meta(description="Whether the resource has a plugin.")] = False


class NumaNodeState(Struct, omit_defaults=True, rename="camel"):
    """The allocations of the resource managers, as differences from an empty node of the class."""

    shared_cpus: Annotated[
        str | None, Meta(description="The CPUs of the shared pool; absent without a CPU policy.")
    ] = None
    memory: Annotated[
        dict[str, NumaNodeMemory],
        Meta(description="By the id of the NUMA node; nodes without allocations are left out."),
    ] = {}
    resources: Annotated[
        list[str],
        Meta(description="Names of device resources; pods refer to positions in this list."),
    ] = []
    devices: Annotated[
        dict[str, NumaNodeDevices],
        Meta(description="Resources whose devices are not all known and healthy."),
    ] = {}
    in_use: Annotated[
        dict[str, str],
        Meta(
            description="Devices in use by resource, only where these differ from the devices in"
            " the pods' allocations."
        ),
    ] = {}
    pods: Annotated[
        dict[str, str],
        Meta(
            description="Allocations of each pod by its uid: parts separated by semicolons, each"
            " the hash of a container and words such as c0-3 for CPUs, m0=16Gi for memory of NUMA"
            " node 0 and d0=0-1 for devices of the first resource."
        ),
    ] = {}
    sources_ready: Annotated[
        bool, Meta(description="False after a start of the kubelet, until it knows its pods.")
    ] = True


class NumaNodeSpec(Struct, omit_defaults=True, rename="camel"):
    """The published state of a node."""

    class_name: Annotated[
        str, Meta(description="The NumaNodeClass of the node: machine, configuration, devices.")
    ] = field(name="class")
    published: Annotated[
        str,
        Meta(
            description="When this was written last, RFC 3339: at a change, and hourly without one."
        ),
    ]
    state: NumaNodeState = field(default_factory=NumaNodeState)
    pods: Annotated[int, Meta(description="Number of pods with allocations.", ge=0)] = 0
    free_cpus: Annotated[
        str, Meta(description="For people: CPUs of the shared pool by NUMA node, as 0:12 1:28.")
    ] = ""
    free_devices: Annotated[
        str, Meta(description="For people: free devices, as nvidia.com/gpu 0:2 1:4.")
    ] = ""


class PublishedNode(Value, kw_only=True):
    """A NumaNode from the API; ``published`` is the time as written there."""

    name: str
    class_name: str
    published: str
    state: PublishedState


class NamedObject(Struct):
    name: str


class _NumaNodeObject(Struct):
    metadata: NamedObject
    spec: NumaNodeSpec


def document(state: PublishedState) -> NumaNodeState:
    names = sorted(
        {
            resource
            for pod in state.pods.values()
            for held in (pod.whole, pod.reusable, *(each.held for each in pod.containers))
            for resource in held.devices
        }
    )
    return NumaNodeState(
        shared_cpus=None if state.shared_cpus is None else cpu_set.text(state.shared_cpus),
        memory={str(node_id): _memory(each) for node_id, each in state.memory.items()},
        resources=names,
        devices={resource: _devices(each) for resource, each in state.devices.items()},
        in_use={
            resource: published_text.numbers_text(each) for resource, each in state.in_use.items()
        },
        pods={uid: published_text.pod_text(each, names) for uid, each in state.pods.items()},
        sources_ready=state.sources_ready,
    )


def _memory(of: NodeMemoryState) -> NumaNodeMemory:
    return NumaNodeMemory(
        assignments=of.assignments,
        group=published_text.numbers_text(numa_mask.ids(of.group)),
        reserved={name: published_text.size_text(size) for name, size in of.reserved.items()},
        free={name: published_text.size_text(size) for name, size in of.free.items()},
    )


def _devices(of: DevicesState) -> NumaNodeDevices:
    return NumaNodeDevices(
        count=of.count,
        known=published_text.numbers_text(of.known),
        healthy=published_text.numbers_text(of.healthy),
        unhealthy=published_text.numbers_text(of.unhealthy),
        registered=of.is_registered,
    )


def state(of: NumaNodeState) -> PublishedState:
    """The state from its published form. Raises ``PublishedTextError``."""
    return PublishedState(
        shared_cpus=(
            None if of.shared_cpus is None else frozenset(published_text.numbers(of.shared_cpus))
        ),
        memory={_node_id(name): _node_memory(each) for name, each in of.memory.items()},
        devices={resource: _devices_state(each) for resource, each in of.devices.items()},
        in_use={resource: published_text.numbers(text) for resource, text in of.in_use.items()},
        pods={uid: published_text.pod(text, of.resources) for uid, text in of.pods.items()},
        sources_ready=of.sources_ready,
    )


def _node_id(name: str) -> int:
    match published_text.numbers(name):
        case (node_id,):
            return node_id
        case _:
            raise PublishedTextError(f"{name[:40]!r} is not a NUMA node")


def _node_memory(of: NumaNodeMemory) -> NodeMemoryState:
    return NodeMemoryState(
        assignments=of.assignments,
        group=published_text.mask(of.group),
        reserved=published_text.amounts(of.reserved),
        free=published_text.amounts(of.free),
    )


def _devices_state(of: NumaNodeDevices) -> DevicesState:
    return DevicesState(
        count=of.count,
        known=published_text.numbers(of.known),
        healthy=published_text.numbers(of.healthy),
        unhealthy=published_text.numbers(of.unhealthy),
        is_registered=of.registered,
    )


def published_object(
    name: str, spec: NumaNodeSpec, owner: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The object to apply; ``owner`` refers to its Node, if known."""
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": msgspec.to_builtins(spec),
    }


def decode(value: object, where: Location) -> PublishedNode:
    """A NumaNode from its JSON value. Raises ``BadInput`` with a finding."""
    findings = Findings()
    read = typed.decode(value, _NumaNodeObject, Place(where.document, where.path or "$"), findings)
    if read is None:
        raise BadInput(findings.all)
    return published_node(read.metadata.name, read.spec, where)


def published_node(name: str, spec: NumaNodeSpec, where: Location) -> PublishedNode:
    """A NumaNode from its typed content. Raises ``BadInput``."""
    try:
        read = state(spec.state)
    except PublishedTextError as error:
        raise input_error.Invalid(
            f"cannot read this part of the published state: {error}; publish the node again with "
            "this version of numalet",
            where=where,
        ).bad_input() from None
    return PublishedNode(
        name=name, class_name=spec.class_name, published=spec.published, state=read
    )
