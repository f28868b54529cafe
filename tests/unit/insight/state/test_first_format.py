"""State files of the CPU Manager's first format, in which containers are known by their ID."""

from __future__ import annotations

import json

import pytest

from numalet.core.checkpoint import go_dump
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.value import replace
from numalet.core.node.node import NO_DEVICES
from numalet.insight.lint.subject import LintSubject
from numalet.insight.state import (
    holder_map,
    reading,
    restart_check,
    state_chart,
    state_diff,
    verify,
)
from numalet.insight.state.restart_check import RestartAnswer
from numalet.insight.state.state_chart import StateMachine
from numalet.insight.upgrade import compare
from values import cpu_builders
from values.state_builders import CPU

MACHINE = cpu_builders.shape(1, 1, 4, 2)
CONFIG = KubeletConfig(
    cpu_manager_policy="static", reserved_system_cpus="0", uses_default_eviction=True
)
IDS = {"c0ffee": "3,7", "decaf": "2"}


def files(entries: dict[str, str] = IDS, pool: str = "0-1,4-6") -> dict[str, str]:
    expected = fnv1a_32(go_dump.cpu_v1("static", pool, entries))
    value = {"policyName": "static", "defaultCpuSet": pool, "entries": entries}
    return {CPU: json.dumps(value | {"checksum": expected})}


def test_the_cpus_of_containers_known_by_id_are_held_and_not_new() -> None:
    found = restart_check.check(CONFIG, MACHINE, files())

    assert found.answer is RestartAnswer.REFUSED
    assert [(each.code, str(each)) for each in found.drift] == [
        (
            "state/container-ids",
            "containers that are known by their ID hold the CPUs 2-3,7 (2 in all, 'c0ffee' first);"
            " the kubelet starts only if the container runtime knows these IDs",
        )
    ]


def test_cpus_in_no_set_are_still_found() -> None:
    found = restart_check.check(CONFIG, MACHINE, files({"decaf": "2"}))
    codes = {each.code: each.fields.get("cpus") for each in found.drift}
    assert codes == {"drift/cpus-new": "3,7", "state/container-ids": "2"}


@pytest.mark.parametrize("entries", [IDS, {"decaf": "2-3,7"}])
def test_the_file_is_about_the_machine(entries: dict[str, str]) -> None:
    (report,) = verify.verify(files(entries), MACHINE)
    codes = [each.code for each in report.findings]
    assert codes == ["state/first-format", "state/container-ids"]


def test_containers_are_shown_by_their_id_and_are_not_stale() -> None:
    chart = holder_map.state_map(reading.read(files()), {}, lambda uid: True)

    assert [(each.name, each.container, each.cpus) for each in chart.holders] == [
        ("container ID", "c0ffee", "3,7"),
        ("container ID", "decaf", "2"),
    ]
    assert {each.stale for each in chart.holders} == {False}
    picture = state_chart.state_chart(
        reading.read(files()), "st", {}, StateMachine(MACHINE, NO_DEVICES)
    )
    assert [each.name for each in picture.pods]


def test_a_change_is_named_by_the_id() -> None:
    both = [reading.read(each) for each in (files(), files(IDS | {"decaf": "6"}, "0-2,4-5"))]
    assert [each.subject for each in state_diff.differences(*both)] == [
        "shared pool",
        "container id decaf",
    ]


def test_kubelets_that_wrote_it_had_no_memory_file() -> None:
    assert list(verify.missing_files(files())) == []


def test_an_upgrade_says_what_the_file_holds_where_neither_release_starts() -> None:
    before, after = (
        LintSubject(
            config=CONFIG,
            machine=MACHINE,
            state_files=files(),
            behaviour=replace(EXACT, release=table.of_name(name)),
        )
        for name in ("1.32", "1.36")
    )
    found = {each.code: str(each) for each in compare.compare(before, after).changes}
    assert "upgrade/neither-starts" in found
    assert found["cpu-state/unknown-container-id"] == (
        "The CPU manager's state file has the first format, and container 'c0ffee' holds CPUs by "
        "its ID. The kubelet starts only if the container runtime knows this ID."
    )
