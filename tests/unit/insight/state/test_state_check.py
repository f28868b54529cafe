"""Whether a kubelet accepts state files, and what became different since they were written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.checkpoint import go_dump, memory_file
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.memory_document import MemoryDocument, with_early_groups
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import StartStage
from numalet.core.model.findings import Severity
from numalet.core.model.machine_info import HugePages, MachineInfo, OperatingSystem
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.state import restart_check
from numalet.insight.state.restart_check import DriftPolicy, RestartAnswer, RestoreCheck
from numalet.insight.state.state_drift import DriftTotal
from values import cpu_builders, state_builders
from values.builders import GI
from values.state_builders import CPU, DEVICE, MEMORY, PODS, Files

MI = 1 << 20
MACHINE = state_builders.machine()
CONFIG = KubeletConfig(
    memory_manager_policy="Static",
    cpu_manager_policy="static",
    reserved_system_cpus="0",
    topology_manager_policy="best-effort",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)


def files() -> Files:
    """The files of a kubelet with this configuration on this machine."""
    node = nodes.start(CONFIG, MACHINE)
    assert isinstance(node, Node), node
    for pod in (without_gpus(each) for each in PODS):
        node, decision = node.admit(pod)
        assert decision.admitted
    return node.state_files() | {DEVICE: state_builders.files()[DEVICE]}


def without_gpus(pod: Pod) -> Pod:
    """The pod without devices."""
    containers = tuple(
        replace(
            each,
            requests={n: q for n, q in each.requests.items() if "/" not in n},
            limits={n: q for n, q in each.limits.items() if "/" not in n},
        )
        for each in pod.app_containers
    )
    return replace(pod, app_containers=containers)


FILES = files()


def check(
    config: KubeletConfig = CONFIG, machine: MachineInfo = MACHINE, of: Files = FILES
) -> RestoreCheck:
    """The check; every drift has a sentence."""
    found = restart_check.check(config, machine, of)
    for finding in found.drift:
        assert str(finding)
    return found


def drift(found: RestoreCheck) -> list[str]:
    """Codes of the drift, with the node."""
    return [
        f"{finding.code.partition('/')[2]} {finding.fields.get('node', '')}".strip()
        for finding in found.drift
    ]


def changed(name: str, change: Callable[[Any], None]) -> Files:
    """The files, one of them changed and sealed again."""
    value = json.loads(FILES[name])
    change(value)
    return FILES | {name: state_builders.sealed(name, value)}


def with_totals(*change_bytes: int) -> MachineInfo:
    """The machine, its nodes with so much more memory."""
    return replace(
        MACHINE,
        nodes=tuple(
            replace(node, memory_bytes=node.memory_bytes + change)
            for node, change in zip(MACHINE.nodes, change_bytes, strict=True)
        ),
    )


def test_what_a_kubelet_wrote_it_accepts() -> None:
    found = check()

    assert (found.answer, found.refused, found.drift) == (RestartAnswer.ACCEPTED, None, ())
    assert found.rebased is not None
    assert found.rebased.files == {}


def test_a_kubelet_without_files_starts() -> None:
    assert RestartAnswer.ACCEPTED is check(of={}).answer
    assert RestartAnswer.ACCEPTED is check(of={CPU: '{"policyName":"static"}'}).answer


@pytest.mark.parametrize(
    ("change_bytes", "expected"),
    [
        ((-50 * MI, 50 * MI, 0), ["randomised 0", "randomised 1"]),
        ((-50 * MI, 47 * MI, 0), ["randomised 0", "randomised 1"]),
        ((-50 * MI, 45 * MI, 0), ["small-total 0", "small-total 1"]),
        ((4096, 8192, 0), ["small-total 0", "small-total 1"]),
        ((0, 0, 16 * 1024), ["small-total 2"]),
        ((0, 0, -16 * 1024), ["small-total 2"]),
        ((0, 8 * GI, 0), ["total 1"]),
        ((-50 * MI, 50 * MI, -8 * GI), ["randomised 0", "randomised 1", "total 2"]),
    ],
)
def test_other_totals_are_classified(change_bytes: tuple[int, ...], expected: list[str]) -> None:
    found = check(machine=with_totals(*change_bytes))

    assert (RestartAnswer.REFUSED, expected) == (found.answer, drift(found))
    assert found.refused is not None
    assert StartStage.MEMORY_MANAGER_START is found.refused.stage


def test_a_reboot_loses_nothing() -> None:
    found = check(machine=with_totals(-50 * MI, 50 * MI, 0))

    assert found.rebased is not None
    assert (found.rebased.lost, list(found.rebased.files)) == ((), [MEMORY])
    after = check(machine=with_totals(-50 * MI, 50 * MI, 0), of={**FILES, **found.rebased.files})
    assert (after.answer, after.drift) == (RestartAnswer.ACCEPTED, ())


def test_other_reserved_memory_is_named_by_node() -> None:
    more = replace(
        CONFIG,
        kube_reserved={"memory": "2Gi"},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("2Gi")}),),
    )
    found = check(more)

    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["reserved 0"])
    assert [found.drift[0].fields[side] for side in ("found", "expected")] == [GI, 2 * GI]


def test_other_huge_pages_are_counted() -> None:
    nodes_ = tuple(replace(node, hugepages=(HugePages(2048, 500),)) for node in MACHINE.nodes)
    fewer = replace(MACHINE, nodes=nodes_, hugepages=(HugePages(2048, 1500),))
    found = check(machine=fewer)

    assert drift(found) == ["hugepages 0", "hugepages 1", "hugepages 2"]
    assert [found.drift[0].fields[side] for side in ("found", "expected")] == [512, 500]


def test_page_sizes_come_and_go() -> None:
    nodes_ = tuple(replace(node, hugepages=(HugePages(1048576, 0),)) for node in MACHINE.nodes)
    found = check(machine=replace(MACHINE, nodes=nodes_, hugepages=()))

    assert drift(found)[:2] == ["type-gone 0", "type-new 0"]


def test_nodes_come_and_go() -> None:
    lost = check(machine=state_builders.machine(2))
    assert drift(lost) == ["cpus-gone", "node-lost 2"]
    assert lost.drift[1].fields["containers"] == 1
    found = check(machine=state_builders.machine(4))
    assert drift(found) == ["cpus-new", "node-new 3"]


def test_another_policy_is_named_and_nothing_else() -> None:
    off = replace(
        CONFIG, memory_manager_policy="None", cpu_manager_policy="none", reserved_memory=()
    )
    found = check(off)

    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["policy", "policy"])
    assert [finding.fields["configured"] for finding in found.drift] == ["none", "None"]


def test_reserved_cpus_that_are_given_away_are_named() -> None:
    found = check(replace(CONFIG, reserved_system_cpus="0,4"))

    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["reserved-cpus-held"])
    assert tuple(found.drift[0].fields[name] for name in ("cpus", "containers")) == ("4", 1)


def test_strict_reservation_switched_on_or_off() -> None:
    strict = replace(
        CONFIG,
        cpu_manager_policy_options={"strict-cpu-reservation": "true"},
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    on = check(strict)
    assert (on.answer, drift(on)) == (RestartAnswer.REFUSED, ["strict-reservation"])
    written = nodes.start(strict, MACHINE)
    assert isinstance(written, Node)
    off = check(of=written.state_files())
    assert (off.answer, drift(off)) == (RestartAnswer.REFUSED, ["cpus-new"])

    def take_all(value: Any) -> None:
        value["defaultCpuSet"] = ""
        value["entries"]["u9"] = {"c": "6-11"}

    empty = check(strict, of=changed(CPU, take_all))
    assert (empty.answer, drift(empty)) == (RestartAnswer.REFUSED, ["empty-pool"])


def test_a_damaged_file_is_said_to_be_damaged() -> None:
    found = check(of=FILES | {MEMORY: "{", CPU: FILES[CPU].replace("4-5", "4")})
    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["unreadable", "corrupted"])
    assert found.rebased is not None
    assert {MEMORY, CPU} == found.rebased.unusable.keys()
    found = check(of=FILES | {MEMORY: FILES[MEMORY].replace("u1", "u9")})
    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["corrupted"])


def test_the_device_checkpoint_is_never_in_the_way() -> None:
    for text, expected in (
        ("{", ["unreadable"]),
        (FILES[DEVICE].replace("gpu0", "gpu9"), ["corrupted"]),
    ):
        found = check(of=FILES | {DEVICE: text})
        assert (RestartAnswer.ACCEPTED, expected) == (found.answer, drift(found))
        assert [finding.severity for finding in found.drift] == [Severity.WARNING]


def test_devices_on_a_lost_node_are_named() -> None:
    def move(value: Any) -> None:
        value["Data"]["PodDeviceEntries"][0]["DeviceIDs"] = {"7": ["gpu0"]}

    found = check(of=changed(DEVICE, move))
    assert drift(found) == ["device-on-absent-node"]


def test_the_early_layout_is_recognised() -> None:
    value = json.loads(FILES[MEMORY])
    for node in value["machineState"].values():
        node["nodes"] = node.pop("cells")
    document = memory_file.read(json.dumps(value))
    assert isinstance(document, MemoryDocument)
    value["checksum"] = fnv1a_32(go_dump.memory(with_early_groups(document), go_dump.EARLY))
    found = check(of=FILES | {MEMORY: json.dumps(value)})
    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["early-layout"])


def test_a_file_that_contradicts_itself_is_no_drift_of_the_machine() -> None:
    def grow(value: Any) -> None:
        value["entries"]["u1"]["c"][1]["size"] = 3 * GI

    found = check(of=changed(MEMORY, grow))
    assert (found.answer, drift(found)) == (RestartAnswer.REFUSED, ["sums", "would-not-restart 0"])

    def overlap(value: Any) -> None:
        value["entries"]["u9"] = {"c": [{"numaAffinity": [0, 1], "type": "memory", "size": 0}]}

    found = check(of=changed(MEMORY, overlap))
    assert "groups-overlap 0" in drift(found)
    assert RestartAnswer.REFUSED is found.answer


def test_groups_that_overlap_leave_the_start_to_chance() -> None:
    def overlap(value: Any) -> None:
        value["entries"]["u9"] = {"c": [{"numaAffinity": [1], "type": "memory", "size": 0}]}
        node = value["machineState"]["1"]
        node["numberOfAssignments"] += 1
        node["cells"] = [1]
        node["memoryMap"]["memory"] |= {"reserved": 9 * GI, "free": 0}

    found = check(of=changed(MEMORY, overlap))

    assert RestartAnswer.BY_CHANCE is found.answer
    assert {"groups-overlap"} == {each.split()[0] for each in drift(found)}


def test_without_a_node_map_nothing_is_compared() -> None:
    empty = state_builders.sealed(MEMORY, {"policyName": "Static", "machineState": {}})

    assert RestartAnswer.ACCEPTED is check(of=FILES | {MEMORY: empty}).answer


def test_a_configuration_that_starts_no_kubelet_is_not_asked() -> None:
    found = check(replace(CONFIG, memory_manager_policy="Sometimes"))
    assert (found.answer, found.drift, found.rebased) == (RestartAnswer.NOT_ASKED, (), None)
    too_much = replace(
        CONFIG,
        memory_manager_policy="None",
        reserved_memory=(),
        kube_reserved={"memory": "100Gi"},
    )
    found = check(too_much, of={CPU: FILES[CPU]})
    assert RestartAnswer.NOT_ASKED is found.answer
    assert found.refused is not None
    assert StartStage.NODE_ALLOCATABLE is found.refused.stage


def test_reserved_cpus_that_can_not_be_chosen_are_not_the_files_fault() -> None:
    found = check(replace(CONFIG, reserved_system_cpus="", kube_reserved={"cpu": "99"}))

    assert RestartAnswer.NOT_ASKED is found.answer


def test_where_the_kubelet_would_hang_nobody_is_asked() -> None:
    """Reserving goes round and round between nodes with three-threaded cores."""
    uneven = cpu_builders.machine(
        *(
            [
                (at, (5 * at, 5 * at + 1, 5 * at + 2), None),
                (at, (5 * at + 3, 5 * at + 4), None),
            ]
            for at in range(4)
        )
    )
    config = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={
            "distribute-cpus-across-numa": "true",
            "full-pcpus-only": "true",
        },
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
        kube_reserved={"cpu": "14"},
    )
    found = check(config, uneven, {})

    assert RestartAnswer.NOT_ASKED is found.answer
    assert found.refused is not None
    assert StartStage.NUMALET is found.refused.stage


def test_a_file_over_which_the_kubelet_crashes_is_refused() -> None:
    def drop(value: Any) -> None:
        node = value["machineState"]["2"]
        pages = node["memoryMap"].pop("hugepages-2Mi")
        memory = node["memoryMap"]["memory"]
        memory["allocatable"] += pages["total"]
        memory["free"] += pages["total"]

    first, second, third = MACHINE.nodes
    machine = replace(MACHINE, nodes=(first, second, replace(third, hugepages=())))
    found = check(machine=machine, of=changed(MEMORY, drop))

    assert RestartAnswer.REFUSED is found.answer
    assert drift(found) == ["types-differ", "would-crash 1"]
    assert found.rebased is not None
    assert [lost.key.pod_uid for lost in found.rebased.lost] == ["u2"]


def test_cpus_of_two_pods_are_named() -> None:
    def share(value: Any) -> None:
        value["entries"]["u1"]["c"] = "1,4"

    found = check(of=changed(CPU, share))
    assert (found.answer, drift(found)) == (RestartAnswer.ACCEPTED, ["cpus-of-two-pods"])


def test_a_kubelet_with_stand_ins_looks_at_no_file() -> None:
    windows = replace(MACHINE, os=OperatingSystem.WINDOWS)
    config = KubeletConfig()
    found = check(config, windows, FILES | {MEMORY: "{"})

    assert (found.answer, drift(found)) == (RestartAnswer.ACCEPTED, ["unreadable"])


def test_a_table_of_memory_that_is_missing_is_no_change_of_memory() -> None:
    def drop(value: Any) -> None:
        del value["machineState"]["2"]["memoryMap"]["memory"]

    found = check(of=changed(MEMORY, drop))

    assert {"type-new 2", "no-memory-table 2"} <= set(drift(found))


def test_a_drift_is_about_the_machine_or_about_the_configuration() -> None:
    policy = DriftPolicy(found="None", configured="Static")
    total = DriftTotal(node=0, found=1, expected=2, difference="1 more")
    assert restart_check.is_about_machine([policy, total])
    assert not restart_check.is_about_machine([policy])
    assert not restart_check.is_about_machine([])
