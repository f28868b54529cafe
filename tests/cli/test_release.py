"""``--release``, and the kubelets at hand, on every command that decides."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.commands import CONFIGURED, DOCUMENTED, GUARANTEED, Runner
from numalet.cli import node_options
from numalet.core.config.releases.table import DEFAULT, NEWEST, RELEASES
from numalet.io import kubelets
from running.kubelet_process import kubelet_process

SIMULATE = ("simulate", *DOCUMENTED, GUARANTEED)
CHECK = ("check", *DOCUMENTED, GUARANTEED)
COMMANDS = [
    SIMULATE,
    CHECK,
    ("explain", *DOCUMENTED, GUARANTEED),
    ("reserve", *DOCUMENTED[:2], *DOCUMENTED[4:]),
]
WRITTEN = ["1.34", "v1.34", "v1.34.9", "1.34.9+k3s1"]
UNKNOWN = ["1.38", "v1.38.0", "1.31", "2.0", "garbage", ""]


def document(numalet: Runner, *arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    return dict(json.loads(numalet(*arguments, "-o", "json").out))


def node(name: str, version: str) -> dict[str, Any]:
    """A Node object as ``kubectl get nodes -o json`` has it."""
    info = {"nodeInfo": {"kubeletVersion": version}}
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "status": info}


@pytest.fixture
def nodes(tmp_path: Path) -> Callable[..., str]:
    """Writes a file of Node objects, given as names and versions; its path."""

    def write(**versions: str) -> str:
        path = tmp_path / "nodes.json"
        items = [node(*pair) for pair in versions.items()]
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
        return str(path)

    return write


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_release_is_followed_and_named_in_documents(
    numalet: Runner, command: tuple[str, ...]
) -> None:
    assert document(numalet, *command)["release"] == DEFAULT.name
    for written in WRITTEN:
        assert document(numalet, *command, "--release", written)["release"] == "1.34"
        assert document(numalet, *command, "--kubelet-version", written)["release"] == "1.34"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("option", ["--release", "--kubelet-version"])
def test_an_unknown_release_is_refused_with_the_list(
    numalet: Runner, command: tuple[str, ...], option: str
) -> None:
    for written in UNKNOWN:
        refused = numalet(*command, option, written)

        assert refused.status == 2
        assert ", ".join(each.name for each in RELEASES) in refused.err


def test_the_refusal_of_a_release_names_the_nearest_one(numalet: Runner) -> None:
    said = numalet(*SIMULATE, "--release", "1.38").err

    assert "release 1.38" in said
    assert "newer" in said
    assert f"nearest is --release {NEWEST.name}" in said


def test_the_kubelet_that_is_judged_is_named(numalet: Runner) -> None:
    assert numalet(*CHECK, "--release", "1.36").out.startswith("The kubelet v1.36 would start")
    assert "release: 1.36" in numalet(*SIMULATE, "--release", "1.36").out
    assert f"release: {DEFAULT.name}" in numalet(*SIMULATE).out
    refused = numalet(*SIMULATE, "--release", "1.36", "--feature-gates", "Nonsense=true")
    assert "the kubelet v1.36 would not start" in refused.err


def test_our_own_settings_name_a_release_and_a_flag_wins_over_them(
    numalet: Runner, tmp_path: Path
) -> None:
    config = tmp_path / "kubelet.yaml"
    for written in ("1.34", "'1.34'", "v1.34.2"):
        config.write_text(
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n---\n"
            f"apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\nrelease: {written}\n"
        )
        command = ("check", "-c", str(config), *DOCUMENTED[4:])

        assert document(numalet, *command)["release"] == "1.34"
        assert document(numalet, *command, "--release", "1.35")["release"] == "1.35"


def test_the_kubelet_of_a_node_object_is_followed_and_said(
    numalet: Runner, nodes: Callable[..., str]
) -> None:
    file = nodes(worker="v1.35.6+rke2r1")
    ended = numalet(*SIMULATE, file)

    assert ended.status == 0
    assert "note: " in ended.err
    assert "release 1.35 is used, because node worker has kubelet v1.35.6+rke2r1" in ended.err
    assert [document(numalet, *command, file)["release"] for command in (SIMULATE, CHECK)] == [
        "1.35",
        "1.35",
    ]


def test_of_nodes_with_several_releases_one_has_to_be_named(
    numalet: Runner, nodes: Callable[..., str]
) -> None:
    file = nodes(old="v1.33.1", new="v1.36.2", unknown="v1.38.0")
    refused = numalet(*SIMULATE, file)

    assert refused.status == 2
    assert "v1.33.1 of node old" in refused.err
    assert document(numalet, *SIMULATE, file, "--node-name", "old")["release"] == "1.33"
    assert document(numalet, *SIMULATE, file, "--node-name", "elsewhere")["release"] == DEFAULT.name
    assert numalet(*SIMULATE, file, "--node-name", "unknown").status == 2
    named = numalet(*SIMULATE, file, "--release", "1.36")
    assert named.status == 0
    assert named.err.count("warning: ") == 2


def test_input_that_can_not_be_used_is_of_no_release(
    numalet: Runner, nodes: Callable[..., str]
) -> None:
    file = nodes(unknown="v1.38.0")

    assert document(numalet, *CHECK, file)["release"] is None
    assert "garbage" in numalet(*SIMULATE, nodes(odd="garbage")).err


def test_a_flag_wins_over_a_node_object_with_a_warning(
    numalet: Runner, nodes: Callable[..., str]
) -> None:
    ended = numalet(*CHECK, nodes(worker="v1.35.6"), "--release", "1.34", "-o", "json")

    read = json.loads(ended.out)
    assert read["release"] == "1.34"
    assert "input/conflict" in {each["code"] for each in read["findings"]}


@pytest.fixture
def own_processes(monkeypatch: pytest.MonkeyPatch, no_kubelet: None) -> None:
    """Kubelets that a test starts are found."""
    monkeypatch.setattr(kubelets, "PROC", Path("/proc"))


@pytest.mark.usefixtures("own_processes")
def test_the_release_of_a_kubelet_that_runs_is_followed(numalet: Runner, tmp_path: Path) -> None:
    with kubelet_process(tmp_path, "v1.34.1+k3s1") as pid:
        line = f"/proc/{pid}/cmdline"
        ended = numalet("check", "-c", line, *DOCUMENTED[4:], "-o", "json")

    read = json.loads(ended.out)
    assert read["release"] == "1.34"
    assert "input/assumed" in {each["code"] for each in read["findings"]}


UNCORE = {
    "numa_nodes": [
        {
            "id": 0,
            "memory_bytes": 16 << 30,
            "cores": [{"threads": [i, i + 8], "uncore_cache": i // 2} for i in range(8)],
        }
    ]
}
ODD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "odd", "uid": "odd"},
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "7", "memory": "1Gi"}}}]},
}
ALIGNED = (
    *("--cpu-manager-policy", "static", "--reserved-cpus", "0-1"),
    *("--cpu-manager-policy-options", "prefer-align-cpus-by-uncorecache=true"),
    *("--feature-gates", "CPUManagerPolicyAlphaOptions=true"),
)


@pytest.fixture
def odd(tmp_path: Path) -> tuple[str, ...]:
    """Seven CPUs on a machine with caches of four, which releases give differently."""
    machine, pod = tmp_path / "uncore.json", tmp_path / "odd.json"
    machine.write_text(json.dumps(UNCORE))
    pod.write_text(json.dumps(ODD))
    return ("-m", str(machine), str(pod))


@pytest.mark.parametrize(("release", "cpus"), [("1.32", "2-4,8,10-12"), ("1.33", "2-5,10-12")])
def test_decisions_are_those_of_the_release(
    numalet: Runner, odd: tuple[str, ...], release: str, cpus: str
) -> None:
    assert cpus in numalet("simulate", *ALIGNED, *odd, "--release", release).out
    assert cpus in numalet("explain", *ALIGNED, *odd, "--release", release).out


def test_a_recorded_simulation_is_of_its_release(
    numalet: Runner, odd: tuple[str, ...], tmp_path: Path
) -> None:
    file = str(tmp_path / "recorded.jsonl")
    numalet("simulate", *ALIGNED, *odd, "--release", "1.34", "--record", file)

    assert json.loads(Path(file).read_text())["release"] == "1.34"
    assert numalet("replay", file).status == 0
    assert numalet("replay", file, "--release", "1.32").status == 2
    assert document(numalet, "simulate", file)["release"] == "1.34"
    assert document(numalet, "simulate", file, "--release", "v1.34.7")["release"] == "1.34"
    refused = numalet("simulate", file, "--release", "1.36")
    assert refused.status == 2
    assert "this scenario was recorded with release 1.34" in refused.err


def test_releases_are_an_axis_of_a_comparison(numalet: Runner, odd: tuple[str, ...]) -> None:
    command = ("what-if", *ALIGNED[:-2], *ALIGNED[-2:], *odd, "--policies", "none,restricted")
    both = numalet(*command, "--release", "1.32,v1.36.1", "--release", "1.36")
    rows = document(numalet, *command, "--release", "1.32,1.36")["variants"]

    assert "RELEASE" in both.out
    assert [(row["policy"], row["scope"], row["release"]) for row in rows] == [
        (policy, scope, release)
        for release in ("1.32", "1.36")
        for policy, scope in (
            ("none", "container"),
            ("restricted", "container"),
            ("restricted", "pod"),
        )
    ]
    assert "release: 1.36" in numalet(*command, "--release", "1.36").out
    assert numalet(*command, "--release", "1.32,1.38").status == 2
    lines = numalet(*command, "--release", "1.34", "-o", "csv").out.splitlines()
    assert [line.rpartition(",")[2] for line in lines] == ["release", "1.34", "1.34", "1.34"]


@pytest.mark.usefixtures("own_processes")
def test_state_files_are_judged_as_those_of_a_release(
    numalet: Runner, odd: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    numalet("simulate", *ALIGNED, *odd, "--state-dir", str(folder))

    assert document(numalet, "state", "verify", str(folder))["release"] is None
    assert (
        document(numalet, "state", "verify", str(folder), "--release", "1.36")["release"] == "1.36"
    )
    assert numalet("state", "verify", str(folder), "--release", "1.38").status == 2
    check = ("state", "restore-check", str(folder), *ALIGNED, *odd[:-1])
    assert document(numalet, *check, "--kubelet-version", "v1.35.1")["release"] == "1.35"
    with kubelet_process(tmp_path / "bin", "v1.34.2", f"--root-dir={folder}"):
        assert document(numalet, "state", "verify", str(folder))["release"] == "1.34"
        assert document(numalet, *check)["release"] == "1.34"


def test_command_lines_are_completed_with_every_release() -> None:
    assert node_options.release_names() == [each.name for each in RELEASES]


def test_help_names_the_default(numalet: Runner) -> None:
    assert f"else {DEFAULT.name}" in node_options.RELEASE_HELP
    assert "--release" in numalet("reserve", "--help").out
    assert CONFIGURED[0] == "-c"


def test_no_command_loads_the_releases_before_it_needs_them() -> None:
    program = "import numalet.cli.main, sys; print('numalet.core.config.releases' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert ended.stdout == b"False\n"


def test_a_recorded_scenario_names_the_release_that_was_assumed(
    numalet: Runner, tmp_path: Path
) -> None:
    """A scenario file without a release is one of 1.32."""
    file = tmp_path / "scenarios.jsonl"
    assert numalet(*SIMULATE, "--record", str(file)).status == 0
    assert json.loads(file.read_text())["release"] == DEFAULT.name == NEWEST.name
    assert numalet("replay", str(file)).status == 0
