"""Which sets of NUMA nodes are offered for devices, and why others are not."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.hints.provider import Impossible, NoPreference, ResourceHints
from numalet.core.managers.device import registration
from numalet.core.managers.device.device_policy import DevicePolicy
from numalet.core.managers.device.hints import TouchedSets
from numalet.core.managers.device.inventory import Health
from numalet.core.managers.device.ledger import DeviceLedger, ReusableDevices
from numalet.core.managers.device.reasons import (
    FewerThanAsked,
    LeavesOutReused,
    NoSetOfNodes,
    OtherNumberHeld,
    TooFewDevicesOnNodes,
)
from numalet.core.model import numa_mask
from numalet.core.model.pod import Container, ContainerKind
from numalet.core.model.quantity import Quantity
from values.device_bench import ANYWHERE, GPU, NIC, container, devices, done, node, pod


def policy(nodes: int = 2) -> DevicePolicy:
    """The manager of a machine with this many nodes."""
    return DevicePolicy((1 << nodes) - 1)


def hints_of(
    ledger: DeviceLedger, one: Container, nodes: int = 2, resource: str = GPU
) -> ResourceHints:
    """The answer for one resource of a pod's only container."""
    answer = policy(nodes).container_hints(ledger, pod(one), one)
    assert isinstance(answer, dict)
    found: ResourceHints = answer[resource]
    return found


def family(answer: ResourceHints) -> TouchedSets:
    """The answer, which is a family of hints."""
    assert isinstance(answer, TouchedSets)
    return answer


def shown(answer: ResourceHints) -> str:
    """The hints in their order, preferred ones with a star."""
    return " ".join(
        numa_mask.text(hint.mask or 0) + "*" * hint.preferred for hint in family(answer).hints()
    )


def test_sets_with_enough_free_devices_are_offered_smaller_ones_first() -> None:
    assert shown(hints_of(node(gpu="a@0 b@1"), container(gpu="1"))) == "{0}* {1}* {0,1}"
    assert shown(hints_of(node(gpu="a@0 b@0 c@1"), container(gpu="2"))) == "{0}* {0,1}"
    assert shown(hints_of(node(gpu="a@0 b@1"), container(gpu="2"))) == "{0,1}*"


def test_a_set_is_preferred_by_what_all_devices_would_allow_free_or_not() -> None:
    ledger = node(gpu="a@0 b@0 c@1")
    used = replace(ledger, in_use={GPU: frozenset("a")})
    assert shown(hints_of(used, container(gpu="2"))) == "{0,1}"
    broken = registration.devices_reported(
        ledger, GPU, [*devices("a@0", Health.UNHEALTHY), *devices("b@0 c@1")]
    )
    assert shown(hints_of(broken, container(gpu="2"))) == "{0,1}"


def test_when_even_all_devices_would_not_do_the_whole_machine_is_preferred() -> None:
    # A device that can be used again and is free all the same counts twice.
    ledger = replace(node(gpu="a@0 b@1 c"), reusable=ReusableDevices("u", {GPU: frozenset("a")}))
    assert shown(hints_of(ledger, container(gpu="3"))) == "{0,1}*"


def test_a_device_of_several_nodes_touches_every_set_with_one_of_them() -> None:
    assert shown(hints_of(node(gpu="a@0+1"), container(gpu="1"))) == "{0}* {1}* {0,1}"
    offered = hints_of(node(gpu="a@0+1 b@2 c@1"), container(gpu="2"), nodes=3)
    assert shown(offered) == "{1}* {0,1} {0,2} {1,2} {0,1,2}"


def test_a_device_without_a_node_never_counts() -> None:
    assert Impossible(NoSetOfNodes(GPU, 2)) == hints_of(node(gpu="a@0 b c"), container(gpu="2"))


def test_a_resource_of_which_no_device_has_a_node_has_no_preference() -> None:
    assert NoPreference() == hints_of(node(gpu="a b"), container(gpu="1"))


def test_devices_on_nodes_that_the_machine_lacks_can_not_be_offered() -> None:
    assert Impossible(NoSetOfNodes(GPU, 1)) == hints_of(node(gpu="a@7"), container(gpu="1"))


def test_a_manager_that_knows_no_nodes_can_offer_nothing() -> None:
    one = container(gpu="1")
    answer = DevicePolicy(0).container_hints(node(gpu="a@0"), pod(one), one)
    assert {GPU: Impossible(NoSetOfNodes(GPU, 1))} == answer


def test_a_request_for_none_is_met_by_every_set() -> None:
    assert shown(hints_of(node(gpu="a@0"), container(gpu="0"))) == "{0}* {1}* {0,1}"


def test_quantities_are_rounded_up_to_whole_devices() -> None:
    assert shown(hints_of(node(gpu="a@0 b@1"), container(gpu="1500m"))) == "{0,1}*"


def test_too_few_free_devices_are_reported_before_any_set_is_checked() -> None:
    assert Impossible(FewerThanAsked(GPU, 1, 2)) == hints_of(node(gpu="a@0"), container(gpu="2"))


def test_only_device_resources_are_answered_in_order_of_their_names() -> None:
    one = container(nic="1", gpu="1", cpu="1", memory="1Gi", unknown="1")
    answer = policy().container_hints(node(gpu="a@0", nic="n@1"), pod(one), one)
    assert isinstance(answer, dict)
    assert list(answer) == [GPU, NIC]


def test_a_resource_whose_plugin_is_gone_is_answered_while_devices_are_in_use() -> None:
    one = container(gpu="1")
    ledger = done(policy().allocate(node(gpu="a@0"), pod(one), one, ANYWHERE))
    gone = registration.resource_expired(registration.plugin_stopped(ledger, GPU), GPU)
    assert shown(hints_of(gone, one)) == "{0}* {0,1}"
    other = policy().container_hints(gone, pod(one, uid="v"), one)
    assert {GPU: Impossible(FewerThanAsked(GPU, 0, 1))} == other


def test_a_container_that_holds_devices_gets_the_hints_of_exactly_these() -> None:
    one = container(gpu="1")
    ledger = done(policy().allocate(node(gpu="a@0 b@1"), pod(one), one, ANYWHERE))
    assert shown(hints_of(ledger, one)) == "{0}* {0,1}"
    changed = hints_of(ledger, container(gpu="2"))
    assert Impossible(OtherNumberHeld(GPU, 1, 2)) == changed


def test_devices_of_init_containers_must_be_in_every_set() -> None:
    first = container("i", ContainerKind.INIT, gpu="1")
    then = container(gpu="2")
    both = pod(first, then)
    ledger = done(policy().allocate(node(gpu="a@0 b@0 c@1 d"), both, first, ANYWHERE))
    answer = policy().container_hints(ledger, both, then)
    assert isinstance(answer, dict)
    assert shown(answer[GPU]) == "{0}* {0,1}"
    why = family(answer[GPU]).why_not(0b10)
    assert LeavesOutReused(0b10, GPU, "a") == why
    assert family(answer[GPU]).why_not(0b01) is None


def test_devices_that_can_be_used_again_count_beside_the_free_ones() -> None:
    reusable = ReusableDevices("u", {GPU: frozenset("a")})
    ledger = replace(node(gpu="a@0 b@1"), reusable=reusable, in_use={GPU: frozenset("a")})
    assert shown(hints_of(ledger, container(gpu="2"))) == "{0,1}*"
    assert Impossible(FewerThanAsked(GPU, 2, 3)) == hints_of(ledger, container(gpu="3"))


def test_the_overhead_of_a_pod_is_not_asked_for_in_devices() -> None:
    asking = pod(container(gpu="1"))
    with_overhead = replace(asking, overhead={GPU: Quantity.parse("1")})
    ledger = node(gpu="a@0 b@1")
    assert policy().pod_hints(ledger, asking) == policy().pod_hints(ledger, with_overhead)


def test_a_device_without_a_node_that_is_used_again_is_left_out_of_the_count() -> None:
    reusable = ReusableDevices("u", {GPU: frozenset("c")})
    ledger = replace(node(gpu="a@0 b@1 c"), reusable=reusable, in_use={GPU: frozenset("c")})
    answer = hints_of(ledger, container(gpu="1"))
    assert shown(answer) == "{0}* {1}* {0,1}"
    assert shown(hints_of(ledger, container(gpu="2"))) == "{0,1}*"


def test_why_a_set_is_not_offered_is_reported_in_numbers() -> None:
    offered = family(hints_of(node(gpu="a@0 b@0 c@1"), container(gpu="2")))
    assert TooFewDevicesOnNodes(0b10, GPU, 1, 2) == offered.why_not(0b10)
    assert offered.why_not(0b01) is None


def test_a_pod_is_asked_for_as_one_and_nothing_counts_as_used_again() -> None:
    first = container("i", ContainerKind.INIT, gpu="1")
    both = pod(first, container(gpu="1"))
    ledger = node(gpu="a@0 b@1")
    answer = policy().pod_hints(ledger, both)
    assert isinstance(answer, dict)
    assert shown(answer[GPU]) == "{0}* {1}* {0,1}"
    reusable = replace(
        ledger, in_use={GPU: frozenset("ab")}, reusable=ReusableDevices("u", {GPU: frozenset("a")})
    )
    assert {GPU: Impossible(FewerThanAsked(GPU, 0, 1))} == policy().pod_hints(reusable, both)


def test_a_pod_that_holds_devices_gets_the_hints_of_all_of_them_together() -> None:
    apps = (container("x", gpu="1"), container("y", gpu="1"), container("z", nic="0"))
    ledger = node(gpu="a@0 b@1 c@1", nic="n@0")
    ledger = done(policy().allocate(ledger, pod(*apps), apps[0], ANYWHERE))
    partly = policy().pod_hints(ledger, pod(*apps))
    assert isinstance(partly, dict)
    assert Impossible(OtherNumberHeld(GPU, 1, 2)) == partly[GPU]
    ledger = done(policy().allocate(ledger, pod(*apps), apps[1], ANYWHERE))
    wholly = policy().pod_hints(ledger, pod(*apps))
    assert isinstance(wholly, dict)
    assert shown(wholly[GPU]) == "{0,1}"


def test_hints_may_name_the_nodes_of_devices_alone() -> None:
    over_device_nodes = DevicePolicy(0b1111, hints_over_device_nodes=True)

    def offered(ledger: DeviceLedger, count: str) -> str:
        one = container(gpu=count)
        answer = over_device_nodes.container_hints(ledger, pod(one), one)
        assert isinstance(answer, dict)
        return shown(answer[GPU])

    assert offered(node(gpu="a@1 b@3"), "1") == "{1}* {3}* {1,3}"
    # What is used or broken is where it is, and a node that the machine lacks is no node.
    broken = registration.devices_reported(
        node(), GPU, [*devices("a@1 b@9"), *devices("c@2", Health.UNHEALTHY)]
    )
    assert offered(broken, "1") == "{1}* {1,2}"
    # Where every device is on nodes that the machine lacks, nothing is left out.
    assert "Impossible" in repr(
        over_device_nodes.container_hints(
            node(gpu="a@9"), pod(container(gpu="1")), container(gpu="1")
        )
    )


def test_hints_by_rule_are_those_by_enumeration() -> None:
    ledger = node(gpu="a@0 b@1 c@1 d@0+2")
    listed = family(hints_of(ledger, container(gpu="2"), nodes=3))
    by_rule = replace(listed, tried=None)
    assert listed.hints() == by_rule.hints()
    assert shown(listed) == shown(by_rule)


def test_hints_by_rule_contain_the_devices_of_init_containers() -> None:
    first = container("i", ContainerKind.INIT, gpu="1")
    then = container(gpu="2")
    both = pod(first, then)
    ledger = done(policy().allocate(node(gpu="a@0 b@0 c@1 d"), both, first, ANYWHERE))
    answer = policy().container_hints(ledger, both, then)
    assert isinstance(answer, dict)
    listed = family(answer[GPU])
    assert listed.reused == {"a"}
    assert listed.hints() == replace(listed, tried=None).hints()
