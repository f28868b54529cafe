"""Pods as ``kubectl get pods -o json`` prints them: their order, and what became of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands import Runner, process

NODE = (
    *("-m", "2n4c2t", "--memory-per-node", "10Gi", "--memory-manager-policy=Static"),
    *("--reserved-memory=0:memory=100Mi", "--topology-manager-policy=restricted"),
)


def pod(
    name: str, memory: str = "1Gi", *, created: str = "", started: str = "", **status: Any
) -> dict[str, Any]:
    """A pod as the API server gives it."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if created:
        metadata["creationTimestamp"] = f"2026-03-01T{created}Z"
    if started:
        status["startTime"] = f"2026-03-01T{started}Z"
    container = {"name": "c", "resources": {"limits": {"cpu": "1", "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": "n", "containers": [container]},
        "status": {"phase": "Running", **status},
    }


def rejected(name: str, memory: str, reason: str = "TopologyAffinityError", **more: Any) -> Any:
    """A pod that a kubelet's admission rejected."""
    return pod(name, memory, phase="Failed", reason=reason, message="no", **more)


def listing(*pods: dict[str, Any]) -> str:
    """What kubectl prints of several pods: by name."""
    ordered = sorted(pods, key=lambda each: str(each["metadata"]["name"]))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": ordered})


def saved(folder: Path, text: Any, name: str = "pods.json") -> str:
    """A file with this text, or this object."""
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return str(path)


def names(found: dict[str, Any]) -> list[str]:
    """The queue of an explanation."""
    return [each["name"].removeprefix("default/") for each in found["queue"]]


THREE = listing(
    pod("a", created="08:00:09", started="08:00:03"),
    pod("b", created="08:00:01", started="08:00:01"),
    pod("c", created="08:00:02"),
)


def test_pods_that_run_asked_in_the_order_in_which_they_came(
    numalet: Runner, tmp_path: Path
) -> None:
    after, new = saved(tmp_path, THREE), saved(tmp_path, pod("new"), "new.json")

    found = json.loads(numalet("explain", *NODE, new, "--after", after, "-o", "json").out)
    assert names(found) == ["b", "c", "a"]

    found = json.loads(numalet("simulate", *NODE, after, "-o", "json").out)
    assert [step["admit"]["name"] for step in found["steps"]] == ["b", "c", "a"]


def test_names_decide_in_one_second_and_pods_without_a_time_keep_their_place(
    numalet: Runner, tmp_path: Path
) -> None:
    pods = [
        pod("c", started="08:00:01"),
        pod("x"),
        pod("b", started="08:00:01"),
        pod("a", started="08:00:02"),
    ]
    path = saved(tmp_path, "\n---\n".join(map(json.dumps, pods)), "pods.yaml")

    found = json.loads(numalet("simulate", *NODE, path, "-o", "json").out)

    assert [step["admit"]["name"] for step in found["steps"]] == ["b", "x", "c", "a"]


def test_the_order_decides_and_is_the_same_for_a_comparison(
    numalet: Runner, tmp_path: Path
) -> None:
    pods = listing(
        pod("a", "9Gi", started="08:00:02"),
        pod("b", "2Gi", started="08:00:00"),
        pod("c", "9Gi", started="08:00:01"),
    )
    path = saved(tmp_path, pods)

    ended = numalet(
        "what-if", *NODE[:6], "--policies=restricted", "--scopes=pod", path, "-o", "json"
    )

    (variant,) = json.loads(ended.out)["variants"]
    assert [each["pod"] for each in variant["runs"][0]["rejected"]] == ["default/a"]


def test_a_pod_that_was_rejected_is_asked_about(tmp_path: Path) -> None:
    ended = process("explain", *NODE, "-", stdin=json.dumps(rejected("gone", "50Gi")))

    assert ended.status == 1
    assert "default/gone" in ended.out.splitlines()[0]
    assert "a kubelet rejected default/gone (TopologyAffinityError)" in ended.err


@pytest.mark.parametrize(
    "reason",
    [
        *("UnexpectedAdmissionError", "SMTAlignmentError", "OutOfcpu", "OutOfhugepages-1Gi"),
        *("NodeAffinity", "OutOfexample.com/gpu", "OutOfpods"),
    ],
)
def test_every_rejection_of_an_admission_counts(
    reason: str, numalet: Runner, tmp_path: Path
) -> None:
    path = saved(tmp_path, rejected("gone", "1Gi", reason))
    assert numalet("explain", *NODE, path).status == 0
    assert numalet("simulate", *NODE, path).status == 0
    assert numalet("what-if", *NODE[:6], "--policies=none", path).status == 0


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        {"phase": "Failed", "reason": "DeadlineExceeded"},
        {
            "phase": "Failed",
            "reason": "Evicted",
            "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 1}}}],
        },
    ],
)
def test_a_pod_that_has_run_is_finished(
    status: dict[str, Any], numalet: Runner, tmp_path: Path
) -> None:
    ended = numalet("explain", *NODE, saved(tmp_path, pod("done", **status)))

    assert ended.status == 2
    assert "ignored: 1 finished" in ended.err


def test_in_a_listing_the_rejected_pod_is_explained_after_those_that_run(
    numalet: Runner, tmp_path: Path
) -> None:
    path = saved(
        tmp_path,
        listing(
            pod("a", started="08:00:03"),
            rejected("b", "50Gi", started="08:00:02"),
            rejected("c", "50Gi", started="08:00:01"),
            pod("d", started="08:00:00"),
        ),
    )
    found = json.loads(numalet("explain", *NODE, path, "-o", "json").out)
    assert (found["pod"]["name"], names(found)) == ("b", ["d"])

    found = json.loads(numalet("explain", *NODE, path, "--pod", "a", "-o", "json").out)
    assert (found["pod"]["name"], names(found)) == ("a", ["d"])


def test_a_rejected_pod_before_holds_nothing(numalet: Runner, tmp_path: Path) -> None:
    gone = rejected("gone", "9Gi")
    new = saved(tmp_path, pod("new"), "new.json")
    for text in (gone, listing(gone, pod("a"))):
        after = saved(tmp_path, text)
        found = json.loads(numalet("explain", *NODE, new, "--after", after, "-o", "json").out)
        assert "gone" not in names(found)
    assert "\nignored: 1 (finished)\n" in numalet("simulate", *NODE, after).out


def test_the_pod_that_is_asked_about_is_not_before_itself(numalet: Runner, tmp_path: Path) -> None:
    after = saved(tmp_path, listing(pod("a"), pod("b"), pod("c")))
    by_hand = pod("b", "2Gi")
    del by_hand["metadata"]["uid"], by_hand["status"]
    for about in (by_hand, pod("b")):
        new = saved(tmp_path, about, "new.json")
        found = json.loads(numalet("explain", *NODE, new, "--after", after, "-o", "json").out)
        assert (found["pod"]["name"], names(found)) == ("b", ["a", "c"])


def test_two_pods_of_one_name_are_warned_of(numalet: Runner, tmp_path: Path) -> None:
    one = "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}\n"
    path = saved(tmp_path, f"{one}---\n{one}", "pods.yaml")
    for command in ("simulate", "explain", "what-if", "check"):
        ended = numalet(command, *NODE[:4], path)
        assert "2 pods have the name default/p" in ended.err + ended.out, command


def test_pods_before_that_the_replay_refuses_are_reported_first(
    numalet: Runner, tmp_path: Path
) -> None:
    after = saved(tmp_path, listing(pod("a"), pod("wide", "50Gi")))
    new = saved(tmp_path, pod("new"), "new.json")

    ended = numalet("explain", *NODE, new, "--after", after)
    assert ended.out.startswith("! 1 of 2 pods before it was rejected in this replay")
    assert ended.out.splitlines()[2] == "!   default/wide: UnexpectedAdmissionError"

    found = json.loads(numalet("explain", *NODE, new, "--after", after, "-o", "json").out)
    (refused,) = found["replay_refused"]
    assert (refused["pod"], refused["reason"]) == ("default/wide", "UnexpectedAdmissionError")

    ended = numalet("simulate", *NODE, after)
    assert "\n! 1 of 2 pods that run was rejected in this replay" in ended.out
    found = json.loads(numalet("simulate", *NODE, after, "-o", "json").out)
    assert [each["pod"] for each in found["replay_refused"]] == ["default/wide"]


def test_a_comparison_names_who_is_rejected_and_why(numalet: Runner, tmp_path: Path) -> None:
    two = pod("two", "6Gi")
    two["spec"]["containers"].append({**two["spec"]["containers"][0], "name": "d"})
    path = saved(tmp_path, listing(pod("a"), two, pod("whole", "50Gi")))
    words = ("what-if", *NODE[:6], "--policies=none,restricted", "--scopes=pod", path)

    ended = numalet(*words)
    found = json.loads(numalet(*words, "-o", "json").out)
    table = numalet(*words, "-o", "csv").out

    rejected_by = {
        each["policy"]: {one["pod"]: one["reason"] for one in each["runs"][0]["rejected"]}
        for each in found["variants"]
    }
    whole, both = ("default/whole", "UnexpectedAdmissionError"), "UnexpectedAdmissionError"
    assert rejected_by == {
        "none": dict([whole]),
        "restricted": {"default/two": both, whole[0]: both},
    }
    assert "\n  default/two: UnexpectedAdmissionError (restricted pod)\n" in ended.out
    assert "default/two=UnexpectedAdmissionError;default/whole=" in table


def test_holders_of_state_files_are_named(numalet: Runner, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    held, new = saved(tmp_path, pod("held", "9Gi")), saved(tmp_path, pod("new", "15Gi"), "new.json")
    assert numalet("simulate", *NODE, "--state-dir", str(state), held).status == 0
    listed = saved(tmp_path, listing(pod("held"), pod("other")), "listed.json")

    words = ("explain", *NODE, "--state-dir", str(state), new)
    assert "default/held" not in numalet(*words).out
    ended = numalet(*words, "--pods", listed)

    assert ended.status == 1
    assert "{0} is used by default/held (9Gi)" in ended.out
    assert "uid-held" not in ended.out


def test_a_machine_that_changed_is_mended_by_rebasing(numalet: Runner, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    held = saved(tmp_path, pod("held", "1Gi"))
    assert numalet("simulate", *NODE, "--state-dir", str(state), held).status == 0
    changed = [word.replace("10Gi", "11Gi") for word in NODE]

    checked = numalet("check", *changed, "--state-dir", str(state))
    assert checked.status == 1
    assert "numalet state rebase" in " ".join(checked.out.split())
    assert "drain" not in checked.out

    assert numalet("state", "rebase", str(state), "--write", *changed).status == 0
    assert numalet("check", *changed, "--state-dir", str(state)).status == 0
