"""``numalet fleet``: what is printed about a whole cluster, and the exit status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.commands import EXAMPLES, Runner
from numalet.cli import fleet_view
from numalet.core.cluster import building
from numalet.core.cluster.cluster import Cluster
from numalet.core.findings.cluster import ClusterPodRefusedNow
from numalet.core.model.value import replace
from numalet.insight.output import schemas
from values import gpu_dump, gpu_fleet

BIG = "nvidia.com/gpu=4,cpu=16,memory=128Gi"
SMALL = "nvidia.com/gpu=1,cpu=4,memory=32Gi"
WHOLE = "nvidia.com/gpu=8,cpu=32,memory=256Gi"
JOBS = str(EXAMPLES.parent / "fleet" / "jobs.yaml")
DAY = """arrival,duration,shape,count
0,2h,"nvidia.com/gpu=4,cpu=16,memory=128Gi",1
5m,1h,"nvidia.com/gpu=1,cpu=4,memory=32Gi",4
"""


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "dump.json"
    gpu_dump.write_three_nodes(path)
    return str(path)


def _document(name: str, text: str) -> Any:
    """What was printed, after it kept to its type."""
    document = json.loads(text)
    (form,) = schemas.DOCUMENTS[name]
    msgspec.convert(document, form)
    assert document["origins"]["published"] == 3
    return document


def test_copies_of_a_pod_land_where_the_kubelets_admit_them(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "fit", SMALL, "--count", "0", "--dump", dump)
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == f"{SMALL}: 9 fit"
    assert lines[2].split()[:3] == ["1", "gpu-3", "1"]
    assert lines[-1] == "Nodes: 3 published; kubelet v1.32."


def test_a_pod_that_does_not_fit_is_refused_for_counted_reasons(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "fit", BIG, "--dump", dump)
    assert ended.status == 1
    assert "2  4 of nvidia.com/gpu free, 2 on each NUMA node" in ended.out
    document = _document(
        "fleet-fit", numalet("fleet", "fit", WHOLE, "--dump", dump, "-o", "json").out
    )
    (shape,) = document["shapes"]
    assert (shape["count"], shape["asked"], document["fits"]) == (0, 1, False)
    assert [(each["code"], each["count"]) for each in shape["left_out"]] == [
        ("fleet/never-together", 3)
    ]


def test_rows_name_every_copy_and_every_node(numalet: Runner, dump: str) -> None:
    rows = list(
        csv.DictReader(io.StringIO(numalet("fleet", "fit", SMALL, "--dump", dump, "-o", "csv").out))
    )
    assert [(each["copy"], each["node"], each["numa_nodes"]) for each in rows] == [
        ("1", "gpu-3", "1")
    ]
    assert (rows[0]["devices"], rows[0]["cpus"]) == ("nvidia.com/gpu 7", "44-47")
    assert rows[0]["memory_bytes"] == str(32 << 30)
    printed = numalet("fleet", "fit", "cpu=100m", "--dump", dump, "-o", "csv").out
    (row,) = csv.DictReader(io.StringIO(printed))
    assert (row["devices"], row["cpus"], row["memory_bytes"]) == ("", "", "")
    rows = list(
        csv.DictReader(io.StringIO(numalet("fleet", "fit", BIG, "--dump", dump, "-o", "csv").out))
    )
    assert {(each["node"], each["code"]) for each in rows} == {
        (f"gpu-{at}", "fleet/devices-apart") for at in (1, 2, 3)
    }


def test_traps_are_named_with_what_they_cost(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "traps", "--shape", BIG, "--dump", dump)
    assert ended.status == 1
    assert ended.out.startswith("2 trap nodes; stranded: 8 nvidia.com/gpu")
    document = _document(
        "fleet-traps", numalet("fleet", "traps", "--shape", BIG, "--dump", dump, "-o", "json").out
    )
    assert document["stranded"]["nvidia.com/gpu"] == 8
    assert [each["node"] for each in document["traps"]] == ["gpu-1", "gpu-2"]
    assert document["pools"][0]["pool"] == "gpus"
    rows = numalet("fleet", "traps", "--shape", BIG, "--dump", dump, "-o", "csv").out
    assert "gpu-1,gpus,published,nvidia.com/gpu,4" in rows
    ended = numalet("fleet", "traps", "--shape", SMALL, "--dump", dump)
    assert (ended.status, ended.out.splitlines()[0]) == (0, "No node is a trap for these shapes.")


def test_shapes_have_the_names_under_which_they_are_asked_about(numalet: Runner, dump: str) -> None:
    other = BIG.replace("gpu=4", "gpu=3")
    asked = ("fleet", "traps", "--shape", BIG, "--shape", other, "--dump", dump)
    document = _document("fleet-traps", numalet(*asked, "-o", "json").out)
    assert [each["shape"] for each in document["shapes"]] == [BIG, other]
    assert document["traps"][0]["refused"] == [BIG, other]
    table = numalet(*asked).out
    assert BIG in table
    assert other in table
    assert f'"{BIG} {other}"' in numalet(*asked, "-o", "csv").out
    assert "REJECTS" not in numalet("fleet", "traps", "--shape", BIG, "--dump", dump).out


def test_a_dry_run_says_what_would_change(numalet: Runner, dump: str) -> None:
    asked = ("fleet", "traps", "--shape", BIG, "--dump", dump, "--cordon", "--at-most", "1")
    ended = numalet(*asked)
    assert ended.status == 1
    assert "--cordon would change (only a live cluster can be changed):\n  gpu-1\n" in ended.out
    assert "1 more are over the cap" in ended.out
    document = _document("fleet-traps", numalet(*asked, "-o", "json").out)
    assert document["kept_away"]["nodes"] == ["gpu-1"]
    assert document["kept_away"]["changed"] == []


def test_what_must_go_is_proved_and_planned(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "free", BIG, "--plan", "--dump", dump)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith(f"{BIG}: 1 pod must go on gpu-1\nProved smallest")
    document = _document(
        "fleet-free", numalet("fleet", "free", BIG, "--plan", "--dump", dump, "-o", "json").out
    )
    assert document["is_proved"]
    assert [each["uid"] for each in document["nodes"][0]["going"]] == ["gpu-1-b"]
    steps = [(each["step"], each["name"], each["node"]) for each in document["plan"]["steps"]]
    assert steps == [
        ("evict", "gpu-1-b", "gpu-1"),
        ("admit", "gpu-1-b", "gpu-2"),
        ("admit", "pod", "gpu-1"),
    ]
    rows = numalet("fleet", "free", BIG, "--dump", dump, "-o", "csv").out.splitlines()
    assert (
        rows[1]
        == "gpu-1,published,makes-room,smallest,default,gpu-1-b,gpu-1-b,0,ReplicaSet/of-gpu-1-b,1,"
    )


def test_nothing_that_goes_helps_a_pod_that_never_fits(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "free", WHOLE, "--dump", dump, "--lower-priority-only")
    assert ended.status == 1
    assert f"{WHOLE}: never fits: 8 of nvidia.com/gpu never fit: no NUMA node has" in ended.out
    ended = numalet("fleet", "free", BIG, "--dump", dump, "--lower-priority-only")
    assert "no set of pods that may go makes room" in ended.out
    assert "kept: equal-priority" in ended.out
    ended = numalet("fleet", "free", BIG, "--dump", dump, "--most-sets", "0")
    assert "Not proved smallest" in ended.out


def test_another_policy_admits_the_pod_that_waits(numalet: Runner, dump: str) -> None:
    ended = numalet("fleet", "what-if", "--policy", "best-effort", "--dump", dump)
    assert (ended.status, ended.err) == (0, "")
    asked = ("fleet", "what-if", "--policy", "best-effort", "--release", "1.36", "--dump", dump)
    document = _document("fleet-what-if", numalet(*asked, "-o", "json").out)
    assert document["before"]["waiting"] == ["default/big"]
    assert document["after"]["admitted"] == ["default/big"]
    rows = numalet(*asked, "-o", "csv").out.splitlines()
    assert [each.split(",")[:3] for each in rows[1:]] == [
        ["before", "gpus", "3"],
        ["after", "gpus", "3"],
    ]


def test_kubelets_that_would_not_start_are_said_once(numalet: Runner, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "pools: [{name: big, machine: 9n4c, count: 30}, {name: small, machine: 2n4c}]\n"
    )
    ended = numalet("fleet", "what-if", "--policy", "restricted", "--fleet", str(fleet))
    assert (ended.status, ended.err.count("note:")) == (0, 0)
    refused = [each for each in ended.out.splitlines() if "would not start" in each]
    assert len(refused) == 1
    assert refused[0].startswith("The kubelet of big-00 (and 29 more) would not start: ")


def test_a_part_of_a_pool_gets_other_machines(numalet: Runner, dump: str) -> None:
    def displaced(*change: str) -> set[str]:
        """The nodes whose pods have to go."""
        ended = numalet("fleet", "what-if", *change, "--dump", dump, "-o", "json")
        assert (ended.status, ended.err) == (0, "")
        pods = json.loads(ended.out)["after"]["displaced"]
        return {each.rpartition("-")[0] for each in pods}

    # Of 3 nodes 34 % are two, rounded up; the others stay.
    small = "1n4c"
    assert displaced("-m", f"gpus={small},nodes=34%") == {"default/gpu-1", "default/gpu-2"}
    assert displaced("-m", f"gpus={small},nodes=1", "-m", small) == displaced("-m", small)
    assert len(displaced("-m", small)) == 3
    assert displaced("--strategy", "MostAllocated") == set()


def test_a_day_costs_what_blindness_costs(numalet: Runner, dump: str, tmp_path: Path) -> None:
    day = tmp_path / "day.csv"
    day.write_text(DAY, encoding="utf-8")
    ended = numalet("fleet", "replay", str(day), "--dump", dump)
    assert (ended.status, ended.err) == (0, "")
    assert "Blindness costs" in ended.out
    asked = (
        "fleet",
        "replay",
        str(day),
        "--dump",
        dump,
        "--empty",
        "--weights",
        "nvidia.com/gpu=1",
    )
    document = _document("fleet-replay", numalet(*asked, "-o", "json").out)
    assert (document["blind"]["started"], document["blind"]["rejections"]) == (5, 0)
    assert (document["strategy"], document["score"]) == ("LeastAllocated", "pack")
    spread = _document("fleet-replay", numalet(*asked, "--score", "spread", "-o", "json").out)
    assert (spread["score"], spread["seeing"]["rejections"]) == ("spread", 0)
    rows = numalet(*asked, "--strategy", "MostAllocated", "-o", "csv").out.splitlines()
    assert rows[1].startswith("sums,0.0,")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("fit", SMALL, "--watch"), "--watch needs a live cluster"),
        (("fit", "cpu=x"), "invalid quantity 'x'"),
        (("fit", "cpu=1,memory=1Gi,cpu=2"), "names cpu twice; add the two amounts"),
        (("fit", ""), "is neither a file nor a list of amounts"),
        (("traps", "--cordon", "--taint"), "--cordon cannot be combined with --taint"),
        (("traps", "--yes"), "--yes needs --cordon, --taint or --undo"),
        (("traps", "--cordon", "--watch"), "--watch cannot be combined with --cordon"),
        (("traps", "--cordon", "--yes"), "need a live cluster"),
        (("traps", "--undo"), "need a live cluster"),
        (("free", JOBS), "contains 2 pod shapes; expected a file with one shape"),
        (("fit", SMALL, "--context", "x"), "--dump cannot be combined with --context"),
        (("what-if", "--release", "9.9"), "invalid Kubernetes release"),
        (("what-if",), "no change given"),
        (("what-if", "--pool", "gpus"), "no change given"),
        (("what-if", "--policy", "none", "--pool", "gpu"), "unknown pool 'gpu'; pools: gpus"),
        (("what-if", "--policy", "never"), "no kubelet starts with this change: invalid configur"),
        (("free", BIG, "--node", "gpu-9"), "unknown or undecided node 'gpu-9'"),
        (("what-if", "--options", "x"), "invalid --options 'x'; expected KEY=VALUE"),
        (("what-if", "-m", "x=2n4c2t"), "unknown pool 'x'; pools: gpus"),
        (("what-if", "-m", "gpus=2n4c2t,nodes=-1"), "expected [POOL=]MACHINE[,nodes=COUNT]"),
        (("replay", "DAY", "--weights", "cpu=x"), "invalid --weights 'cpu=x'; expected RESOURCE=N"),
    ],
)
def test_wrong_questions_are_refused(
    numalet: Runner, dump: str, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    day = tmp_path / "day.csv"
    day.write_text(DAY, encoding="utf-8")
    given = [str(day) if each == "DAY" else each for each in arguments]
    ended = numalet("fleet", *given, "--dump", dump)
    assert ended.status == 2
    assert problem in " ".join(ended.err.split())
    assert ended.out == ""


@pytest.mark.parametrize(
    ("option", "content", "problem"),
    [
        ("--dump", "", "no nodes in FILE; write a dump with 'kubectl get nodes,"),
        ("--dump", '{"kind": "List", "items": [{"kind": "Service"}]}', "no nodes in"),
        ("--dump", "\x00\x01\x02", "FILE"),
        ("--fleet", "", "FILE"),
        ("--fleet", '{"kind": "List", "items": []}', "the field 'pools' is missing"),
        ("--fleet", "nodes: []", "the field 'pools' is missing"),
        ("--fleet", "pools: []", "has no pools"),
        ("--fleet", "pools: [{name: a, machine: 2n4c, cuont: 3}]", "count"),
        ("--fleet", "pools: [{name: a, machine: 2n4x}]", "2n4x"),
    ],
)
def test_a_file_without_a_cluster_is_refused(
    numalet: Runner, tmp_path: Path, option: str, content: str, problem: str
) -> None:
    path = tmp_path / "given"
    path.write_text(content, encoding="utf-8")
    ended = numalet("fleet", "fit", SMALL, option, str(path))
    assert (ended.status, ended.out) == (2, "")
    assert problem.replace("FILE", str(path)) in ended.err
    assert ended.err.startswith("error: ")


def test_copies_without_room_are_asked_about_one_after_the_other(
    numalet: Runner, dump: str, tmp_path: Path
) -> None:
    limits = {"nvidia.com/gpu": "4", "cpu": "8", "memory": "8Gi"}
    container = {"name": "c", "image": "i", "resources": {"limits": limits}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": 4, "completions": 4, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    (path := tmp_path / "job.json").write_text(json.dumps(job))
    asked = ("fleet", "free", str(path), "--dump", dump)

    table, printed = numalet(*asked), _document("fleet-free", numalet(*asked, "-o", "json").out)
    rows = numalet(*asked, "-o", "csv").out.splitlines()

    fit = printed["fit"]
    assert table.out.startswith(f"j: there is room for {fit} of 4 copies now\n")
    assert f"j, copy {fit + 1} of 4: " in table.out
    assert printed["copies"] == 4
    assert [each["copy"] for each in printed["further"]] == [*range(fit + 2, 5)]
    assert {each.split(",")[9] for each in rows[1:]} == {*map(str, range(fit + 1, 5))}


def test_notes_have_their_own_texts_and_some_stand_for_many(numalet: Runner) -> None:
    notes = [ClusterPodRefusedNow(pod=f"p{at}", reason="r") for at in range(7)]
    nodes = {
        name: replace(gpu_fleet.running(name, []), notes=tuple(notes[: 7 if name == "a" else 1]))
        for name in "ab"
    }
    lines = [str(each) for each in fleet_view.noted(Cluster(nodes=nodes))]
    assert lines[0].startswith("  a (and 1 more): p0 runs, but would be rejected now")
    assert lines[1].startswith("  a: p1 runs")
    assert lines[5:] == ["  and 2 notes of this kind on 1 node (see -o json)"]


UNDECIDED = {
    "kind": "List",
    "items": [
        {"kind": "Node", "metadata": {"name": f"n{at}"}, "status": {"allocatable": {"cpu": "8"}}}
        for at in range(3)
    ],
}
WHY = (
    "  n0 (and 2 more): not decided on: it has no readable NumaNode object, and its machine and"
    " configuration are unknown; run numalet publish on the node, or give its machine and"
    " configuration with --class\n"
)


@pytest.mark.parametrize(
    ("question", "status", "said"),
    [
        (("fit", SMALL), 1, "    3  not decided: it has no readable NumaNode object"),
        (("traps",), 2, "No node has enough data for a decision.\n\nNodes: 3 undecided."),
        (("free", SMALL), 1, "no node has enough data for a decision"),
        (("what-if", "--policy", "none"), 0, "before        0 "),
    ],
)
def test_nodes_of_which_too_little_is_known_are_not_guessed(
    numalet: Runner, tmp_path: Path, question: tuple[str, ...], status: int, said: str
) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(UNDECIDED), encoding="utf-8")
    ended = numalet("fleet", *question, "--dump", str(path))
    assert ended.status == status
    assert said in ended.out
    assert ended.out.endswith(WHY)
    assert "POOL" not in ended.out


@pytest.mark.parametrize("command", ["fit", "traps", "free", "what-if", "replay", "serve"])
def test_the_help_sets_apart_what_says_where_the_cluster_is(numalet: Runner, command: str) -> None:
    told = numalet("fleet", command, "--help").out
    own, cluster = told.partition("Examples:")[0].split("\nThe cluster (")
    assert {"--dump", "--fleet", "--kubeconfig", "--class"} <= {*cluster.split()}
    assert "\n  --dump" not in own
    assert f"Default: {building.POOL_LABEL}." in " ".join(cluster.split())
    assert [line for line in told.splitlines() if len(line) > 80] == []
