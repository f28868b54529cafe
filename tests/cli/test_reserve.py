"""``numalet reserve``: what is computed, what is printed, what is written."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import msgspec
import pytest

from cli.commands import Runner
from cli.operating import KUBELET, SHAPE, blocks, make_ready
from numalet.core.config.reservation import Spare, Spread
from numalet.core.model.findings import BadInput
from numalet.insight.output import json_schema, reserve_document
from numalet.insight.usecases import reserving
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.machines import MachineChoice

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
DOCUMENTED = ("--kube-reserved", "cpu=4,memory=4Gi", "--system-reserved", "cpu=1,memory=1Gi")


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_ready(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("kubelet.yaml", KUBELET)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_the_documented_sum_is_split_as_documented(numalet: Runner) -> None:
    ended = numalet("reserve", "-c", "kubelet.yaml", *SHAPE)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (GOLDEN / "reserve.txt").read_text(encoding="utf-8")


def test_the_page_shows_what_is_printed(numalet: Runner) -> None:
    shown = blocks("reserve-memory.md", "")[1]
    assert numalet("reserve", "-c", "kubelet.yaml", *SHAPE).out.startswith(shown)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("even", "0:memory=2610Mi;1:memory=2610Mi"),
        ("proportional", "0:memory=2610Mi;1:memory=2610Mi"),
        ("node0", "0:memory=5220Mi"),
        ("spare=0", "1:memory=5220Mi"),
    ],
)
def test_the_flag_alone_can_be_pasted(numalet: Runner, strategy: str, expected: str) -> None:
    arguments = ("-c", "kubelet.yaml", *SHAPE, "--strategy", strategy)
    ended = numalet("reserve", *arguments, "-o", "flag")
    assert (ended.status, ended.out) == (0, f"--reserved-memory={expected}\n")
    flag = ended.out.strip().partition("=")[2]
    checked = numalet("check", "-c", "kubelet.yaml", *SHAPE, "--reserved-memory", flag)
    assert "would start" in checked.out


def test_the_lines_alone_can_be_pasted(numalet: Runner) -> None:
    ended = numalet("reserve", "-c", "kubelet.yaml", *SHAPE, "-o", "yaml")
    pasted = KUBELET.partition("reservedMemory")[0] + ended.out
    assert numalet("check", "-c", write("pasted.yaml", pasted), *SHAPE).status == 0


def test_flags_do_without_a_file(numalet: Runner) -> None:
    ended = numalet("reserve", *SHAPE, *DOCUMENTED)
    assert ended.status == 0
    assert "5220Mi = 5220Mi" in ended.out
    assert "note: $.memoryManagerPolicy: memoryManagerPolicy is 'None'" in ended.err


def test_a_percentage_is_split_to_the_byte(numalet: Runner) -> None:
    arguments = ("--eviction-hard", "memory.available<5%", "-o", "yaml")
    ended = numalet("reserve", "-m", "3n1c", "--memory-per-node", "5000001Ki", *arguments)
    assert ended.status == 0
    assert ended.out.count('memory: "') == 1


def test_a_percentage_is_named_in_the_sum(numalet: Runner) -> None:
    ended = numalet("reserve", *SHAPE, "--eviction-hard", "memory.available<5%")
    assert "kubeReserved + systemReserved + evictionHard (5%) = node 0 + node 1" in ended.out
    amount = numalet("reserve", *SHAPE, "--eviction-hard", "memory.available<1Gi")
    assert "evictionHard = node 0" in amount.out


def test_many_nodes_are_summed_up_in_words(numalet: Runner) -> None:
    ended = numalet("reserve", "-m", "8n1c", "--memory-per-node", "1Gi")
    assert "(default) = sum over 8 nodes\n" in ended.out


def test_the_document_keeps_to_its_schema(numalet: Runner) -> None:
    ended = numalet("reserve", "-c", "kubelet.yaml", *SHAPE, "-o", "json")
    decoded = msgspec.json.decode(ended.out, type=reserve_document.ReserveDocument)
    assert decoded.parts.total_bytes == 5220 << 20
    assert decoded.flag == "--reserved-memory=0:memory=2610Mi;1:memory=2610Mi"
    assert json.loads(ended.out)["reserved_memory"][1] == {
        "numaNode": 1,
        "limits": {"memory": "2610Mi"},
    }
    recorded = json.loads((SCHEMAS / "reserve.json").read_text(encoding="utf-8"))
    assert recorded == json_schema.of(reserve_document.ReserveDocument)


def test_a_file_is_edited_in_place_with_a_backup(numalet: Runner) -> None:
    path = Path("kubelet.yaml")
    path.chmod(0o640)
    ended = numalet("reserve", *SHAPE, "--write", "kubelet.yaml", "-o", "flag")
    assert (ended.status, ended.err) == (0, "written: kubelet.yaml (before: kubelet.yaml.bak)\n")
    expected = KUBELET.replace("3Gi", "2610Mi").replace("2148Mi", "2610Mi")
    assert path.read_text(encoding="utf-8") == expected
    backup = Path("kubelet.yaml.bak")
    assert backup.read_text(encoding="utf-8") == KUBELET
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, backup)] == [0o640, 0o640]
    assert numalet("check", "-c", "kubelet.yaml", *SHAPE).status == 0


def test_a_second_backup_never_replaces_the_first(numalet: Runner) -> None:
    for strategy in ("node0", "even"):
        numalet("reserve", *SHAPE, "--write", "kubelet.yaml", "--strategy", strategy)
    assert Path("kubelet.yaml.bak").read_text(encoding="utf-8") == KUBELET
    assert "5220Mi" in Path("kubelet.yaml.bak.2").read_text(encoding="utf-8")


def test_nothing_to_change_leaves_no_backup(numalet: Runner) -> None:
    numalet("reserve", *SHAPE, "--write", "kubelet.yaml")
    again = numalet("reserve", *SHAPE, "-c", "kubelet.yaml", "--write", "kubelet.yaml")
    assert again.err == "kubelet.yaml: nothing to change\n"
    document = numalet("reserve", *SHAPE, "--write", "kubelet.yaml", "-o", "json")
    assert json.loads(document.out)["written"] is None
    assert sorted(path.name for path in Path().iterdir()) == ["kubelet.yaml", "kubelet.yaml.bak"]


def test_a_byte_order_mark_stays(numalet: Runner) -> None:
    write("kubelet.yaml", "\ufeff" + KUBELET)
    document = numalet("reserve", *SHAPE, "--write", "kubelet.yaml", "-o", "json")
    assert json.loads(document.out)["backup"] == "kubelet.yaml.bak"
    assert Path("kubelet.yaml").read_text(encoding="utf-8").startswith("\ufeffapiVersion")


def test_flags_that_the_file_depends_on_are_named(numalet: Runner) -> None:
    ended = numalet("reserve", *SHAPE, *DOCUMENTED, "--write", "kubelet.yaml")
    assert "--kube-reserved=cpu=4,memory=4Gi --system-reserved=cpu=1,memory=1Gi" in ended.err


def test_another_file_than_the_one_read_is_not_written(numalet: Runner) -> None:
    other = write("other.yaml", KUBELET)
    ended = numalet("reserve", *SHAPE, "-c", "kubelet.yaml", "--write", other)
    assert ended.status == 2
    assert "'other.yaml' is not the file of --config" in ended.err
    assert Path(other).read_text(encoding="utf-8") == KUBELET


def test_a_file_that_a_drop_in_overrides_is_not_written(numalet: Runner) -> None:
    Path("conf.d").mkdir()
    write("conf.d/50.conf", KUBELET)
    ended = numalet("reserve", *SHAPE, "--config-dir", "conf.d", "--write", "kubelet.yaml")
    assert ended.status == 2
    assert "'conf.d/50.conf' overrides reservedMemory of" in ended.err
    assert Path("kubelet.yaml").read_text(encoding="utf-8") == KUBELET


def test_a_file_that_can_not_be_edited_is_left_alone(numalet: Runner) -> None:
    flow = write("flow.yaml", "--- {" + ", ".join(KUBELET.splitlines()[:2]) + "}\n")
    ended = numalet("reserve", *SHAPE, "--write", flow)
    assert ended.status == 2
    assert "cannot edit this file" in ended.err
    assert sorted(path.name for path in Path().iterdir()) == ["flow.yaml", "kubelet.yaml"]


def test_huge_pages_of_the_file_are_dropped_with_a_warning(numalet: Runner) -> None:
    write("kubelet.yaml", KUBELET.replace("memory: 3Gi", "memory: 3Gi\n      hugepages-1Gi: 1Gi"))
    ended = numalet("reserve", *SHAPE, "--write", "kubelet.yaml", "-o", "flag")
    assert "hugepages-1Gi left out of reservedMemory" in ended.err
    assert "hugepages" not in Path("kubelet.yaml").read_text(encoding="utf-8")


def test_huge_pages_of_the_file_stay_where_they_can_be_kept_back(numalet: Runner) -> None:
    text = KUBELET.replace("memory: 3Gi", "memory: 3Gi\n      hugepages-1Gi: 1Gi  # for the switch")
    write("kubelet.yaml", text)
    machine = ("-m", "2n4c", "--hugepages-per-node", "1Gi=2")
    ended = numalet("reserve", "--native", *machine, "--write", "kubelet.yaml")

    assert ended.status == 0, ended.err
    assert "left out of reservedMemory" not in ended.err
    assert "hugepages-1Gi=1Gi" in ended.out
    assert "hugepages-1Gi: 1Gi  # for the switch" in Path("kubelet.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("numa_node", "pages", "status", "told"),
    [
        ("0", "hugepages-1Gi: 9Gi", 1, "9663676416 bytes of hugepages-1Gi"),
        ("7", "hugepages-1Gi: 1Gi", 2, "NUMA node 7"),
    ],
)
def test_huge_pages_that_are_not_there_can_not_be_kept_back(
    numalet: Runner, numa_node: str, pages: str, status: int, told: str
) -> None:
    text = KUBELET.replace("memory: 3Gi", pages).replace("numaNode: 0", f"numaNode: {numa_node}")
    write("kubelet.yaml", text)
    machine = ("-m", "2n4c", "--hugepages-per-node", "1Gi=2")
    ended = numalet("reserve", "--native", *machine, "-c", "kubelet.yaml")

    assert ended.status == status
    assert told in ended.err


def test_other_reasons_not_to_start_are_reported(numalet: Runner) -> None:
    write("kubelet.yaml", KUBELET.replace("restricted", "strict"))
    ended = numalet("reserve", "-c", "kubelet.yaml", *SHAPE, "-o", "flag")
    assert (ended.status, ended.out) == (
        1,
        "--reserved-memory=0:memory=2610Mi;1:memory=2610Mi\n",
    )
    assert "the kubelet v1.37 would still not start: invalid configuration" in ended.err
    document = numalet("reserve", "-c", "kubelet.yaml", *SHAPE, "-o", "json")
    assert json.loads(document.out)["start_error"].startswith("invalid configuration")


def test_more_of_another_resource_than_there_is_is_reported(numalet: Runner) -> None:
    ended = numalet("reserve", *SHAPE, "--kube-reserved", "cpu=65,memory=1Gi", "-o", "flag")
    assert ended.status == 1
    assert "invalid Node Allocatable configuration" in ended.err


def test_nodes_without_cpus_that_must_help_out_are_named(numalet: Runner) -> None:
    description = "nodes:\n- {id: 0, memory: 1Gi, cpus: 0-1}\n- {id: 1, memory: 8Gi}\n"
    ended = numalet(
        "reserve", "-m", write("machine.yaml", description), "--kube-reserved", "memory=2Gi"
    )
    assert ended.status == 0
    assert "NUMA node 1 has no CPUs and reserve memory anyway" in ended.err
    assert "no CPUs" in ended.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--strategy", "odd"), "error: --strategy: unknown strategy 'odd'"),
        (("--strategy", "spare=x"), "unknown strategy 'spare=x'"),
        (("--strategy", "spare=7"), "error: --strategy: NUMA node 7 should keep all its memory"),
        (("--kube-reserved", "memory=1Ti"), "error: cannot reserve 1048676Mi of memory"),
        (("--kube-reserved", "memory=much"), "invalid quantity 'much'"),
        (("--no-config-file",), "add up to 0 bytes of memory"),
    ],
)
def test_what_can_not_be_computed_is_exit_2(
    numalet: Runner, arguments: tuple[str, ...], expected: str
) -> None:
    ended = numalet("reserve", *SHAPE, *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert expected in ended.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [("even", Spread.EVEN), ("node0", Spread.NODE0), ("spare=12", Spare(12))],
)
def test_strategies_have_names(text: str, expected: object) -> None:
    assert reserving.parse_strategy(text) == expected


@pytest.mark.parametrize("text", ["", "Even", "spare", "spare=", "spare=-1", "spare=9999999999"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(BadInput):
        reserving.parse_strategy(text)


def test_windows_gets_its_own_policy() -> None:
    description = "os: windows\nnodes:\n- {id: 0, memory: 8Gi, cpus: 0-1}\n"
    plan = reserving.plan(
        reserving.ReserveInputs(
            machine=MachineChoice(write("machine.yaml", description)),
            config=ConfigSources(flags=()),
        )
    )
    assert plan.refused is None
    (note,) = plan.notes
    assert str(note).endswith("set it to 'BestEffort'")
    assert plan.parts.eviction.value == 500 << 20
