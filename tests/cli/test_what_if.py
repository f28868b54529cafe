"""``numalet what-if``: the same pods on many variants of a node."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest

from cli.commands import CONFIGURED, EXAMPLES, GUARANTEED, RESERVED, SECOND, Ended, Runner, pod
from numalet.insight.explain.matrix import Matrix
from numalet.insight.output import json_schema

GOLDEN = Path(__file__).parent / "golden"
DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTED = (
    "-c",
    str(EXAMPLES / "kubelet.yaml"),
    "--reserved-memory",
    RESERVED,
    "-m",
    str(EXAMPLES / "machine.yaml"),
)
SMALL = ("-m", "2n4c2t", "--memory-per-node", "10Gi", "--memory-manager-policy=Static")
RESERVING = "--reserved-memory=0:memory=100Mi"


@pytest.fixture
def pods(tmp_path: Path) -> str:
    """Pods whose order matters."""
    path = tmp_path / "pods.yaml"
    path.write_text("---".join(pod(f"p{size}", f"{size}Gi") for size in (15, 6, 4, 3)))
    return str(path)


def table(ended: Ended) -> list[dict[str, str]]:
    """The rows of a table in CSV form."""
    return list(csv.DictReader(io.StringIO(ended.out)))


def small(numalet: Runner, *arguments: str) -> Ended:
    """``numalet what-if`` on a small machine."""
    return numalet("what-if", *SMALL, RESERVING, *arguments)


def test_the_documented_pods_under_every_policy(
    numalet: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    ended = numalet(
        "what-if",
        *("-c", "documented/kubelet.yaml", "-m", "documented/machine.yaml"),
        *("--reserved-memory", RESERVED),
        *("documented/guaranteed.yaml", "documented/second.yaml"),
    )

    assert (ended.status, ended.err) == (0, "")
    assert (GOLDEN / "what-if.txt").read_text(encoding="utf-8") == ended.out


def test_the_page_shows_what_is_printed() -> None:
    page = (DOCS / "how-to" / "what-if.md").read_text(encoding="utf-8")
    assert (GOLDEN / "what-if.txt").read_text(encoding="utf-8") in page


def test_documents_keep_to_their_schema(numalet: Runner, pods: str) -> None:
    arguments = ("-m", "9n1c1t", "--options", "prefer-closest-numa-nodes=true", "--orders=2")
    text = small(numalet, *arguments, pods, "-o", "json").out
    found = msgspec.json.decode(text, type=Matrix)
    assert len(found.variants) == 14
    recorded = json.loads((DOCS / "schemas" / "what-if.json").read_text(encoding="utf-8"))
    assert json_schema.of(Matrix) == recorded


def test_all_policies_and_scopes_are_compared(numalet: Runner) -> None:
    rows = table(numalet("what-if", *DOCUMENTED, GUARANTEED, SECOND, "-o", "csv"))

    assert [(row["policy"], row["scope"], row["admitted_max"]) for row in rows] == [
        ("none", "container", "2"),
        ("best-effort", "container", "2"),
        ("best-effort", "pod", "2"),
        ("restricted", "container", "1"),
        ("restricted", "pod", "1"),
        ("single-numa-node", "container", "1"),
        ("single-numa-node", "pod", "1"),
    ]
    assert rows[3]["stranded_memory_bytes_by_node"] == "0=0;1=103739236352"


def test_orders_are_repeatable_and_have_a_spread(numalet: Runner, pods: str) -> None:
    arguments = (pods, "--policies=restricted", "--orders=8", "--seed=3")
    once = small(numalet, *arguments, "-o", "json")
    again = small(numalet, *arguments, "-o", "json")
    other = small(numalet, *arguments[:-1], "--seed=4", "-o", "json")

    assert once == again
    found = json.loads(once.out)
    assert (found["schema"], found["seed"]) == ("numalet.what-if/1", 3)
    assert [len(each["runs"]) for each in found["variants"]] == [8, 8]
    assert {run["admitted"] for run in found["variants"][0]["runs"]} == {1, 3}
    assert json.loads(other.out)["variants"] != found["variants"]
    shown = small(numalet, *arguments)
    assert "pods: 4, 8 orders: fewest-median-most" in shown.out
    assert "1-3-3" in shown.out


def test_machines_configurations_and_options_multiply(
    numalet: Runner, pods: str, tmp_path: Path
) -> None:
    configs = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
            "topologyManagerPolicy: restricted\n"
        )
        configs += ["-c", str(path)]
    ended = small(
        numalet,
        *configs,
        *("-m", "4n2c1t", "--policies", "restricted,best-effort", "--scopes", "pod"),
        *("--options", "", "--options", "prefer-closest-numa-nodes=true"),
        pods,
    )
    assert ended.status == 0
    assert "scope: pod" in ended.out
    assert len(table(small(numalet, *configs, "-m", "4n2c1t", pods, "-o", "csv"))) == 2 * 2 * 7


def test_many_stranded_nodes_are_summed_up(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("---".join(pod(f"p{at}", "6Gi") for at in range(8)))
    ended = numalet(
        "what-if",
        *("-m", "6n2c1t", "--memory-per-node", "10Gi", "--memory-manager-policy=Static"),
        *("--cpu-manager-policy=static", "--reserved-cpus=0", RESERVING, str(path)),
        *("--policies=restricted", "--scopes=pod"),
    )
    assert "6 nodes: " in ended.out
    assert "CPUs" in ended.out


def test_stranded_cpus_are_beside_the_memory(numalet: Runner, pods: str) -> None:
    ended = small(
        numalet,
        pods,
        *("--cpu-manager-policy=static", "--reserved-cpus=0", "--policies=restricted"),
    )
    assert "0: 924Mi 5 CPUs" in ended.out


def test_variants_that_do_not_start_are_listed_with_their_text(numalet: Runner, pods: str) -> None:
    ended = small(numalet, "-m", "9n1c1t", pods, "--policies", "none,restricted", "--scopes=pod")
    assert ended.status == 0
    assert "no start" in ended.out
    assert "The kubelet would not start (9n1c1t no file restricted pod 1.37):" in ended.out
    alone = numalet("what-if", "-m", "9n1c1t", pods, "--policies", "restricted")
    assert alone.status == 2


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [
        ("--policies", "strict", "none, best-effort, restricted, single-numa-node"),
        ("--scopes", "node", "container, pod"),
    ],
)
def test_unknown_choices_are_unusable_input(
    numalet: Runner, pods: str, option: str, value: str, known: str
) -> None:
    ended = small(numalet, pods, option, value)
    assert (ended.status, ended.out) == (2, "")
    assert f"{option} {value!r} is unknown; expected one of {known}" in ended.err


def test_no_pods_are_unusable_input(numalet: Runner) -> None:
    ended = small(numalet)
    assert ended.status == 2
    assert "no pod manifests; name" in ended.err


def test_devices_are_on_every_machine(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(pod("u", "1Gi").replace("memory: 1Gi", "memory: 1Gi, example.com/gpu: 1"))
    ended = small(numalet, str(path), "--device=example.com/gpu=g0@1", "-o", "json")
    assert json.loads(ended.out)["variants"][0]["runs"][0]["admitted"] == 1


def test_this_machine_is_the_default(numalet: Runner, pods: str) -> None:
    ended = numalet("what-if", pods, "--policies=none")
    assert ended.status == 0
    assert "machine: this machine" in ended.out


def test_the_configured_policy_flag_is_no_option_here(numalet: Runner, pods: str) -> None:
    ended = numalet("what-if", *CONFIGURED, pods, "--topology-manager-policy=none")
    assert ended.status == 2


RUNNING = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeSelector: {{disk: ssd}}
  containers: [{{name: c, resources: {{limits: {{cpu: "3", memory: 1Gi, example.com/gpu: "1"}}}}}}]
status: {{phase: {phase}}}
---
"""


def test_running_pods_that_a_variant_refuses_are_reported_first(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "running.yaml"
    names = (("a", "Running"), ("b", "Running"), ("c", "Pending"))
    path.write_text("".join(RUNNING.format(name=name, phase=phase) for name, phase in names))
    node = ("-m", "1n2c2t", "--cpu-manager-policy=static", "--reserved-cpus=0")
    asked = ("what-if", *node, str(path), "--policies", "none,restricted")
    ended = numalet(*asked)
    first, _, named, *rest = ended.out.splitlines()
    assert first.startswith("! 1 pod that runs is rejected here")
    assert named == "!   default/b: by all"
    assert "default/c: UnexpectedAdmissionError" in "\n".join(rest)

    found = json.loads(numalet(*asked, "-o", "json").out)
    for variant in found["variants"]:
        (run,) = variant["runs"]
        assert [each["pod"] for each in run["rejected"]] == ["default/b", "default/c"]
        assert [each["pod"] for each in run["replay_refused"]] == ["default/b"]
        # What the managers refuse is asked no further.
        assert run["not_asked"] == [
            {"predicate": "NodeAffinity", "why": "node-labels", "pods": ["default/a"]}
        ]
        assert run["passed_over"] == [{"resource": "example.com/gpu", "pods": ["default/a"]}]
        assert run["evicted"] == []


def test_nothing_is_said_of_running_pods_that_all_variants_admit(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "running.yaml"
    path.write_text(RUNNING.format(name="a", phase="Running"))
    assert "!" not in numalet("what-if", "-m", "1n4c", str(path)).out
