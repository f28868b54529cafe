"""``numalet check``: what is printed in each form, and which exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.commands import Runner, pod
from cli.operating import KUBELET, SHAPE, blocks, make_ready
from numalet.adapters import check_document, checking
from numalet.adapters.documents.kubelet_config import ConfigSources
from numalet.adapters.machines import MachineChoice
from numalet.adapters.sysfs.trees import memory_tree
from numalet.checkpoint import memory_file
from numalet.managers.memory.ledger import EMPTY_LEDGER

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
WRONG = (
    KUBELET.replace("memory: 3Gi", "memory: 3Gi\n      hugepages-1Gi: 2Gi")
    .replace("2148Mi ", "2Gi ")
    .replace(
        "kubeReserved",
        'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "true"}\nkubeReserved',
    )
)


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_ready(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("kubelet.yaml", KUBELET)
    write("wrong.yaml", WRONG)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def document(numalet: Runner, *arguments: str) -> dict[str, Any]:
    ended = numalet("check", *SHAPE, "-o", "json", *arguments)
    decoded = json.loads(ended.out)
    assert isinstance(decoded, dict)
    return decoded


def test_a_right_configuration_is_clean(numalet: Runner) -> None:
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        "The kubelet v1.32 would start with this configuration.\n"
        "Not looked at: whether swap is on, the cgroup version, the container runtime.\n"
        "\n"
        "0 errors, 0 warnings, 0 notes; 0 pods given\n"
    )


def test_a_wrong_configuration_is_told_as_documented(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE)
    assert (ended.status, ended.err) == (1, "")
    assert ended.out == (GOLDEN / "check-wrong.txt").read_text(encoding="utf-8")
    assert max(map(len, ended.out.splitlines())) <= 80


def test_pods_that_can_never_be_admitted_are_told_as_documented(numalet: Runner) -> None:
    pods = write("pods.yaml", pod("web", "9Gi") + "---" + pod("database", "300Gi"))
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE, pods)
    assert ended.status == 1
    assert ended.out == (GOLDEN / "check-pods.txt").read_text(encoding="utf-8")


def test_the_page_shows_what_is_printed(numalet: Runner) -> None:
    wrong, _workflow = blocks("check-a-configuration.md", "yaml")
    _command, start, forgotten, clean, never = blocks("check-a-configuration.md", "")
    write("kubelet.yaml", wrong)
    printed = numalet("check", "-c", "kubelet.yaml", *SHAPE)
    assert printed.status == 1
    assert printed.out.startswith(start)
    assert forgotten in printed.out
    write("kubelet.yaml", KUBELET)
    pods = write("pods.yaml", pod("database", "300Gi"))
    assert numalet("check", "-c", "kubelet.yaml", *SHAPE).out == clean
    assert never in numalet("check", "-c", "kubelet.yaml", *SHAPE, pods).out


def test_the_document_has_the_kubelets_own_error_first(numalet: Runner) -> None:
    found = document(numalet, "-c", "wrong.yaml")
    assert found["schema"] == "numalet.check/1"
    assert found["starts"] is False
    assert found["start_error"] == {
        "stage": "topology-manager",
        "text": 'unable to convert policy option to integer "max-allowable-numa-nodes":'
        ' strconv.Atoi: parsing "true": invalid syntax',
    }
    first = found["findings"][0]
    assert first["code"] == "config/topology-option-not-integer"
    assert first["kubelet"] == found["start_error"]["text"]
    assert (first["place"]["document"], first["place"]["line"]) == ("wrong.yaml", 6)
    assert found["counts"] == {"error": 6, "warning": 1, "note": 0}


def test_the_document_keeps_to_its_schema(numalet: Runner) -> None:
    text = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "json").out
    assert msgspec.json.decode(text, type=check_document.CheckDocument).starts is False
    recorded = json.loads((SCHEMAS / "check.json").read_text(encoding="utf-8"))
    assert recorded == check_document.schema()


def test_a_missing_field_is_missing_in_the_file(numalet: Runner) -> None:
    text = KUBELET.partition("reservedMemory")[0]
    found = document(numalet, "-c", write("short.yaml", text))
    assert found["findings"][0]["place"] == {"document": "short.yaml", "path": "$.reservedMemory"}


def test_flags_alone_have_no_file(numalet: Runner) -> None:
    found = document(numalet, "--memory-manager-policy", "Static")
    assert found["findings"][0]["place"] == {"path": "$.reservedMemory"}
    ended = numalet("check", *SHAPE, "--memory-manager-policy", "Static")
    assert "at $.reservedMemory" in ended.out


def test_sarif_is_one_run_with_files_and_lines(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "sarif")
    (run,) = json.loads(ended.out)["runs"]
    assert ended.status == 1
    physical = run["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "wrong.yaml"}, "region": {"startLine": 6}}
    assert run["tool"]["driver"]["rules"][0]["id"] == "config/topology-option-not-integer"


def test_workflow_commands_are_lines(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "github")
    lines = ended.out.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith(
        "::error file=wrong.yaml,line=6,title=config/topology-option-not-integer::"
    )


def test_everything_that_can_not_be_read_is_told_at_once(numalet: Runner) -> None:
    pods = write("pods.yaml", "kind: Odd\n")
    ended = numalet("check", "-c", "none.yaml", "-m", "0n1c", "--state-dir", "nowhere", pods)
    assert (ended.status, ended.out) == (2, "")
    assert len(ended.err.splitlines()) >= 4


def test_state_files_are_looked_at_and_left_alone(numalet: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    state = folder / memory_file.FILE_NAME
    state.write_text(memory_file.write("None", EMPTY_LEDGER), encoding="utf-8")
    before = state.read_bytes()
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE, "--state-dir", str(folder))
    assert ended.status == 1
    assert 'configured policy "Static" differs from state checkpoint policy "None"' in (
        " ".join(ended.out.split())
    )
    assert state.read_bytes() == before


def test_a_finding_about_a_state_file_names_it(numalet: Runner, tmp_path: Path) -> None:
    state = tmp_path / memory_file.FILE_NAME
    state.write_text("{", encoding="utf-8")
    flags = ("-c", "kubelet.yaml", *SHAPE, "--state-dir", str(tmp_path))
    ended = numalet("check", *flags, "-o", "github")
    assert f"::error file={state},title=memory-state/not-json::" in ended.out


def test_unknown_fields_are_warnings(numalet: Runner) -> None:
    found = document(numalet, "-c", write("odd.yaml", KUBELET + "memoryManagerPolice: Static\n"))
    assert [(f["code"], f["severity"]) for f in found["findings"]] == [
        ("config-file/unknown-field", "warning")
    ]


def test_a_pod_is_placed_in_its_file(numalet: Runner) -> None:
    first, second = write("a.yaml", pod("a", "1Gi")), write("b.yaml", pod("b", "900Gi"))
    (found,) = document(numalet, "-c", "kubelet.yaml", first, second)["findings"]
    assert found["place"] == {"document": "b.yaml", "path": "pod default/b, container c"}


@pytest.mark.parametrize(
    ("text", "expected"), [("1\n", 1), ("0\n", 0), ("", None), ("odd", None), ("-1", None)]
)
def test_numa_balancing_is_read_from_the_machine(text: str, expected: int | None) -> None:
    tree = memory_tree({"proc/sys/kernel/numa_balancing": text.encode()}, {}, set())
    assert checking.numa_balancing(tree) == expected


def test_numa_balancing_of_a_description_is_unknown() -> None:
    assert checking.numa_balancing(None) is None
    assert checking.numa_balancing(memory_tree({}, {}, set())) is None


def test_help_has_examples(numalet: Runner) -> None:
    ended = numalet("check", "--help")
    assert ended.status == 0
    assert "numalet check -c kubelet.yaml" in ended.out


def test_a_library_call_gives_rows() -> None:
    pieces = checking.Pieces(
        machine=MachineChoice("2n1c", "8Gi"), config=ConfigSources(config_file="wrong.yaml")
    )
    result = checking.check(pieces)
    assert result.checked.has_errors
    assert len(result.rows) == len(result.checked.findings)
