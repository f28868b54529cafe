"""State files judged as those of one release or another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.releases.table import RELEASES, named
from numalet.core.config.rules import StartRefused
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.node import node as nodes
from numalet.insight.state import reading, restart_check, state_diff, verify
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


@pytest.fixture
def of_newest() -> dict[str, str]:
    """State files of a kubelet v1.37 that placed a pod as a whole."""
    node = nodes.start(WITH_GATE, MACHINE, behaviour=_following("1.37"))
    assert not isinstance(node, StartRefused)
    (pod,) = pod_manifest.read_pods(json.dumps(POD), "pod").pods
    after, decision = node.admit(pod)
    assert decision.admitted
    return after.state_files()


def _damaged(files: dict[str, str], **members: object) -> dict[str, str]:
    return {name: json.dumps({**json.loads(text), **members}) for name, text in files.items()}


def _soundness(files: dict[str, str], release: str | None) -> dict[str, Soundness]:
    of = None if release is None else named(release)
    return {each.name: each.soundness for each in verify.verify(files, MACHINE, of)}


def test_a_file_with_data_is_sound(of_newest: dict[str, str]) -> None:
    sound = dict.fromkeys(of_newest, Soundness.SOUND)
    assert _soundness(of_newest, None) == _soundness(of_newest, "1.37") == sound


def test_what_only_the_newest_release_reads_is_judged_by_its_checksum(
    of_newest: dict[str, str],
) -> None:
    wrong = _damaged(of_newest, dataChecksum=1)
    broken = dict.fromkeys(of_newest, Soundness.BROKEN)
    found = [finding for each in verify.verify(wrong, MACHINE) for finding in each.findings]

    assert {each.code for each in found} == {
        "cpu-state/data-corrupted",
        "memory-state/data-corrupted",
    }
    assert _soundness(wrong, None) == _soundness(wrong, "1.37") == broken
    # An older kubelet reads what it read before.
    assert _soundness(wrong, "1.36") == _soundness(of_newest, "1.36")


@pytest.mark.parametrize("members", [{"checksum": 1}, {"policyName": "other"}, {"entries": {}}])
def test_members_beside_data_that_differ_are_doubtful(
    of_newest: dict[str, str], members: dict[str, object]
) -> None:
    wrong = _damaged(of_newest, **members)

    assert _soundness(wrong, "1.37") == dict.fromkeys(of_newest, Soundness.DOUBTFUL)


def test_members_beside_data_that_an_older_kubelet_cannot_read_are_doubtful(
    of_newest: dict[str, str],
) -> None:
    wrong = _damaged({"cpu_manager_state": of_newest["cpu_manager_state"]}, defaultCpuSet="x")

    assert _soundness(wrong, "1.37") == {"cpu_manager_state": Soundness.DOUBTFUL}


def test_nothing_that_only_data_has_is_lost_by_a_rebase(of_newest: dict[str, str]) -> None:
    larger = open_machine("2n8c2t", memory_per_node="16Gi").info
    check = restart_check.check(WITH_GATE, larger, of_newest, _following("1.37"))

    assert check.rebased is not None
    assert check.rebased.lost == ()
    assert check.rebased.files.keys() == of_newest.keys()
    for name, text in check.rebased.files.items():
        before, after = (json.loads(json.loads(each)["data"]) for each in (of_newest[name], text))
        assert after["podEntries"] == before["podEntries"]
        assert after["entries"] == before["entries"]


def test_files_of_the_release_before_are_taken_over_as_they_are(
    of_whole_pod: dict[str, str],
) -> None:
    check = restart_check.check(WITH_GATE, MACHINE, of_whole_pod, _following("1.37"))

    assert (check.answer, check.drift) == (RestartAnswer.ACCEPTED, ())
    assert check.rebased is not None
    assert (check.rebased.files, check.rebased.lost) == ({}, ())
    started = nodes.start(WITH_GATE, MACHINE, of_whole_pod, behaviour=_following("1.37"))
    assert not isinstance(started, StartRefused)
    assert "whole" in started.snapshot.cpu.pods


def test_baselines_are_compared() -> None:
    ledger = CpuLedger(frozenset({0, 3}), {"u": {"c": frozenset({1, 2})}})
    rules = _following("1.37").release.rules_with(lambda gate: True)
    other = ledger.with_baselines({"u": {"c": frozenset({1})}})
    before, after = (
        reading.read({cpu_file.FILE_NAME: cpu_file.write("static", each, rules)})
        for each in (ledger, other)
    )

    (difference,) = state_diff.differences(before, after)
    assert (difference.subject, difference.what) == ("u/c", "first CPUs")
    assert (difference.before, difference.after) == (None, "1")


def test_a_rebase_for_the_release_before_moves_what_only_data_has(
    of_newest: dict[str, str], of_whole_pod: dict[str, str]
) -> None:
    check = restart_check.check(WITH_GATE, MACHINE, of_newest, _following("1.36"))

    assert check.rebased is not None
    assert check.rebased.lost == ()
    assert dict(check.rebased.files) == of_whole_pod


def test_a_rebase_keeps_baselines() -> None:
    config = kubelet_config.decode(
        CONFIG | {"featureGates": {"InPlacePodVerticalScalingExclusiveCPUs": True}}, "with gate"
    )
    rules = _following("1.37").release.rules_with(lambda gate: True)
    ledger = CpuLedger(cpu_set.parse("0,2-15"), {"u": {"c": frozenset({1})}})
    first = {"u": {"c": frozenset({1, 2})}}
    files = {cpu_file.FILE_NAME: cpu_file.write("static", ledger.with_baselines(first), rules)}
    larger = open_machine("2n8c2t", memory_per_node="16Gi").info
    check = restart_check.check(config, larger, files, _following("1.37"))

    assert check.rebased is not None
    data = json.loads(json.loads(check.rebased.files[cpu_file.FILE_NAME])["data"])
    assert data["entries"] == {"u": {"c": "1"}}
    assert data["baselines"] == {"u": {"c": {"baseline": "1-2"}}}
