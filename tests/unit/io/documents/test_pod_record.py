"""The file of a pod's record: its form, and what is said of a damaged one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.core.model import qos
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.workload import folding
from numalet.core.workload.record import PodRecord
from numalet.core.workload.run import Cause, Evicted
from numalet.io.documents import pod_record, pod_record_schema
from numalet.shared.findings import lost_promises, runtime
from numalet.shared.findings.runtime import RuntimeProgramNotFound
from values.pod_runs import accepted, at, ran, up, workload

RECORD = PodRecord(
    workload(("i1", "a")),
    folding.deletion_requested(up(ran(accepted(), "i1", 0, 1), "a", 2), at(9), 30),
    7,
)
WAITING = replace(
    RECORD, run=replace(RECORD.run, evicted=(Evicted("u-2", "default/small", at(30)),))
)
UNDECIDED = PodRecord(workload(), accepted(None))
CAUSE = Cause("runtime/program-not-found", {"program": "mine"})
FAILED = PodRecord(
    workload(),
    folding.not_started(folding.starting(accepted(), "a"), "a", 1, at(1), CAUSE),
    3,
)
LOST = (
    Cause("admission/allocation-refused", {"container": "a", "provider": "memory"}),
    Cause("memory/no-node-fits", {"container": "a"}),
)
UNPROMISED = PodRecord(workload(), replace(up(accepted(), "a", 2), causes=LOST), 5)
GOLDEN = Path(__file__).with_name("golden") / "pod_records.jsonl"
"""Records as they are on disks: a pod is being deleted, is undecided, could not be started, runs
without its promise."""
WITH_TEXT = GOLDEN.with_name("pod_record_with_text.jsonl")
"""The third of them as releases wrote it that had the cause of an end as a text."""
UNPROMISED_TEXT = GOLDEN.with_name("pod_record_unpromised_text.jsonl")
"""The fourth as releases wrote it that had a text of why it is not promised what it runs with."""


def value() -> Any:
    """The record as plain data, to be damaged."""
    return json.loads(pod_record.encode(RECORD))


def findings_of(damaged: Any) -> list[tuple[str, str]]:
    """Codes and places of what is wrong."""
    content = damaged if isinstance(damaged, bytes) else json.dumps(damaged).encode()
    with pytest.raises(BadInput) as caught:
        pod_record.decode(content, "u.json")
    assert all(finding.located for finding in caught.value.findings)
    return [(finding.code, finding.where.path) for finding in caught.value.findings]


def test_the_file_says_what_it_is() -> None:
    file = value()
    assert (file["apiVersion"], file["kind"]) == ("numalet.dev/v1alpha1", "PodRecord")
    assert file["resourceVersion"] == 7
    assert file["workload"]["containers"][1]["command"] == ["run", "a"]
    assert file["run"]["containers"][1]["startedAt"] == "2030-01-01T00:00:02Z"
    assert file["run"]["deletion"] == {
        "requestedAt": "2030-01-01T00:00:09Z",
        "graceSeconds": 30.0,
    }


def test_the_record_comes_back() -> None:
    assert pod_record.decode(pod_record.encode(RECORD), "u.json") == RECORD
    assert pod_record.decode(pod_record.encode(WAITING), "u.json") == WAITING
    assert pod_record.decode(pod_record.encode(UNDECIDED), "u.json") == UNDECIDED


def test_a_record_is_written_byte_by_byte_as_the_golden_file_has_it() -> None:
    """Agents of other releases read it: who changes the file changes what they read."""
    written = [pod_record.encode(each) + b"\n" for each in (WAITING, UNDECIDED, FAILED, UNPROMISED)]
    assert GOLDEN.read_bytes().splitlines(keepends=True) == written


def test_a_record_has_no_sentence_of_ours() -> None:
    assert pod_record.decode(pod_record.encode(FAILED), "u.json") == FAILED
    exit_ = json.loads(pod_record.encode(FAILED))["run"]["containers"][0]["lastExit"]
    assert exit_["cause"] == {"code": CAUSE.code, "fields": {"program": "mine"}}
    assert "message" not in exit_
    assert str(RuntimeProgramNotFound(program="mine")).encode() not in pod_record.encode(FAILED)


def test_a_cause_that_was_written_as_a_text_is_read_and_kept() -> None:
    found = pod_record.decode(WITH_TEXT.read_bytes(), "u.json")
    exit_ = found.run.of("a").last_exit
    assert exit_ is not None
    assert exit_.cause is not None
    said = str(RuntimeProgramNotFound(program="mine"))
    assert runtime.sentence(exit_.cause.code, exit_.cause.fields) == said
    assert pod_record.decode(pod_record.encode(found), "u.json") == found


def test_why_a_pod_is_not_promised_what_it_runs_with_has_no_sentence() -> None:
    assert pod_record.decode(pod_record.encode(UNPROMISED), "u.json") == UNPROMISED
    text = lost_promises.why(UNPROMISED.run.causes)
    assert text.startswith("Allocate failed due to [memorymanager] failed to get the default NUMA")
    assert text.encode() not in pod_record.encode(UNPROMISED)


def test_a_text_of_why_it_is_not_promised_is_read_and_kept() -> None:
    found = pod_record.decode(UNPROMISED_TEXT.read_bytes(), "u.json")
    assert found.run.causes != LOST
    assert replace(found, run=replace(found.run, causes=LOST)) == UNPROMISED
    assert lost_promises.why(found.run.causes) == lost_promises.why(LOST)
    assert b'"unpromised"' not in pod_record.encode(found)
    assert pod_record.decode(pod_record.encode(found), "u.json") == found


def test_a_record_without_members_that_came_later_is_read() -> None:
    """Every member with a default may be missing, as it is in records of releases before it."""
    schema = msgspec.inspect.type_info(pod_record_schema.RecordDocument)

    def stripped(given: Any, declared: msgspec.inspect.Type) -> Any:
        match declared:
            case msgspec.inspect.StructType():
                needed = {each.encode_name: each.type for each in declared.fields if each.required}
                return {name: stripped(given[name], kind) for name, kind in needed.items()}
            case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
                return [stripped(each, declared.item_type) for each in given]
            case _:
                return given

    for line in GOLDEN.read_bytes().splitlines():
        least = stripped(json.loads(line), schema)
        found = pod_record.decode(json.dumps(least).encode(), "u.json")
        assert found.uid == json.loads(line)["workload"]["uid"]


def test_members_of_a_later_release_are_passed_over() -> None:
    file = value()
    file["run"]["later"] = file["later"] = 1
    assert pod_record.decode(json.dumps(file).encode(), "u.json") == RECORD


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a": "\xff"}'])
def test_what_is_no_json_is_said_so(content: bytes) -> None:
    assert findings_of(content) == [("record/not-json", "$")]


@pytest.mark.parametrize("content", [b"[]", b"null", b'"x"'])
def test_another_kind_of_value_is_found(content: bytes) -> None:
    assert findings_of(content) == [("document/type", "$")]


def test_another_version_is_found() -> None:
    assert findings_of({**value(), "apiVersion": "numalet.dev/v9"}) == [
        ("document/type", "$.apiVersion")
    ]


def test_a_missing_part_is_found_at_its_place() -> None:
    file = value()
    del file["run"]["containers"][1]["phase"]
    assert findings_of(file) == [("document/field-missing", "$.run.containers[1]")]


@pytest.mark.parametrize("moment", ["2030-01-01T00:00:00", "yesterday", 5, None])
def test_a_moment_needs_a_zone(moment: object) -> None:
    file = value()
    file["run"]["acceptedAt"] = moment
    assert findings_of(file) == [("document/type", "$.run.acceptedAt")]


def test_a_uid_that_is_no_part_of_a_path_is_found() -> None:
    file = value()
    file["workload"]["uid"] = "../etc"
    assert findings_of(file) == [("workload/uid", "$.workload.uid")]


def test_a_quantity_is_found_at_its_place() -> None:
    file = value()
    file["workload"]["containers"][0]["requests"] = {"cpu": "many"}
    assert findings_of(file) == [("pods/quantity", "$.workload.containers[0].requests.cpu")]


def test_containers_that_are_no_pods_are_found() -> None:
    file = value()
    file["workload"]["containers"].reverse()
    assert findings_of(file) == [("record/containers", "$.workload.containers")]
    file["workload"]["containers"][0]["name"] = "i1"
    assert ("record/containers", "$.workload.containers") in findings_of(file)
    file["workload"]["containers"] = []
    assert ("record/containers", "$.workload.containers") in findings_of(file)


def test_runs_of_unknown_containers_are_found() -> None:
    file = value()
    file["run"]["containers"][0]["name"] = "x"
    file["run"]["containers"].append(file["run"]["containers"][1])
    assert findings_of(file) == [
        ("record/unknown-container", "$.run.containers[0].name"),
        ("record/unknown-container", "$.run.containers[2].name"),
    ]


def test_what_a_pod_asks_for_as_a_whole_is_read_out_of_its_manifest() -> None:
    amounts = {"cpu": "4", "memory": "1Gi"}
    quantities = {name: Quantity.parse(text) for name, text in amounts.items()}
    asking = qos.of_pod_level(quantities, quantities, None)
    pod = replace(
        RECORD.workload.pod,
        qos_class=QosClass.GUARANTEED,
        pod_level=replace(asking, count=True),
    )
    manifest = {"spec": {"resources": {"requests": amounts, "limits": amounts}}}
    of = replace(RECORD.workload, pod=pod, manifest=manifest)
    again = pod_record.decode(pod_record.encode(replace(RECORD, workload=of)), "u.json").workload

    # Whether it counts is decided anew; until then it has the class of its containers.
    assert again.pod.pod_level == asking
    assert again.pod.qos_class is qos.qos_class(pod.containers())
