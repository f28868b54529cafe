"""Shapes of a text that was sent: amounts as in YAML, manifests, and never the name of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.documents.pods import pod_shapes

_KNOWN = ("example.com/nic", "nvidia.com/gpu")
_JOB = """
kind: Job
apiVersion: batch/v1
metadata: {name: train}
spec:
  parallelism: 3
  template:
    spec:
      containers: [{name: main, resources: {limits: {cpu: 4, memory: 8Gi}}}]
"""


@pytest.mark.parametrize(
    "text",
    [
        "gpu: 4, cpu: 32, memory: 256Gi",
        "gpu: 4\ncpu: 32\n\nmemory: 256Gi\n",
        "gpu=4,cpu=32,memory=256Gi",
    ],
)
def test_amounts_in_any_form(text: str) -> None:
    (shape,) = pod_shapes.of_text(text, "the text", _KNOWN)
    assert shape.name == "nvidia.com/gpu=4,cpu=32,memory=256Gi"
    (container,) = shape.pod.pod.containers()
    assert container.limits["nvidia.com/gpu"].value == 4
    assert container.limits["memory"].value == 256 << 30


def test_a_short_name_of_two_resources_is_none() -> None:
    (shape,) = pod_shapes.of_text("x.com/gpu=1", "the text", ("a.com/gpu", "b.com/gpu"))
    assert shape.name == "x.com/gpu=1"
    with pytest.raises(BadInput):
        pod_shapes.of_text("gpu=1", "the text", ("a.com/gpu", "b.com/gpu"))


def test_a_manifest_says_how_many_it_makes() -> None:
    (shape,) = pod_shapes.of_text(_JOB, "the text")
    assert (shape.name, shape.count) == ("train", 3)


def test_a_text_is_never_the_name_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(_JOB, encoding="utf-8")
    with pytest.raises(BadInput):
        pod_shapes.of_text(str(file), "the text")


def test_a_text_without_pods_says_so() -> None:
    with pytest.raises(BadInput) as raised:
        pod_shapes.of_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", "the text")
    assert "the text" in str(raised.value)
