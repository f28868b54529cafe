"""``--native`` on the commands that take a kubelet's configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import CONFIGURED, DOCUMENTED, GUARANTEED, Runner, pod

MANY = ("-m", "16n1c1t", "--memory-per-node", "10Gi")
ALIGNING = (*MANY, "--topology-manager-policy", "restricted")


def test_many_nodes_start_in_native_mode_only(numalet: Runner) -> None:
    refused = numalet("simulate", *ALIGNING, GUARANTEED)
    native = numalet("simulate", *ALIGNING, "--native", GUARANTEED)

    assert (refused.status, native.status) == (2, 0)
    assert "mode: native" in native.out


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", *DOCUMENTED, GUARANTEED),
        ("explain", *DOCUMENTED, GUARANTEED),
        ("check", *DOCUMENTED),
        ("reserve", *DOCUMENTED[:2], *DOCUMENTED[4:]),
    ],
)
def test_documents_name_the_mode(numalet: Runner, command: tuple[str, ...]) -> None:
    exact, native = numalet(*command, "-o", "json"), numalet(*command, "--native", "-o", "json")

    assert (json.loads(exact.out)["mode"], json.loads(native.out)["mode"]) == ("exact", "native")


def test_pages_name_the_mode(numalet: Runner) -> None:
    assert "native mode" in numalet("explain", *ALIGNING, "--native", GUARANTEED).out
    assert "A node in native mode would start" in numalet("check", *MANY, "--native").out


def test_a_comparison_tells_configurations_by_their_mode(numalet: Runner, tmp_path: Path) -> None:
    native = tmp_path / "native.yaml"
    native.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n---\n"
        "apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\nmode: native\n"
    )
    options = (*MANY, "--policies", "restricted", "--scopes", "pod", "-c", str(native))
    both = (*options, "-c", CONFIGURED[1])

    table = numalet("what-if", *both, GUARANTEED)
    rows = json.loads(numalet("what-if", *both, GUARANTEED, "-o", "json").out)["variants"]
    alone = numalet("what-if", *options, GUARANTEED)

    assert "MODE" in table.out
    assert [row["mode"] for row in rows] == ["native", "exact"]
    assert [row["start_error"] and True for row in rows] == [None, True]
    assert "mode: native" in alone.out


def test_a_restart_is_checked_in_the_mode(numalet: Runner, tmp_path: Path) -> None:
    states = ("--state-dir", str(tmp_path))
    assert numalet("simulate", *DOCUMENTED, *states, GUARANTEED).status == 0

    checked = numalet(
        "state", "restore-check", *DOCUMENTED, "--native", str(tmp_path), "-o", "json"
    )

    assert (
        json.loads(checked.out)["mode"],
        json.loads(checked.out)["answer"],
    ) == ("native", "accepted")


def test_a_scenario_has_a_mode_of_its_own(numalet: Runner) -> None:
    path = str(Path(__file__).parents[1] / "scenarios" / "scope-container.yaml")

    for flag in ("--native", "--exact"):
        refused = numalet("simulate", path, flag)
        assert refused.status == 2
        assert flag in refused.err


ACCELERATORS = """
numa_nodes:
- {id: 0, memory_bytes: 17179869184, cores: [{id: 0, socket: 0, threads: [0, 1]}], hugepages: []}
- {id: 1, memory_bytes: 17179869184, cores: [{id: 1, socket: 0, threads: [2, 3]}], hugepages: []}
- {id: 2, memory_bytes: 103079215104, cores: [], hugepages: []}
- {id: 3, memory_bytes: 103079215104, cores: [], hugepages: []}
"""


def test_a_page_names_the_nodes_that_give_no_memory(numalet: Runner, tmp_path: Path) -> None:
    machine, pods = tmp_path / "machine.yaml", tmp_path / "pod.yaml"
    machine.write_text(ACCELERATORS)
    pods.write_text(pod("p", "40Gi"))
    policy = ("--memory-manager-policy", "Static", "--reserved-memory", "0:memory=100Mi")
    asked = ("-m", str(machine), *policy, "--native", str(pods))

    native = numalet("simulate", *asked)
    explained = numalet("explain", *asked, "--topology-manager-policy", "restricted")
    more = numalet("simulate", *asked, "--memory-node-classes", "cpu,memory")

    assert (native.status, more.status) == (1, 0)
    assert "NUMA nodes {2,3} provide no memory to pods" in native.out
    assert "provide no memory" not in more.out
    assert "provide no memory to pods" in explained.out
