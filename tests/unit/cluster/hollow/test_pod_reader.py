"""What is read of a pod on a hollow node: its run times, and what ran of it before."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from numalet.cluster.hollow import pod_reader
from numalet.cluster.hollow.life import RunTimes
from numalet.cluster.hollow.pod_reader import PodDecoder, PodGlance
from numalet.core.model.findings import Finding, Findings
from values import hollow_pods
from values.hollow_pods import document


def test_without_annotations_a_pod_runs_for_ever() -> None:
    assert hollow_pods.pod("a").times == RunTimes()


def test_annotations_say_how_long_and_how() -> None:
    notes = {
        "numalet.dev/runs-for": "1m30s",
        "numalet.dev/init-runs-for": "500ms",
        "numalet.dev/ends-after": "5s",
        "numalet.dev/exit-code": "7",
    }
    assert hollow_pods.pod("a", notes=notes).times == RunTimes(
        app=timedelta(seconds=90),
        init=timedelta(milliseconds=500),
        ending=timedelta(seconds=5),
        exit_code=7,
    )
    assert hollow_pods.pod("a", notes={"numalet.dev/runs-for": "forever"}).times.app is None


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("runs-for", "90", "input/ignored"),
        ("runs-for", "-1s", "input/ignored"),
        ("runs-for", "99999999h", "input/ignored"),
        ("ends-after", "forever", "input/ignored"),
        ("exit-code", "256", "input/ignored"),
        ("exit-code", "-1", "input/ignored"),
        ("exit-code", "\u0661", "input/ignored"),
        ("exit-code", "1" * 5000, "input/ignored"),
    ],
)
def test_an_annotation_that_says_nothing_is_named_and_does_not_count(
    name: str, value: str, code: str
) -> None:
    findings = Findings()
    content = msgspec.json.encode(document("a", notes={f"numalet.dev/{name}": value}))
    pod = pod_reader.read_pod(content, findings)
    assert pod is not None
    assert pod.times == RunTimes()
    (finding,) = findings.all
    assert finding.code == code
    assert f"numalet.dev/{name}" in finding.located


class _Watching:
    """A decoder for one node, and what it complained about."""

    def __init__(self) -> None:
        self.complaints: list[tuple[str, str]] = []
        self.decoder = PodDecoder({"hollow-0"}, self._complain)

    def _complain(self, glance: PodGlance, finding: Finding) -> None:
        self.complaints.append((glance.name, finding.code))


def test_pods_of_other_nodes_and_what_is_no_pod_are_passed_over() -> None:
    watching = _Watching()
    assert watching.decoder.decode(msgspec.json.encode(document("a", "other"))) is None
    assert watching.decoder.decode(b"{}") is None
    assert watching.decoder.decode(b'{"metadata": {"name": "\xff"}}') is None
    assert watching.complaints == []


def test_a_pod_is_read_once_and_its_deletion_noticed() -> None:
    watching = _Watching()
    value = document("a")
    first = watching.decoder.decode(msgspec.json.encode(value))
    again = watching.decoder.decode(msgspec.json.encode(value))
    assert first is not None
    assert again is not None
    assert first.pod is again.pod
    value["metadata"] |= {
        "deletionTimestamp": "2030-01-01T00:01:00Z",
        "deletionGracePeriodSeconds": 30,
    }
    deleted = watching.decoder.decode(msgspec.json.encode(value))
    assert deleted is not None
    assert deleted.pod is not None
    assert deleted.pod.grace_seconds == 30
    assert hollow_pods.read(value).grace_seconds == 30
    watching.decoder.forget("uid-a")
    new = watching.decoder.decode(msgspec.json.encode(value))
    assert new is not None
    assert new.pod is not first.pod


def test_a_pod_that_was_over_before_is_not_read() -> None:
    value = document("a")
    value["status"]["phase"] = "Failed"
    watched = _Watching().decoder.decode(msgspec.json.encode(value))
    assert watched is not None
    assert watched.glance.is_over
    assert watched.pod is None


def test_a_pod_that_can_not_be_read_is_complained_about_once() -> None:
    watching = _Watching()
    value = document("a")
    value["spec"]["containers"] = [{"name": "app", "resources": {"limits": {"cpu": "many"}}}]
    content = msgspec.json.encode(value)
    for _ in range(2):
        watched = watching.decoder.decode(content)
        assert watched is not None
        assert watched.pod is None
    assert [name for name, _ in watching.complaints] == ["a"]


def test_only_pods_that_are_listed_are_remembered() -> None:
    watching = _Watching()
    content = msgspec.json.encode(document("a"))
    first = watching.decoder.decode(content)
    watching.decoder.forget_others([])
    assert first is not None
    again = watching.decoder.decode(content)
    assert again is not None
    assert again.pod is not first.pod


def test_pods_in_order_leave_out_what_can_not_be_read() -> None:
    watching = _Watching()
    values = [document("b"), document("a"), document("over")]
    values[2]["status"]["phase"] = "Succeeded"
    watched = [watching.decoder.decode(msgspec.json.encode(each)) for each in values]
    pods = pod_reader.in_order(iter([each for each in watched if each is not None]))
    assert [each.workload.pod.name for each in pods] == ["a", "b"]
