"""Large inputs: reading takes as long as the text is, and only what is needed is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import Runner, pod
from numalet.core.model.findings import BadInput, Finding
from numalet.io.documents import pod_manifest

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


def _cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU time of the quickest of three runs."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def test_reading_explicit_requests_costs_hardly_more_than_limits_alone() -> None:
    alone = _manifest(300, LIMITS)
    explicit = _manifest(300, f"requests: {{cpu: 1, memory: 1Gi}}, {LIMITS}")

    base = _cpu_seconds(lambda: pod_manifest.read_pods(alone, "f"))

    # They are 1.1 times as much; read anew for every document they were 10 times as much.
    assert _cpu_seconds(lambda: pod_manifest.read_pods(explicit, "f")) < 2 * base


def test_a_finding_in_every_document_makes_one_more_reading() -> None:
    alone = _manifest(300, LIMITS)
    wrong = _manifest(300, LIMITS, more="nodeNamee: here")

    def findings() -> list[Finding]:
        with pytest.raises(BadInput) as bad:
            pod_manifest.read_pods(wrong, "f")
        return [*bad.value.findings]

    base = _cpu_seconds(lambda: pod_manifest.read_pods(alone, "f"))

    assert [each.where.line for each in findings()] == [6 + 9 * at for at in range(300)]
    assert _cpu_seconds(findings) < 5 * base


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
