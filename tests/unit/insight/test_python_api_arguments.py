"""What Python's types do not catch: each slip has an error that says what is expected."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numalet
from cli.commands import EXAMPLES
from harness.bad_inputs import refused_with
from numalet.core.model.value import replace

DUMP = EXAMPLES.parent / "fleet" / "dump.json"
CONFIG = numalet.decode_config({})
LARGE = numalet.decode_config({"kubeReserved": {"memory": "1Ti"}})
PODS = numalet.read_pods(
    "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}", "x"
).pods


def what_if(**given: Any) -> object:
    return numalet.what_if(PODS, {"m": "2n4c"}, {"c": CONFIG}, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"policies": "restricted"}, {"scopes": "pod"}, {"releases": "1.34"},
        {"options": {"prefer-closest-numa-nodes": "true"}},
    ],
)  # fmt: skip
def test_a_text_or_mapping_is_no_list(given: dict[str, Any]) -> None:
    (argument,) = given
    with refused_with("api/wrong-type") as raised:
        what_if(**given)
    assert str(raised.value).startswith(f"{argument} takes a list")


POD: Any = {"kind": "Pod"}
FLEET: Any = "pools: []"


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda: numalet.start_node(CONFIG, "2n4c", devices={"x.io/g": ["g0"]}),  # type: ignore[list-item]
            "devices takes a mapping to a list of Device, not str 'g0'",
        ),
        (lambda: numalet.start_node(POD, "2n4c"), "config takes KubeletConfig (decode_config or"),
        (lambda: numalet.start_node(CONFIG, 5), "machine takes str or a path or LoadedMachine"),  # type: ignore[arg-type]
        (lambda: numalet.start_node(CONFIG, "2n4c", release=1.34), "release takes str or Release"),  # type: ignore[arg-type]
        (lambda: numalet.simulate(POD, "2n4c", PODS), "config takes KubeletConfig"),
        (lambda: numalet.simulate(CONFIG, "2n4c", "pod.yaml"), "pods takes a list of Pod (read_"),  # type: ignore[arg-type]
        (lambda: numalet.simulate(CONFIG, "2n4c", [POD]), "pods takes a list of Pod (read_pods"),
        (lambda: numalet.check(CONFIG, "2n4c", node_name=7), "node_name takes str, not int 7"),  # type: ignore[arg-type]
        (lambda: numalet.explain(started(), PODS[0], budget_seconds=True), "budget_seconds takes"),
        (
            lambda: numalet.explain(
                numalet.start_node(numalet.decode_config({"cpuManagerPolicy": "static"}), "2n4c"),  # type: ignore[arg-type]
                PODS[0],
            ),
            "node takes Node (start_node makes one), not StartRefused The kubelet would not start",
        ),
        (lambda: numalet.load_config(7), "sources takes ConfigSources or str or a path, not int"),  # type: ignore[arg-type]
        (lambda: numalet.load_pods({"a": 1}), "paths takes str or a path or a list of str"),
        (lambda: numalet.load_pods(["a.yaml", 3]), "not int 3"),  # type: ignore[list-item]
        (lambda: numalet.read_pods(POD, "x"), "text takes str, not dict"),
        (lambda: numalet.open_machine("2n4c", memory_per_node=4), "memory_per_node takes str"),  # type: ignore[arg-type]
        (lambda: numalet.fit(FLEET, "cpu=1"), "cluster takes Cluster (Fleet.from_dump or"),
        (lambda: numalet.open_cluster(7), "paths takes str or a path"),  # type: ignore[arg-type]
        (lambda: numalet.placement_rows(FLEET), "snapshot takes Snapshot, not str 'pools: []'"),
        (lambda: numalet.rejection_status(None), "rejection takes"),  # type: ignore[arg-type]
        (lambda: numalet.runtime_settings(5), "decision takes Decision, not int 5"),  # type: ignore[arg-type]
        (lambda: numalet.sentence(5), "about takes Finding or Reason, not int 5"),  # type: ignore[arg-type]
        (lambda: numalet.diff_snapshots(5, 5), "before takes Snapshot, not int 5"),  # type: ignore[arg-type]
        (
            lambda: numalet.start_node(CONFIG, "2n4c", plugins=5),  # type: ignore[arg-type]
            "plugins takes PreferredDevices, not int 5",
        ),
        (
            lambda: numalet.start_node(CONFIG, "2n4c", managers=[5]),  # type: ignore[list-item]
            "managers takes a list of ExtraManager, not int 5",
        ),
        (lambda: numalet.simulate(CONFIG, "x" * 100, 5), "pods takes a list of Pod"),  # type: ignore[arg-type]
        (lambda: numalet.replay("x" * 100, jobs="x" * 100), f"not str '{'x' * 79}..."),  # type: ignore[arg-type]
    ],
)
def test_an_argument_of_another_type_is_named(act: Callable[[], object], text: str) -> None:
    with refused_with("api/wrong-type") as raised:
        act()
    assert text in str(raised.value)
    # Neither this function's frames nor those of the API's inside bury the sentence.
    assert len(traceback.extract_tb(raised.tb)) <= 5


def test_an_iterator_is_read_once() -> None:
    assert len(numalet.simulate(CONFIG, "2n4c", iter(PODS))["steps"]) == 1


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: numalet.load_pods("none.yaml"), "paths='none.yaml': this file cannot be read"),
        (lambda: numalet.load_claims([Path("none")]), "paths='none': this file cannot be read"),
        (lambda: numalet.load_config(""), "sources='': this file cannot be read"),
        (lambda: numalet.open_cluster("none.json"), "paths='none.json': this file cannot be read"),
        (lambda: numalet.open_cluster("n" * 300), f"paths='{'n' * 300}': this path cannot be used"),
        (
            lambda: numalet.what_if(PODS, {"m": "none"}, {"c": CONFIG}),
            "machines='none': no file, folder, profile or shape",
        ),
        (
            lambda: numalet.Fleet.from_dump(DUMP).fit("gpu"),
            "'gpu' is neither a file nor a list",
        ),
        (
            lambda: numalet.Fleet.from_dump(DUMP).fit("=" * 300),
            "=' is neither a file nor a list of amounts",
        ),
        (lambda: numalet.open_machine("2n4c", memory_per_node="4GB"), "4GB"),
    ],
)
def test_a_wrong_value_is_named_without_the_inside(act: Callable[[], object], text: str) -> None:
    with pytest.raises(numalet.BadInput) as raised:
        act()
    assert text in str(raised.value)
    assert raised.value.__cause__ is None
    assert len(traceback.extract_tb(raised.tb)) <= 5


@pytest.mark.parametrize(("argument", "value"), [("policies", "restrict"), ("scopes", "node")])
def test_a_policy_or_scope_is_one_that_exists(argument: str, value: str) -> None:
    with refused_with("input/not-supported") as raised:
        what_if(**{argument: [value]})
    assert repr(value) in str(raised.value)


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: numalet.start_node(CONFIG, "2n4c", release="x"), "release: invalid"),
        (lambda: what_if(releases=["1.1"]), "releases: unknown release 1.1"),
        (lambda: what_if(orders=0), "orders 0 is too small; expected 1 or more"),
        (lambda: what_if(policies=[]), "policies is empty; expected at least one"),
        (lambda: numalet.what_if(PODS, {}, {"c": CONFIG}), "machines is empty"),
        (lambda: numalet.load_pods(set()), "paths is empty"),
        (lambda: numalet.replay([]), "files is empty"),
        (lambda: numalet.explain(started(), PODS[0], budget_seconds=-1), "budget_seconds -1 is"),
        (
            lambda: numalet.verify_state_files({"x": ""}),
            "files 'x' is unknown; expected one of cpu",
        ),
        (lambda: numalet.simulate(CONFIG, "2n4c", PODS, files={"x": ""}), "files 'x' is unknown"),
        (lambda: numalet.open_machine("1n1c", memory_per_node="x"), "memory_per_node: "),
        (lambda: numalet.reserve(CONFIG, "2n4c", strategy="odd"), "strategy: unknown"),
        (lambda: numalet.reserve(LARGE, "2n4c"), "(?!strategy)"),
    ],
)
def test_an_error_names_the_argument(act: Callable[[], object], text: str) -> None:
    with pytest.raises(numalet.BadInput, match=f"^{text}"):
        act()


@pytest.mark.parametrize("kind", [str, Path])
def test_one_path_of_scenarios_is_one_file(kind: type, tmp_path: Path) -> None:
    (report,) = numalet.replay(kind(tmp_path / "none.jsonl"))
    assert "none.jsonl" in str(report)


def test_devices_are_on_nodes_of_the_machine() -> None:
    far = {"x.io/gpu": [numalet.Device("g", numa_nodes=(7,))]}
    with refused_with("input/not-found"):
        numalet.start_node(CONFIG, "2n4c", devices=far)
    node = numalet.start_node(CONFIG, "2n4c")
    assert isinstance(node, numalet.Node)
    with refused_with("input/not-found"):
        numalet.restart_node(node, CONFIG, "2n4c", devices=far)


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: numalet.Device("g", numa_nodes=1), "tuple of node ids"),  # type: ignore[arg-type]
        (lambda: numalet.Device("g", numa_nodes="01"), "tuple of node ids"),  # type: ignore[arg-type]
        (lambda: numalet.Device("g", numa_nodes=("1",)), "tuple of node ids"),  # type: ignore[arg-type]
        (lambda: started().admit({"kind": "Pod"}), "read_pods makes them"),  # type: ignore[arg-type]
        (lambda: started().remove(PODS[0]), "the uid of a pod is expected, not Pod"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_another_type_is_named(act: Callable[[], object], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        act()


def started() -> numalet.Node:
    node = numalet.start_node(CONFIG, "2n4c")
    assert isinstance(node, numalet.Node)
    return node


def test_a_refused_start_is_a_sentence_and_says_why_it_is_no_node() -> None:
    refused = numalet.start_node(numalet.decode_config({"cpuManagerPolicy": "static"}), "2n4c")
    assert isinstance(refused, numalet.StartRefused)
    assert str(refused).startswith("The kubelet would not start: ")
    with pytest.raises(AttributeError, match=r"no 'admit'.*static requires reserved CPUs"):
        refused.admit  # type: ignore[attr-defined]  # noqa: B018 - it raises
    assert pickle.loads(pickle.dumps(refused)) == copy.deepcopy(refused) == refused


def test_rules_are_shown_by_their_name_and_what_differs() -> None:
    assert (repr(numalet.EXACT), repr(numalet.NATIVE)) == ("EXACT", "NATIVE")
    changed = replace(numalet.NATIVE, default_node_limit=8)
    assert repr(changed) == "replace(NATIVE, default_node_limit=8)"


def test_a_configuration_is_read_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7\n"
    )
    assert numalet.load_config(path).config == numalet.load_config(str(path)).config


def test_only_public_names_are_listed() -> None:
    assert {name for name in dir(numalet) if not name.startswith("__")} == set(numalet.__all__)


def test_a_simulation_that_does_not_start_says_why() -> None:
    static = numalet.decode_config({"cpuManagerPolicy": "static"})
    assert numalet.simulate(static, "2n4c", PODS)["start_error_stage"] == "cpu-manager"


def test_questions_to_a_cluster(tmp_path: Path) -> None:
    described = tmp_path / "fleet.yaml"
    described.write_text("pools: [{name: a, count: 2, machine: 2n4c2t, memory_per_node: 8Gi}]")
    cluster = numalet.open_cluster([described])
    assert numalet.fit(cluster, PODS[0])["shapes"][0]["fits"] is True
    assert numalet.traps(cluster, PODS[0])["traps"] == []
    assert numalet.free(cluster, PODS[0], nodes=["a-0"])["fit"] == 1
    with refused_with("input/not-supported"):
        numalet.free(cluster, PODS[0], nodes=["b-0"])
    two = tmp_path / "two.yaml"
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c}]}}\n"
    two.write_text(f"{pod % 'a'}---\n{pod % 'b'}")
    with refused_with("input/invalid"):
        numalet.free(cluster, two)
