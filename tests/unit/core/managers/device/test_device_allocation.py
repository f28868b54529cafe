"""Which devices a container gets, what it holds afterwards, and what refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.hints.provider import Hint, Refused
from numalet.core.managers.device import allocation, choice, registration
from numalet.core.managers.device.choice import Groups
from numalet.core.managers.device.inventory import Health
from numalet.core.managers.device.ledger import (
    NO_NODE,
    NOTHING_REUSABLE,
    DeviceLedger,
    DeviceRecord,
    ReusableDevices,
)
from numalet.core.managers.device.preference import (
    NO_SAY,
    Accepted,
    EmptyAnswer,
    PreferenceQuestion,
    PreferredDevices,
)
from numalet.core.managers.device.reasons import (
    ChangedRequest,
    EmptyResponse,
    HeldNotHealthy,
    NoneHealthy,
    NotRegistered,
    PreferenceFailed,
    TooFewFree,
    Vetoed,
)
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod
from values.device_bench import (
    ANYWHERE,
    GPU,
    NIC,
    Plugins,
    container,
    devices,
    done,
    held,
    left_by,
    near,
    node,
    pod,
    reason_of,
)

INIT = ContainerKind.INIT
SIDECAR = ContainerKind.SIDECAR
KEY = ContainerKey("u", "c")


def allocated(
    ledger: DeviceLedger,
    one: Container,
    affinity: Hint = ANYWHERE,
    plugins: PreferredDevices = NO_SAY,
    of: Pod | None = None,
) -> DeviceLedger | Refused:
    """The answer for one container, by default of a pod of its own."""
    return allocation.allocate(ledger, of or pod(one), one, affinity, plugins)


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (ANYWHERE, Groups(frozenset(), frozenset(), frozenset("abcd"))),
        (near(0), Groups(frozenset("ac"), frozenset("b"), frozenset("d"))),
        (near(1), Groups(frozenset("bc"), frozenset("a"), frozenset("d"))),
        (near(2), Groups(frozenset(), frozenset("abc"), frozenset("d"))),
    ],
)
def test_free_devices_are_split_by_the_affinity(affinity: Hint, expected: Groups) -> None:
    known = node(gpu="a@0 b@1 c@0+1 d").inventory.devices_of(GPU)
    assert expected == choice.split(known, frozenset("abcd"), affinity.mask)


def test_without_topology_an_affinity_splits_nothing() -> None:
    known = node(gpu="a b").inventory.devices_of(GPU)
    nothing: frozenset[str] = frozenset()
    assert Groups(nothing, nothing, frozenset("ab")) == choice.split(known, frozenset("ab"), 1)


@pytest.mark.parametrize(
    ("count", "expected"),
    [("1", "e"), ("2", "e f"), ("3", "c e f"), ("4", "c d e f"), ("5", "a c d e f")],
)
def test_aligned_devices_come_first_then_unaligned_ones_then_those_without_a_node(
    count: str, expected: str
) -> None:
    ledger = node(gpu="a b c@1 d@1 e@0 f@0")
    assert expected == held(done(allocated(ledger, container(gpu=count), near(0))))


def test_inside_a_group_ids_are_taken_in_their_order_as_text() -> None:
    ledger = node(gpu="gpu2@0 gpu10@0 gpu1@0")
    assert held(done(allocated(ledger, container(gpu="2")))) == "gpu1 gpu10"


def test_a_device_in_use_is_not_given_out_again() -> None:
    ledger = done(allocated(node(gpu="a@0 b@0"), container(gpu="1")))
    second = pod(container(gpu="1"), uid="v")
    after = done(allocated(ledger, container(gpu="1"), of=second))
    assert (held(after), held(after, uid="v")) == ("a", "b")
    third = allocated(after, container(gpu="1"), of=pod(uid="w"))
    assert TooFewFree("c", GPU, 1, 0) == reason_of(third)


def test_every_resource_of_the_limits_is_recorded_with_its_nodes() -> None:
    ledger = done(allocated(node(gpu="a@0+1 b@1 c", nic="n"), container(gpu="3", nic="1")))
    assert {
        GPU: DeviceRecord({NO_NODE: ("c",), 0: ("a",), 1: ("a", "b")}),
        NIC: DeviceRecord({NO_NODE: ("n",)}),
    } == ledger.records["u"]["c"]
    assert {GPU: frozenset("abc"), NIC: frozenset("n")} == ledger.in_use


def test_the_checkpoint_is_written_when_something_was_recorded() -> None:
    before = registration.plugin_stopped(node(gpu="a", nic="n"), NIC)
    after = done(allocated(before, container(gpu="1")))
    assert after.written is not None
    assert after.records == after.written.records
    assert after.written.registered == {GPU: ("a",), NIC: ()}


def test_a_container_without_devices_leaves_the_ledger_as_it_was() -> None:
    ledger = node(gpu="a")
    assert ledger is allocated(ledger, container(cpu="1", memory="1Gi"))
    assert ledger is allocated(ledger, container(gpu="0"))


def test_a_resource_that_the_kubelet_does_not_know_is_ignored() -> None:
    ledger = node(gpu="a")
    assert ledger is allocated(ledger, container(unknown="5"))


def test_a_container_that_holds_its_devices_gets_no_others() -> None:
    ledger = done(allocated(node(gpu="a b"), container(gpu="1")))
    assert ledger is allocated(ledger, container(gpu="1"))


def test_a_container_that_holds_another_number_is_refused() -> None:
    ledger = done(allocated(node(gpu="a b"), container(gpu="1")))
    refused = allocated(ledger, container(gpu="2"))
    assert ChangedRequest("u", "c", GPU, recorded=1, requested=2) == reason_of(refused)
    assert ledger is left_by(refused)


def test_a_resource_whose_plugin_is_gone_for_good_is_refused() -> None:
    ledger = done(allocated(node(gpu="a b"), container(gpu="1")))
    gone = registration.resource_expired(registration.plugin_stopped(ledger, GPU), GPU)
    assert NotRegistered("c", GPU) == reason_of(allocated(gone, container(gpu="1")))


@pytest.mark.parametrize("count", ["0", "1"])
def test_without_a_healthy_device_even_a_request_for_none_is_refused(count: str) -> None:
    refused = allocated(node(gpu=""), container(gpu=count))
    assert NoneHealthy("c", GPU) == reason_of(refused)


def test_a_container_whose_device_broke_is_refused() -> None:
    ledger = done(allocated(node(gpu="a b c"), container(gpu="2")))
    broken = registration.devices_reported(
        ledger, GPU, [*devices("a b", Health.UNHEALTHY), *devices("c")]
    )
    assert HeldNotHealthy("c", GPU, "a") == reason_of(allocated(broken, container(gpu="2")))


def test_after_a_restart_a_running_container_is_let_through_unexamined() -> None:
    before = done(allocated(node(gpu="a"), container(gpu="1")))
    restarted = registration.restarted(before.written, [KEY])
    assert restarted is allocated(restarted, container(gpu="1"))
    waiting = registration.restarted(before.written, [])
    assert NoneHealthy("c", GPU) == reason_of(allocated(waiting, container(gpu="1")))


def test_a_running_container_whose_number_changed_is_refused_all_the_same() -> None:
    before = done(allocated(node(gpu="a"), container(gpu="1")))
    restarted = registration.restarted(before.written, [KEY])
    refused = allocated(restarted, container(gpu="3"))
    assert ChangedRequest("u", "c", GPU, recorded=1, requested=3) == reason_of(refused)


def in_turn(ledger: DeviceLedger, whole: Pod) -> DeviceLedger:
    """The ledger after all containers of a pod."""
    for each in whole.containers():
        ledger = done(allocated(ledger, each, of=whole))
    return ledger


def test_devices_of_init_containers_are_used_again() -> None:
    whole = pod(container("i", INIT, gpu="2"), container("j", INIT, gpu="3"), container(gpu="3"))
    ledger = in_turn(node(gpu="a b c"), whole)
    assert (held(ledger, "i"), held(ledger, "j"), held(ledger)) == ("a b", "a b c", "a b c")
    assert ledger.reusable == NOTHING_REUSABLE


def test_what_an_app_container_used_again_its_neighbour_can_not() -> None:
    whole = pod(container("i", INIT, gpu="2"), container("x", gpu="1"), container("y", gpu="1"))
    ledger = in_turn(node(gpu="a b c"), whole)
    assert (held(ledger, "x"), held(ledger, "y")) == ("a", "b")
    more = allocated(ledger, container("z", gpu="2"), of=whole)
    assert TooFewFree("z", GPU, 2, 1) == reason_of(more)


def test_devices_of_a_sidecar_stay_with_it() -> None:
    whole = pod(container("i", INIT, gpu="2"), container("s", SIDECAR, gpu="1"), container(gpu="2"))
    ledger = in_turn(node(gpu="a b c d"), whole)
    assert (held(ledger, "s"), held(ledger)) == ("a", "b c")


def test_the_number_refused_is_what_is_left_after_those_used_again() -> None:
    whole = pod(container("i", INIT, gpu="2"), container(gpu="5"))
    ledger = done(allocated(node(gpu="a b c"), whole.init_containers[0], of=whole))
    refused = allocated(ledger, whole.app_containers[0], of=whole)
    assert TooFewFree("c", GPU, needed=3, free=1) == reason_of(refused)
    assert ledger.in_use == left_by(refused).in_use


def test_devices_used_again_are_not_checked_once_more() -> None:
    whole = pod(container("i", INIT, gpu="1"), container(gpu="1"))
    ledger = done(allocated(node(gpu="a@0 b@1"), whole.init_containers[0], near(0), of=whole))
    changed = registration.devices_reported(ledger, GPU, devices("b@1"))
    after = done(allocated(changed, whole.app_containers[0], near(1), of=whole))
    record = after.record(KEY, GPU)
    assert DeviceRecord({NO_NODE: ("a",)}) == record


def test_a_device_that_is_free_and_may_be_used_again_counts_once() -> None:
    # The pod was rejected and forgotten, and comes back before any other pod was allocated for.
    again = ReusableDevices("u", {GPU: frozenset("ab")})
    ledger = replace(node(gpu="a@0 b@0 c@1"), reusable=again)

    reason = reason_of(allocated(ledger, container(gpu="4")))

    assert reason == TooFewFree("c", GPU, needed=2, free=1)
    assert held(done(allocated(ledger, container(gpu="3")))) == "a b c"


def test_another_pod_forgets_what_could_be_used_again() -> None:
    first = pod(container("i", INIT, gpu="1"))
    ledger = in_turn(node(gpu="a b"), first)
    assert ReusableDevices("u", {GPU: frozenset("a")}) == ledger.reusable
    after = done(allocated(ledger, container(cpu="1"), of=pod(uid="v")))
    assert after.reusable == NOTHING_REUSABLE


def test_a_container_after_a_restart_makes_its_devices_usable_again() -> None:
    whole = pod(container("i", INIT, gpu="1"), container(gpu="1"))
    before = in_turn(node(gpu="a"), whole)
    again = registration.all_reported(
        registration.restarted(before.written, ()), {GPU: devices("a")}
    )
    after = done(allocated(again, whole.init_containers[0], of=whole))
    assert ReusableDevices("u", {GPU: frozenset("a")}) == after.reusable


def test_a_plugin_chooses_among_aligned_devices_when_there_are_more_than_needed() -> None:
    plugins = Plugins(prefers="c x d")
    ledger = node(gpu="a@0 b@0 c@0 d@1")
    after = done(allocated(ledger, container(gpu="2"), near(0), plugins))
    assert held(after) == "a c"
    question = PreferenceQuestion(KEY, GPU, frozenset("abc"), frozenset(), 2)
    assert [question] == plugins.questions


def test_a_plugin_chooses_the_rest_when_all_aligned_devices_are_taken() -> None:
    plugins = Plugins(prefers="d")
    ledger = node(gpu="a@0 b@1 c@1 d")
    after = done(allocated(ledger, container(gpu="2"), near(0), plugins))
    assert held(after) == "a d"
    question = PreferenceQuestion(KEY, GPU, frozenset("abcd"), frozenset("a"), 2)
    assert [question] == plugins.questions


def test_a_plugin_is_not_asked_when_the_aligned_devices_are_just_enough() -> None:
    plugins = Plugins(prefers="c")
    ledger = node(gpu="a@0 b@0 c@1")
    assert held(done(allocated(ledger, container(gpu="2"), near(0), plugins))) == "a b"
    assert plugins.questions == []


def test_a_plugin_hears_which_devices_are_used_again() -> None:
    whole = pod(container("i", INIT, gpu="1"), container(gpu="2"))
    ledger = done(allocated(node(gpu="a b c"), whole.init_containers[0], of=whole))
    plugins = Plugins(prefers="a c")
    after = done(allocated(ledger, whole.app_containers[0], plugins=plugins, of=whole))
    assert held(after) == "a c"
    assert [PreferenceQuestion(KEY, GPU, frozenset("abc"), frozenset("a"), 2)] == plugins.questions


def test_a_failed_question_refuses_and_leaves_what_was_taken_in_use() -> None:
    ledger = node(gpu="a@0 b@1 c@1")
    refused = allocated(ledger, container(gpu="2"), near(0), Plugins(fails="gone"))
    assert PreferenceFailed("c", GPU, "gone") == reason_of(refused)
    left = left_by(refused)
    assert ({GPU: frozenset("a")}, {}) == (left.in_use, left.records)


def test_a_failed_question_about_aligned_devices_takes_nothing() -> None:
    ledger = node(gpu="a@0 b@0")
    refused = allocated(ledger, container(gpu="1"), near(0), Plugins(fails="gone"))
    assert {GPU: frozenset()} == left_by(refused).in_use


def test_a_veto_frees_what_was_taken_and_keeps_earlier_resources() -> None:
    ledger = done(allocated(node(gpu="a b", nic="n"), container(gpu="1")))
    whole = pod(container(gpu="1", nic="1"), uid="v")

    refused = allocated(ledger, whole.app_containers[0], plugins=Plugins(vetoes=NIC), of=whole)
    assert Vetoed("c", NIC, "no") == reason_of(refused)
    left = left_by(refused)
    assert {GPU: frozenset("ab")} == left.in_use
    assert held(left, uid="v") == "b"
    assert ledger.written == left.written


def test_an_answer_for_no_container_refuses_and_leaves_the_devices_in_use() -> None:
    plugins = Plugins(answer=EmptyAnswer("&AllocateResponse{}"))
    refused = allocated(node(gpu="a b"), container(gpu="1"), plugins=plugins)
    assert EmptyResponse("c", GPU, "&AllocateResponse{}") == reason_of(refused)
    assert {GPU: frozenset("a")} == left_by(refused).in_use


def test_what_a_plugin_answers_is_kept() -> None:
    plugins = Plugins(answer=Accepted(b"\n\0"))
    after = done(allocated(node(gpu="b a"), container(gpu="2"), plugins=plugins))
    record = after.record(KEY, GPU)
    assert DeviceRecord({NO_NODE: ("a", "b")}, b"\n\0") == record
    assert plugins.allocated == [("a", "b")]


def test_released_pods_give_their_devices_back() -> None:
    before = node(gpu="a b")
    ledger = done(allocated(before, container(gpu="1")))
    ledger = done(allocated(ledger, container(gpu="1"), of=pod(uid="v")))
    after = allocation.release_pods(ledger, {"u"})
    assert {GPU: frozenset("b")} == after.in_use
    assert list(after.records) == ["v"]
    assert ledger.written == after.written
    assert after is allocation.release_pods(after, {"u"})


def test_devices_in_use_without_a_record_are_free_after_the_next_release() -> None:
    leak = replace(node(gpu="a b"), in_use={GPU: frozenset("ab")}, records={"u": {}})
    assert allocation.release_pods(leak, {"u"}).in_use == {}
