"""Texts of the CPU Manager: the kubelet's to the letter, and ours with the figures in them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from string import Formatter

import pytest

from numalet.core.hints.reasons import Reason
from numalet.core.managers.cpu import reasons
from numalet.core.managers.cpu.reasons import (
    AccountingError,
    NotWholeCores,
    TooFewCpus,
    TooFewWholeCores,
)
from numalet.wording import english_cpu, kubelet_cpu


def said(reason: Reason) -> str:
    assert is_dataclass(reason)
    values = {field.name: getattr(reason, field.name) for field in fields(reason)}
    return kubelet_cpu.ALLOCATION[reason.code].format(**values)


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
    assert {NotWholeCores.code, TooFewWholeCores.code} == set(kubelet_cpu.ADMISSION_REASONS)
    assert {"SMTAlignmentError"} == set(kubelet_cpu.ADMISSION_REASONS.values())


@pytest.mark.parametrize(
    ("code", "values", "expected"),
    [
        ("cpu-state/empty-default", {"pods": []}, "default cpuset cannot be empty"),
        (
            "cpu-state/reserved-not-in-default",
            {"reserved": "0,4", "default": "1-7"},
            'not all reserved cpus: "0,4" are present in defaultCpuSet: "1-7"',
        ),
        (
            "cpu-state/reserved-in-default",
            {"reserved": "0", "default": "0-7"},
            'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"',
        ),
        (
            "cpu-state/overlap",
            {"pod": "u", "container": "c", "cpus": "2,7", "default": "0-6"},
            'pod: u, container: c cpuset: "2,7" overlaps with default cpuset "0-6"',
        ),
        (
            "cpu-state/other-cpus",
            {"available": "0-7", "found": "0-8"},
            'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-8"',
        ),
    ],
)
def test_a_state_that_is_refused_has_the_kubelets_text(
    code: str, values: dict[str, object], expected: str
) -> None:
    assert expected == kubelet_cpu.STATES[code].format(**values)


@pytest.mark.parametrize(
    ("code", "values", "expected"),
    [
        (
            "cpu-manager/can-not-reserve",
            {"cpus": "", "count": 5},
            "new static policy error: [cpumanager] unable to reserve the required amount of CPUs"
            " (size of  did not equal 5)",
        ),
        (
            "cpu-manager/unknown-reserved-cpu",
            {"cpu": 9, "cpus": "0-7"},
            "new static policy error: [cpumanager] unable to build the reserved physical CPUs"
            " from the reserved set: unknown CPU ID: 9",
        ),
    ],
)
def test_a_manager_that_can_not_be_built_has_the_kubelets_text(
    code: str, values: dict[str, object], expected: str
) -> None:
    assert expected == kubelet_cpu.START[code].format(**values)


def test_every_reason_has_a_sentence_over_its_own_fields() -> None:
    for name in vars(reasons):
        kind = getattr(reasons, name)
        if isinstance(kind, type) and is_dataclass(kind):
            sentence = english_cpu.SENTENCES[getattr(kind, "code")]  # noqa: B009
            shown = {field for _, field, _, _ in Formatter().parse(sentence) if field}
            assert shown <= {field.name for field in fields(kind)}, name


def test_every_text_of_the_kubelet_has_a_sentence_too() -> None:
    codes = kubelet_cpu.ALLOCATION.keys() | kubelet_cpu.START.keys() | kubelet_cpu.STATES.keys()

    assert set() == codes - english_cpu.SENTENCES.keys()
