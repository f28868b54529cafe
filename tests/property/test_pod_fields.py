"""The table of Pod fields: it agrees with the official types, and nothing odd passes by it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import lightkube.models.core_v1 as lightkube_core
import lightkube.models.meta_v1 as lightkube_meta
import msgspec
import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.model.findings import BadInput, Findings
from numalet.core.workload.records import PodRecord
from numalet.io.documents.pods import pod_manifest, pod_record
from numalet.io.documents.pods.pod_table import checking, quick
from numalet.io.documents.pods.pod_table.kinds import (
    FieldUse,
    Kind,
    ListOf,
    MapOf,
    ObjectType,
    PlainKind,
    TextKind,
    Whole,
    reached,
)
from numalet.io.documents.pods.pod_table.table import POD, WORKLOADS
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from numalet.shared.kubernetes import pod_object as kube_pod
from numalet.shared.kubernetes import table_columns
from oracles import kubernetes_types
from oracles.kubernetes_types import Member
from values import full_pod
from values.pod_runs import ADMITTED, accepted

pytestmark = pytest.mark.property

TYPES = {kind.name: kind for kind, _ in reached(POD)}
PODS_OWN = frozenset({"apiVersion", "kind", "metadata", "spec"})


def _client_type(kind: Kind) -> str:
    """What the official Python client calls a kind."""
    match kind:
        case ObjectType():
            return f"V1{kind.name}"
        case ListOf():
            return f"list[{_client_type(kind.item)}]"
        case MapOf():
            return f"dict(str, {_client_type(kind.value)})"
        case TextKind() | PlainKind.QUANTITY:
            return "str"
        case Whole():
            return "int"
        case PlainKind.FLAG:
            return "bool"
        case PlainKind.MOMENT:
            return "datetime"
        case PlainKind.INT_OR_TEXT | PlainKind.OBJECT:
            return "object"


def test_the_table_has_all_fields_of_the_official_types_and_their_types() -> None:
    ours = {
        name: {
            each: Member(_client_type(field.kind), field.is_needed)
            for each, field in kind.fields.items()
            if not field.since
        }
        for name, kind in TYPES.items()
    }
    official = kubernetes_types.members()
    assert {name: ours[name] for name in official} == official
    assert len(official) > 100
    assert all(not members for name, members in ours.items() if name not in official)


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_workloads_have_the_fields_of_the_official_types_and_no_others(name: str) -> None:
    official = kubernetes_types.members(name)
    ours = {kind.name: kind for kind, _ in reached(WORKLOADS[name])}
    assert {"CronJobSpec", "JobSpec", f"{name}Spec"} & ours.keys()
    for each, kind in ours.items():
        if all(about.since for about in kind.fields.values()):
            continue
        fields = {field for field, about in kind.fields.items() if not about.since}
        assert fields == official[each].keys(), each
        for field, about in kind.fields.items():
            if about.kind is not PlainKind.OBJECT and not about.since:
                assert _client_type(about.kind) == official[each][field].type, (each, field)


def test_fields_that_hang_on_a_rule_name_one_that_there_is() -> None:
    rules = {field.rule for kind in TYPES.values() for field in kind.fields.values() if field.rule}
    assert rules
    assert all(isinstance(getattr(EXACT, rule), bool) for rule in rules)


def test_what_is_refused_has_a_sentence_that_says_why() -> None:
    for kind in TYPES.values():
        for field in kind.fields.values():
            assert bool(field.instead) == (field.use is FieldUse.REFUSED)


def _lightkube(name: str) -> Any:
    return getattr(lightkube_core, name, None) or getattr(lightkube_meta, name, None)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_what_the_table_accepts_a_strictly_typed_client_can_read(name: str) -> None:
    kind, model = TYPES[name], _lightkube(name)
    whole, accepted_values = full_pod.of_kind(kind, ""), 0
    for field in kind.fields:
        for odd in (each for each in full_pod.ODD if each != "\ud800"):
            value, findings = {**whole, field: odd}, Findings()
            checking.check(value, kind, Place("p"), checking.STRICT, findings)
            assert all(each.located for each in findings.all)
            if findings.all or model is None or kind.is_of_servers:
                continue
            accepted_values += 1
            kept = checking.as_kept(value, kind)
            assert msgspec.convert(kept, model) is not None, (field, odd)
    assert inspect.isclass(model) or any(field.since for field in kind.fields.values())
    assert accepted_values or model is None or kind.is_of_servers


def _runnable() -> dict[str, Any]:
    """A pod with every field that is not refused."""
    pod = full_pod.full_pod()
    del pod["status"]
    spec = pod["spec"]
    for part, kind in ((spec, "PodSpec"), *((c, "Container") for c in _containers(spec))):
        for name in TYPES[kind].names(FieldUse.REFUSED) & part.keys():
            del part[name]
    for number, container in enumerate(_containers(spec)):
        container["name"] = f"c{number}"
        container["env"] = [{"name": "A", "value": "1"}]
        container["workingDir"] = "/"
        container["resources"] = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    del spec["containers"][0]["restartPolicy"]
    spec["overhead"] = {"cpu": "1"}
    del spec["resources"]
    return pod


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec["initContainers"], *spec["containers"]]


def _odd_pods(step: int) -> Iterator[tuple[str, Any]]:
    """Every odd value somewhere, and something odd everywhere."""
    yield from list(full_pod.replaced(_runnable()))[::step]


def test_the_whole_pod_is_accepted() -> None:
    findings = Findings()
    workload = decode_workload(_runnable(), Place("p"), WorkloadOptions(), findings)
    assert workload is not None, findings.all
    kubernetes_types.read(kube_pod.pod_object(PodRecord(workload, accepted(ADMITTED))))


@pytest.mark.slow
def test_whatever_stands_anywhere_is_findings_or_a_pod_that_others_read() -> None:
    good = 0
    for where, value in _odd_pods(step=7):
        findings = Findings()
        workload = decode_workload(value, Place("p"), WorkloadOptions(), findings)
        assert (workload is None) is findings.has_errors, where
        if workload is None:
            continue
        record = PodRecord(workload, accepted(ADMITTED))
        assert pod_record.decode(pod_record.encode(record), "u.json") == record, where
        shown = kube_pod.pod_object(record)
        assert table_columns.columns(shown).ready, where
        good += 1
        if good % 5 == 0:
            kubernetes_types.read(shown)
    assert good > 100


@pytest.mark.slow
def test_a_quick_yes_is_never_wrong_and_mostly_said() -> None:
    whole = _runnable()
    assert quick.fits(whole, POD)
    yes = 0
    for where, value in _odd_pods(step=3):
        if not quick.fits(value, POD):
            continue
        yes += 1
        findings = Findings()
        checking.check(value, POD, Place("p"), checking.STRICT, findings)
        assert not findings.all, where
    assert yes > 100


@pytest.mark.slow
def test_whatever_stands_anywhere_offline_commands_read_it_or_say_why() -> None:
    for where, value in _odd_pods(step=11):
        with contextlib.suppress(BadInput):
            assert pod_manifest.decode_pod(value, Place("p")).name, where
