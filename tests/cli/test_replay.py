"""``numalet replay``: counts, first differences, exit status."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from numalet.cli import output
from numalet.cli import replay as command
from numalet.cli.replay import replay
from numalet.insight.simulate import recording, runner
from numalet.insight.usecases import scenario_file

APP = typer.Typer()
APP.command(epilog=command.EPILOG)(replay)

SCENARIO = {
    "name": "one",
    "machine": {
        "numa_nodes": [
            {
                "id": 0,
                "memory_bytes": 10 << 30,
                "hugepages": [],
                "distances": [10],
                "cores": [{"id": 0, "socket": 0, "threads": [0], "uncore_cache": None}],
            }
        ]
    },
    "kubelet_config": {
        "memoryManagerPolicy": "Static",
        "kubeReserved": {"memory": "924Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    },
    "steps": [
        {
            "admit": {
                "kind": "Pod",
                "metadata": {"name": "web", "uid": "u"},
                "spec": {
                    "containers": [
                        {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}
                    ]
                },
            }
        }
    ],
}


def recorded(name: str, **fields: Any) -> dict[str, Any]:
    """A scenario with what really comes out of it."""
    raw = scenario_file.RawScenario("s", json.dumps(SCENARIO | {"name": name} | fields), 1)
    scenario = raw.decode()
    return recording.document(scenario, runner.run(scenario))


def wrong(name: str) -> dict[str, Any]:
    """A scenario with a wrong size in its record."""
    document = copy.deepcopy(recorded(name))
    document["expect"]["steps"][0]["memory"]["c"][0]["size"] = 1
    return document


def unrecorded(name: str) -> dict[str, Any]:
    """A scenario that records nothing."""
    return SCENARIO | {"name": name}


def file_of(folder: Path, name: str, *documents: Any) -> str:
    """Path of a file with these scenarios."""
    (folder / name).write_text("".join(json.dumps(document) + "\n" for document in documents))
    return str(folder / name)


def run(*arguments: str) -> Result:
    """What the command prints and how it ends."""
    return CliRunner().invoke(APP, list(arguments))


def test_scenarios_that_come_out_as_recorded_pass(tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.jsonl", recorded("one"), recorded("two"))
    result = run(file)
    assert result.exit_code == 0
    assert [f"{file}: 2 passed, 0 failed", "2 passed, 0 failed"] == result.stdout.splitlines()
    assert result.stderr == ""


def test_the_first_difference_of_each_failing_scenario_is_shown(tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.jsonl", wrong("one"), recorded("two"), wrong("three"))
    result = run(file)
    assert result.exit_code == 1
    assert [
        "one: steps[0].memory.c[0].size",
        "  expected: 1",
        "  actual:   2147483648",
        "three: steps[0].memory.c[0].size",
        "  expected: 1",
        "  actual:   2147483648",
        f"{file}: 1 passed, 2 failed",
        "1 passed, 2 failed",
    ] == result.stdout.splitlines()


def test_nothing_on_one_side_reads_so_and_long_values_are_cut(tmp_path: Path) -> None:
    document = recorded("one")
    document["expect"]["steps"].append({"admitted": "x" * 1000})
    result = run(file_of(tmp_path, "a.jsonl", document))
    expected, actual = result.stdout.splitlines()[1:3]
    assert expected.endswith("...")
    assert len(expected) < 400
    assert actual == "  actual:   nothing"


def test_fail_fast_stops_at_the_first_failure(tmp_path: Path) -> None:
    first = file_of(tmp_path, "a.jsonl", wrong("one"), wrong("two"))
    second = file_of(tmp_path, "b.jsonl", wrong("three"))
    result = run(first, second, "--fail-fast")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "0 passed, 1 failed"
    assert "three" not in result.stdout


def test_skipped_scenarios_are_counted_with_their_cause(tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.jsonl", unrecorded("one"), recorded("two"), unrecorded("three"))
    result = run(file)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith(f"{file}: 2 skipped: ")
    assert result.stdout.splitlines()[-1] == "1 passed, 0 failed, 2 skipped"


def test_json_has_everything(tmp_path: Path) -> None:
    file = file_of(tmp_path, "a.jsonl", wrong("one"), recorded("two"), unrecorded("three"))
    result = run(file, "-o", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert next(iter(found.items())) == ("schema", "numalet.replay/1")
    assert (found["passed"], found["failed"], found["skipped"]) == (1, 1, 1)
    (one,) = found["files"]
    assert one["failures"] == [
        {
            "name": "one",
            "line": 1,
            "release": "1.32",
            "path": "steps[0].memory.c[0].size",
            "expected": 1,
            "actual": 2147483648,
        }
    ]
    assert list(one["skipped_because"].values()) == [1]


def test_each_failure_has_its_release(tmp_path: Path) -> None:
    """The scenario's own, else the one that was chosen."""
    scenarios = (wrong("own") | {"release": "1.36"}, wrong("chosen"))
    file = file_of(tmp_path, "a.jsonl", *scenarios)
    found = json.loads(run(file, "-o", "json").stdout)
    assert [each["release"] for each in found["files"][0]["failures"]] == ["1.36", "1.32"]
    alone = file_of(tmp_path, "b.jsonl", scenarios[1])
    found = json.loads(run(alone, "-o", "json", "--release", "1.34").stdout)
    assert [each["release"] for each in found["files"][0]["failures"]] == ["1.34"]


def test_several_processes_give_the_same_results_in_the_same_order(tmp_path: Path) -> None:
    files = [
        file_of(tmp_path, f"{name}.jsonl", wrong(f"{name}1"), recorded(f"{name}2"))
        for name in ("a", "b", "c")
    ]
    files.append(str(tmp_path / "missing.jsonl"))
    alone, together = run(*files), run(*files, "-j", "2")
    assert alone.output == together.output
    assert (alone.exit_code, together.exit_code) == (2, 2)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "no scenarios in this file"),
        ("{}\n", "'machine'"),
        ("{\n", "this line is not JSON"),
    ],
)
def test_unusable_input_is_named_and_the_rest_is_run(
    tmp_path: Path, content: str, sentence: str
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(content)
    good = file_of(tmp_path, "good.jsonl", recorded("one"))
    result = run(str(broken), good)
    assert result.exit_code == 2
    assert str(broken) in result.stderr
    assert sentence in result.stderr
    assert result.stdout.splitlines()[-1] == "1 passed, 0 failed"


def test_a_scenario_file_in_yaml_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(wrong("one"), indent=1))
    result = run(str(tmp_path / "a.yaml"), "-o", "json")
    assert json.loads(result.stdout)["files"][0]["failures"][0]["line"] is None


def test_a_terminal_shows_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "is_screen", lambda _name: True)
    file = file_of(tmp_path, "a.jsonl", recorded("one"), wrong("two"))
    result = run(file)
    assert f"\r\x1b[K{file}: 2" in result.stderr
    assert result.stdout.splitlines()[-1] == "1 passed, 1 failed"


def test_a_bug_of_ours_names_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_scenario: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(runner, "check", broken)
    result = run(file_of(tmp_path, "a.jsonl", SCENARIO))
    assert isinstance(result.exception, RuntimeError)
    assert any("one" in note for note in result.exception.__notes__)


def test_help_shows_examples() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "numalet replay recorded.jsonl" in result.stdout


def test_a_release_is_that_of_scenarios_that_name_none(tmp_path: Path) -> None:
    named = recorded("named", release="1.34")
    path = file_of(tmp_path, "both.jsonl", recorded("silent"), named)

    fine, other = run(path, "--release", "v1.34.1"), run(path, "--release", "1.35")

    assert (named["release"], fine.exit_code, other.exit_code) == ("1.34", 0, 2)
    assert f"{path}:2: this scenario was recorded with release 1.34" in other.stderr
    assert "1 passed, 0 failed" in other.stdout


def test_a_scenario_that_names_two_releases_is_unusable(tmp_path: Path) -> None:
    both = SCENARIO | {"release": 1.34, "numalet_config": {"release": "1.35"}}
    path = file_of(tmp_path, "two.jsonl", both, SCENARIO | {"release": "1.38"})

    ended = run(path)

    assert ended.exit_code == 2
    assert "this scenario was recorded with release 1.34" in ended.stderr
    assert "unknown release 1.38" in ended.stderr
