"""Patches, what undoes everything, and the lines of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import (
    Action,
    Inform,
    LiftTaint,
    Prune,
    RecreatePod,
    ResumeJob,
    SuspendJob,
    TaintNode,
)
from numalet.insight.rejections.patches import undo_plan
from values.pod_storms import DEPLOYMENT, OWNER

UNTIL = 1_700_000_000.0
SHAPE = "0123456789"
VALUE = "20231114T221320Z.0123456789"
OWN = {"key": TAINT_KEY, "value": VALUE, "effect": "NoSchedule"}
OTHER = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
OF_FLEET = {"key": TAINT_KEY, "effect": "NoSchedule"}

TAINT = TaintNode(node="n0", shape=SHAPE, until_seconds=UNTIL, why="rejected\n 5 pods")
LIFT = LiftTaint(node="n0", why="its time is over")
SUSPEND = SuspendJob(
    namespace="ml", name="train", uid="u", shape=SHAPE, owner=OWNER, until_seconds=UNTIL, why="no"
)
RESUME = ResumeJob(namespace="ml", name="train", uid="u", why="room")


def node(*taints: Mapping[str, str], version: str | None = "5") -> dict[str, Any]:
    metadata = {"name": "n0"} | ({} if version is None else {"resourceVersion": version})
    return {"metadata": metadata, "spec": {"taints": list(taints)} if taints else {}}


def job(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "train", "namespace": "ml", "uid": "u", "resourceVersion": "6"}
    return {"metadata": metadata | fields.pop("metadata", {}), **fields}


SUSPENDED = job(
    metadata={
        "annotations": {patches.SUSPENDED_UNTIL: "20231114T221320Z", patches.SUSPENDED_FOR: SHAPE}
    },
    spec={"suspend": True},
)


def test_a_taint_is_added_to_those_of_others_and_holds_the_version() -> None:
    assert patches.tainting(node(OTHER), TAINT) == {
        "metadata": {"annotations": {patches.TRAP_WHY: TAINT.why}, "resourceVersion": "5"},
        "spec": {"taints": [OTHER, OWN]},
    }


def test_a_taint_that_is_there_gets_the_new_end() -> None:
    old = {**OWN, "value": "20221114T221320Z.0123456789"}
    patch = patches.tainting(node(old, version=None), TAINT)
    assert patch == {
        "metadata": {"annotations": {patches.TRAP_WHY: TAINT.why}},
        "spec": {"taints": [OWN]},
    }


def test_a_taint_of_the_same_key_that_others_set_is_left_alone() -> None:
    assert patches.tainting(node(OF_FLEET), TAINT) is None
    assert patches.lifting(node(OF_FLEET, OTHER)) is None
    assert patches.lifting(node()) is None


def test_only_the_own_taint_is_taken_off() -> None:
    assert patches.lifting(node(OTHER, OWN)) == {
        "metadata": {"annotations": {patches.TRAP_WHY: None}, "resourceVersion": "5"},
        "spec": {"taints": [OTHER]},
    }
    patch = patches.lifting(node(OWN))
    assert patch is not None
    assert patch["spec"] == {"taints": None}


def test_a_job_is_suspended_with_its_mark_and_goes_on_without() -> None:
    assert patches.suspending(job(spec={}, status={"ready": 0}), SUSPEND) == {
        "metadata": {
            "annotations": {
                patches.SUSPENDED_UNTIL: "20231114T221320Z",
                patches.SUSPENDED_FOR: SHAPE,
            },
            "resourceVersion": "6",
        },
        "spec": {"suspend": True},
    }
    assert patches.resuming(SUSPENDED, RESUME) == {
        "metadata": {
            "annotations": {patches.SUSPENDED_UNTIL: None, patches.SUSPENDED_FOR: None},
            "resourceVersion": "6",
        },
        "spec": {"suspend": False},
    }


@pytest.mark.parametrize(
    "there",
    [
        job(metadata={"uid": "another"}),
        job(spec={"suspend": True}),
        job(status={"ready": 1}),
        {"metadata": None},
    ],
)
def test_a_job_that_is_another_one_suspended_or_at_work_is_left_alone(there: Any) -> None:
    assert patches.suspending(there, SUSPEND) is None
    assert patches.resuming(there, RESUME) is None


def test_everything_is_undone_by_what_stands_on_the_objects() -> None:
    second = {**node(OWN), "metadata": {"name": "a0"}}
    plan = undo_plan([node(OWN, OTHER), second, node(OF_FLEET)], [SUSPENDED, job()])
    assert [each.target for each in plan] == ["node a0", "node n0", "job ml/train"]
    assert {each.why for each in plan} == {"undone on request"}
    assert undo_plan((), ()) == ()


PRUNE = Prune(namespace="ml", name="p", uid="u", resource_version="7", owner=OWNER, why="old")
INFORM = Inform(owner=OWNER, about=DEPLOYMENT, shape=SHAPE, why="no room")
RECREATE = RecreatePod(
    namespace="ml",
    name="p-again-1",
    attempt=1,
    of_name="p",
    of_uid="u",
    of_resource_version="7",
    why="first attempt",
    manifest={},
)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (PRUNE, "prune pod ml/p: old (undo: not needed: no container of the pod ever ran)"),
        (
            INFORM,
            "inform Deployment default/web: no room (undo: not needed: the API server deletes "
            "events)",
        ),
        (
            TAINT,
            "taint node n0, until 20231114T221320Z: rejected 5 pods (undo: numalet breaker undo, "
            "or kubectl taint node n0 numalet.dev/trap-)",
        ),
        (
            LIFT,
            "lift node n0: its time is over (undo: not needed: the taint returns if the "
            "node rejects pods again)",
        ),
        (
            SUSPEND,
            "suspend job ml/train, until 20231114T221320Z: no (undo: numalet breaker undo, or "
            'kubectl patch job -n ml train -p \'{"spec":{"suspend":false}}\')',
        ),
        (RESUME, "resume job ml/train: room (undo: not needed: the Job is unchanged)"),
        (
            RECREATE,
            "recreate pod ml/p-again-1: first attempt (undo: kubectl delete pod -n ml p-again-1)",
        ),
    ],
)
def test_each_action_has_a_line_with_its_end_and_its_undo(action: Action, text: str) -> None:
    assert patches.audit_line(action).text == text


def test_the_same_as_json() -> None:
    assert patches.audit_line(TAINT).document == {
        "verb": "taint",
        "target": "node n0",
        "why": "rejected 5 pods",
        "until": "20231114T221320Z",
        "undo": "numalet breaker undo, or kubectl taint node n0 numalet.dev/trap-",
    }
    assert patches.audit_line(LIFT).document["until"] is None
