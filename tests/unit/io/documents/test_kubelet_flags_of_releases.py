"""Flags that some releases do not have, and complaints that releases spell differently."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.config import command_flags
from numalet.core.config.releases import table
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.v1_35 import V1_35
from numalet.core.model.findings import NOWHERE, BadInput
from numalet.io.documents.kubelet import kubelet_command_line, kubelet_config, kubelet_flags
from numalet.io.documents.kubelet.kubelet_config import ConfigSources

INVALID = 'failed to parse kubelet flag: invalid argument "{0}" for "--reserved-memory" flag: {1}'


def complaint(flags: list[tuple[str, str]], release: Release) -> str | None:
    """What a kubelet of the release says of these flags; None if it takes them."""
    placed = [(name, value, NOWHERE) for name, value in flags]
    given = kubelet_flags.parse_placed(placed, release)
    problems = [*command_flags.problems(given.all, release)]
    return problems[0].in_kubelet_words if problems else None


@pytest.mark.parametrize(
    ("flag", "gone"),
    [
        ("--cloud-config", "1.34"),
        ("--register-schedulable", "1.34"),
        ("--pod-infra-container-image", "1.35"),
        ("--machine-id-file", "1.37"),
        ("--storage-driver-db", "1.37"),
    ],
)
def test_a_flag_that_is_gone_is_unknown(flag: str, gone: str) -> None:
    assert {
        release.name: (
            f"failed to parse kubelet flag: unknown flag: {flag}" if release.name >= gone else None
        )
        for release in table.RELEASES
    } == {release.name: complaint([(flag, "true")], release) for release in table.RELEASES}


def test_a_flag_that_is_gone_stops_the_kubelet_whose_command_line_has_it(tmp_path: Path) -> None:
    file = tmp_path / "args"
    file.write_text("/usr/bin/kubelet --pod-infra-container-image=pause:3.10 --v=2 --max-pods=7")
    line = kubelet_command_line.read(file.read_text(), "args")
    assert line is not None
    assert [name for name, _, _ in line.flags] == ["pod-infra-container-image", "v", "max-pods"]

    old = kubelet_config.load(ConfigSources(config_file=file, release="1.34"))
    assert old.config.max_pods == 7
    (problem,) = command_flags.problems(old.config.flags, V1_35)
    assert problem.fields == {
        "flag": "--pod-infra-container-image",
        "hint": " (v1.34 is the last release that has it)",
    }


def test_the_type_of_a_field_matters_only_where_the_release_knows_it(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
        "mergeDefaultEvictionSettings: often\nuserNamespaces: {idsPerPod: many}\nmaxPods: 7\n"
    )
    old = kubelet_config.load(ConfigSources(config_file=file, release="1.32")).config

    assert (old.max_pods, old.merge_default_eviction_settings) == (7, False)
    assert {"mergeDefaultEvictionSettings", "userNamespaces"} <= old.origins.keys()
    with pytest.raises(BadInput) as bad:
        kubelet_config.load(ConfigSources(config_file=file, release="1.33"))
    assert [finding.fields["field"] for finding in bad.value.findings] == [
        "mergeDefaultEvictionSettings",
        "userNamespaces.idsPerPod",
    ]


@pytest.mark.parametrize(
    ("values", "old", "new"),
    [
        (
            ["x:memory=1Gi"],
            "failed to convert the NUMA node ID, exptected integer, got x",
            "failed to convert the NUMA node ID, expected integer, got x",
        ),
        (
            ["0:memory"],
            "the reserved limit has incorrect value, expected type=quantatity, got memory",
            "the reserved limit has incorrect value, expected type=quantity, got memory",
        ),
        (
            ["0:memory=x"],
            "failed to parse the quantatity, expected quantatity, got x",
            "failed to parse the quantity: x",
        ),
        (
            ["", "0:memory=1Gi"],
            "no target (nil pointer to *[]MemoryReservation",
            "no target (nil pointer to *[]MemoryReservation)",
        ),
        (
            ["0:disk=1Gi"],
            'memory type conversion error, unknown type: "disk"',
            'memory type conversion error, unknown type: "disk"',
        ),
    ],
)
def test_complaints_about_reserved_memory_are_spelt_right_in_later_releases(
    values: list[str], old: str, new: str
) -> None:
    flags = [("reserved-memory", value) for value in values]

    assert [old, old, old, new, new, new] == [
        (complaint(flags, release) or "").removeprefix(INVALID.format(values[-1], ""))
        for release in table.RELEASES
    ]
