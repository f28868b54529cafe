"""What a user asks for becomes a fleet, or every finding about it at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numalet.cluster.hollow import command, fleet_members, kinds, node_document
from numalet.cluster.hollow.command import HollowInputs
from numalet.cluster.hollow.fleet_members import Fault, PlannedFault
from numalet.cluster.hollow.kinds import KindInputs
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import BadInput
from numalet.core.node.node import Node
from numalet.core.workload.records import EventKind
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.machines import MachineChoice
from values import hollow_pods
from values.hollow_pods import GPU, at, pod

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: test
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: test, context: {cluster: c, user: u}}]
"""
STATIC = (
    ("--memory-manager-policy", "None"),
    ("--cpu-manager-policy", "static"),
    ("--reserved-cpus", "0"),
)


@pytest.fixture
def inputs(tmp_path: Path) -> HollowInputs:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    return HollowInputs(
        nodes=5, kinds=KindInputs(machines=[MachineChoice("2n4c2t")]), kubeconfig=kubeconfig
    )


def codes(inputs: HollowInputs) -> list[str]:
    with pytest.raises(BadInput) as bad:
        command.prepare(inputs)
    return [each.code for each in bad.value.findings]


def test_nodes_are_of_every_machine_with_every_configuration_in_turn(
    inputs: HollowInputs,
) -> None:
    asked = KindInputs(
        machines=[MachineChoice("2n4c2t"), MachineChoice("profile:snc4")],
        configs=[ConfigSources(), ConfigSources(flags=STATIC, release="1.34")],
        devices=["example.com/nic=n0@0,n1@1"],
    )
    fleet = command.prepare(replace(inputs, kinds=asked, pool="batch", labels="a=b"))
    assert [each.kind.name for each in fleet.members.values()] == [
        "2n4c2t-c1",
        "2n4c2t-c2",
        "snc4-c1",
        "snc4-c2",
        "2n4c2t-c1",
    ]
    second = fleet.members["hollow-1"]
    rules = second.life.node.rules
    assert (rules.release.name, rules.identity.name) == ("1.34", "hollow-1")
    assert rules.identity.labels == {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "hollow-1",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "2n4c2t-c2",
        "numalet.dev/hollow": "hollow",
        "numalet.dev/pool": "batch",
        "a": "b",
    }
    first, fifth = fleet.members["hollow-0"], fleet.members["hollow-4"]
    assert first.life.node.roster.slots is fifth.life.node.roster.slots
    assert rules.identity is not first.life.node.rules.identity


def test_equal_machines_make_kinds_of_different_names(inputs: HollowInputs) -> None:
    machines = [MachineChoice("2n4c2t", "8Gi"), MachineChoice("2n4c2t", "16Gi")]
    fleet = command.prepare(replace(inputs, kinds=KindInputs(machines=machines)))
    assert {each.kind.name for each in fleet.members.values()} == {"2n4c2t", "2n4c2t-2"}


def test_everything_that_is_wrong_is_said_at_once(inputs: HollowInputs) -> None:
    wrong = replace(
        inputs,
        nodes=0,
        prefix="Hollow_",
        pool="-",
        events="many",
        labels="=",
        reboot_lasts="soon",
        lasts="-3s",
        kubeconfig=Path("/nowhere/kubeconfig"),
        faults=((Fault.LIE, "hollow-1"), (Fault.LOSE, "x@1s")),
        kinds=KindInputs(machines=[MachineChoice("no-such-machine")]),
    )
    with pytest.raises(BadInput) as bad:
        command.prepare(wrong)
    # The option is the place, which is printed before the sentence.
    said = [(each.where.document, str(each)) for each in bad.value.findings]
    assert [option for option, text in said if option.startswith("--") and option in text] == []
    assert [code.partition("/")[0] for code in codes(wrong)].count("input") == 10
    assert {code.partition("/")[0] for code in codes(wrong)} == {"input", "document"}


def test_a_kubelet_that_would_not_start_makes_no_nodes(inputs: HollowInputs) -> None:
    flags = (("--cpu-manager-policy", "static"),)
    asked = KindInputs(machines=[MachineChoice("2n4c2t")], configs=[ConfigSources(flags=flags)])
    assert codes(replace(inputs, kinds=asked)) == [
        "machine/note-memory-assumed",
        "input/invalid",
    ]


def test_which_events_are_written_is_chosen(inputs: HollowInputs) -> None:
    chosen = command.prepare(replace(inputs, events="warnings", lasts="1m"))
    assert chosen.options.events == {EventKind.WARNING}
    assert chosen.lasts_seconds == 60


def test_faults_are_planned_in_the_order_of_their_time() -> None:
    names = ["hollow-0", "hollow-1"]
    given = [(Fault.LOSE, "hollow-1@1m"), (Fault.REBOOT, "hollow-0@30s")]
    assert fleet_members.planned_faults(given, names) == (
        PlannedFault(30, "hollow-0", Fault.REBOOT),
        PlannedFault(60, "hollow-1", Fault.LOSE),
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("hollow-0", "input/invalid"),
        ("@30s", "input/invalid"),
        ("hollow-0@", "input/invalid"),
        ("hollow-0@-1s", "input/invalid"),
        ("hollow-9@1s", "input/not-found"),
    ],
)
def test_a_fault_that_says_no_node_or_no_time_is_refused(text: str, code: str) -> None:
    with pytest.raises(BadInput) as bad:
        fleet_members.planned_faults([(Fault.LIE, text)], ["hollow-0"])
    assert [each.code for each in bad.value.findings] == [code]
    assert "--lie" in str(bad.value)


def test_an_annotation_names_a_fault_or_none() -> None:
    assert fleet_members.of_annotation(" lie ") is Fault.LIE
    assert fleet_members.of_annotation("") is None


def test_a_kind_restarts_its_nodes_on_their_own_state_files() -> None:
    node = hollow_pods.node()
    kind = kinds.NodeKind(
        name="k",
        machine=hollow_pods.machine(),
        config=hollow_pods.config(),
        devices=hollow_pods.EIGHT_GPUS,
        empty=node,
    )
    held, _ = node.admit(pod("a", gpu="2").workload.pod)
    again = kind.restarted(held)
    assert isinstance(again, Node)
    assert not isinstance(again, StartRefused)
    assert again.snapshot.device.in_use[GPU] == held.snapshot.device.in_use[GPU]


def test_a_node_shows_what_it_has_and_that_it_is_ready() -> None:
    naming = node_document.NodeNaming(name="hollow-0", prefix="hollow", kind="k")
    shown = node_document.whole(hollow_pods.node(), naming, 3, at(0))
    status = shown["status"]
    assert status["allocatable"][GPU] == "8"
    assert status["nodeInfo"]["bootID"] == "hollow-0-3"
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
