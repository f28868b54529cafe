"""The Device Manager as one of the managers of a node."""

from __future__ import annotations

from numalet.core.hints.provider import ResourceManager
from numalet.core.managers.device import registration
from numalet.core.managers.device.device_policy import DevicePolicy
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.model.pod import ContainerKey, ContainerKind
from values.device_bench import ANYWHERE, GPU, container, done, held, near, node, pod

MANAGER: ResourceManager[DeviceLedger] = DevicePolicy(0b11)
ONE = container(gpu="1")


def two_pods() -> DeviceLedger:
    """A node on which the pods u and v hold a device each."""
    first = done(MANAGER.allocate(node(gpu="a@0 b@1"), pod(ONE), ONE, ANYWHERE))
    return done(MANAGER.allocate(first, pod(ONE, uid="v"), ONE, ANYWHERE))


def test_the_manager_allocates_by_the_affinity() -> None:
    after = done(MANAGER.allocate(node(gpu="a@0 b@1"), pod(ONE), ONE, near(1)))
    assert held(after) == "b"


def test_holders_are_the_containers_with_a_record() -> None:
    assert [ContainerKey("u", "c"), ContainerKey("v", "c")] == list(MANAGER.holders(two_pods()))


def test_what_is_not_active_is_forgotten_with_the_whole_pod() -> None:
    after = MANAGER.forget_stale(two_pods(), {ContainerKey("v", "c")})
    assert (held(after), held(after, uid="v")) == ("", "b")
    assert {GPU: frozenset("b")} == after.in_use


def test_a_pod_is_active_as_long_as_one_of_its_containers_is() -> None:
    ledger = two_pods()
    active = {ContainerKey("u", "another"), ContainerKey("v", "c")}
    assert ledger is MANAGER.forget_stale(ledger, active)


def test_a_node_without_records_has_nothing_to_forget() -> None:
    ledger = node(gpu="a")
    assert ledger is MANAGER.forget_stale(ledger, set())


def test_once_stale_records_may_go_nobody_is_let_through_unexamined() -> None:
    restarted = registration.restarted(two_pods().written, [ContainerKey("u", "c")])
    active = {ContainerKey("u", "c"), ContainerKey("v", "c")}
    after = MANAGER.forget_stale(restarted, active)
    assert frozenset() == after.running
    assert restarted.records == after.records


def test_an_ended_init_container_keeps_its_devices() -> None:
    init = container("i", ContainerKind.INIT, gpu="1")
    whole = pod(init, container())
    ledger = done(MANAGER.allocate(node(gpu="a"), whole, init, ANYWHERE))
    assert ledger is MANAGER.container_started(ledger, whole, whole.app_containers[0])


def test_a_pods_devices_of_one_resource_are_those_of_all_its_containers() -> None:
    first, second, third = (container(name, gpu="1") for name in "xyz")
    whole = pod(first, second, third)
    ledger = done(MANAGER.allocate(node(gpu="a b c", nic="n"), whole, first, ANYWHERE))
    ledger = done(MANAGER.allocate(ledger, whole, second, ANYWHERE))
    assert frozenset("ab") == ledger.held_by_pod("u", GPU)
    assert frozenset() == ledger.held_by_pod("u", "example.com/nic")
    assert frozenset() == ledger.held_by_pod("nobody", GPU)
