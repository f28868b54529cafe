"""The file of a pod's record: its form, and what is said of a damaged one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.core.model import pod_demand
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.workload import folding
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import Cause, Evicted
from numalet.io.documents.pods import pod_record
from numalet.shared.findings import recorded, runtime
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
EARLIER = GOLDEN.with_name("pod_records_v1alpha1.jsonl")
"""The same as earlier releases wrote them."""
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


def test_the_text_has_the_members_of_the_record() -> None:
    file = value()
    assert file["resource_version"] == 7
    assert file["workload"]["containers"][1]["command"] == ["run", "a"]
    assert file["run"]["containers"]["a"]["started_at"] == "2030-01-01T00:00:02Z"
    assert file["run"]["deletion"] == {
        "requested_at": "2030-01-01T00:00:09Z",
        "grace_seconds": 30.0,
    }


def test_the_record_comes_back() -> None:
    assert pod_record.decode(pod_record.encode(RECORD), "u.json") == RECORD
    assert pod_record.decode(pod_record.encode(WAITING), "u.json") == WAITING
    assert pod_record.decode(pod_record.encode(UNDECIDED), "u.json") == UNDECIDED


def test_a_record_is_written_byte_by_byte_as_the_golden_file_has_it() -> None:
    """Agents of other releases read it: who changes the file changes what they read."""
    written = [pod_record.encode(each) + b"\n" for each in (WAITING, UNDECIDED, FAILED, UNPROMISED)]
    assert GOLDEN.read_bytes().splitlines(keepends=True) == written


def test_records_of_earlier_releases_are_read() -> None:
    read = [pod_record.decode(line, "u.json") for line in EARLIER.read_bytes().splitlines()]
    assert read == [WAITING, UNDECIDED, FAILED, UNPROMISED]


@pytest.mark.parametrize("part", ["workload", "run"])
def test_a_damaged_one_of_an_earlier_release_is_found(part: str) -> None:
    (line, *_) = EARLIER.read_bytes().splitlines()
    assert findings_of({**json.loads(line), part: []}) != []
    assert findings_of({**json.loads(line), part: {}}) != []
    assert findings_of({**json.loads(line), part: None}) != []


def test_a_record_has_no_sentence_of_ours() -> None:
    assert pod_record.decode(pod_record.encode(FAILED), "u.json") == FAILED
    exit_ = json.loads(pod_record.encode(FAILED))["run"]["containers"]["a"]["last_exit"]
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
    text = recorded.loss_sentence(UNPROMISED.run.causes)
    assert text.startswith("Allocate failed due to [memorymanager] failed to get the default NUMA")
    assert text.encode() not in pod_record.encode(UNPROMISED)


def test_a_text_of_why_it_is_not_promised_is_read_and_kept() -> None:
    found = pod_record.decode(UNPROMISED_TEXT.read_bytes(), "u.json")
    assert found.run.causes != LOST
    assert replace(found, run=replace(found.run, causes=LOST)) == UNPROMISED
    assert recorded.loss_sentence(found.run.causes) == recorded.loss_sentence(LOST)
    assert b'"unpromised"' not in pod_record.encode(found)
    assert pod_record.decode(pod_record.encode(found), "u.json") == found


def test_a_record_without_members_that_came_later_is_read() -> None:
    """Every member with a default may be missing, as it is in records of releases before it."""
    schema = msgspec.inspect.type_info(PodRecord)
    always = {"init_containers", "app_containers", "kind"}

    def stripped(given: Any, declared: msgspec.inspect.Type) -> Any:
        match declared:
            case msgspec.inspect.StructType():
                return {
                    each.name: stripped(given[each.name], each.type)
                    for each in declared.fields
                    if each.required or each.name in always
                }
            case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
                return [stripped(each, declared.item_type) for each in given]
            case msgspec.inspect.DictType():
                return {name: stripped(each, declared.value_type) for name, each in given.items()}
            case _:
                return given

    for line in GOLDEN.read_bytes().splitlines():
        least = stripped(json.loads(line), schema)
        found = pod_record.decode(json.dumps(least).encode(), "u.json")
        assert found.uid == json.loads(line)["workload"]["pod"]["uid"]


def test_members_of_a_later_release_are_passed_over() -> None:
    file = value()
    file["run"]["later"] = file["workload"]["pod"]["later"] = file["later"] = 1
    assert pod_record.decode(json.dumps(file).encode(), "u.json") == RECORD


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a": "\xff"}'])
def test_what_is_no_json_is_said_so(content: bytes) -> None:
    assert findings_of(content) == [("input/invalid", "$")]


@pytest.mark.parametrize("content", [b"[]", b"null", b'"x"'])
def test_another_kind_of_value_is_found(content: bytes) -> None:
    assert findings_of(content) == [("document/type", "$")]


def test_another_version_is_found() -> None:
    (line, *_) = EARLIER.read_bytes().splitlines()
    assert findings_of({**json.loads(line), "apiVersion": "numalet.dev/v9"}) != []


def test_a_missing_part_is_found_at_its_place() -> None:
    file = value()
    del file["run"]["containers"]["a"]["name"]
    assert findings_of(file) == [("document/field-missing", "$.run.containers.a")]


@pytest.mark.parametrize("moment", ["2030-01-01T00:00:00", "yesterday", 5, None])
def test_a_moment_needs_a_zone(moment: object) -> None:
    file = value()
    file["run"]["accepted_at"] = moment
    assert findings_of(file) == [("document/type", "$.run.accepted_at")]


def test_a_uid_that_is_no_part_of_a_path_is_found() -> None:
    file = value()
    file["workload"]["pod"]["uid"] = "../etc"
    assert findings_of(file) == [("input/invalid", "$.workload.pod.uid")]


def test_a_quantity_is_found_at_its_place() -> None:
    file = value()
    file["workload"]["pod"]["init_containers"][0]["requests"] = {"cpu": "many"}
    place = "$.workload.pod.init_containers[0].requests.cpu"
    assert findings_of(file) == [("input/invalid", place)]


def test_containers_that_are_no_pods_are_found() -> None:
    wrong = [("input/invalid", "$.workload.containers")]
    file = value()
    file["workload"]["containers"].reverse()
    assert findings_of(file) == wrong
    file["workload"]["containers"] = []
    assert wrong[0] in findings_of(file)
    file["workload"]["pod"] |= {"init_containers": [], "app_containers": []}
    assert wrong[0] in findings_of(file)


def test_so_are_those_of_another_kind_or_of_one_name() -> None:
    file = value()
    file["workload"]["containers"][0]["kind"] = "app"
    file["workload"]["pod"]["init_containers"][0]["kind"] = "app"
    assert findings_of(file) == [("input/invalid", "$.workload.containers")]
    file = value()
    file["workload"]["containers"][0]["name"] = "a"
    file["workload"]["pod"]["init_containers"][0]["name"] = "a"
    assert ("input/invalid", "$.workload.containers") in findings_of(file)


def test_the_containers_of_an_earlier_release_in_another_order_are_found() -> None:
    file = json.loads(EARLIER.read_bytes().splitlines()[0])
    file["workload"]["containers"].reverse()
    assert findings_of(file) == [("input/invalid", "$.workload.containers")]


def test_runs_of_unknown_containers_are_found() -> None:
    file = value()
    file["run"]["containers"]["x"] = {"name": "x"}
    file["run"]["containers"]["a"]["name"] = "i1"
    assert findings_of(file) == [
        ("input/invalid", "$.run.containers.a"),
        ("input/invalid", "$.run.containers.x"),
    ]


def test_what_a_pod_asks_for_as_a_whole_is_read_out_of_its_manifest() -> None:
    amounts = {"cpu": "4", "memory": "1Gi"}
    quantities = {name: Quantity.parse(text) for name, text in amounts.items()}
    asking = pod_demand.of_pod_level(quantities, quantities, None)
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
    assert again.pod.qos_class is pod_demand.qos_class(pod.containers())
