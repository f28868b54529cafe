"""The node's own doors: start, restart, and what each of them passes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numalet.core.admission.decision import Recorder, SilentRecorder
from numalet.core.admission.reasons import AllocationRefused
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import ProviderHints
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot
from values import builders
from values.builders import GI, simple
from values.sessions import CONFIG, MACHINE

KEY = ContainerKey("u", "c")


def started(files: dict[str, str] | None = None) -> Node:
    """A node of the usual configuration."""
    node = nodes.start(CONFIG, MACHINE, files)
    assert isinstance(node, Node), node
    return node


def test_a_node_starts_empty_and_has_heard_all_sources() -> None:
    node = started()

    assert node.snapshot.sources_ready
    assert (dict(node.snapshot.pods), node.snapshot.revision) == ({}, 0)
    assert list(node.state_files()) == ["cpu_manager_state", "memory_manager_state"]


def test_a_configuration_that_is_not_legal_does_not_start() -> None:
    refused = nodes.start(replace(CONFIG, topology_manager_policy="sometimes"), MACHINE)

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.CONFIG_VALIDATION


def test_state_files_that_do_not_fit_do_not_start() -> None:
    refused = nodes.start(CONFIG, MACHINE, {"memory_manager_state": "{}"})

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.MEMORY_MANAGER_START


def test_reservations_above_the_capacity_do_not_start_at_all() -> None:
    small = builders.machine(1)
    greedy = replace(
        CONFIG, memory_manager_policy="None", reserved_memory=(), kube_reserved={"memory": "2Gi"}
    )
    refused = nodes.start(greedy, small)

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.NODE_ALLOCATABLE


def test_a_static_cpu_policy_without_reserved_cpus_does_not_start() -> None:
    refused = nodes.start(replace(CONFIG, cpu_manager_policy="static"), MACHINE)

    assert isinstance(refused, StartRefused)


def uneven(node_id: int) -> NumaNodeInfo:
    """A NUMA node with a core of three CPUs and a core of two."""
    first = 5 * node_id
    cores = (
        CoreInfo(2 * node_id, 0, (first, first + 1, first + 2)),
        CoreInfo(2 * node_id + 1, 0, (first + 3, first + 4)),
    )
    return NumaNodeInfo(node_id, GI, cores=cores)


def test_a_reservation_over_which_the_kubelet_hangs_does_not_start() -> None:
    hanging = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={
            "full-pcpus-only": "true",
            "distribute-cpus-across-numa": "true",
        },
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
        kube_reserved={"cpu": "14"},
    )
    refused = nodes.start(hanging, MachineInfo(tuple(map(uneven, range(4))), 4 * GI, 20, 1))

    assert isinstance(refused, StartRefused)
    assert (refused.stage, refused.findings[0].code) == (
        StartStage.NUMALET,
        "cpu-manager/reserving-would-hang",
    )


def test_a_restart_keeps_what_the_files_hold_and_nothing_else() -> None:
    before, _ = started().admit(simple("u", "4Gi"))
    after = before.restart(CONFIG, MACHINE, before.state_files())

    assert isinstance(after, Node)
    assert after.snapshot.memory.blocks == before.snapshot.memory.blocks
    assert after.snapshot.memory.nodes == before.snapshot.memory.nodes
    assert (dict(after.snapshot.pods), dict(after.snapshot.affinities)) == ({}, {})
    assert not after.snapshot.sources_ready
    assert after.sources_ready().snapshot.sources_ready


def test_a_restart_keeps_the_behaviour() -> None:
    behaviour = replace(EXACT, release_at_once=True)
    before = nodes.start(CONFIG, MACHINE, behaviour=behaviour)
    assert isinstance(before, Node)

    after = before.restart(CONFIG, MACHINE, {})

    assert isinstance(after, Node)
    assert after.rules.behaviour is behaviour


def test_a_restart_that_fails_says_why() -> None:
    before, _ = started().admit(simple("u", "4Gi"))
    refused = before.restart(CONFIG, builders.machine(10), before.state_files())

    assert isinstance(refused, StartRefused)


def test_stale_records_can_be_released_before_the_next_admission() -> None:
    removed = started().admit(simple("u", "4Gi"))[0].remove("u")

    assert removed.leftovers() == (KEY,)
    released = removed.release_stale()
    assert released.leftovers() == ()
    assert released.snapshot.memory.nodes[0].tables["memory"].free == 9 * GI


def test_the_node_before_an_event_stays_as_it_was() -> None:
    before, _ = started().admit(simple("u", "4Gi"))
    files = before.state_files()

    before.remove("u").release_stale()
    before.container_started(KEY)
    before.assume_running([ContainerKey("x", "y")])

    assert (before.state_files(), before.snapshot.assumed) == (files, frozenset())
    assert list(before.snapshot.pods) == ["u"]


class Listening(SilentRecorder):
    """Remembers who was asked about."""

    def __init__(self) -> None:
        self.subjects: list[str] = []

    def hints_were_asked(
        self, snapshot: Snapshot, pod: Pod, subject: str, hints: Mapping[str, ProviderHints]
    ) -> None:
        self.subjects.append(f"{pod.uid} {subject}")


def test_a_recorder_hears_of_the_admission() -> None:
    listening = Listening()

    started().admit(simple("u", "4Gi"), listening)

    assert listening.subjects == ["u c"]


class Merging(Recorder):
    """Remembers what was merged, and overrides nothing else."""

    def __init__(self) -> None:
        self.subjects: list[str] = []

    def hints_were_merged(self, pod: Pod, subject: str, merged: Merged) -> None:
        self.subjects.append(f"{pod.uid} {subject}")


def test_a_recorder_that_needs_one_event_changes_no_decision() -> None:
    merging = Merging()

    for memory in ("4Gi", "4000Gi"):
        node, decision = started().admit(simple("u", memory), merging)
        assert (node, decision) == started().admit(simple("u", memory))

    assert merging.subjects == ["u c", "u c"]
    assert isinstance(decision.rejection, AllocationRefused)
