"""Large inputs: no text is read more often than needed, and only what is needed is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Runner, pod
from numalet.core.model.findings import BadInput
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.yaml_builder import Builder

LIMITS = "limits: {cpu: 1, memory: 1Gi}"


def _manifest(count: int, resources: str, more: str = "") -> str:
    return "---".join(
        f"""
apiVersion: v1
kind: Pod
metadata: {{name: p{number}}}
spec:
  {more}
  containers:
    - name: c
      resources: {{{resources}}}
"""
        for number in range(count)
    )


@pytest.fixture
def second_readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are read a second time, to find lines; each reading adds its text."""
    texts: list[str] = []

    class Counted(Builder):
        def __init__(self, text: str, document: str, *, with_lines: bool = False) -> None:
            super().__init__(text, document, with_lines=with_lines)
            if with_lines:
                texts.append(text)

    monkeypatch.setattr(yaml_source, "Builder", Counted)
    return texts


def test_explicit_requests_need_no_second_reading(second_readings: list[str]) -> None:
    explicit = _manifest(300, f"requests: {{cpu: 1, memory: 1Gi}}, {LIMITS}")

    pod_manifest.read_pods(explicit, "f")

    assert second_readings == []


def test_a_finding_in_every_document_makes_one_more_reading(second_readings: list[str]) -> None:
    wrong = _manifest(300, LIMITS, more="nodeNamee: here")

    with pytest.raises(BadInput) as bad:
        pod_manifest.read_pods(wrong, "f")

    lines = [each.where.line for each in bad.value.findings]
    assert lines == [6 + 9 * at for at in range(300)]
    assert second_readings == [wrong]


def test_other_machines_are_read_when_they_are_tried(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(pod("small", "1Gi"))
    first = ("-m", "2n4c", "--memory-per-node", "8Gi")

    assert numalet("explain", *first, "-m", "missing.tar.gz", str(path)).status == 0

    path.write_text(pod("large", "100Gi"))
    static = ("--memory-manager-policy=Static", "--reserved-memory=0:memory=100Mi")
    words = ("explain", *first, *static, "-m", "missing.tar.gz", "-m", "gone.yaml", str(path))
    ended = numalet(*words)
    assert (ended.status, ended.out) == (2, "")
    assert "missing.tar.gz" in ended.err
    assert "gone.yaml" in ended.err
    assert numalet(*words, "--budget", "0").status == 1
