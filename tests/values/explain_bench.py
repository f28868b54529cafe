"""Short ways to write cases for explanations: a configuration, a queue, a pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Container, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.insight.explain import cases as cases
from numalet.insight.explain import story
from numalet.insight.explain.cases import Case, OtherNode
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Tally
from numalet.insight.simulate.session import Session
from numalet.io import machines
from numalet.io.documents.kubelet import kubelet_config
from values.builders import simple

GPU = "example.com/gpu"
GPUS: Devices = {
    GPU: (
        Device("g0", (0,)),
        Device("g1", (0,)),
        Device("g2", (1,)),
        Device("g3", (1,)),
    )
}
STATIC_CPUS: Mapping[str, Any] = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}


def shape(name: str = "2n4c2t", memory: str = "10Gi") -> MachineInfo:
    """A machine of this shape; 100Mi of node 0 are for the system in these cases."""
    return machines.open_machine(name, memory_per_node=memory).info


def config(policy: str = "restricted", scope: str = "container", **fields: Any) -> KubeletConfig:
    """A configuration with the static Memory Manager."""
    return kubelet_config.decode(
        {
            "memoryManagerPolicy": "Static",
            "topologyManagerPolicy": policy,
            "topologyManagerScope": scope,
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
            **fields,
        },
        "test",
    )


def session(
    configured: KubeletConfig | None = None,
    on: MachineInfo | None = None,
    devices: Devices = NO_DEVICES,
    files: Mapping[str, str] | None = None,
) -> Session:
    """A node that was started."""
    configured, on = configured or config(), on or shape()
    node = nodes.start(configured, on, files, devices)
    assert not isinstance(node, StartRefused), node
    return Session(configured, on, node, devices)


def case(
    pod: Pod,
    *queue: Pod,
    begun: Session | None = None,
    fleet: Iterable[OtherNode] = (),
) -> Case:
    """The case of a pod after a queue."""
    return cases.build(begun or session(), queue, pod, fleet=fleet)


def traced(node: Node, pod: Pod) -> Story:
    """The story of a pod on this node, without a queue."""
    return story.trace(cases.build(Session(config(), node.rules.machine, node), (), pod))


def asking(pod: Pod, **amounts: str) -> Pod:
    """The pod with other amounts for its first app container; ``gpu`` is the device."""
    first, *others = pod.app_containers
    wanted = dict(first.requests) | {
        {"gpu": GPU}.get(name, name): Quantity.parse(amount) for name, amount in amounts.items()
    }
    changed = Container(first.name, first.kind, wanted, wanted)
    return Pod(
        pod.uid,
        pod.name,
        init_containers=pod.init_containers,
        app_containers=(changed, *others),
        qos_class=pod.qos_class,
    )


def wide() -> Pod:
    """A pod that needs both nodes of the machine."""
    return simple("wide", "15Gi")


def narrow() -> Pod:
    """A pod that needs one node."""
    return simple("narrow", "2Gi")


def forever() -> bool:
    """Time that does not end."""
    return True


def by_category(tallies: Iterable[Tally]) -> dict[str, Tally]:
    """Tallies by the name of their category."""
    return {tally.category.value: tally for tally in tallies}
