"""``numalet simulate``: what is printed, and which exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cli.commands import DOCUMENTED, GUARANTEED, SECOND, UID, Runner, pod, process

GOLDEN = Path(__file__).parent / "golden"
TWO_NODES = ("-m", "2n4c2t", "--memory-per-node", "10Gi")
STATIC = ("--memory-manager-policy", "Static", "--reserved-memory", "0:memory=100Mi")


def test_the_documented_example_prints_these_tables(numalet: Runner) -> None:
    ended = numalet.simulate(GUARANTEED, SECOND)

    assert (ended.status, ended.err) == (1, "")
    assert ended.out == (GOLDEN / "documented.txt").read_text(encoding="utf-8")


def test_a_process_of_its_own_prints_the_same() -> None:
    ended = process("simulate", *DOCUMENTED, GUARANTEED, SECOND)

    assert (ended.status, ended.err) == (1, "")
    assert ended.out == (GOLDEN / "documented.txt").read_text(encoding="utf-8")


def test_long_names_stay_whole_beside_many_nodes(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    name = "a-name-as-a-deployment-gives-it-with-two-hashes-6d4f8b9c7-x2x4z"
    path.write_text(pod(name, "100Gi") + "---" + pod("refused", "1000Gi"), encoding="utf-8")

    ended = numalet("simulate", "-m", "12n1c1t", "--memory-per-node", "10Gi", *STATIC, str(path))

    assert ended.status == 1
    assert ended.out == (GOLDEN / "wide.txt").read_text(encoding="utf-8")


def test_a_refusal_of_our_own_is_reported_once(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    text = pod("p", "1Gi").replace("memory: 1Gi", "memory: 1Gi, hugepages-1Gi: 1Gi")
    path.write_text(text, encoding="utf-8")

    ended = numalet("simulate", "-m", "1n4c", "--memory-per-node", "10Gi", *STATIC, str(path))

    assert "KubeletWouldCrash" in ended.out
    assert ended.out.count("hugepages-1Gi requested") == 1


def test_without_the_memory_manager_nothing_is_reserved(numalet: Runner) -> None:
    ended = numalet("simulate", "-m", "2n4c2t", "--memory-per-node=128Gi", GUARANTEED)

    assert (ended.status, ended.err) == (0, "")
    assert ended.out.splitlines()[2].split() == ["default/guaranteed", "Admitted", "any", "-"]
    assert "The Memory Manager is off" in ended.out


def test_what_a_refused_pod_leaves_behind_is_a_marked_line(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(
        pod("two", "4Gi").rstrip()
        + "\n    - {name: d, resources: {limits: {cpu: 1, memory: 99Gi}}}\n",
        encoding="utf-8",
    )

    ended = numalet("simulate", *TWO_NODES, *STATIC, str(path))

    assert ended.status == 1
    assert ended.out.endswith(
        "Left behind until the next admission, by pods that are not active:\n"
        "  default/two/c: 4Gi of memory on 0\n"
    )


def test_huge_pages_are_named_in_the_table(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text(
        pod("pages", "4Gi").replace("memory: 4Gi", "memory: 4Gi, hugepages-1Gi: 2Gi"),
        encoding="utf-8",
    )

    ended = numalet("simulate", *TWO_NODES, "--hugepages-per-node", "1Gi=4", *STATIC, str(path))

    assert ended.status == 0
    assert "default/pages  Admitted  0           4Gi, hugepages-1Gi 2Gi\n" in ended.out


def test_json_has_everything(numalet: Runner) -> None:
    ended = numalet.simulate(GUARANTEED, SECOND, "-o", "json")
    shown = json.loads(ended.out)
    first, second = (step["admit"] for step in shown["steps"])

    assert (ended.status, shown["start_error"]) == (1, None)
    assert first["merged"]["guaranteed"] == {"nodes": [0, 1], "preferred": True, "admit": True}
    assert first["hints"]["guaranteed"]["memory"] == {
        "memory": [{"nodes": [0, 1], "preferred": True}]
    }
    assert second["status"] == {
        "phase": "Failed",
        "reason": "TopologyAffinityError",
        "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
    }
    assert shown["state_files"]["memory_manager_state"]["checksum"] == 17296941
    assert [node["node_id"] for node in shown["nodes"]] == [0, 1]
    assert shown["holders"][0]["pod_uid"] == UID


def test_yaml_says_the_same_as_json(numalet: Runner) -> None:
    as_json = json.loads(numalet.simulate(GUARANTEED, SECOND, "-o", "json").out)
    as_yaml = numalet.simulate(GUARANTEED, SECOND, "-o", "yaml").out

    assert yaml.safe_load(as_yaml) == as_json
    assert "&id" not in as_yaml


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_kubelet_that_would_not_start_is_unusable_input(output: str, numalet: Runner) -> None:
    text = (
        'invalid configuration: topologyManagerPolicy (--topology-manager-policy) "sometimes"'
        ' must be one of: ["none" "best-effort" "restricted" "single-numa-node"]'
    )
    ended = numalet.simulate("--topology-manager-policy", "sometimes", GUARANTEED, "-o", output)

    assert ended.status == 2
    assert ended.err.startswith(
        f"error: the kubelet v1.37 would not start: {text}\nerror: --topology-"
    )
    if output == "json":
        assert json.loads(ended.out)["start_error"] == text
    else:
        assert ended.out == ""


def test_a_limit_of_ours_is_not_called_the_kubelets(numalet: Runner) -> None:
    ended = numalet("simulate", "-m", "65n1c1t", "--memory-per-node", "1Gi", *STATIC, GUARANTEED)

    assert (ended.status, ended.out) == (2, "")
    assert "would not start" not in ended.err
    assert "NUMA node 64 is above 63" in ended.err


def test_notes_about_the_machine_are_shown(numalet: Runner) -> None:
    ended = numalet("simulate", "-m", "2n4c2t", GUARANTEED)

    # So it is 128Gi in all, and the pod wants 150Gi.
    assert ended.status == 1
    assert "OutOfmemory" in ended.out
    assert ended.err.startswith("note: 2n4c2t: no memory was given")


def test_findings_of_all_pieces_come_at_once(numalet: Runner, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [b\n", encoding="utf-8")
    ended = numalet(
        "simulate",
        *("-m", "no-machine", "-c", "no-config", "--state-dir", "no-directory"),
        *("no-pods", str(broken)),
    )

    assert (ended.status, ended.out) == (2, "")
    *others, last = ended.err.splitlines()
    assert [line.split(":")[1].strip() for line in others] == [
        *("no-pods", str(broken), "no-machine", "no-config")
    ]
    assert last.startswith("error: there is no directory 'no-directory'")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the document is empty"),
        (b"---\n---\n", "the document is empty"),
        (b"a\0b", "control characters are not allowed"),
        (b"\xff\xfe\xfd", "not UTF-8"),
        (b"- 1\n", "kind"),
        (b'kind: Pod\nmetadata: {name: "\\e[31m"}\n', "invalid value '\\x1b[31m'"),
        (b"a: &a [*a]\n", "alias"),
    ],
)
def test_files_that_hold_no_pods_are_refused(
    content: bytes, complaint: str, numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "pods.yaml"
    path.write_bytes(content)

    ended = numalet.simulate(str(path))

    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {path}:")
    assert complaint in ended.err


def test_no_pods_at_all_are_refused(numalet: Runner) -> None:
    assert numalet.simulate().err == ("error: no pod manifests; name at least one file with pods\n")


def test_an_empty_list_shows_the_empty_node(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"apiVersion": "v1", "kind": "List", "items": []}', encoding="utf-8")

    ended = numalet.simulate(str(path))

    assert (ended.status, ended.out.splitlines()[1].split()[0]) == (0, "NODE")


@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
def test_pods_come_through_a_pipe(path: str) -> None:
    manifest = Path(GUARANTEED).read_text(encoding="utf-8")

    ended = process("simulate", *DOCUMENTED, path, stdin=manifest)

    assert (ended.status, ended.err) == (0, "")
    assert "default/guaranteed  Admitted  0,1         150Gi\n" in ended.out


def test_a_scenario_comes_through_a_pipe_too(tmp_path: Path) -> None:
    record = tmp_path / "one.jsonl"
    process("simulate", *DOCUMENTED, GUARANTEED, "--record", str(record))

    ended = process("simulate", "-", stdin=record.read_text(encoding="utf-8"))

    assert (ended.status, ended.err) == (0, "")


def test_other_pods_are_ignored_and_counted(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    finished = pod("done", "1Gi") + "status: {phase: Succeeded}\n"
    path.write_text(
        "---".join([pod("here", "1Gi", node="a"), pod("there", "1Gi", node="b"), finished]),
        encoding="utf-8",
    )

    ended = numalet.simulate("--node-name", "a", str(path))

    assert ended.status == 0
    assert ended.out.splitlines()[1:3] == ["ignored: 1 (finished)", "ignored: 1 (other node)"]
    assert "default/here  Admitted" in ended.out


def test_flags_only_has_no_default_eviction_threshold(numalet: Runner) -> None:
    flags = ("--no-config-file", "--memory-manager-policy", "Static", "--kube-reserved")
    reserved = ("memory=1Gi", "--reserved-memory", "0:memory=1Gi")

    assert numalet("simulate", *TWO_NODES, *flags, *reserved, SECOND).status == 0
    assert numalet("simulate", *TWO_NODES, *flags[1:], *reserved, SECOND).status == 2


@pytest.mark.parametrize("option", ["--config", "--config-dir"])
def test_no_config_file_means_none(option: str, numalet: Runner) -> None:
    ended = numalet("simulate", *TWO_NODES, "--no-config-file", option, "x", GUARANTEED)

    assert ended.status == 2
    assert f"{option} 'x' cannot be combined with --no-config-file" in ended.err


def test_page_counts_that_are_none_are_refused(numalet: Runner) -> None:
    ended = numalet("simulate", *TWO_NODES, "--hugepages-per-node", "1Gi", GUARANTEED)

    assert (ended.status, "invalid number of huge pages '1Gi'" in ended.err) == (2, True)


def test_the_live_machine_is_the_default(numalet: Runner, tmp_path: Path) -> None:
    if not Path("/sys/devices/system/cpu/cpu0").exists():
        pytest.skip("there is no /sys here")

    small = tmp_path / "small.yaml"
    small.write_text(pod("small", "1Mi"), encoding="utf-8")
    assert numalet("simulate", str(small)).status == 0


def test_drop_ins_are_merged(numalet: Runner, tmp_path: Path) -> None:
    (tmp_path / "10.conf").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "topologyManagerPolicy: best-effort\n",
        encoding="utf-8",
    )

    strict = numalet.simulate(GUARANTEED, SECOND)
    lenient = numalet.simulate("--config-dir", str(tmp_path), GUARANTEED, SECOND)

    assert "default/second      TopologyAffinityError" in strict.out
    assert "default/second      Admitted" in lenient.out


def test_colour_only_where_it_is_wanted() -> None:
    coloured = process("simulate", *DOCUMENTED, SECOND, environment={"FORCE_COLOR": "1"}).out

    assert "\x1b[32mAdmitted\x1b[0m" in coloured
    assert " \n" not in coloured
    assert "\x1b" not in process("simulate", *DOCUMENTED, SECOND).out
