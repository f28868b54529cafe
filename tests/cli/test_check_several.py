"""``numalet check`` with several configurations and machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from cli.commands import Runner, pod, process
from cli.operating import KUBELET, make_ready
from numalet.insight.output import check_document, json_schema

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
SPLITTING = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
"""
OVERRIDDEN = f'{SPLITTING}kubeReserved: {{cpu: "1"}}\n'
SIZES = ("--memory-per-node", "128Gi")
CONFIGS = ("-c", "static.yaml", "-c", "memory.yaml")
MACHINES = ("-m", "2n4c2t", "-m", "1n4c")
FOUR = ["static.yaml on 2n4c2t", "static.yaml on 1n4c", *("memory.yaml on 2n4c2t",)]
FOUR += ["memory.yaml on 1n4c"]


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_ready(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("static.yaml").write_text(OVERRIDDEN)
    Path("memory.yaml").write_text(KUBELET)
    Path("broken.yaml").write_text("kind: [\n")


def results(numalet: Runner, *arguments: str) -> dict[str, Any]:
    """The check of every combination, by its name."""
    decoded = json.loads(numalet("check", *SIZES, "-o", "json", *arguments).out)
    assert decoded["schema"] == "numalet.checks/2"
    return {f"{each['config']} on {each['machine']}": each["check"] for each in decoded["results"]}


def test_every_configuration_is_checked_on_every_machine(numalet: Runner) -> None:
    checks = results(numalet, *CONFIGS, *MACHINES)
    assert list(checks) == FOUR
    found = [[row["code"] for row in check["findings"]] for check in checks.values()]
    assert found[0] == ["lint/cpu-reservation-overridden", "lint/reserved-cpus-split-cores"]
    assert found[1] == ["lint/cpu-reservation-overridden"]


def test_a_combination_is_checked_as_if_it_were_alone(numalet: Runner) -> None:
    Path("pods.yaml").write_text(pod("web", "300Gi"))
    checks = results(numalet, *CONFIGS, *MACHINES, "pods.yaml")
    for name, check in checks.items():
        config, _, machine = name.partition(" on ")
        alone = numalet("check", *SIZES, "-c", config, "-m", machine, "-o", "json", "pods.yaml")
        assert check == json.loads(alone.out)


def test_the_document_keeps_to_its_schema(numalet: Runner) -> None:
    text = numalet("check", *SIZES, *CONFIGS, *MACHINES, "-o", "json").out
    assert len(msgspec.json.decode(text, type=check_document.ChecksDocument).results) == 4
    recorded = json.loads((SCHEMAS / "checks.json").read_text(encoding="utf-8"))
    assert recorded == json_schema.of(check_document.ChecksDocument)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("-c", "static.yaml", *MACHINES), 0),
        (("-c", "static.yaml", *MACHINES, "--strict"), 1),
        (("-c", "static.yaml", "-c", "memory.yaml", "-m", "2n4c2t"), 0),
        (("-c", "static.yaml", "-m", "2n4c2t", "-m", "1n1c"), 1),
        (("-c", "static.yaml", "-c", "broken.yaml", "-m", "1n1c"), 2),
        (("-c", "static.yaml", "-m", "2n4c2t", "-m", "nowhere.tar"), 2),
    ],
)
@pytest.mark.parametrize("form", ["table", "json", "sarif", "github", "junit"])
def test_the_exit_status_is_the_worst(
    numalet: Runner, arguments: tuple[str, ...], status: int, form: str
) -> None:
    assert numalet("check", *SIZES, *arguments, "-o", form).status == status


def test_what_can_not_be_read_spoils_its_own_combinations_alone(numalet: Runner) -> None:
    checks = results(numalet, "-c", "broken.yaml", *CONFIGS, "-m", "nowhere.tar", *MACHINES)
    spoiled = {name for name, check in checks.items() if check["starts"] is None}
    assert spoiled == {name for name in checks if "broken" in name or "nowhere" in name}
    assert [name for name in checks if name not in spoiled] == FOUR
    codes = {name: [row["code"] for row in check["findings"]] for name, check in checks.items()}
    assert codes["broken.yaml on 2n4c2t"] == ["document/syntax"]
    assert codes["static.yaml on nowhere.tar"] == ["input/not-found"]
    assert codes["broken.yaml on nowhere.tar"] == ["input/not-found", "document/syntax"]


def test_the_page_for_people_has_a_part_for_every_combination(numalet: Runner) -> None:
    ended = numalet("check", *SIZES, "-c", "broken.yaml", *CONFIGS, *MACHINES)
    lines = ended.out.splitlines()
    headings = [line for line in lines if " on " in line and line.startswith(("s", "m", "b"))]
    assert headings == ["broken.yaml on 2n4c2t", "broken.yaml on 1n4c", *FOUR]
    assert lines[-1] == "6 combinations: 3 would start, 1 would not, 2 cannot be checked"
    assert ended.err == ""


def test_the_same_name_twice_is_one(numalet: Runner) -> None:
    once = numalet("check", *SIZES, "-c", "static.yaml", "-m", "2n4c2t")
    twice = numalet("check", *SIZES, *("-c", "static.yaml") * 2, *("-m", "2n4c2t") * 2)
    assert once == twice


def test_code_hosts_are_shown_a_finding_once_with_all_that_have_it(numalet: Runner) -> None:
    ended = numalet("check", *SIZES, "-c", "static.yaml", *MACHINES, "-o", "github")
    overridden, split = ended.out.splitlines()
    assert "(static.yaml on 2n4c2t; static.yaml on 1n4c)" in overridden
    assert "(static.yaml on 2n4c2t)" in split
    assert all("file=static.yaml,line=" in line for line in (overridden, split))

    ended = numalet("check", *SIZES, "-c", "static.yaml", *MACHINES, "-o", "sarif")
    (run,) = json.loads(ended.out)["runs"]
    assert [result["properties"]["combinations"] for result in run["results"]] == [
        ["static.yaml on 2n4c2t", "static.yaml on 1n4c"],
        ["static.yaml on 2n4c2t"],
    ]
    assert "(static.yaml on 2n4c2t)" in run["results"][1]["message"]["text"]


def test_what_has_no_file_is_placed_in_the_configuration_of_its_own(numalet: Runner) -> None:
    flags = ("--topology-manager-policy", "odd")
    ended = numalet("check", *SIZES, *CONFIGS, "-m", "2n4c2t", *flags, "-o", "sarif")
    (run,) = json.loads(ended.out)["runs"]
    odd = [each for each in run["results"] if each["ruleId"] == "config/field-value"]
    files = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in odd]
    assert files == ["static.yaml", "memory.yaml"]


def test_many_that_share_a_finding_are_counted(numalet: Runner) -> None:
    machines = [word for count in range(2, 8) for word in ("-m", f"1n{count}c")]
    (line,) = numalet(
        "check", *SIZES, "-c", "static.yaml", *machines, "-o", "github"
    ).out.splitlines()
    assert "static.yaml on 1n5c; and 2 more)" in line


def test_every_combination_is_a_suite_of_its_own(numalet: Runner) -> None:
    arguments = ("-c", "broken.yaml", *CONFIGS, *MACHINES)
    root = ElementTree.fromstring(numalet("check", *SIZES, *arguments, "-o", "junit").out)
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites[2:]] == FOUR
    for count in ("tests", "failures"):
        assert int(root.get(count, "")) == sum(int(suite.get(count, "")) for suite in suites)
    starts = [suite.find("testcase") for suite in suites]
    assert [[each.tag for each in start] for start in starts if start is not None] == [
        *(["skipped"], ["skipped"], [], [], [], ["failure"])
    ]


def test_the_standard_input_is_one_of_several() -> None:
    ended = process("check", "-c", "-", *MACHINES, *SIZES, "-o", "json", stdin=OVERRIDDEN)
    checks = json.loads(ended.out)["results"]
    assert [(each["config"], each["check"]["starts"]) for each in checks] == [("-", True)] * 2
    ended = process("check", "-c", "-", "-c", "static.yaml", "-", *SIZES, stdin=OVERRIDDEN)
    assert (ended.status, ended.out) == (2, "")
    assert "numalet can read the standard input only once" in ended.err


def test_without_a_file_the_flags_are_checked_on_every_machine(numalet: Runner) -> None:
    checks = results(numalet, *MACHINES, "--memory-manager-policy", "Static")
    assert list(checks) == ["None on 2n4c2t", "None on 1n4c"]
    assert {check["starts"] for check in checks.values()} == {False}


def test_sizes_are_for_the_shapes_among_the_machines(numalet: Runner) -> None:
    checks = results(numalet, "-c", "static.yaml", "-m", "2n4c2t", "-m", "profile:epyc-nps4")
    assert [check["starts"] for check in checks.values()] == [True, True]
