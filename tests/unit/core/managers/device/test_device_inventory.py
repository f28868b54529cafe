"""What plugins reported, what their coming and going changes, and which names are legal."""

from __future__ import annotations

import pytest

from numalet.core.managers.device import inventory, registration
from numalet.core.managers.device.inventory import (
    NOTHING_REPORTED,
    Device,
    Health,
    KnownDevices,
    Registration,
)
from numalet.core.managers.device.ledger import EMPTY_LEDGER, DeviceRecord, WrittenCheckpoint
from numalet.core.managers.device.registration import Capacity
from numalet.core.model.pod import ContainerKey
from values.device_bench import GPU, NIC, devices, node


def test_a_report_replaces_the_one_before_it() -> None:
    first = inventory.reported(NOTHING_REPORTED, GPU, devices("a@0 b@1"))
    second = inventory.reported(first, GPU, devices("b@0 c"))
    assert {"b": Device("b", (0,)), "c": Device("c")} == second.devices_of(GPU).by_id
    assert frozenset("bc") == second.healthy(GPU)


def test_a_report_leaves_other_resources_alone() -> None:
    both = inventory.reported(
        inventory.reported(NOTHING_REPORTED, GPU, devices("a")), NIC, devices("n")
    )
    assert (frozenset("a"), frozenset("n")) == (both.healthy(GPU), both.healthy(NIC))


def test_an_id_reported_twice_is_where_the_last_report_says_and_both_healthy_and_not() -> None:
    twice = [Device("a", (0,)), Device("a", (1,), Health.UNHEALTHY)]
    found = inventory.reported(NOTHING_REPORTED, GPU, twice)
    assert found.devices_of(GPU).masks == {"a": 0b10}
    assert Registration(frozenset("a"), frozenset("a")) == found.registered[GPU]


def test_a_resource_that_was_not_reported_has_no_devices() -> None:
    assert NOTHING_REPORTED.devices_of(GPU).by_id == {}
    assert frozenset() == NOTHING_REPORTED.healthy(GPU)


def test_one_device_with_a_node_makes_a_resource_care_about_alignment() -> None:
    assert KnownDevices({"a": Device("a"), "b": Device("b", (0,))}).has_topology
    assert not KnownDevices({"a": Device("a")}).has_topology


def test_a_node_id_that_no_machine_has_is_in_no_set_of_a_machines_nodes() -> None:
    known = KnownDevices({"a": Device("a", (10**12,)), "b": Device("b", (-7, 1))})
    whole_machine = (1 << 1024) - 1
    assert known.mask_of("a") & whole_machine == 0
    assert known.mask_of("b") & whole_machine == 0b10
    assert known.mask_of("a")


def test_when_a_plugin_stops_nothing_is_healthy_but_the_devices_stay_known() -> None:
    ledger = registration.plugin_stopped(node(gpu="a@0 b@1"), GPU)
    assert Capacity(capacity=2, allocatable=0) == registration.capacities(ledger)[GPU]
    assert ledger.inventory.devices_of(GPU).mask_of("b") == 0b10


def test_after_the_grace_period_the_resource_is_gone_but_its_devices_stay_known() -> None:
    ledger = registration.resource_expired(
        registration.plugin_stopped(node(gpu="a@0", nic="n@1"), GPU), GPU
    )
    assert list(registration.capacities(ledger)) == [NIC]
    assert ledger.inventory.devices_of(GPU).mask_of("a") == 0b01
    assert not ledger.is_handled(GPU)


def test_unhealthy_devices_count_as_capacity_only() -> None:
    mixed = [*devices("a b"), *devices("c", Health.UNHEALTHY)]
    ledger = registration.devices_reported(EMPTY_LEDGER, GPU, mixed)
    assert {GPU: Capacity(capacity=3, allocatable=2)} == registration.capacities(ledger)


def test_a_plugin_without_devices_is_registered() -> None:
    ledger = node(gpu="")
    assert ledger.is_handled(GPU)
    assert Capacity(capacity=0, allocatable=0) == registration.capacities(ledger)[GPU]


def test_a_report_and_an_expiry_write_the_checkpoint_and_a_stop_does_not() -> None:
    reported = node(gpu="b a", nic="n")
    assert WrittenCheckpoint({}, {GPU: ("a", "b"), NIC: ("n",)}) == reported.written
    stopped = registration.plugin_stopped(reported, GPU)
    assert reported.written == stopped.written
    assert (
        WrittenCheckpoint({}, {NIC: ("n",)}) == registration.resource_expired(stopped, GPU).written
    )


RECORDS = {"u": {"c": {GPU: DeviceRecord({0: ("a", "b")})}}}


def test_a_restart_brings_records_back_and_leaves_every_resource_without_devices() -> None:
    ledger = registration.restarted(
        WrittenCheckpoint(RECORDS, {GPU: ("a", "b"), NIC: ("n",)}), [ContainerKey("u", "c")]
    )
    assert ledger.records == RECORDS
    assert {GPU: frozenset("ab")} == ledger.in_use
    assert Capacity(capacity=0, allocatable=0) == registration.capacities(ledger)[NIC]
    assert frozenset({ContainerKey("u", "c")}) == ledger.running


def test_a_restart_without_a_checkpoint_knows_nothing_but_what_is_running() -> None:
    ledger = registration.restarted(None, [ContainerKey("u", "c")])
    assert (ledger.records, ledger.in_use, ledger.written) == ({}, {}, None)
    assert frozenset({ContainerKey("u", "c")}) == ledger.running


@pytest.mark.parametrize(
    "name",
    [
        "example.com/gpu",
        "a/b",
        "1.example/A_b-c.9",
        "example.com/" + "x" * 63,
        "x" * 244 + "/gpu",
    ],
)
def test_a_name_with_a_domain_is_one_of_an_extended_resource(name: str) -> None:
    assert inventory.is_extended_resource(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpu",
        "/gpu",
        "example.com/",
        "example.com/a/b",
        "kubernetes.io/gpu",
        "sub.kubernetes.io/gpu",
        "requests.example.com/gpu",
        "Example.com/gpu",
        "example..com/gpu",
        "-example.com/gpu",
        "example.com/-gpu",
        "example.com/gpu_",
        "example.com/gpü",
        "example.com/gpu\n",
        "example.com/" + "x" * 64,
        "x" * 245 + "/gpu",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    assert not inventory.is_extended_resource(name)
