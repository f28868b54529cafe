"""Wanted against observed: names of what differs, and what an audit says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from numalet.core.enforcement import comparison
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings
from numalet.core.enforcement.comparison import Reality, audit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = CgroupSettings(
    cpus=frozenset({1}),
    memory_nodes=(0, 1),
    memory_max_bytes=4096,
    memory_high_bytes=4096,
    memory_min_bytes=4096,
    swap_max_bytes=0,
    hugetlb_max_bytes={2 << 20: 0, 1 << 30: 1 << 30},
    cpu_weight=39,
    cpu_quota_us=1000,
    pids_max=10,
    oom_group=True,
)


def test_equal_settings_do_not_differ() -> None:
    assert comparison.differences(WANTED, WANTED) == ()


def test_what_nobody_wants_does_not_differ() -> None:
    assert comparison.differences(CgroupSettings(), WANTED) == ()


def test_every_setting_is_named_as_its_file() -> None:
    assert comparison.differences(WANTED, CgroupSettings()) == (
        "cpuset.cpus",
        "cpuset.mems",
        "memory.max",
        "memory.high",
        "memory.min",
        "memory.swap.max",
        "memory.oom.group",
        "cpu.weight",
        "cpu.max",
        "pids.max",
        "hugetlb.2MB.max",
        "hugetlb.1GB.max",
    )


def test_a_quota_in_another_period_differs() -> None:
    seen = CgroupSettings(cpu_quota_us=1000, cpu_period_us=50_000)
    assert comparison.differences(CgroupSettings(cpu_quota_us=1000), seen) == ("cpu.max",)


def test_a_quota_that_nobody_shall_have_differs_from_any_quota() -> None:
    none = CgroupSettings(cpu_quota_us=NO_QUOTA, cpu_period_us=10_000)
    assert comparison.differences(none, CgroupSettings()) == ()
    assert comparison.differences(none, CgroupSettings(cpu_quota_us=1000)) == ("cpu.max",)


def _reality(cpus: set[int], nodes: tuple[int, ...], **pages: dict[int, int]) -> Reality:
    return Reality(
        pages_bytes={kind.replace("_", "-"): sizes for kind, sizes in pages.items()},
        allowed_cpus=frozenset(cpus),
        allowed_nodes=nodes,
        cgroup=None,
        processes=1,
    )


def test_pages_elsewhere_are_misplaced_but_not_those_of_files() -> None:
    found = _reality({1}, (0, 1), memory={0: 1, 1: 2, 2: 4}, hugepages_2Mi={3: 8}, file={2: 16})
    looked = audit(WANTED, found, NOW)
    assert looked.misplaced_bytes == 12
    assert not looked.aligned


@pytest.mark.parametrize(
    ("found", "stray"),
    [
        (_reality({1, 2}, (0, 1)), (frozenset({2}), ())),
        (_reality({1}, (0, 1, 5)), (frozenset(), (5,))),
    ],
)
def test_what_is_allowed_beyond_the_promise_strays(
    found: Reality, stray: tuple[frozenset[int], tuple[int, ...]]
) -> None:
    looked = audit(WANTED, found, NOW)
    assert stray == (looked.stray_cpus, looked.stray_nodes)
    assert not looked.aligned


def test_without_a_promise_nothing_strays() -> None:
    looked = audit(CgroupSettings(), _reality({1, 2}, (0, 5), memory={5: 4096}), NOW)
    assert looked.aligned
    assert looked.memory_nodes == ()


def test_what_is_as_promised_is_aligned() -> None:
    assert audit(WANTED, _reality({1}, (0,), memory={0: 4096}), NOW).aligned
