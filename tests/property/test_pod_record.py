"""A record comes back from its file as it was, and a damaged file is a finding."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import (
    Cause,
    ContainerPhase,
    ContainerRun,
    Deletion,
    Exit,
    ExitReason,
    PodRun,
    Verdict,
)
from numalet.core.workload.spec import (
    ContainerSpec,
    RestartPolicy,
    Runner,
    Workload,
    WorkloadSource,
)
from numalet.io.documents.pods import pod_constraints, pod_record

pytestmark = pytest.mark.property

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NAME = st.from_regex(r"[a-z]([-a-z0-9]{0,6}[a-z0-9])?", fullmatch=True)
MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - the zone is the next argument
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
QUANTITIES = st.sampled_from(["1", "1500m", "1Gi", "100M", "0", "12e6"]).map(
    lambda text: Quantity.parse(text).canonical()
)
RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-2Mi", "example.com/gpu"]),
    st.sampled_from(["2", "4Mi", "0"]).map(lambda text: Quantity.parse(text).canonical()),
)
IDS = st.none() | st.integers(0, 2**31)
SECONDS = st.floats(0, 1e6) | st.integers(0, 300).map(float)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
CAUSES = st.builds(Cause, TEXT, st.dictionaries(TEXT, TEXT, max_size=2))
EXITS = st.builds(
    Exit,
    code=st.integers(0, 255),
    reason=st.sampled_from(ExitReason),
    finished_at=MOMENTS,
    started_at=st.none() | MOMENTS,
    signal=st.none() | st.integers(1, 64),
    cause=st.none() | CAUSES,
)


RUNNERS = st.builds(Runner, pid=st.integers(1, 2**31 - 1), ticks=st.integers(0, 2**62), boot=TEXT)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Any workload that a pod may have."""
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    apps = draw(st.integers(1, len(names)))
    first = st.sampled_from([ContainerKind.INIT, ContainerKind.SIDECAR])
    kinds = [draw(first) for _ in names[apps:]] + [ContainerKind.APP] * apps
    containers = [
        Container(name, kind, requests=draw(RESOURCES), limits=draw(RESOURCES))
        for name, kind in zip(names, kinds, strict=True)
    ]
    source = draw(st.sampled_from(WorkloadSource))
    manifest = draw(st.dictionaries(TEXT, VALUES, max_size=3))
    pod = Pod(
        uid=draw(st.uuids().map(str)),
        name=draw(NAME),
        namespace=draw(NAME),
        init_containers=tuple(c for c in containers if c.kind is not ContainerKind.APP),
        app_containers=tuple(c for c in containers if c.kind is ContainerKind.APP),
        qos_class=draw(st.sampled_from(QosClass)),
        overhead=draw(st.dictionaries(st.just("cpu"), QUANTITIES)),
        phase=draw(TEXT),
        node_name=draw(TEXT),
        labels=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
        is_static=source is WorkloadSource.FILE,
        constraints=pod_constraints.of_spec(manifest.get("spec")),
    )
    specs = tuple(
        draw(
            st.builds(
                ContainerSpec,
                name=st.just(each.name),
                kind=st.just(each.kind),
                image=TEXT,
                command=st.lists(TEXT, max_size=2).map(tuple),
                args=st.lists(TEXT, max_size=2).map(tuple),
                env=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
                working_dir=TEXT,
                run_as_user=IDS,
                run_as_group=IDS,
            )
        )
        for each in containers
    )
    return Workload(
        pod=pod,
        containers=specs,
        restart_policy=draw(st.sampled_from(RestartPolicy)),
        grace_period_seconds=draw(st.integers(0, 2**31 - 1)),
        priority_class=draw(TEXT),
        source=source,
        origin=draw(TEXT),
        manifest=manifest,
        runner=draw(st.none() | RUNNERS),
    )


@st.composite
def records(draw: st.DrawFn) -> PodRecord:
    """Any record."""
    workload = draw(workloads())
    names = draw(st.lists(st.sampled_from([c.name for c in workload.containers]), unique=True))
    runs = {
        name: draw(
            st.builds(
                ContainerRun,
                name=st.just(name),
                phase=st.sampled_from(ContainerPhase),
                attempt=st.integers(0, 10**6),
                started_at=st.none() | MOMENTS,
                last_exit=st.none() | EXITS,
                back_off_seconds=SECONDS,
                level=st.none() | st.sampled_from(GuaranteeLevel),
                shortfalls=st.lists(TEXT, max_size=2).map(tuple),
            )
        )
        for name in names
    }
    run = PodRun(
        accepted_at=draw(MOMENTS),
        verdict=draw(st.none() | st.builds(Verdict, st.booleans(), TEXT, TEXT, TEXT)),
        decided_at=draw(st.none() | MOMENTS),
        containers=runs,
        deletion=draw(st.none() | st.builds(Deletion, MOMENTS, SECONDS)),
        causes=tuple(draw(st.lists(CAUSES, max_size=2))),
    )
    return PodRecord(workload, run, draw(st.integers(0, 2**53)))


def _read_or_find(content: bytes) -> None:
    """Either there is a record, or every finding says where."""
    findings: tuple[Finding, ...] = ()
    try:
        pod_record.decode(content, "pods/u.json")
    except BadInput as bad:
        findings = bad.findings
    assert all(finding.located.startswith("pods/u.json") for finding in findings)


@given(records())
def test_a_record_comes_back_as_it_was(record: PodRecord) -> None:
    text = pod_record.encode(record)
    back = pod_record.decode(text, "pods/u.json")
    assert back == record
    assert list(back.run.containers) == list(record.run.containers)
    assert pod_record.encode(back) == text


@given(records(), st.data())
def test_a_file_cut_short_is_a_finding(record: PodRecord, data: st.DataObject) -> None:
    text = pod_record.encode(record)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(BadInput) as caught:
        pod_record.decode(text[:cut], "pods/u.json")
    assert [f.code for f in caught.value.findings] == ["input/invalid"]


@given(records(), st.data())
def test_a_byte_flipped_is_a_record_or_findings(record: PodRecord, data: st.DataObject) -> None:
    text = bytearray(pod_record.encode(record))
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] ^= 1 << data.draw(st.integers(0, 7))
    _read_or_find(bytes(text))


@given(records(), st.data())
def test_a_member_replaced_is_a_record_or_findings(record: PodRecord, data: st.DataObject) -> None:
    value = json.loads(pod_record.encode(record))
    part: Any = value
    while isinstance(part, dict | list) and part:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(part[key], dict | list) or not part[key]:
            part[key] = data.draw(st.sampled_from([None, "", -1, 1e99, [], {}, "../x", True]))
            break
        part = part[key]
    _read_or_find(json.dumps(value).encode())
