"""The control loop: plans and performs actions after each change.

It acts only on a complete and current view: half a cluster would seem to be without room, and an
old view would hide new room.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final

from numalet.cluster.breaker.breaker_metrics import ActionOutcome, AuditFile, BreakerMeter
from numalet.cluster.breaker.failed_pods import FailedPods
from numalet.cluster.breaker.owners import OwnerResolver
from numalet.cluster.breaker.performing import ActionWorker, Performed
from numalet.cluster.breaker.undoing import SuspendedJobs
from numalet.cluster.following import FollowedClasses
from numalet.cluster.live import LiveCluster
from numalet.core.model.value import Value, field
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.rejections import patches, planning
from numalet.insight.rejections.actions import Action, Prune
from numalet.insight.rejections.planning import BreakerState
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import BreakerFacts
from numalet.io.kube_api import follow
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Connected, Deleted, Disconnected, Replaced
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.pace import PACE, Pace
from numalet.io.tasks import together

NAMESPACES: Final = "/api/v1/namespaces"


class ChosenNamespaces:
    """Kept current by ``follow``; without a selector every namespace matches."""

    def __init__(self, selector: str, changed: asyncio.Event, pace: Pace = PACE) -> None:
        self.is_listed = not selector
        self.problem = ""
        """Why the namespaces may be out of date; empty while they are current."""
        self._selector = selector
        self._changed = changed
        self._pace = pace
        self._names: set[str] = set()

    def has(self, name: str) -> bool:
        return not self._selector or name in self._names

    async def follow(self, api: ApiClient) -> None:
        """Keep the namespaces current until this is cancelled.

        Raises ``BadInput`` if the credentials could never be read.
        """
        if not self._selector:
            return
        collection = ApiCollection(NAMESPACES, label_selector=self._selector)
        news = follow.follow(api, collection, _name, pace=self._pace)
        async with contextlib.aclosing(news):
            async for each in news:
                match each:
                    case Replaced(items):
                        self._names = {*items}
                        self.is_listed, self.problem = True, ""
                    case Changed(name):
                        self._names.add(name)
                    case Deleted(name):
                        self._names.discard(name)
                    case Connected():
                        self.problem = ""
                    case Disconnected(why=why):
                        self.problem = why
                self._changed.set()


def _name(content: bytes) -> str:
    return str(json.loads(content)["metadata"]["name"])


BETWEEN_SECONDS: Final = 0.1
"""Time between two plans; one plan covers all changes in between."""
_REST_FOR_WORK: Final = 4.0
_LONGEST_REST_SECONDS: Final = 5.0
_PRUNES_AT_ONCE: Final = 16
_MOST_SAID: Final = 10_000
_Say = Callable[[str], None]


class BreakerSettings(Value, kw_only=True):
    """Actions and scope of the breaker. Selectors are in kubectl's syntax, empty for all."""

    rules: BreakerRules = field(default_factory=BreakerRules)
    is_dry_run: bool = True
    namespace_selector: str = ""
    pod_selector: str = ""
    classes: FollowedClasses = field(default_factory=FollowedClasses)


class Breaker:
    """``follow`` keeps the view current, ``act`` works while this process leads.

    Without locks: it belongs to one event loop.
    """

    def __init__(
        self,
        api: ApiClient,
        settings: BreakerSettings,
        audit_file: AuditFile,
        say: _Say,
        *,
        meter: BreakerMeter | None = None,
        may_act: Callable[[], bool] = lambda: True,
        pace: Pace = PACE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.meter = meter or BreakerMeter()
        self._api = api
        self._settings = settings
        self._audit = audit_file
        self._say = say
        self._may_act = may_act
        self._now = now
        self._changed = asyncio.Event()
        classes = settings.classes
        self._live = LiveCluster(classes.rules, classes.pool_label, pace)
        self._failed = FailedPods(
            self._changed, settings.pod_selector, self.meter.rejection, pace, now
        )
        self._jobs = SuspendedJobs(self._changed, say, pace)
        self._namespaces = ChosenNamespaces(settings.namespace_selector, self._changed, pace)
        self._resolver = OwnerResolver(api, say, now)
        self._worker = ActionWorker(api, say)
        self._assessor = Assessor()
        self._planned_seconds = 0.0
        self._said_at: OrderedDict[tuple[str, str, ActionOutcome], float] = OrderedDict()
        self.meter.dry_run.set(settings.is_dry_run)

    @property
    def not_ready(self) -> str:
        """Return why the view is not complete or not current; empty if it is."""
        others = [each for each in (self._failed.problem, self._namespaces.problem) if each]
        if problems := [*map(str, self._live.problems), *others]:
            return "; ".join(problems)
        listed = self._failed.is_listed and self._jobs.is_listed and self._namespaces.is_listed
        return "" if listed and self._live.is_current else "not everything was listed yet"

    def refresh_metrics(self) -> None:
        """Update the metrics that are measured only for a scrape."""
        reasons = [str(each.document["status"].get("reason")) for each in self._failed.pods]
        self.meter.rejected(Counter(reasons))
        self.meter.up.set(not self.not_ready)
        self.meter.leader.set(self._may_act())
        self.meter.tainted_nodes.set(sum(1 for _ in self._tainted()))
        self.meter.suspended_jobs.set(len(self._jobs.jobs))

    async def follow(self) -> None:
        """Keep the view current until this is cancelled.

        Raises ``BadInput`` if the credentials could never be read.
        """
        async with together() as group:
            for each in (self._failed, self._jobs, self._namespaces, self._live):
                group.create_task(each.follow(self._api))
            group.create_task(self._pass_on_changes())

    async def act(self) -> None:
        """Plan and perform actions until this is cancelled.

        Raises ``BadInput`` if the audit cannot be written.
        """
        state, complaint = BreakerState(), None
        while True:
            # Before planning, so that a change during the plan starts the next one.
            self._changed.clear()
            self._planned_seconds = 0.0
            why = self.not_ready
            if why != complaint:
                self._say(f"waits: {why}" if why else "everything that matters is known")
                complaint = why
            if not why:
                state = await self._act_once(state)
            await asyncio.sleep(self._rest_seconds())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._until(state)):
                    await self._changed.wait()

    async def _act_once(self, state: BreakerState) -> BreakerState:
        began = time.thread_time()
        rejections = await self._rejections()
        rules = self._settings.rules
        # Taints and suspended Jobs of an earlier breaker also need plans, to be undone in time.
        is_idle = not rejections and not self._jobs.jobs and next(self._tainted(), None) is None
        # Without rejections and without own changes there is nothing to plan.
        if is_idle and rules.waiting_seconds is None:
            return BreakerState()
        cluster = await self._live.value()
        if cluster is None:
            return state
        facts = BreakerFacts(
            cluster=cluster,
            nodes=dict(self._live.listed_nodes),
            suspended_jobs=self._jobs.jobs,
        )
        state, actions = planning.planned(
            state, rejections, facts, self._now(), rules, self._assessor
        )
        self._planned_seconds = time.thread_time() - began
        await self._do(actions)
        return state

    async def _rejections(self) -> list[RejectedPod]:
        made = []
        for each in self._failed.to_plan():
            if self._namespaces.has(each.pod.pod.namespace):
                chain = await self._resolver.chain(each.metadata)
                made.append(self._failed.rejected(each, chain))
        return [each for each in made if each is not None]

    async def _do(self, actions: Sequence[Action]) -> None:
        """Perform actions in order; consecutive deletions of pods in parallel."""
        # Deletions of rejected pods do not depend on each other. The other actions end the storm in
        # the order of the plan, so they are performed one by one.
        for is_prune, group in groupby(actions, lambda each: isinstance(each, Prune)):
            todo = list(group)
            step = _PRUNES_AT_ONCE if is_prune else 1
            for at in range(0, len(todo), step):
                await self._do_together(todo[at : at + step])

    async def _do_together(self, actions: Sequence[Action]) -> None:
        if self._settings.is_dry_run:
            for each in actions:
                self._note(each, Performed(ActionOutcome.DRY_RUN))
            return
        # The lease may have been lost while earlier actions were performed.
        if not self._may_act():
            return
        async with together() as group:
            for each in actions:
                group.create_task(self._do_one(each))

    async def _do_one(self, action: Action) -> None:
        try:
            performed = await self._worker.perform(action)
        except asyncio.CancelledError:
            # The server may still perform it, so the audit must show it.
            self._note(action, Performed(ActionOutcome.INTERRUPTED))
            raise
        self._note(action, performed)

    def _note(self, action: Action, performed: Performed) -> None:
        """Count and record the result of an action; a reported action is recorded once."""
        outcome = performed.outcome
        if outcome in (ActionOutcome.DRY_RUN, ActionOutcome.REFUSED) and self._was_said(
            action, outcome
        ):
            return
        self.meter.action(action.verb, outcome)
        self._audit.write(action, outcome, performed.problem)
        if not isinstance(action, Prune):
            self._say(f"{outcome.value}: {patches.audit_line(action).text}")

    def _was_said(self, action: Action, outcome: ActionOutcome) -> bool:
        """Return whether the action was reported recently; it is planned again until it is done."""
        key, now = (action.verb, action.target, outcome), self._now()
        before = self._said_at.pop(key, None)
        self._said_at[key] = now
        if len(self._said_at) > _MOST_SAID:
            self._said_at.popitem(last=False)
        return before is not None and now - before < 2 * self._settings.rules.retry_seconds

    def _tainted(self) -> Iterator[str]:
        for name, each in self._live.listed_nodes.items():
            if patches.on_node(each.taints) is not None:
                yield name

    def _rest_seconds(self) -> float:
        """Return the minimum time until the next plan, to limit planning to a share of a CPU."""
        # In a storm the view changes all the time; the rest keeps planning below a fifth of one
        # CPU.
        rest = min(self._planned_seconds * _REST_FOR_WORK, _LONGEST_REST_SECONDS)
        return max(BETWEEN_SECONDS, rest)

    def _until(self, state: BreakerState) -> float | None:
        if state.again_at_seconds is None:
            return None
        return max(0.0, state.again_at_seconds - self._now())

    async def _pass_on_changes(self) -> None:
        while True:
            await self._live.wait_for_change()
            self._changed.set()
