"""State files judged as those of one release or another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.releases.table import RELEASES, named
from numalet.core.config.rules import StartRefused
from numalet.core.node import node as nodes
from numalet.insight.state import restart_check, verify
from numalet.insight.state.restart_check import RestartAnswer
from numalet.insight.state.verify import Soundness
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.pods import pod_manifest
from numalet.io.machines import open_machine

MACHINE = open_machine("2n4c2t", memory_per_node="8Gi").info
CONFIG = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "best-effort",
    "topologyManagerScope": "pod",
    "reservedSystemCPUs": "0",
    "evictionHard": {"memory.available": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
}
WITH_GATE = kubelet_config.decode(
    CONFIG | {"featureGates": {"PodLevelResourceManagers": True}}, "with gate"
)
PLAIN = kubelet_config.decode(CONFIG, "plain")
WHOLE = {"cpu": "4", "memory": "1536Mi"}
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "whole", "uid": "whole"},
    "spec": {
        "resources": {"limits": WHOLE, "requests": WHOLE},
        "containers": [
            {"name": "own", "resources": {"limits": {"cpu": "2", "memory": "768Mi"}}},
            {"name": "shares"},
        ],
    },
}


def _following(name: str) -> Behaviour:
    release = named(name)
    assert release is not None
    return replace(EXACT, release=release)


@pytest.fixture
def of_whole_pod() -> dict[str, str]:
    """State files of a kubelet that placed a pod as a whole."""
    node = nodes.start(WITH_GATE, MACHINE, behaviour=_following("1.36"))
    assert not isinstance(node, StartRefused)
    (pod,) = pod_manifest.read_pods(json.dumps(POD), "pod").pods
    after, decision = node.admit(pod)
    assert decision.admitted
    return after.state_files()


def test_what_pods_got_as_a_whole_is_sound_where_kubelets_write_it(
    of_whole_pod: dict[str, str],
) -> None:
    assert "podEntries" in of_whole_pod[cpu_file.FILE_NAME]
    for release in RELEASES:
        reports = verify.verify(of_whole_pod, MACHINE, release)
        wanted = Soundness.SOUND if release.name in ("1.36", "1.37") else Soundness.BROKEN

        assert {each.soundness for each in reports} == {wanted}


def test_a_kubelet_that_starts_with_such_files_finds_nothing_different(
    of_whole_pod: dict[str, str],
) -> None:
    check = restart_check.check(WITH_GATE, MACHINE, of_whole_pod, _following("1.36"))
    older = restart_check.check(PLAIN, MACHINE, of_whole_pod, _following("1.35"))

    assert (check.answer, check.drift) == (RestartAnswer.ACCEPTED, ())
    assert check.rebased is not None
    assert (check.rebased.files, check.rebased.lost) == ({}, ())
    assert older.answer is RestartAnswer.REFUSED


@pytest.mark.parametrize(
    ("release", "soundness", "answer"),
    [
        ("1.35", Soundness.BROKEN, RestartAnswer.REFUSED),
        ("1.36", Soundness.DOUBTFUL, RestartAnswer.ACCEPTED),
    ],
)
def test_a_memory_state_without_a_checksum_is_what_the_release_says(
    release: str, soundness: Soundness, answer: RestartAnswer
) -> None:
    node = nodes.start(PLAIN, MACHINE)
    assert not isinstance(node, StartRefused)
    files = node.state_files()
    value = json.loads(files[memory_file.FILE_NAME]) | {"checksum": 0}
    files[memory_file.FILE_NAME] = json.dumps(value)
    behaviour = _following(release)
    reports = verify.verify(files, MACHINE, behaviour.release)

    assert {each.name: each.soundness for each in reports}[memory_file.FILE_NAME] is soundness
    assert restart_check.check(PLAIN, MACHINE, files, behaviour).answer is answer


def test_files_are_rebased_in_the_format_of_the_release(of_whole_pod: dict[str, str]) -> None:
    larger = open_machine("2n8c2t", memory_per_node="16Gi").info
    check = restart_check.check(WITH_GATE, larger, of_whole_pod, _following("1.36"))

    assert check.answer is RestartAnswer.REFUSED
    assert check.rebased is not None
    assert check.rebased.files.keys() == of_whole_pod.keys()
    files = dict(check.rebased.files)
    assert not isinstance(
        nodes.start(WITH_GATE, larger, files, behaviour=_following("1.36")), StartRefused
    )
