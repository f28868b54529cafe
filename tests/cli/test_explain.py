"""``numalet explain``: the story of one decision, and what would have admitted the pod."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli.commands import (
    DOCUMENTED,
    GUARANTEED,
    SECOND,
    Ended,
    Runner,
    on_terminal,
    pod,
    process,
)
from numalet.cli.progress import Progress
from numalet.insight.explain import explanation_types
from numalet.insight.output import json_schema, schemas

GOLDEN = Path(__file__).parent / "golden"
DOCS = Path(__file__).resolve().parents[2] / "docs"
SHAPE = ("-m", "2n4c2t", "--memory-per-node", "10Gi")
STATIC = ("--memory-manager-policy=Static", "--reserved-memory=0:memory=100Mi")
FLAGS = (*STATIC, "--topology-manager-policy=restricted")


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    """Three pods; the last one is rejected."""
    path = tmp_path / "pods.yaml"
    path.write_text("---".join([pod("one", "1Gi"), pod("two", "9Gi"), pod("three", "9800Mi")]))
    return path


def plain(numalet: Runner, *arguments: str, policy: str = "restricted") -> Ended:
    """``numalet explain`` on a small machine."""
    flag = f"--topology-manager-policy={policy}"
    return numalet("explain", *SHAPE, *STATIC, flag, *arguments)


def document(ended: Ended) -> dict[str, Any]:
    """What was printed as JSON."""
    found: dict[str, Any] = json.loads(ended.out)
    return found


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    """A listing of pods: one runs, one was seen by a kubelet, two wait for a node."""
    statuses = {"runs": "Running", "seen": "Pending", "waits": "Pending", "stays": "Pending"}
    items = []
    for name, phase in statuses.items():
        one: dict[str, Any] = yaml.safe_load(pod(name, "4Gi"))
        one["spec"]["nodeName"] = "n" if name in ("runs", "seen") else ""
        items.append(one | {"status": {"phase": phase}})
    path = tmp_path / "listing.json"
    path.write_text(json.dumps({"kind": "List", "items": items}))
    return path


def test_pods_that_wait_for_a_node_are_not_replayed(
    numalet: Runner, listing: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.yaml"
    new.write_text(pod("new", "4Gi"))

    explained = plain(numalet, str(new), "--after", str(listing))
    asked = plain(numalet, str(listing), "--pod", "stays")
    compared = numalet("what-if", *SHAPE, *STATIC, str(listing))
    simulated = numalet("simulate", *SHAPE, *STATIC, str(listing))

    note = "note: ignored: 2 (not scheduled)\n"
    assert (explained.err, compared.err, asked.err) == (note, note, "")
    assert (explained.status, asked.status) == (0, 0)
    assert "pods: 2\n" in compared.out
    assert simulated.out.startswith("release: 1.37\nignored: 2 (not scheduled)\n")


def test_a_pod_of_a_whole_cluster_is_explained_on_its_own_node(
    numalet: Runner, tmp_path: Path
) -> None:
    nodes = {"one": "a", "two": "b", "three": "b", "free": ""}
    text = "---".join(pod(name, "9Gi", node=node) for name, node in nodes.items())
    (dump := tmp_path / "dump.yaml").write_text(text)

    alone, second, unbound, every = (
        plain(numalet, str(dump), *named)
        for named in (("--pod", "default/one"), ("--pod", "three"), ("--pod", "free"), ())
    )

    assert (alone.status, second.status) == (0, 0)
    assert "on NUMA nodes {1}" in second.out
    assert "several nodes (a, b)" in unbound.err
    assert unbound.err == every.err


def test_a_recorded_reason_that_the_policy_never_gives_is_said_first(
    numalet: Runner, tmp_path: Path
) -> None:
    status = "status: {phase: Failed, reason: TopologyAffinityError}\n"
    (manifest := tmp_path / "pod.yaml").write_text(pod("p", "4Gi") + status)

    table = plain(numalet, str(manifest), policy="none")
    printed = plain(numalet, str(manifest), "-o", "json", policy="none")
    page = plain(numalet, str(manifest), "--html", "-", policy="none")
    fitting = plain(numalet, str(manifest), "-o", "json")
    simulated = numalet("simulate", *SHAPE, *STATIC, str(manifest))

    said = "a kubelet rejected default/p with TopologyAffinityError, which this configuration never"
    assert " ".join(table.out.splitlines()[:2]).startswith(said)
    assert table.err == ""
    assert document(printed)["contradiction"].startswith(said)
    assert said in page.out
    assert document(fitting)["contradiction"] == ""
    assert simulated.err.startswith(f"warning: {said} does: ")


def test_amounts_that_a_status_lacks_are_derived_from_requests(
    numalet: Runner, tmp_path: Path
) -> None:
    status = "status: {phase: Running, containerStatuses: [{name: c, image: i, imageID: i}]}\n"
    (manifest := tmp_path / "pod.yaml").write_text(pod("p", "4Gi") + status)
    flags = (*SHAPE, *STATIC, str(manifest))

    note = "note: the status of 1 pod (default/p) has no allocatedResources; the amounts are"
    for release, said in (("1.32", ""), ("1.34", note)):
        simulated = numalet("simulate", *flags, "--release", release)
        compared = numalet("what-if", *flags, "--release", release)
        assert said in simulated.err
        assert said in compared.err
        assert ("derived" in simulated.err + compared.err) == bool(said)
        assert "4Gi" in simulated.out


def test_with_waiting_pods_alone_there_is_nothing_to_compare(
    numalet: Runner, listing: Path
) -> None:
    everything = json.loads(listing.read_text())
    listing.write_text(json.dumps({"kind": "List", "items": everything["items"][2:]}))

    ended = numalet("what-if", *SHAPE, str(listing))

    assert ended.status == 2
    assert "ignored: 2 (not scheduled)" in ended.err


@pytest.mark.parametrize("nodes", [2, 9])
def test_no_empty_boxes_where_no_manager_keeps_account(
    nodes: int, numalet: Runner, pods: Path
) -> None:
    ended = numalet("explain", "-m", f"{nodes}n4c2t", "--memory-per-node", "10Gi", str(pods))

    assert ended.status == 0
    said = " ".join(ended.out.split())
    assert "CPUs and memory: not allocated per NUMA node. Pods request " in said
    assert "NUMA node 0" not in ended.out
    assert "WHAT" not in ended.out


def test_the_documented_refusal_is_explained(numalet: Runner) -> None:
    ended = numalet("explain", *DOCUMENTED, SECOND, "--after", GUARANTEED)

    assert (ended.status, ended.err) == (1, "")
    assert (GOLDEN / "explain.txt").read_text(encoding="utf-8") == ended.out


def test_the_documented_pod_is_explained(numalet: Runner) -> None:
    ended = numalet("explain", *DOCUMENTED, GUARANTEED)

    assert ended.status == 0
    assert (GOLDEN / "explain-admitted.txt").read_text(encoding="utf-8") == ended.out


def test_the_last_pod_of_a_file_is_explained_after_the_others(numalet: Runner, pods: Path) -> None:
    found = document(plain(numalet, str(pods), "-o", "json"))

    assert found["pod"]["name"] == "three"
    assert [each["name"] for each in found["queue"]] == ["default/one", "default/two"]


@pytest.mark.parametrize("name", ["two", "default/two"])
def test_another_pod_can_be_named(numalet: Runner, pods: Path, name: str) -> None:
    ended = plain(numalet, str(pods), "--pod", name, "-o", "json")

    assert ended.status == 0
    assert document(ended)["queue"] == [{"name": "default/one", "uid": "one", "admitted": True}]


def test_a_pod_that_is_not_there_is_unusable_input(numalet: Runner, pods: Path) -> None:
    ended = plain(numalet, str(pods), "--pod", "four")
    assert (ended.status, ended.out) == (2, "")
    assert "no pod matches --pod 'four'; the pods are default/one, default/two" in ended.err


def test_a_name_of_several_pods_is_unusable_input(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    other = pod("same", "1Gi", uid="u2").replace("name: same", "name: same, namespace: other", 1)
    path.write_text(pod("same", "1Gi", uid="u1") + "---" + other)
    ended = plain(numalet, str(path), "--pod", "same")
    assert ended.status == 2
    assert "default/same (u1), other/same (u2)" in ended.err


def test_a_file_without_pods_is_unusable_input(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "service.yaml"
    path.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")
    ended = plain(numalet, str(path))
    assert ended.status == 2
    assert "(ignored: 1 without-pods)" in ended.err


def test_the_standard_input_is_read_once(
    numalet: Runner, pods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = plain(numalet, "-", "--after", "-")
    assert ended.status == 2
    assert "'-' is given 2 times" in ended.err


def test_other_machines_are_tried(numalet: Runner, pods: Path) -> None:
    ended = plain(numalet, str(pods), "-m", "1n4c2t", "-m", "9n1c1t")

    assert ended.status == 1
    assert "* the pod runs alone on the machine 1n4c2t" in ended.out
    assert "- the pod runs alone on the machine 9n1c1t: the kubelet" in ended.out


def test_a_machine_that_is_no_shape_needs_no_size(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod("large", "50Gi"))
    described = tmp_path / "machine.yaml"
    described.write_text("nodes:\n- {memory: 64Gi, cpus: 0-7}\n")
    ended = plain(numalet, str(path), "-m", str(described))
    assert "* the pod runs alone on the machine" in ended.out
    assert str(described) in "".join(line.strip() for line in ended.out.splitlines())


def test_no_search_is_possible(numalet: Runner, pods: Path) -> None:
    ended = plain(numalet, str(pods), "--budget", "0")
    assert "not searched (--budget 0)" in ended.out


@pytest.mark.parametrize("budget", ["", "fast", "-1s", "1e9"])
def test_a_budget_is_a_time(numalet: Runner, pods: Path, budget: str) -> None:
    ended = plain(numalet, str(pods), "--budget", budget)
    assert ended.status == 2
    assert f"invalid --budget {budget!r}" in ended.err


def test_a_search_that_runs_out_of_time_says_so(numalet: Runner, pods: Path) -> None:
    ended = plain(numalet, str(pods), "--budget", "0.000001s")
    assert ended.out.count("the search stopped early (--budget), there may be more") == 1


def test_documents_keep_to_their_schema(numalet: Runner, pods: Path) -> None:
    for arguments in ((str(pods),), (str(pods), "--pod", "one")):
        for policy in ("none", "best-effort", "restricted"):
            words = (*arguments, "-m", "9n1c1t", "-o", "json")
            text = plain(numalet, *words, policy=policy).out
            assert msgspec.json.decode(text, type=explanation_types.Explanation).pod.name
    refused = numalet("explain", "-m", "9n1c1t", *FLAGS, str(pods), "-o", "json")
    assert msgspec.json.decode(
        refused.out, type=explanation_types.ExplanationNotStartedDocument
    ).start_error
    recorded = json.loads((DOCS / "schemas" / "explanation.json").read_text(encoding="utf-8"))
    assert json_schema.of(*schemas.DOCUMENTS["explanation"]) == recorded


def test_the_page_shows_what_is_printed() -> None:
    page = (DOCS / "how-to" / "explain-a-rejection.md").read_text(encoding="utf-8")
    assert (GOLDEN / "explain.txt").read_text(encoding="utf-8") in page


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_kubelet_that_does_not_start_explains_nothing(
    numalet: Runner, pods: Path, form: str
) -> None:
    ended = numalet("explain", "-m", "9n1c1t", *FLAGS, str(pods), "-o", form)
    assert ended.status == 2
    assert "the kubelet v1.37 would not start" in ended.err
    assert bool(ended.out) == (form == "json")
    if ended.out:
        assert document(ended)["start_error_stage"] == "topology-manager"


def test_state_files_are_where_it_begins(numalet: Runner, tmp_path: Path) -> None:
    numalet("simulate", *DOCUMENTED, GUARANTEED, "--state-dir", str(tmp_path))
    written = sorted(path.read_bytes() for path in tmp_path.iterdir())
    ended = numalet("explain", *DOCUMENTED, SECOND, "--state-dir", str(tmp_path))

    assert ended.status == 1
    assert "assumed running: 1 (pods of the state files)" in ended.out
    assert "{0,1} is used by fa9bdd38-6df9-4cf9-aa67-8c4814da37a8 (150Gi)" in ended.out
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == written


def test_forgotten_pods_hold_nothing(numalet: Runner, tmp_path: Path) -> None:
    numalet("simulate", *DOCUMENTED, GUARANTEED, "--state-dir", str(tmp_path))
    ended = numalet("explain", *DOCUMENTED, SECOND, "--state-dir", str(tmp_path), "--forget", "all")
    assert ended.status == 0


def test_many_nodes_are_a_table(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("---".join([pod("wide", "25Gi"), pod("u", "500Gi")]))
    options = "--topology-manager-policy-options=max-allowable-numa-nodes=16"
    ended = numalet(
        "explain", "-m", "12n2c1t", "--memory-per-node", "10Gi", *FLAGS, options, str(path)
    )
    assert ended.status == 1
    assert "other sets: too many to be listed on this machine" in ended.out
    assert "free each" in ended.out


def test_cpus_devices_and_containers_of_all_kinds_are_shown(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("""
apiVersion: v1
kind: Pod
metadata: {name: all, uid: all}
spec:
  initContainers:
    - {name: i, resources: {limits: {cpu: 1, memory: 1Gi}}}
  containers:
    - {name: a, resources: {limits: {cpu: 2, memory: 1Gi, example.com/gpu: 2}}}
    - {name: idle, resources: {limits: {cpu: 100m, memory: 1Mi}}}
""")
    flags = ("--cpu-manager-policy=static", "--reserved-cpus=0")
    gpus = "--device=example.com/gpu=g0@0,g1@1"
    ended = plain(numalet, str(path), *flags, gpus, policy="best-effort")

    assert ended.status == 0
    assert "i (init): cpu 1, memory 1Gi" in ended.out
    assert "example.com/gpu g0, g1" in ended.out
    assert "device manager (example.com/gpu):" in ended.out
    assert "1 of 1 free" in ended.out
    assert "of node 0" in ended.out


def test_an_impossible_answer_and_a_refused_allocation_are_shown(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod("u", "25Gi").replace("cpu: 1", "cpu: 40"))
    flags = ("--cpu-manager-policy=static", "--reserved-cpus=0")
    ended = plain(numalet, str(path), *flags, policy="best-effort")

    assert "cpu manager: impossible. 40 CPUs requested" in ended.out
    assert "c: refused by the cpu manager" in ended.out
    without = plain(numalet, str(path), policy="none")
    assert "c: refused by the memory manager" in without.out
    assert "15Gi of memory short, even empty (10Gi allocatable)" in without.out


def test_a_pod_that_is_bound_to_nothing_says_so(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("""
apiVersion: v1
kind: Pod
metadata: {name: free, uid: free}
spec: {containers: [{name: c}]}
""")
    ended = plain(numalet, str(path))
    assert "default/free (BestEffort) is admitted, and bound to no NUMA node" in ended.out
    assert "c: nothing" in ended.out
    assert "nothing that is bound to NUMA nodes" in ended.out


def test_without_a_policy_the_choice_is_shown(numalet: Runner, pods: Path) -> None:
    ended = plain(numalet, str(pods), "--pod", "two", policy="none")
    assert ended.status == 0
    assert "c: 9Gi of memory on 1" in ended.out or "c: 9Gi of memory on 0" in ended.out
    assert "preferred" in ended.out


def test_more_offers_than_fit_are_counted(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    queue = [pod(f"p{at}", "2Gi") for at in range(8)]
    path.write_text("---".join([*queue, pod("u", "3500Mi")]))
    ended = plain(numalet, str(path))
    assert "and 4 more (see -o json)" in ended.out
    assert "and 2 more" in ended.out or "is used by" in ended.out


def test_control_characters_of_files_are_shown(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod("u", "1Gi").replace("memory: 1Gi", 'memory: 1Gi, "a.b/\\x1bc": 1'))
    ended = plain(numalet, str(path))
    assert "\x1b" not in ended.out + ended.err


def test_an_output_without_unicode_gets_boxes_of_plain_characters(pods: Path) -> None:
    ended = process("explain", *SHAPE, *FLAGS, str(pods), environment={"PYTHONIOENCODING": "ascii"})
    assert (ended.status, "\\u" in ended.out) == (1, False)
    assert "+- NUMA node 0 --" in ended.out


def test_a_set_that_is_offered_is_listed_however_many_nodes_there_are(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod("wide", "25Gi"))
    options = "--topology-manager-policy-options=max-allowable-numa-nodes=16"
    ended = numalet(
        "explain", "-m", "12n2c1t", "--memory-per-node", "10Gi", *FLAGS, options, str(path)
    )
    assert ended.status == 0
    assert "    {0,1,2}  preferred" in ended.out


def test_help_has_examples(numalet: Runner) -> None:
    ended = numalet("explain", "--help")
    assert ended.status == 0
    assert "numalet explain -c kubelet.yaml -m node7.tar.gz pod.yaml" in ended.out


class Terminal:
    """A stream that somebody watches."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_a_progress_bar_is_drawn_late_and_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Terminal()
    now = [0.0]
    monkeypatch.setattr(sys, "stderr", watched)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bar = Progress(4, "steps")
    bar.advance()
    assert watched.text == ""
    now[0] = 0.6
    bar.advance()
    assert watched.text == "\r\x1b[K[############............] 2/4 steps"
    bar.touch()
    bar.touch("other steps")
    bar.finish()
    bar.finish()
    assert watched.text.endswith("2/4 steps\r\x1b[K")


def test_the_first_line_has_the_cause_with_its_number_and_a_suggestion(
    numalet: Runner, pods: Path
) -> None:
    first, *others = plain(numalet, str(pods)).out.splitlines()

    assert first == (
        "default/three (Guaranteed) is rejected: UnexpectedAdmissionError: c (memory 9800Mi) does"
        " not fit anywhere: {0} 684Mi of memory short (8.90Gi free); {1} 8.57Gi of memory short"
        " (1Gi free); {0,1} overlaps {0}, in use by default/one. Suggestion: delete"
        " default/one first."
    )
    assert [line for line in others if " 0 tried" in line] == []
    sentences = [line.strip() for line in others if line.strip().endswith(".")]
    assert len(sentences) == len(set(sentences))


def test_who_is_impossible_everywhere_is_said_at_once(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod("u", "1Gi").replace("cpu: 1", "cpu: 40"))
    flags = ("--cpu-manager-policy=static", "--reserved-cpus=0")

    first = plain(numalet, str(path), *flags, "--budget", "0").out.splitlines()[0]

    assert "c needs 40 CPUs; the whole machine has 15 free." in first
    assert "way out" not in first


@pytest.mark.slow
def test_rows_are_whole_in_a_pipe_and_as_wide_as_the_terminal_on_one(tmp_path: Path) -> None:
    name = "two-with-a-long-name-as-they-are-in-real-clusters-7c9d8b6f5d-x2x4z"
    path = tmp_path / "pods.yaml"
    path.write_text(pod(name, "1Gi") + "---" + pod("refused", "1000Gi"))
    words = ("simulate", *SHAPE, *STATIC, str(path))

    piped = process(*words).out.splitlines()
    assert [line for line in piped if f"default/{name}" in line and "Admitted" in line]

    for columns, is_whole in ((70, False), (100, False), (160, True)):
        lines = on_terminal(*words, columns=columns).splitlines()
        assert max(map(len, lines)) <= columns
        assert any(f"default/{name}" in line for line in lines) is is_whole
