"""Which reasons of a rejected pod a configuration can give."""

from __future__ import annotations

import pytest

from numalet.core.admission.reasons import why_impossible
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    MemoryPolicy,
    MemoryRules,
    NodeRules,
    TopologyPolicy,
    TopologyRules,
)
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import replace
from values.builders import container, machine, pod

POD = pod("a", container("c", cpu="1"))
GPU = pod("a", container("c", None, ContainerKind.APP, **{"example.com/gpu": "1"}))
SMT, UNEXPECTED = "SMTAlignmentError", "UnexpectedAdmissionError"
ALIGNMENT = "TopologyAffinityError"
NO_CPUS = "Allocate failed due to not enough cpus available to satisfy request: requested=4"
NO_MEMORY = "Allocate failed due to [memorymanager] failed to find the default preferred hint"
NO_DEVICES = "Allocate failed due to no healthy devices present"


def rules(topology: str = "none", cpu: str = "none", memory: str = "None") -> NodeRules:
    """Rules with these policies."""
    return NodeRules(
        machine=machine(1),
        topology=TopologyRules(policy=TopologyPolicy(topology)),
        cpu=CpuRules(policy=CpuPolicy(cpu)),
        memory=MemoryRules(policy=MemoryPolicy(memory)),
    )


@pytest.mark.parametrize(
    ("reason", "message", "given", "asked", "needs"),
    [
        (ALIGNMENT, "", rules(), GPU, "topology policy restricted"),
        (ALIGNMENT, "", rules("best-effort", "static"), GPU, "topology policy restricted"),
        (ALIGNMENT, "", rules("restricted"), POD, "CPU Manager policy static or Memory"),
        (SMT, "", rules("restricted", "static"), POD, "static with full-pcpus-only"),
        (SMT, "", rules(), POD, "static with full-pcpus-only"),
        (UNEXPECTED, NO_CPUS, rules(memory="Static"), POD, "CPU Manager policy static"),
        (UNEXPECTED, NO_MEMORY, rules(cpu="static"), POD, "Memory Manager policy Static"),
    ],
)
def test_a_reason_needs_a_manager_that_gives_it(
    reason: str, message: str, given: NodeRules, asked: Pod, needs: str
) -> None:
    found = why_impossible(reason, message, given, asked)
    assert found is not None
    assert needs in found.needs


@pytest.mark.parametrize(
    ("reason", "message", "given", "asked"),
    [
        (ALIGNMENT, "", rules("restricted"), GPU),
        (ALIGNMENT, "", rules("single-numa-node", memory="Static"), POD),
        (ALIGNMENT, "", rules("restricted", "static"), POD),
        (UNEXPECTED, NO_CPUS, rules(cpu="static"), POD),
        (UNEXPECTED, NO_MEMORY, rules(memory="Static"), POD),
        (UNEXPECTED, NO_DEVICES, rules(), POD),
        ("OutOfcpu", "", rules(), POD),
    ],
)
def test_what_a_manager_may_give_is_possible(
    reason: str, message: str, given: NodeRules, asked: Pod
) -> None:
    assert why_impossible(reason, message, given, asked) is None


def test_whole_cores_are_asked_for_with_their_option() -> None:
    whole = rules(cpu="static")
    whole = replace(whole, cpu=replace(whole.cpu, full_pcpus_only=True))
    assert why_impossible(SMT, "", whole, POD) is None


def test_stand_ins_align_nothing() -> None:
    windows = replace(rules("restricted"), managers_are_stand_ins=True)
    assert why_impossible(ALIGNMENT, "", windows, GPU)
