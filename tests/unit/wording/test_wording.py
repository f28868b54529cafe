"""Sentences made from findings, reasons, places and sizes."""

from __future__ import annotations

import pytest

from numalet.core.admission.reasons import (
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    Rejection,
)
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.findings.reservation import ConfigReservedMoreThanCapacity
from numalet.core.findings.state_files import CpuStateCorrupted, MemoryStateNoMachineState
from numalet.core.hints.provider import Hint, Reason
from numalet.core.managers.cpu.reasons import NotWholeCores
from numalet.core.managers.memory.reasons import (
    CutsGroup,
    NoNodeFits,
    TooLittleFree,
    UnknownMemoryType,
)
from numalet.core.model.findings import Finding, Location
from numalet.core.model.go_text import GoText
from numalet.core.model.quantity import Quantity
from numalet.insight.usecases.state_doctor import RebaseNoStateFiles
from numalet.wording import explanations, kubelet, kubelet_start, numbers

CRASH = KubeletWouldCrash("c", "memory", UnknownMemoryType("hugepages-2Mi", 0))


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1025, "1025"),
        (12_345, "12.06Ki"),
        (1536 << 20, "1536Mi"),
        (150 << 30, "150Gi"),
        (131766128640, "122.72Gi"),
        (1 << 60, "1Ei"),
        ((1 << 64) - 1, "16.00Ei"),
        ((1 << 74) + 1, "16384.00Ei"),
    ],
)
def test_sizes_are_exact_where_that_is_short(size_bytes: int, text: str) -> None:
    assert numbers.size(size_bytes) == text


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Location(), ""),
        (Location("f.yaml"), "f.yaml"),
        (Location("f.yaml", "$.a", 3), "f.yaml:3: $.a"),
        (Location("", "$.a"), "$.a"),
    ],
)
def test_a_place_is_as_exact_as_it_is_known(where: Location, text: str) -> None:
    assert where.text == text


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Hint(None, True), "any NUMA node, preferred"),
        (Hint(0b101, False), "NUMA nodes {0,2}, not preferred"),
    ],
)
def test_a_hint_is_said_in_words(hint: Hint, text: str) -> None:
    assert explanations.hint(hint) == text


def test_a_sentence_shows_the_fields_of_its_finding() -> None:
    finding = RebaseNoStateFiles(path="x")

    assert str(finding) == (
        "no state files in 'x'; name a kubelet's root directory, or a copy of files from it"
    )


@pytest.mark.parametrize(
    ("rejection", "sentence", "reason", "message"),
    [
        (
            NotAligned("c", "restricted", Hint(0b11, False)),
            "The topology policy restricted rejects c: the best set of NUMA nodes in common,"
            " {0,1}, is not preferred.",
            "TopologyAffinityError",
            "Resources cannot be allocated with Topology locality",
        ),
        (
            AllocationRefused("c", "memory", NoNodeFits("c")),
            "The memory manager refused c: No set of NUMA nodes has enough free memory for"
            " container c.",
            "UnexpectedAdmissionError",
            "Allocate failed due to [memorymanager] failed to get the default NUMA affinity,"
            " no NUMA nodes with enough memory is available, which is unexpected",
        ),
        (
            AllocationRefused("c", "memory", CutsGroup("c", 0b11, 0, 0b01)),
            "The memory manager refused c: Container c would use NUMA nodes {0,1}, but node 0 is"
            " in use as {0}; nodes in use can be used again only as the same set.",
            "UnexpectedAdmissionError",
            "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation,"
            " which is unexpected",
        ),
        (
            AllocationRefused("c", "cpu", NotWholeCores("c", 3, 2)),
            explanations.of_reason(AllocationRefused("c", "cpu", NotWholeCores("c", 3, 2))),
            "SMTAlignmentError",
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
        ),
        (CRASH, explanations.of_reason(CRASH), "KubeletWouldCrash", explanations.of_reason(CRASH)),
    ],
    ids=["not-aligned", "no-node", "cuts-group", "whole-cores", "crash"],
)
def test_a_rejection_has_our_sentence_and_the_kubelets_words(
    rejection: Rejection, sentence: str, reason: str, message: str
) -> None:
    assert explanations.of_reason(rejection) == sentence
    assert (kubelet.reason(rejection), kubelet.message(rejection)) == (reason, message)
    assert kubelet.event(rejection) == {"type": "Warning", "reason": reason, "message": message}
    assert kubelet.status(rejection)["message"] == f"Pod was rejected: {message}"


def test_an_admitted_pod_has_no_reason_and_no_message() -> None:
    assert (kubelet.reason(None), kubelet.message(None)) == ("", "")


def test_sizes_and_hints_of_a_reason_are_said_for_people() -> None:
    little = TooLittleFree(0b101, "memory", 2 << 30, 1 << 30)

    assert explanations.of_reason(little) == (
        "NUMA nodes {0,2} have 1Gi of memory free; 2Gi requested."
    )


class Plain:
    """A reason without figures, as a manager of somebody else may have."""

    code = "files/no-pods"


def test_a_reason_without_a_sentence_is_its_code() -> None:
    plain: Reason = Plain()

    assert explanations.of_reason(plain) == "files/no-pods"


def test_a_reservation_error_has_the_kubelets_prefix() -> None:
    finding = ConfigReservedMoreThanCapacity(
        resource=GoText("memory"),
        reserved=Quantity(2 << 30),
        capacity=Quantity(1 << 30),
        reserved_raw="2Gi",
        capacity_raw="1Gi",
    )
    refused = StartRefused(StartStage.NODE_ALLOCATABLE, (finding,))

    assert kubelet_start.text(refused).startswith("invalid Node Allocatable configuration. ")


@pytest.mark.parametrize(
    ("stage", "finding", "text"),
    [
        (
            StartStage.MEMORY_MANAGER_START,
            MemoryStateNoMachineState(pods="u"),
            "start memory manager error: [memorymanager] machine state can not be empty when it"
            " has memory assignments",
        ),
        (
            StartStage.CPU_MANAGER_START,
            CpuStateCorrupted(checksum=1, expected=2),
            "start cpu manager error: could not restore state from checkpoint: checkpoint is"
            " corrupted, please drain this node and delete the CPU manager checkpoint file"
            ' "/here/cpu_manager_state" before restarting Kubelet',
        ),
    ],
)
def test_a_state_file_error_names_the_manager_and_the_file(
    stage: StartStage, finding: Finding, text: str
) -> None:
    assert kubelet_start.text(StartRefused(stage, (finding,)), "/here") == text
