"""Traces and shapes of pods, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.core.model.pod_demand import amounts
from numalet.io.documents.pods import pod_shapes, pod_trace

GIB = 1 << 30
HEAD = "arrival,duration,shape,count\n"


def _problems(text: str, **shapes: str) -> list[str]:
    named = {name: pod_shapes.of_amounts(each) for name, each in shapes.items()}
    with pytest.raises(BadInput) as bad:
        pod_trace.read(text, "day.csv", named)
    return [each.located for each in bad.value.findings]


def test_rows_are_arrivals_of_shapes_from_second_0_on() -> None:
    text = HEAD + '100,1h30m,"cpu=4,memory=8Gi,nvidia.com/gpu=1",3\n\n2m,60,train,\n'
    named = {"train": pod_shapes.of_amounts("cpu=8,memory=1Gi")}
    first, second = pod_trace.read(text, "day.csv", named)
    assert (first.at_seconds, first.duration_seconds, first.count) == (0.0, 5400.0, 3)
    assert amounts(first.pod.pod) == {"cpu": 4000, "memory": 8 * GIB, "nvidia.com/gpu": 1}
    assert (second.at_seconds, second.count, second.pod) == (20.0, 1, named["train"])


def test_json_lines_say_the_same() -> None:
    text = (
        '{"arrival": "2026-05-01T08:00:00Z", "duration": "2h", "shape": {"cpu": 4}}\n'
        '\n{"arrival": "2026-05-01T09:00:00+00:00", "duration": 1.5, "shape": "cpu=4", "count": 2}'
    )
    first, second = pod_trace.read(text, "day.jsonl", {})
    assert (first.at_seconds, second.at_seconds) == (0.0, 3600.0)
    assert (second.duration_seconds, second.count) == (1.5, 2)
    assert amounts(first.pod.pod) == amounts(second.pod.pod) == {"cpu": 4000}


def test_every_wrong_line_is_named() -> None:
    text = HEAD + "soon,-1,cpu=x,0\n1,2\n,1,cpu=1,1\n1,1,nothing,1\n2026-05-01T08:00:00,1,cpu=1,1\n"
    assert _problems(text, small="cpu=1") == [
        "day.csv:2: invalid arrival 'soon'; expected a number of seconds or a duration such as"
        " 1h30m, not"
        " below 0, or a moment such as 2026-05-01T08:00:00Z",
        "day.csv:2: invalid duration '-1'; expected a number of seconds or a duration such as"
        " 1h30m, not"
        " below 0",
        "day.csv:2: invalid count '0'; expected a whole number from 1 on",
        "day.csv:2:1: $.spec.containers[0].resources.limits.cpu: invalid quantity 'x': quantities"
        " must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; "
        "expected a quantity such as 500m, 4Gi or 100M",
        "day.csv:3: the row has 2 values for 4 columns",
        "day.csv:4: the row has no arrival",
        "day.csv:5: shape 'nothing' is neither a list of amounts nor a pod of small",
        "day.csv:6: invalid arrival '2026-05-01T08:00:00'; expected a number of seconds or a"
        " duration such as"
        " 1h30m, not below 0, or a moment such as 2026-05-01T08:00:00Z",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the trace has no rows"),
        ("arrival,length\n1,2\n", "does not name duration, shape"),
        (HEAD + '1,1,"cpu=1\n', "unexpected end of data"),
        ('{"arrival": 1\n', "is not a JSON object"),
        ('{"arrival": true, "duration": 1, "shape": "cpu=1"}', "invalid arrival 'True'"),
        ('{"arrival": 1e300, "duration": NaN, "shape": "cpu=1"}', "is not a JSON object"),
        ('{"arrival": 1e300, "duration": "nan", "shape": "cpu=1"}', "invalid arrival '1e+300'"),
        (HEAD + "2026-99-01T00:00:00Z,1,cpu=1,1\n", "invalid arrival '2026-99-01T00:00:00Z'"),
        (HEAD + "1,1,cpu=1,1.5\n", "invalid count '1.5'"),
        (HEAD + "1,1,cpu=1,9999999\n", "more than 1000000 pods"),
        ('{"arrival": 1, "duration": 1, "shape": {"nonsense": 1}}', "unknown resource 'nonsense'"),
    ],
)
def test_what_is_no_trace_is_said(text: str, problem: str) -> None:
    assert problem in "\n".join(_problems(text))


def test_a_trace_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_text(HEAD + "0,1,cpu=1,1\n", encoding="utf-8")
    assert len(pod_trace.load(str(file), {})) == 1


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  suspend: true
  parallelism: 4
  completions: 4
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}, {operator: Exists}]
      containers: [{name: c, image: x, resources: {limits: {cpu: 4, memory: 8Gi}}}]
---
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {}}
---
apiVersion: v1
kind: Pod
metadata: {name: done}
spec: {nodeName: n, containers: [{name: c, image: x}]}
status: {phase: Failed, reason: TopologyAffinityError}
"""


def test_shapes_are_of_workloads_and_pods_whatever_became_of_them(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB, encoding="utf-8")
    job, pod, inline = pod_shapes.load([str(file), "cpu=2"])
    assert (job.name, job.count, pod.name, pod.count) == ("train", 4, "done", 1)
    assert (pod.pod.pod.node_name, pod.pod.pod.phase) == ("", "")
    assert [each.key for each in job.pod.tolerations] == ["gpu", ""]
    assert amounts(inline.pod.pod) == {"cpu": 2000}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cpu=1,", "neither a file nor a list of amounts"),
        ("nowhere.yaml", "cannot be read"),
        ("FILE", "contains no pod"),
    ],
)
def test_what_is_no_shape_is_said(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "service.yaml"
    file.write_text("{apiVersion: v1, kind: Service, metadata: {name: s}}", encoding="utf-8")
    with pytest.raises(BadInput) as bad:
        pod_shapes.load([text.replace("FILE", str(file))])
    assert problem in bad.value.findings[0].located
