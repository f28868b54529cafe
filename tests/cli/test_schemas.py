"""Documents of the commands keep to their types, and the schema files are made from these."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import pytest

from cli.commands import (
    CONFIGURED,
    DOCUMENTED,
    EXAMPLES,
    GUARANTEED,
    SECOND,
    Ended,
    Runner,
    pod,
)
from machines.guests import NAMES, tarball
from numalet.core.config.rules import StartStage
from numalet.insight.maps.machine_map import MachineMap, Profiles
from numalet.insight.output import json_schema, schemas
from numalet.insight.output.replay_document import ReplayDocument
from numalet.insight.output.state_document import (
    CheckedDocument,
    ComparedDocument,
    RebasedDocument,
    VerifiedDocument,
)
from numalet.insight.simulate.simulation_document import (
    HintsByRuleDocument,
    NotStartedDocument,
    SimulationDocument,
)
from numalet.insight.state.holder_map import StateMap
from values import state_builders
from values.state_builders import CPU, DEVICE, MEMORY

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs" / "schemas"
PAGE = ROOT / "docs" / "reference" / "json-output.md"
SCENARIOS = sorted((ROOT / "tests" / "scenarios").glob("*.yaml"))
STATIC = ("--memory-manager-policy=Static", "--reserved-memory=0:memory=100Mi")
RESTRICTED = "--topology-manager-policy=restricted"
WINDOWS = """
name: windows
machine:
  os: windows
  numa_nodes:
    - id: 0
      memory_bytes: 10737418240
      hugepages: []
      cores:
        - {id: 0, socket: 0, threads: [0], uncore_cache: null}
        - {id: 1, socket: 0, threads: [1], uncore_cache: null}
        - {id: 2, socket: 0, threads: [63], uncore_cache: null}
kubelet_config:
  cpuManagerPolicy: static
  reservedSystemCPUs: "0"
  memoryManagerPolicy: BestEffort
  topologyManagerPolicy: best-effort
  featureGates: {WindowsCPUAndMemoryAffinity: true}
  kubeReserved: {memory: 1Gi}
  evictionHard: {}
  reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
steps:
  - admit:
      kind: Pod
      metadata: {name: p, uid: p}
      spec: {containers: [{name: c, resources: {limits: {cpu: "2", memory: 1Gi}}}]}
  - restart: {order: [p]}
  - remove: p
"""

T = TypeVar("T")


def kept(ended: Ended, kind: type[T]) -> T:
    """What was printed, which is a document of this type and has no other fields."""
    return msgspec.json.decode(ended.out, type=kind)


def nested(value: Any) -> list[dict[str, Any]]:
    """Every object inside a value, and the value itself."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] * isinstance(value, dict) + [found for each in inside for found in nested(each)]


def test_the_schema_files_are_those_of_the_types(tmp_path: Path) -> None:
    schemas.write(tmp_path)
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    published = {path.name: path.read_text(encoding="utf-8") for path in PUBLISHED.iterdir()}
    assert written == published, "make schemas"


@pytest.mark.slow
def test_the_module_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", schemas.__name__]
    subprocess.run([*command, str(tmp_path)], check=True, timeout=250)
    names = {*schemas.DOCUMENTS, *schemas.INPUTS}
    assert {f"{name}.json" for name in names} == {p.name for p in tmp_path.iterdir()}
    refused = subprocess.run(command, check=False, capture_output=True, text=True, timeout=250)
    assert (refused.returncode, refused.stderr.startswith("usage: ")) == (1, True)


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_a_schema_is_whole_and_open_for_new_fields(name: str) -> None:
    schema = json_schema.of(*schemas.DOCUMENTS[name])
    parts = nested(schema)
    wanted = {part["$ref"] for part in parts if "$ref" in part}
    assert wanted == {f"#/$defs/{part}" for part in schema["$defs"]}
    closed = [part for part in parts if part.get("additionalProperties") is False]
    assert closed + [part for part in parts if "propertyNames" in part] == []


_RAISED: Final = {
    "check": 2, "checks": 2, "doctor": 2, "explanation": 2, "fleet-traps": 2, "run": 3, "upgrade": 2
}  # fmt: skip
"""Numbers of schemas that are not the first ones."""


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_a_document_has_the_name_of_its_schema_and_is_on_the_page(name: str) -> None:
    schema = json_schema.of(*schemas.DOCUMENTS[name])
    tops = [each["$ref"] for each in schema.get("anyOf", [schema])]
    parts = [schema["$defs"][top.rpartition("/")[2]] for top in tops]
    own = f"numalet.{name}/{_RAISED.get(name, 1)}"
    assert [[own]] * len(tops) == [p["properties"]["schema"]["enum"] for p in parts]
    assert [part for part in parts if "schema" not in part["required"]] == []
    page = PAGE.read_text(encoding="utf-8")
    assert f"`{own}` | [{name}.json](../schemas/{name}.json) |" in page


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_simulated_scenario_keeps_to_the_type(numalet: Runner, file: Path) -> None:
    ended = numalet("simulate", str(file), "-o", "json")
    if json.loads(ended.out)["start_error"] is None:
        assert kept(ended, SimulationDocument).schema == "numalet.simulation/1"
    else:
        assert kept(ended, NotStartedDocument).schema == "numalet.simulation/1"


def test_a_simulation_of_admitted_and_rejected_pods_keeps_to_the_type(numalet: Runner) -> None:
    found = kept(numalet.simulate(GUARANTEED, SECOND, "-o", "json"), SimulationDocument)
    decisions = [step.admit for step in found.steps]
    assert [each.admitted for each in decisions if each] == [True, False]
    assert {MEMORY, CPU} == found.state_files.keys()


def test_a_simulation_with_cpus_and_devices_keeps_to_the_type(
    numalet: Runner, tmp_path: Path
) -> None:
    path = tmp_path / "pods.yaml"
    gpu = "memory: 1Gi, example.com/gpu: 1"
    path.write_text(pod("a", "1Gi").replace("memory: 1Gi", gpu))
    ended = numalet(
        *("simulate", "-m", "2n8c2t", "--memory-per-node", "64Gi", *STATIC, RESTRICTED),
        *("--cpu-manager-policy=static", "--reserved-cpus=0,16"),
        *("--device=example.com/gpu=gpu0@0,gpu1@1", str(path), "-o", "json"),
    )
    found = kept(ended, SimulationDocument)
    assert [each.devices for each in found.holders] == [{"example.com/gpu": ["gpu0"]}]
    assert [cpus.exclusive.get("a", "") for cpus in found.cpus] == ["1", ""]
    assert [row.in_use for row in found.devices] == [["gpu0"], []]


def test_a_simulation_on_windows_keeps_to_the_type(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_text(WINDOWS)
    found = kept(numalet("simulate", str(path), "-o", "json"), SimulationDocument)
    decision = found.steps[0].admit
    assert decision
    assert decision.runtime
    told = decision.runtime["c"].affinity_cpus
    assert told
    assert [(each.cpu_group, each.cpu_mask) for each in told] == [(0, 1 << 63 | 1 << 1)]
    assert [found.steps[1].restart.readmitted[0].uid, found.steps[2].remove] == ["p", "p"]  # type: ignore[union-attr,index]


def test_hints_that_are_too_many_keep_to_the_type(numalet: Runner) -> None:
    options = "--topology-manager-policy-options=max-allowable-numa-nodes=16"
    node = ("-m", "14n2c1t", "--memory-per-node", "10Gi", *STATIC, RESTRICTED, options)
    found = kept(numalet("simulate", *node, SECOND, "-o", "json"), SimulationDocument)
    decision = found.steps[0].admit
    assert decision
    assert decision.hints
    (subject,) = decision.hints.values()
    assert isinstance(subject["memory"]["memory"], HintsByRuleDocument)


def test_a_kubelet_that_does_not_start_keeps_to_the_type(numalet: Runner) -> None:
    ended = numalet("simulate", "-m", "9n1c1t", *STATIC, RESTRICTED, SECOND, "-o", "json")
    assert ended.status == 2
    assert StartStage.TOPOLOGY_MANAGER is kept(ended, NotStartedDocument).start_error_stage


@pytest.mark.parametrize("view", ["kernel", "kubelet"])
@pytest.mark.parametrize("name", NAMES)
def test_a_machine_keeps_to_the_type(numalet: Runner, name: str, view: str) -> None:
    ended = numalet("machine", str(tarball(name)), "--view", view, "-o", "json")
    assert next(iter(json.loads(ended.out))) == "schema"
    assert view == kept(ended, MachineMap).view.value


def test_a_machine_with_gaps_keeps_to_the_type(numalet: Runner, tmp_path: Path) -> None:
    node = tmp_path / "sys" / "devices" / "system" / "node" / "node3"
    node.mkdir(parents=True)
    found = kept(numalet("machine", str(tmp_path), "-o", "json"), MachineMap)
    assert [(n.id, n.memory_bytes, n.distances) for n in found.numa_nodes] == [(3, None, None)]
    assert all(note["code"].startswith("machine/note-") and note["text"] for note in found.notes)


def test_the_list_of_profiles_keeps_to_the_type(numalet: Runner) -> None:
    found = kept(numalet("machine", "--profiles", "-o", "json"), Profiles)
    assert "single" in [profile.name for profile in found.profiles]


def test_a_replay_keeps_to_the_type(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    for recorded in (GUARANTEED, SECOND):
        numalet.simulate("--record", str(path), recorded)
    good, bad = map(json.loads, path.read_text().splitlines())
    bad["expect"]["steps"][0]["admitted"] = 1
    more = {**good, "expect": {**good["expect"], "steps": []}}
    silent = {name: value for name, value in good.items() if name != "expect"}
    lines = [good, bad, more, silent, {"name": "no machine"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = kept(numalet("replay", str(path), "-o", "json"), ReplayDocument)
    (file,) = found.files
    assert (found.passed, found.failed, found.skipped) == (1, 2, 1)
    assert [failure.expected for failure in file.failures] == [1, msgspec.UNSET]
    assert file.problems


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """State files with memory, CPUs and devices of several pods."""
    directory = tmp_path / "mixed"
    (directory / "device-plugins").mkdir(parents=True)
    for name, text in state_builders.files().items():
        folder = directory / "device-plugins" if name == DEVICE else directory
        (folder / name).write_text(text)
    return directory


def test_shown_state_keeps_to_the_type(numalet: Runner, mixed: Path) -> None:
    found = kept(numalet("state", "show", str(mixed), "-o", "json"), StateMap)
    assert found.policies == {"cpu": "static", "memory": "Static"}
    assert found.holders[0].devices == {"example.com/gpu": "gpu0@0"}
    (mixed / CPU).write_text("{")
    found = kept(numalet("state", "show", str(mixed), "-o", "json"), StateMap)
    assert (found.default_cpu_set, [each.file for each in found.unreadable]) == (None, [CPU])


def test_verified_state_keeps_to_the_type(numalet: Runner, mixed: Path) -> None:
    arguments = ("state", "verify", str(mixed), "-m", "2n1c", "--memory-per-node=1Gi", "-o", "json")
    findings = {
        each.file: each.findings for each in kept(numalet(*arguments), VerifiedDocument).files
    }
    assert findings[MEMORY][0].rule
    (mixed / MEMORY).write_text("{")
    broken = {each.file: each for each in kept(numalet(*arguments), VerifiedDocument).files}
    assert (broken[MEMORY].seal, broken[MEMORY].expected_checksum) == (None, None)


def test_compared_state_keeps_to_the_type(numalet: Runner, mixed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name, text in state_builders.files(pods=state_builders.PODS[:1]).items():
        (other / name).write_text(text if name != DEVICE else "{")
    ended = numalet("state", "diff", str(mixed), str(other), "-o", "json")
    found = kept(ended, ComparedDocument)
    assert {int, str, type(None)} == {type(each.before) for each in found.differences} | {
        type(each.after) for each in found.differences
    }
    assert [each.file for each in found.unreadable] == [DEVICE]


@pytest.fixture
def documented(numalet: Runner, tmp_path: Path) -> Path:
    """State files after the documented pod."""
    directory = tmp_path / "state"
    directory.mkdir()
    numalet.simulate("--state-dir", str(directory), GUARANTEED)
    return directory


@pytest.fixture
def smaller(tmp_path: Path) -> str:
    """The documented machine with so little memory that the pod does not fit any more."""
    path = tmp_path / "smaller.yaml"
    text = (EXAMPLES / "machine.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("135286722560", "20286722560"))
    return str(path)


def test_a_checked_restore_keeps_to_the_type(
    numalet: Runner, documented: Path, smaller: str
) -> None:
    asked = ("state", "restore-check", str(documented), "-o", "json")
    answers = [
        kept(numalet(*asked, *arguments), CheckedDocument)
        for arguments in (
            DOCUMENTED,
            (*CONFIGURED, "-m", smaller),
            (*DOCUMENTED, "--memory-manager-policy=Sometimes"),
        )
    ]
    assert [each.answer.value for each in answers] == ["accepted", "refused", "not-asked"]
    assert answers[1].drift
    assert None is answers[2].rebase


def test_a_rebase_keeps_to_the_type(numalet: Runner, documented: Path, smaller: str) -> None:
    asked = ("state", "rebase", str(documented), *CONFIGURED, "-m", smaller, "-o", "json")
    (lost,) = kept(numalet(*asked), RebasedDocument).lost
    assert (lost.file, lost.code) == (MEMORY, "rebase/too-little-memory")
    (documented / CPU).write_text("{")
    assert [each.file for each in kept(numalet(*asked), RebasedDocument).unusable] == [CPU]
