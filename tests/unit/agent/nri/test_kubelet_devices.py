"""Devices that a kubelet allocated, as hints for CPUs and memory."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.nri import kubelet_devices
from numalet.agent.nri.choices import Mode, PinningChoice
from numalet.agent.nri.kubelet_devices import NO_DEVICES, DeviceReader, KubeletDevices
from numalet.core.managers.device.inventory import Device
from numalet.core.model import cpu_set
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.io.pod_resources_client import CallRefused, JsonAnswer
from numalet.io.tasks import beside
from numalet.wording.log_line import LogLine
from running import agents
from running.fake_runtime import BURSTABLE
from running.plugin_runtime import PluginRuntime, empty_node, permitting
from values import builders

GPU = "nvidia.com/gpu"


def devices(*ids: str, node: int | None = None, resource: str = GPU) -> dict[str, Any]:
    """Entries of an answer; protobuf's JSON omits the number 0."""
    nodes = [] if node is None else [{"ID": str(node)} if node else {}]
    return {"resourceName": resource, "deviceIds": list(ids), "topology": {"nodes": nodes}}


ALLOCATABLE = {"devices": [devices("g0", "g1", node=0), devices("g2", "g3", node=1)]}


def listed(*pods: tuple[str, dict[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    return {
        "podResources": [
            {
                "name": name,
                "namespace": "default",
                "containers": [
                    {"name": each, "devices": found} for each, found in containers.items()
                ],
            }
            for name, containers in pods
        ]
    }


def reading(
    *pods: tuple[str, dict[str, list[dict[str, Any]]]], machine: MachineInfo | None = None
) -> KubeletDevices:
    of = agents.SHAPE.open().info if machine is None else machine
    return kubelet_devices.of_answers(of, ALLOCATABLE, listed(*pods))


def with_gpus(name: str, count: int, cpus: int = 2) -> Pod:
    asked = {
        "cpu": Quantity.from_int(cpus),
        "memory": Quantity.parse("1Gi"),
        GPU: Quantity.from_int(count),
    }
    app = Container("app", requests=asked, limits=asked)
    first = Container("first", ContainerKind.INIT)
    return Pod(
        uid=f"uid-{name}",
        name=name,
        init_containers=(first,),
        app_containers=(app,),
        qos_class=QosClass.GUARANTEED,
    )


def runtime(found: KubeletDevices, *pods: Pod) -> PluginRuntime:
    made = PluginRuntime(PinningChoice(Mode.ENFORCE), {each.uid: each for each in pods})
    made.devices = found
    return made


def test_a_pod_gets_cpus_and_memory_next_to_its_device() -> None:
    on = runtime(reading(("train", {"app": [devices("g2", node=1)]})), with_gpus("train", 1))
    app = on.create(on.sandbox("train"))
    cpus, nodes = on.sets(app)
    assert cpu_set.parse(cpus) <= frozenset(range(8, 16))
    assert nodes == "1"
    key = ContainerKey("uid-train", "app")
    record = on.plugin.plan.node.snapshot.device.record(key, GPU)
    assert record is not None
    assert record.by_node == {1: ("g2",)}
    assert on.plugin.counts.unknown_devices == 0
    # The same after a restart of the plugin, and a device is given back at the end of the pod.
    on.begin()
    on.synchronize()
    assert on.sets(app) == (cpus, nodes)
    on.remove(on.sandboxes["sandbox-train"])
    assert not on.plugin.plan.node.snapshot.device.records


def test_without_a_pod_object_the_device_counts_too() -> None:
    on = runtime(reading(("train", {"app": [devices("g3", node=1)]})))
    assert on.sets(on.create(on.sandbox("train")))[1] == "1"


def test_a_confined_pod_follows_its_device() -> None:
    found = reading(("web", {"app": [devices("g0", node=0)]}))
    on = runtime(found)
    on.choice = PinningChoice(Mode.ENFORCE, permissions=permitting(placement=["one-numa-node"]))
    on.begin()
    # Node 1 has more room, but the device is on node 0.
    pod = on.sandbox("web", BURSTABLE, numalet_dev__placement="one-numa-node")
    assert on.sets(on.create(pod, cpu=1)) == ("0-7", "0")


def test_devices_of_two_nodes_need_both() -> None:
    found = reading(("wide", {"app": [devices("g1", node=0), devices("g2", node=1)]}))
    on = runtime(found, with_gpus("wide", 2))
    on.choice = PinningChoice(
        Mode.ENFORCE, permissions=permitting(topology_policy=["single-numa-node"])
    )
    on.begin()
    strict = on.sandbox("wide", numalet_dev__topology_policy="single-numa-node")
    with pytest.raises(Exception, match="no room for default/wide"):
        on.create(strict)


def test_a_device_that_was_not_named_in_time_is_reported_and_never_guessed() -> None:
    on = runtime(reading(), with_gpus("train", 1))
    assert on.sets(on.create(on.sandbox("train")))[1] == "0"
    assert not on.plugin.plan.node.snapshot.device.records
    assert on.plugin.counts.unknown_devices == 1
    assert on.told == [
        "DevicesUnknown default/train: its nvidia.com/gpu was not known in time: CPUs and memory "
        "may be far from it"
    ]


def test_a_device_that_is_no_longer_healthy_is_known_by_its_holder() -> None:
    gone = devices("g9", node=1)
    found = reading(("train", {"app": [gone]}))
    assert Device("g9", (1,)) in found.inventory[GPU]
    on = runtime(found, with_gpus("train", 1))
    assert on.sets(on.create(on.sandbox("train")))[1] == "1"


def test_devices_without_a_numa_node_prefer_none() -> None:
    found = reading(("x", {"app": [devices("u0", resource="example.com/u")]}))
    assert found.inventory["example.com/u"] == (Device("u0"),)
    on = runtime(found)
    assert on.sets(on.create(on.sandbox("x")))[1] == "0"
    record = on.plugin.plan.node.snapshot.device.records["uid-x/app"]["app"]["example.com/u"]
    assert record.by_node == {-1: ("u0",)}


def test_a_device_on_a_node_without_cpus_is_near_the_closest_ones() -> None:
    distances = ((10, 20, 40, 30), (20, 10, 30, 40), (40, 30, 10, 50), (30, 40, 50, 10))
    info = builders.machine(4, 4, 4, 4, distances=distances)
    nodes = (*info.nodes[:2], *(replace(each, cores=()) for each in info.nodes[2:]))
    found = kubelet_devices.of_answers(
        replace(info, nodes=nodes),
        {"devices": [devices("a", node=2), devices("b", node=3), devices("c", node=9)]},
        {},
    )
    assert found.inventory[GPU] == (Device("a", (1,)), Device("b", (0,)), Device("c"))


def test_a_node_without_distances_is_near_nothing() -> None:
    info = builders.machine(4, 4)
    blind = replace(info, nodes=(info.nodes[0], replace(info.nodes[1], cores=())))
    found = kubelet_devices.of_answers(blind, {"devices": [devices("a", node=1)]}, {})
    assert found.inventory[GPU] == (Device("a"),)


@pytest.mark.parametrize(
    ("answer", "manager"),
    [
        ({}, ""),
        ({"cpuIds": ["1", "2"]}, "the kubelet's cpuManagerPolicy is static"),
        (
            {"memory": [{"memoryType": "memory", "size": "1", "topology": {"nodes": [{}]}}]},
            "the kubelet's memoryManagerPolicy is Static",
        ),
    ],
)
def test_a_manager_of_the_kubelet_is_seen_in_its_answer(
    answer: dict[str, Any], manager: str
) -> None:
    assert kubelet_devices.of_answers(agents.SHAPE.open().info, answer, {}).manager == manager


class Kubelet:
    """Its answers; ``asked`` runs before each of them."""

    def __init__(self) -> None:
        self.pods = listed(("train", {"app": [devices("g2", node=1)]}))
        self.refusal: CallRefused | None = None
        self.asked: Callable[[], object] = lambda: None

    def allocatable(self) -> JsonAnswer | CallRefused:
        return self.refusal or JsonAnswer(ALLOCATABLE)

    def list_pods(self) -> JsonAnswer | CallRefused:
        self.asked()
        return JsonAnswer(self.pods)


def reader(said: list[LogLine], kubelet: Kubelet | None = None) -> DeviceReader:
    made = DeviceReader(Path("/nowhere"), empty_node().rules.machine, said.append)
    if kubelet is not None:
        made._client = kubelet  # type: ignore[assignment]
    return made


def test_a_reading_waits_for_no_handler_and_a_new_pod_starts_the_next_one() -> None:
    async def scene() -> None:
        kubelet, said, seen = Kubelet(), list[LogLine](), list[KubeletDevices]()
        made = reader(said, kubelet)
        both = asyncio.Event()

        def changed(found: KubeletDevices) -> None:
            seen.append(found)
            if len(seen) == 1:
                # It is called without waiting for the end of the period.
                made.announce("default", "other")
            else:
                both.set()

        async with beside(made.follow(1000.0, changed)):
            await both.wait()
        assert ("default", "train") in seen[1].held

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_devices_of_an_earlier_pod_with_the_same_name_do_not_count() -> None:
    async def scene() -> None:
        kubelet = Kubelet()
        made = reader([], kubelet)
        await made.read()
        assert ("default", "train") in made.latest.held
        # A pod begins while the kubelet answers: the answer may be about the earlier one.
        kubelet.asked = lambda: made.announce("default", "train")
        await made.read()
        assert not made.latest.held
        kubelet.asked = lambda: None
        await made.read()
        assert ("default", "train") in made.latest.held

    asyncio.run(scene())


def test_a_kubelet_that_does_not_answer_is_named_once() -> None:
    async def scene() -> tuple[DeviceReader, list[LogLine]]:
        said: list[LogLine] = []
        nobody = reader(said)
        await nobody.read()
        await nobody.read()
        assert len(said) == 1
        kubelet = Kubelet()
        made = reader(said, kubelet)
        await made.read()
        kubelet.refusal = CallRefused("ResourceExhausted", "too many")
        await made.read()
        return made, said

    made, said = asyncio.run(scene())
    assert made.latest != NO_DEVICES
    assert said[1].keys == {"why": "ResourceExhausted: too many"}
