"""Plan which controllers may create no more pods, where the cap leaves a storm without taints.

A ValidatingAdmissionPolicy of the cluster reads the held controllers from a ConfigMap. It refuses
their new pods with a reason, so a ReplicaSet retries at growing intervals. Other workloads notice
nothing, unlike with a taint. A hold ends by its time, which the policy compares itself; it ends
earlier when a node would admit a pod, and is renewed while none would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Value, replace
from numalet.insight.rejections import recreating
from numalet.insight.rejections.actions import (
    HoldController,
    LiftCause,
    Prune,
    ReleaseController,
)
from numalet.insight.rejections.rejected_pod import OwnerLink, RejectedPod
from numalet.insight.rejections.rules import BreakerRules, Measure
from numalet.insight.rejections.shape_questions import ShapeQuestions

_JOB: Final = "Job"
_WAKE_SECONDS: Final = 2.0
"""Time between a release and the wake-up: the API server reads the ConfigMap by a watch, too."""


class Hold(Value):
    """A held controller, one of its rejected pods, and the end in seconds since 1970.

    ``is_released``: it may create pods, and is woken at the end.
    """

    controller: OwnerLink
    pod: ClusterPod
    until_seconds: float
    is_released: bool = False


class HoldInputs(Value, kw_only=True):
    """Input of the plan.

    ``storms`` are those that taints cannot end, ``rejections`` all rejected pods. ``is_issued``
    returns whether an action with this verb was just planned for a controller.
    """

    storms: Sequence[Sequence[RejectedPod]]
    rejections: Sequence[RejectedPod]
    questions: ShapeQuestions
    is_issued: Callable[[str, str], bool]
    now_seconds: float
    rules: BreakerRules


class HoldPlan(Value):
    """``holds`` are by uid of the controller."""

    holds: Mapping[str, Hold]
    actions: tuple[HoldController | ReleaseController | Prune, ...]

    def moments(self, rules: BreakerRules) -> Iterator[float]:
        """Yield the times when something may be due without any change."""
        for each in self.holds.values():
            yield each.until_seconds - rules.hold_seconds / 2
            yield each.until_seconds


def plan(before: Mapping[str, Hold], given: HoldInputs) -> HoldPlan:
    holds: dict[str, Hold] = {}
    actions: list[HoldController | ReleaseController | Prune] = []
    for uid, hold in before.items():
        is_over = hold.until_seconds <= given.now_seconds
        if hold.is_released:
            if is_over:
                actions.extend(_wake(uid, given))
            else:
                holds[uid] = hold
            continue
        fitting = given.questions.count(hold.pod, 1)
        if fitting == 1 and is_over:
            actions.extend(_wake(uid, given))
        elif fitting == 1:
            actions.append(ReleaseController(controller=hold.controller, why=LiftCause.ROOM.value))
            wake_at = given.now_seconds + _WAKE_SECONDS
            holds[uid] = replace(hold, until_seconds=wake_at, is_released=True)
        elif not is_over:
            holds[uid] = hold
            if fitting == 0 and _is_due(hold, given):
                holds[uid] = _held(hold, "no node would admit one of its pods yet", actions, given)
    for pods in given.storms:
        for pod in _controllers(pods, given.rules):
            controller = pod.chain[0]
            known = holds.get(controller.uid)
            is_held = known is not None and not known.is_released
            # Pods that were made before the hold are still rejected, and a request may fail.
            if is_held and given.is_issued(HoldController.verb, controller.text):
                continue
            if given.questions.count(pod.pod, 1) == 0:
                why = f"its pods are rejected ({pod.reason}), no node would admit one now, and "
                why += "not all nodes that reject them may have the taint"
                new = Hold(controller, pod.pod, given.now_seconds)
                holds[controller.uid] = _held(new, why, actions, given)
    return HoldPlan(holds, tuple(actions))


def _is_due(hold: Hold, given: HoldInputs) -> bool:
    """Return whether the hold would end soon although the controller has recent rejected pods."""
    # Without them the controller may be gone, or want no more pods. Then the hold ends by its time.
    oldest = given.now_seconds - given.rules.longest_hold_seconds
    return hold.until_seconds - given.now_seconds <= given.rules.hold_seconds / 2 and any(
        each.chain
        and each.chain[0].uid == hold.controller.uid
        and each.rejected_at_seconds > oldest
        for each in given.rejections
    )


def _held(
    hold: Hold,
    why: str,
    actions: list[HoldController | ReleaseController | Prune],
    given: HoldInputs,
) -> Hold:
    until_seconds = given.now_seconds + given.rules.hold_seconds
    made = replace(hold, until_seconds=until_seconds, is_released=False)
    actions.append(
        HoldController(controller=made.controller, until_seconds=made.until_seconds, why=why)
    )
    return made


def _controllers(pods: Iterable[RejectedPod], rules: BreakerRules) -> Iterator[RejectedPod]:
    """Yield one rejected pod of each controller that can be held."""
    seen: set[str] = set()
    for each in sorted(pods, key=lambda each: each.uid):
        if not each.chain or each.pod.comes_with_its_node or each.chain[0].uid in seen:
            continue
        seen.add(each.chain[0].uid)
        if each.chain[0].kind != _JOB or Measure.SUSPEND not in rules.allowed:
            yield each


def _wake(uid: str, given: HoldInputs) -> Iterator[Prune]:
    """Yield the deletion of one replaced pod, if that is permitted.

    A ReplicaSet whose pods were refused retries after up to 16 minutes, but at once when one of its
    pods is deleted.
    """
    if Measure.PRUNE not in given.rules.allowed:
        return
    own = [
        each
        for each in given.rejections
        if recreating.is_replaced(each) and each.chain[0].uid == uid
    ]
    if own:
        oldest = min(own, key=lambda each: (each.rejected_at_seconds, each.uid))
        yield recreating.pruned(oldest, "its ReplicaSet retries when one of its pods is deleted")
