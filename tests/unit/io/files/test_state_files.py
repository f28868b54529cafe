"""What files a node leaves, and what a start makes of those it finds."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.admission import roster
from numalet.core.checkpoint import cpu_file, state_files
from numalet.core.config.rules import CpuPolicy, CpuRules, NodeRules, StartRefused, StartStage
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.findings import Severity
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import ContainerKind, QosClass
from numalet.core.node.node import Node
from numalet.insight.simulate import recording
from numalet.wording import kubelet_start
from values import builders
from values.builders import container, node, rules, simple

MACHINE = builders.machine(10, 10)
RULES = rules(MACHINE)
STATIC = replace(
    RULES,
    cpu=CpuRules(policy=CpuPolicy.STATIC, reserved_count=1, reserved_cpus=frozenset({0})),
)
ALL_CPUS = frozenset({0, 1, 2, 3})
DEVICE_FILE = "kubelet_internal_checkpoint"


def test_a_file_stays_to_the_byte_until_what_it_says_changes() -> None:
    odd = '{ "policyName":"static", "defaultCpuSet":"0-3", "checksum":0 }'
    found = node(STATIC, {"cpu_manager_state": odd})
    assert found.state_files()["cpu_manager_state"] == odd

    changed, _ = found.admit(simple("u", "1Gi"))
    written = changed.state_files()["cpu_manager_state"]
    assert written == cpu_file.write("static", changed.snapshot.cpu)
    assert '"u"' in written


def test_a_file_that_was_written_since_is_not_as_it_was_found_though_it_says_the_same() -> None:
    odd = '{ "policyName":"static", "defaultCpuSet":"0-3", "checksum":0 }'
    found = node(STATIC, {"cpu_manager_state": odd})
    changed, _ = found.admit(simple("u", "1Gi"))
    back, _ = changed.remove("u").admit(builders.pod("b", qos=QosClass.BEST_EFFORT))
    back, _ = back.admit(builders.pod("c", container("c"), qos=QosClass.BEST_EFFORT))

    assert back.snapshot.cpu.exclusive == {}
    assert back.state_files()["cpu_manager_state"] == cpu_file.write("static", CpuLedger(ALL_CPUS))


def test_the_static_policy_begins_with_all_cpus_in_the_pool() -> None:
    assert '"defaultCpuSet":"0-3"' in node(STATIC).state_files()["cpu_manager_state"]


def test_a_cpu_file_that_does_not_fit_the_machine_is_refused() -> None:
    wrong = '{"policyName":"static","defaultCpuSet":"0-7","checksum":0}'
    refused = builders.restored(STATIC, {"cpu_manager_state": wrong})

    assert isinstance(refused, StartRefused)
    assert kubelet_start.text(refused) == (
        'start cpu manager error: current set of available CPUs "0-3" doesn\'t match with CPUs in'
        ' state "0-7"'
    )


def uneven_node(node_id: int) -> NumaNodeInfo:
    """A node of two cores, one with three threads and one with two."""
    first = 5 * node_id
    cores = (
        CoreInfo(0, 2 * node_id, (first, first + 1, first + 2)),
        CoreInfo(0, 2 * node_id + 1, (first + 3, first + 4)),
    )
    return NumaNodeInfo(node_id, 1 << 30, cores=cores)


def test_a_reservation_on_which_the_kubelet_hangs_is_refused_in_our_own_words() -> None:
    spread = CpuRules(
        policy=CpuPolicy.STATIC,
        full_pcpus_only=True,
        distribute_cpus_across_numa=True,
        reserved_count=14,
    )
    machine = MachineInfo(tuple(map(uneven_node, range(4))), 4 << 30, 20, 1)
    refused = roster.build(NodeRules(machine=machine, cpu=spread))

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.NUMALET
    assert "14" in kubelet_start.text(refused)


def test_a_group_over_which_the_kubelet_crashes_at_a_restart_is_refused_in_our_own_words() -> None:
    pages = (HugePages(2048, 512),)
    nodes = (NumaNodeInfo(0, 10 << 30, pages), NumaNodeInfo(1, 10 << 30))
    uneven = rules(replace(MACHINE, nodes=nodes))
    grouped, decision = node(uneven).admit(simple("u", "15Gi"))
    assert decision.admitted

    refused = builders.restored(uneven, grouped.state_files())

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.NUMALET
    assert kubelet_start.text(refused) == (
        "Rejected, because the kubelet would crash at this start: the memory manager's state file"
        " has the NUMA nodes 0 and 1 in one group, but node 1 does not have pages of the type"
        " hugepages-2Mi. The kubelet starts again after the file is deleted."
    )


def test_reserved_cpus_that_the_machine_lacks_are_refused_in_the_kubelets_words() -> None:
    gone = replace(STATIC, cpu=replace(STATIC.cpu, reserved_cpus=frozenset({9})))
    refused = roster.build(gone)

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.CPU_MANAGER
    assert kubelet_start.text(refused) == (
        "new static policy error: [cpumanager] unable to build the reserved physical CPUs from the"
        " reserved set: unknown CPU ID: 9"
    )


def with_devices(*devices: Device) -> Node:
    return node(RULES).devices_reported({"example.com/gpu": devices})


def test_the_device_checkpoint_is_written_once_devices_are_known() -> None:
    assert DEVICE_FILE not in node(RULES).state_files()
    assert DEVICE_FILE in with_devices(Device("a", (0,))).state_files()


def test_the_device_checkpoint_is_rewritten_at_every_report() -> None:
    text = with_devices(Device("a", (0,))).state_files()[DEVICE_FILE]
    spaced = text.replace(",", ", ", 1)
    found = node(RULES, {DEVICE_FILE: spaced})

    assert found.state_files()[DEVICE_FILE] == spaced
    reported = found.devices_reported({"example.com/gpu": (Device("a", (0,)),)})
    assert reported.state_files()[DEVICE_FILE] == text


def test_a_broken_device_checkpoint_is_only_warned_about() -> None:
    files = {DEVICE_FILE: "{"}
    (warning,) = state_files.warnings(files)

    assert (warning.code, warning.severity) == ("device-state/not-json", Severity.WARNING)
    assert state_files.warnings({}) == ()
    assert node(RULES, files).snapshot.device.records == {}


def test_an_unhealthy_device_is_recorded_as_such() -> None:
    devices = (Device("a", (0,)), Device("b", (), Health.UNHEALTHY))

    assert recording.devices_document("example.com/gpu", devices) == {
        "resource": "example.com/gpu",
        "devices": [
            {"id": "a", "numa_nodes": [0]},
            {"id": "b", "numa_nodes": [], "health": "Unhealthy"},
        ],
    }


def test_a_container_refused_over_its_second_device_keeps_its_first() -> None:
    machine = node(RULES).devices_reported({"a.b/one": (Device("x"),), "a.b/two": (Device("y"),)})
    asked = builders.container("c", "1Gi", ContainerKind.APP, **{"a.b/one": "1", "a.b/two": "2"})
    pod = builders.pod("u", asked)
    after, decision = machine.admit(pod)

    assert decision.rejection is not None
    assert [key.pod_uid for key in after.leftovers()] == ["u"]
    assert list(after.snapshot.device.records["u"]["c"]) == ["a.b/one"]
