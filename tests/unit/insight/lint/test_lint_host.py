"""Rules about the host beside its NUMA nodes, and what is said not to have been looked at."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import Severity
from numalet.core.model.machine_info import OperatingSystem
from numalet.insight.lint import rules
from numalet.insight.lint.rules import Checked
from numalet.insight.lint.subject import Host, LintSubject
from numalet.insight.usecases import live_host
from numalet.insight.usecases.checking import CheckInputs
from numalet.io.machines import MachineChoice
from numalet.io.sysfs.trees import memory_tree
from values import builders

SWAPS = b"Filename\tType\tSize\n/dev/sda2 partition 1000 0 -2\n/swap.img file 9 0 -3\n"
MACHINE = builders.machine(10, 10)
UNKNOWN = Host()


def checked(host: Host = UNKNOWN, **config: Any) -> Checked:
    of = KubeletConfig(uses_default_eviction=True, **config)
    return rules.check(LintSubject(config=of, machine=MACHINE, host=host))


def codes(of: Checked) -> dict[str, Severity]:
    return {each.code.removeprefix("lint/"): each.severity for each in of.own}


def test_what_keeps_a_kubelet_from_starting_on_a_live_host_is_found() -> None:
    bad = Host(swap_areas=("/dev/sda2",), cgroup_version=1, has_runtime=False)
    found = checked(bad)
    assert {"swap-is-on", "cgroup-v1", "no-container-runtime"} == set(codes(found))
    assert {Severity.WARNING} == set(codes(found).values())
    assert found.skipped_checks == ()
    assert "swap-is-on" not in codes(checked(bad, fail_swap_on=False))
    good = Host(swap_areas=(), cgroup_version=2, has_runtime=True)
    assert (codes(checked(good)), checked(good).skipped_checks) == ({}, ())


def test_what_is_not_known_is_said_not_to_have_been_looked_at() -> None:
    assert checked().skipped_checks == ("swap", "cgroup-version", "container-runtime")
    assert "swap" not in checked(fail_swap_on=False).skipped_checks
    soft = checked(
        eviction_soft={"memory.available": "1Gi"},
        eviction_soft_grace_period={"memory.available": "1m"},
    )
    assert "soft-eviction" in soft.skipped_checks
    assert codes(soft) == {}


def test_windows_has_neither_swap_files_nor_cgroups() -> None:
    windows = replace(MACHINE, os=OperatingSystem.WINDOWS)
    found = rules.check(LintSubject(config=KubeletConfig(), machine=windows))
    assert found.skipped_checks == ("container-runtime",)


def test_a_soft_threshold_needs_a_grace_period() -> None:
    found = checked(eviction_soft={"memory.available": "1Gi", "nodefs.available": "5%"})
    assert codes(found) == {"soft-eviction-without-grace-period": Severity.ERROR}
    (_, other) = found.own
    assert other.where.path == "$.evictionSoft.nodefs.available"


def host(files: dict[str, bytes], folders: set[str], endpoint: str, name: str | None) -> Host:
    pieces = CheckInputs(machine=MachineChoice(name))
    config = KubeletConfig(container_runtime_endpoint=endpoint)
    return live_host.host(
        memory_tree(files, {}, folders), config, is_live=pieces.machine.text is None
    )


def test_a_live_host_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "runtime.sock"
    with socket.socket(socket.AF_UNIX) as runtime:
        runtime.bind(str(path))
        v2 = {"proc/swaps": SWAPS, "sys/fs/cgroup/cgroup.controllers": b"cpuset\n"}
        assert Host(
            swap_areas=("/dev/sda2", "/swap.img"), cgroup_version=2, has_runtime=True
        ) == host(v2, set(), f"unix://{path}", None)
    none = {"proc/swaps": SWAPS.splitlines(keepends=True)[0]}
    v1 = {"sys", "sys/fs", "sys/fs/cgroup", "sys/fs/cgroup/memory"}
    assert Host(swap_areas=(), cgroup_version=1, has_runtime=False) == host(
        none, v1, str(tmp_path / "other.sock"), None
    )


@pytest.mark.parametrize(("endpoint", "name"), [("tcp://h:1", None), ("unix:///no", "2n4c2t")])
def test_what_can_not_be_seen_is_unknown(endpoint: str, name: str | None) -> None:
    assert host({}, set(), endpoint, name) == UNKNOWN
    assert live_host.host(None, KubeletConfig(), is_live=True) == UNKNOWN
