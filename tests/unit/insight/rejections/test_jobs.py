"""Jobs that are suspended and go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterPod, Controller
from numalet.insight.rejections.actions import Action, LiftCause, ResumeJob, SuspendJob
from numalet.insight.rejections.rejected_pod import OwnerLink, shape_digest
from numalet.insight.rejections.shape_questions import SuspendedJob
from values.pod_storms import JOB, START, big, facts, full, on, plan, rejection, roomy, split

CRON_JOB = OwnerLink("batch/v1", "CronJob", "default", "nightly", "uid-of-nightly")
PODS = [rejection(f"p{at}", chain=(JOB, CRON_JOB)) for at in range(5)]
SHAPE = shape_digest(big())


def of_job(uid: str, node: str, phase: str) -> ClusterPod:
    return replace(on(big(uid), node, phase), controller=Controller("Job", JOB.name, JOB.uid))


def suspended_job(
    at: int = 0, until_seconds: float = START + 600, **fields: object
) -> SuspendedJob:
    there = SuspendedJob(
        namespace="default",
        name=f"train-{at}",
        uid=f"u{at}",
        until_seconds=until_seconds,
        shape=SHAPE,
        pod=big(),
    )
    return replace(there, **fields)  # type: ignore[arg-type]


def of_kind(actions: Iterable[Action], kind: type[Action]) -> list[str]:
    return [each.target for each in actions if isinstance(each, kind)]


def test_a_job_of_which_no_pod_runs_is_suspended_and_its_pods_stay() -> None:
    state, actions = plan(PODS, facts([split("n0")], [of_job("w", "", "Pending")]))
    (job,) = [each for each in actions if isinstance(each, SuspendJob)]
    assert (job.target, job.uid) == ("job default/train", JOB.uid)
    assert job.until_seconds == START + 3600
    assert job.owner.kind == "CronJob"
    assert "no node would admit one now" in job.why
    assert {each.verb for each in actions} == {"suspend", "inform"}
    _, actions = plan(PODS, facts([split("n0")]), START + 1, before=state)
    assert of_kind(actions, SuspendJob) == []


@pytest.mark.parametrize(
    ("phase", "is_suspended"), [("Running", False), ("Pending", False), ("Succeeded", True)]
)
def test_a_job_of_which_a_pod_has_a_node_is_left_alone(phase: str, is_suspended: bool) -> None:
    bare = replace(on(big("b"), "n0", "Running"), controller=None)
    _, actions = plan(PODS, facts([split("n0")], [of_job("r", "n0", phase), bare]))
    assert bool(of_kind(actions, SuspendJob)) is is_suspended


def test_a_job_is_not_suspended_where_a_node_would_admit_its_pods() -> None:
    _, actions = plan(PODS, facts([split("n0"), roomy("n1")]))
    assert of_kind(actions, SuspendJob) == []


def test_a_job_that_is_suspended_already_and_others_are_left_alone() -> None:
    known = suspended_job(uid=JOB.uid)
    _, actions = plan(PODS, facts([split("n0")], jobs=[known]))
    assert of_kind(actions, SuspendJob) == []
    custom = OwnerLink("example.com/v1", "Job", "default", "own", "u")
    pods = [rejection(f"p{at}", chain=(custom,)) for at in range(5)]
    _, actions = plan(pods, facts([split("n0")]))
    assert of_kind(actions, SuspendJob) == []
    _, actions = plan(PODS[:4], facts([split("n0")]))
    assert actions == ()


def test_a_job_goes_on_when_its_time_is_over_or_was_never_set_by_the_breaker() -> None:
    late, far = suspended_job(0, START), suspended_job(1, START + 10_000)
    state, actions = plan((), facts([split("n0")], jobs=[late, far]))
    whys = {each.target: each.why for each in actions if isinstance(each, ResumeJob)}
    assert whys == {
        "job default/train-0": LiftCause.EXPIRED.value,
        "job default/train-1": LiftCause.FAR.value,
    }
    assert state.again_at_seconds == START + 1
    _, actions = plan((), facts([split("n0")], jobs=[late, far]), START + 1, before=state)
    assert actions == ()


def test_as_many_jobs_go_on_as_there_is_room_for_and_then_none_for_a_while() -> None:
    waiting = [suspended_job(at, START + 600 + at) for at in range(3)]
    given = facts([split("n0"), roomy("n1")], jobs=waiting)
    state, actions = plan((), given)
    assert of_kind(actions, ResumeJob) == ["job default/train-0", "job default/train-1"]
    assert {each.why for each in actions if isinstance(each, ResumeJob)} == {LiftCause.ROOM.value}
    left = facts([split("n0"), roomy("n1")], jobs=waiting[2:])
    state, actions = plan((), left, START + 9, before=state)
    assert actions == ()
    assert state.again_at_seconds == START + 10
    _, actions = plan((), left, START + 10, before=state)
    assert of_kind(actions, ResumeJob) == ["job default/train-2"]


def test_a_job_whose_template_can_not_be_read_is_judged_by_its_pods_or_by_its_time() -> None:
    unread = suspended_job(pod=None)
    _, actions = plan((), facts([roomy("n1")], jobs=[unread]))
    assert actions == ()
    _, actions = plan(PODS[:1], facts([roomy("n1")], jobs=[unread]))
    assert of_kind(actions, ResumeJob) == ["job default/train-0"]


def test_without_room_a_job_stays_suspended() -> None:
    _, actions = plan((), facts([full("n0")], jobs=[suspended_job()]))
    assert actions == ()
