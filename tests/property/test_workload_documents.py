"""Whatever is posted or found in a folder: a workload that can be kept, or findings."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.findings import Findings
from numalet.core.workload import lifecycle
from numalet.core.workload.records import PodRecord
from numalet.core.workload.static_pods import static_pod
from numalet.io.documents.pods import pod_record, workload_fields
from numalet.io.documents.pods.pod_table.table import TYPES
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from numalet.shared.kubernetes import pod_object as kube_pod
from numalet.shared.kubernetes import table_columns
from values.pod_runs import ADMITTED, START, accepted

pytestmark = pytest.mark.property

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "uid": "u-1", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": 3,
        "securityContext": {"runAsUser": 5},
        "initContainers": [
            {"name": "s", "command": ["x"], "restartPolicy": "Always"},
            {"name": "i", "image": "i", "args": ["$(A)"], "env": [{"name": "A", "value": "1"}]},
        ],
        "containers": [
            {
                "name": "app",
                "command": ["x", "y"],
                "workingDir": "/",
                "securityContext": {"runAsGroup": 5, "runAsNonRoot": True},
                "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                "ports": [{"containerPort": 80}],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}
ODD_TEXTS = ("", "x", "\0", "\ud800", "../x", "n" * 300)
ODD_NUMBERS = (0, -1, 2**31, 2**70, 0.5, float("nan"))
ODD_PARTS: tuple[Any, ...] = ([], [None], ["x"], {}, {"x": "y"}, {1: 2}, {"name": "x"})
ODD: st.SearchStrategy[Any] = st.sampled_from([None, True, *ODD_NUMBERS, *ODD_TEXTS, *ODD_PARTS])
PARTS = ("Pod", "PodSpec", "Container")
NAMES = st.sampled_from(sorted({each for kind in PARTS for each in TYPES[kind].fields}))


@st.composite
def manifests(draw: st.DrawFn) -> Any:
    """The good manifest after a few parts were replaced, added or taken away."""
    value = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        part: Any = value
        while True:
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            if not keys or draw(st.integers(0, 4)) == 0:
                if isinstance(part, dict):
                    part[draw(NAMES)] = copy.deepcopy(draw(ODD))
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(part[key], dict | list) or draw(st.integers(0, 4)) == 0:
                if draw(st.booleans()):
                    part[key] = copy.deepcopy(draw(ODD))
                else:
                    del part[key]
                break
            part = part[key]
    return value


@given(manifests(), st.booleans())
def test_a_manifest_is_a_workload_that_can_be_kept_or_findings(value: Any, from_file: bool) -> None:
    findings = Findings()
    if from_file:
        value = static_pod(value, node_name="n1", path="/p", seen_at=START)
    before = repr(value)
    workload = decode_workload(value, Place("p.yaml"), WorkloadOptions(), findings)
    assert repr(value) == before
    assert all(finding.located for finding in findings.all)
    assert (workload is None) is findings.has_errors
    if workload is None:
        return
    record = PodRecord(workload, accepted(ADMITTED))
    assert pod_record.decode(pod_record.encode(record), "u.json") == record
    assert table_columns.columns(kube_pod.pod_object(record)).ready.startswith("0/")
    assert lifecycle.next_steps(workload, record.run, START).start


@given(st.recursive(ODD, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_any_value_at_all_is_a_workload_or_findings(value: Any) -> None:
    findings = Findings()
    workload = decode_workload(value, Place("p.yaml"), WorkloadOptions(), findings)
    assert (workload is None) is findings.has_errors


def test_a_value_of_any_depth_is_found() -> None:
    value: Any = "x"
    for _ in range(100_000):
        value = [value]
    findings = Findings()
    workload_fields.check_kept(value, Place("p.yaml"), findings)
    assert [finding.code for finding in findings.all] == ["document/too-deep"]
