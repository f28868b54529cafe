"""Texts of the CPU Manager: the kubelet's to the letter, and ours with the figures in them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from numalet.core.admission.reasons import AllocationRefused
from numalet.core.findings.managers import CpuManagerCanNotReserve, CpuManagerUnknownReservedCpu
from numalet.core.findings.state_files import (
    CpuStateEmptyDefault,
    CpuStateOtherCpus,
    CpuStateOverlap,
    CpuStateReservedInDefault,
    CpuStateReservedNotInDefault,
)
from numalet.core.hints.provider import WHOLE_POD, Reason
from numalet.core.managers.cpu import reasons
from numalet.core.managers.cpu.reasons import (
    AccountingError,
    NoCpusToShare,
    NoCpusToShareAtStart,
    NotWholeCores,
    TooFewCpus,
    TooFewWholeCores,
)
from numalet.core.model.findings import Finding
from numalet.wording import explanations


def said(reason: Reason) -> str:
    assert is_dataclass(reason)
    values = {field.name: getattr(reason, field.name) for field in fields(reason)}
    return str(reason.kubelet_text).format(**values)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (
            NotWholeCores("c", 3, 2),
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
        ),
        (
            TooFewWholeCores("c", 4, 2, 2),
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2,"
            " requested CPUs = 4, CPUs per core = 2",
        ),
        (
            TooFewCpus(5, 4),
            "not enough cpus available to satisfy request: requested=5, available=4",
        ),
        (
            AccountingError(8),
            "accounting error, not enough CPUs allocated, remaining: 8",
        ),
    ],
)
def test_a_refusal_has_the_kubelets_text(reason: Reason, expected: str) -> None:
    assert expected == said(reason)


def test_smt_alignment_is_an_admission_error_of_its_own() -> None:
    own = {
        each: each.kubelet_reason
        for each in vars(reasons).values()
        if hasattr(each, "kubelet_reason")
    }
    assert own == {
        NotWholeCores: "SMTAlignmentError",
        TooFewWholeCores: "SMTAlignmentError",
        NoCpusToShare: "EmptyPodSharedPoolError",
        NoCpusToShareAtStart: "EmptyPodSharedPoolError",
    }


def test_a_reason_about_a_pod_as_a_whole_names_no_container() -> None:
    reason = NotWholeCores(WHOLE_POD, 3, 2)
    refused = AllocationRefused(WHOLE_POD, "cpu", reason)

    assert explanations.of_reason(reason).startswith("The pod as a whole requests 3 CPUs;")
    assert explanations.of_reason(refused).startswith(
        "The cpu manager refused the pod as a whole: The pod as a whole requests"
    )


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (CpuStateEmptyDefault(pods=()), "default cpuset cannot be empty"),
        (
            CpuStateReservedNotInDefault(reserved="0,4", default="1-7"),
            'not all reserved cpus: "0,4" are present in defaultCpuSet: "1-7"',
        ),
        (
            CpuStateReservedInDefault(reserved="0", default="0-7"),
            'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"',
        ),
        (
            CpuStateOverlap(pod="u", container="c", cpus="2,7", default="0-6"),
            'pod: u, container: c cpuset: "2,7" overlaps with default cpuset "0-6"',
        ),
        (
            CpuStateOtherCpus(available="0-7", found="0-8"),
            'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-8"',
        ),
    ],
)
def test_a_state_that_is_refused_has_the_kubelets_text(finding: Finding, expected: str) -> None:
    assert expected == finding.in_kubelet_words


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (
            CpuManagerCanNotReserve(cpus="", count=5),
            "new static policy error: [cpumanager] unable to reserve the required amount of CPUs"
            " (size of  did not equal 5)",
        ),
        (
            CpuManagerUnknownReservedCpu(cpu=9, cpus="0-7"),
            "new static policy error: [cpumanager] unable to build the reserved physical CPUs"
            " from the reserved set: unknown CPU ID: 9",
        ),
    ],
)
def test_a_manager_that_can_not_be_built_has_the_kubelets_text(
    finding: Finding, expected: str
) -> None:
    assert expected == finding.in_kubelet_words
