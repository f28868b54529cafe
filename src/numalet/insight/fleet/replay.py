"""Replay a day of pods: the cost of NUMA-unaware scheduling.

The day runs twice: with a scheduler that goes by sums, and with one that uses ``numalet extender``.
The engine decides as the kubelet of each node. After a rejection the controller creates another pod
after 10 seconds, then doubling up to 10 minutes, as a Job does.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Final, TypeAlias

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Arrival, Cluster, ClusterNode, ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.model import pod_demand, resources
from numalet.core.model.value import Value, replace
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.kube_scheduler import ScoredNodes, Scoring
from numalet.insight.fleet.preference import Preference, PreferredNodes

SECONDS_PER_HOUR: Final = 3600
SAMPLES: Final = 96
"""Samples of the day in the answer: each quarter of an hour of 24 hours."""


class ReplayRules(Value, kw_only=True):
    """How pods are sent to nodes, and when a rejected pod is created again.

    ``scoring`` is for the scheduler without the extender, ``preference`` for the one with it.
    ``most_attempts`` limits the rejections of a pod, if set.
    """

    scoring: Scoring = Scoring()
    preference: Preference = Preference.PACK
    first_retry_seconds: float = 10.0
    longest_retry_seconds: float = 600.0
    most_attempts: int | None = None


class SentBy(Enum):
    SUMS = "sums"
    ENGINE = "engine"
    """To the best of the nodes that admit the pod, as with ``numalet extender``."""


class Sample(Value):
    """One point in time: pods and their devices, and the free devices by sums."""

    at_seconds: float
    running_pods: int
    waiting_pods: int
    waiting_devices: int
    free_devices: int


class ReplayedDay(Value, kw_only=True):
    """One day under one scheduler. Devices are of the resource that the answer names.

    ``waiting_seconds`` are of the pods that started, in ascending order; ``never_started`` counts
    the others. ``waiting_device_seconds`` is the sum of requested devices times waiting time;
    ``wanted_idle_device_seconds`` is how long devices were free while waiting pods requested them.
    """

    sent_by: SentBy
    started: int
    never_started: int
    rejections: int
    rejections_by_node: Mapping[str, int]
    most_rejections_of_a_pod: int
    waiting_seconds: Sequence[float]
    waiting_device_seconds: float
    wanted_idle_device_seconds: float
    end_seconds: float
    samples: Sequence[Sample]


class ReplayAnswer(Value):
    """Both days. ``resource`` is the most requested device, or ``cpu`` in thousandths."""

    resource: str
    pods: int
    blind: ReplayedDay
    seeing: ReplayedDay

    @property
    def lost_device_hours(self) -> float:
        """How long NUMA-unaware scheduling left devices idle that waiting pods requested."""
        lost = self.blind.wanted_idle_device_seconds - self.seeing.wanted_idle_device_seconds
        return lost / SECONDS_PER_HOUR

    @property
    def waited_device_hours(self) -> float:
        """The additional waiting time of pods times their requested devices."""
        waited = self.blind.waiting_device_seconds - self.seeing.waiting_device_seconds
        return waited / SECONDS_PER_HOUR


def replay(
    cluster: Cluster, trace: Iterable[Arrival], rules: ReplayRules | None = None
) -> ReplayAnswer:
    """Replay the day with a scheduler that uses only sums, and with ``numalet extender``.

    Pods that run in the cluster stay to the end.
    """
    arrivals = sorted(trace, key=lambda each: each.at_seconds)
    rules = rules or ReplayRules()
    resource = most_asked(arrivals)
    # Two runs of the same trace: they differ only in how a node is chosen.
    runs = {
        each: _Day(cluster.nodes, arrivals, rules, each, resource).run()
        for each in (SentBy.SUMS, SentBy.ENGINE)
    }
    total = sum(each.count for each in arrivals)
    return ReplayAnswer(resource, total, runs[SentBy.SUMS], runs[SentBy.ENGINE])


def most_asked(arrivals: Iterable[Arrival]) -> str:
    """Return the device with the most requested device-time; ``cpu`` without devices."""
    asked: Counter[str] = Counter()
    for each in arrivals:
        for name, amount in pod_demand.amounts(each.pod.pod).items():
            if resources.is_device(name):
                asked[name] += round(amount * each.count * each.duration_seconds)
    return min(asked, key=lambda name: (-asked[name], name)) if asked else resources.CPU


@dataclass(slots=True, eq=False)
class _Job:
    number: int
    pod: ClusterPod
    shape: PodKey
    devices: int
    duration_seconds: float
    since_seconds: float
    rejections: int = 0

    def next_pod(self) -> ClusterPod:
        """Return the pod of the next attempt; each has a unique name."""
        uid = f"{self.number}-{self.rejections}"
        pod = replace(self.pod.pod, uid=uid, name=f"{self.pod.pod.name}-{uid}")
        return replace(self.pod, pod=pod)


class _Ended(Value):
    node_name: str
    pod_uid: str


_Event: TypeAlias = Arrival | _Job | _Ended


class _Day:
    def __init__(
        self,
        nodes: Mapping[str, ClusterNode],
        arrivals: Sequence[Arrival],
        rules: ReplayRules,
        sent_by: SentBy,
        resource: str,
    ) -> None:
        self._rules = rules
        self._sent_by = sent_by
        self._resource = resource
        asking = {name: replace(n, node=n.node.without_plugins()) for name, n in nodes.items()}
        self._nodes = ScoredNodes(asking, rules.scoring)
        self._preferred: PreferredNodes | None = None
        if sent_by is SentBy.ENGINE:
            self._preferred = PreferredNodes(asking, rules.preference)
        self._order = count()
        self._numbers = count(1)
        self._events: list[tuple[float, int, _Event]] = []
        for each in arrivals:
            self._schedule(each.at_seconds, each)
        first, last = (arrivals[0], arrivals[-1]) if arrivals else (None, None)
        self._now = 0.0 if first is None else first.at_seconds
        length = 0.0 if last is None else last.at_seconds + last.duration_seconds - self._now
        self._between_samples = max(length / SAMPLES, 1.0)
        self._next_sample = self._now
        self._coming = len(arrivals)
        self._running = 0
        self._queue: list[_Job] = []
        self._rejected_waiting: set[_Job] = set()
        self._rejected_since_change: set[_Job] = set()
        self._waited: list[float] = []
        self._by_node: Counter[str] = Counter()
        self._never = self._most_rejections = 0
        self._waiting_devices = 0
        self._waiting_seconds = self._idle_seconds = 0.0
        self._samples: list[Sample] = []
        self._last_change = (self._now, 0.0, 0.0)

    def run(self) -> ReplayedDay:
        """Replay to the last pod that arrived or ended."""
        while self._events:
            at, _, event = heapq.heappop(self._events)
            self._pass_time(at)
            match event:
                case Arrival():
                    self._coming -= 1
                    self._arrived(event)
                case _Ended():
                    self._ended(event)
                case _:
                    self._rejected_waiting.discard(event)
                    if not self._place(event, None):
                        self._queue.append(event)
            self._give_up()
        self._never += len(self._queue)
        # Pods that never start wait until the last change, the same time for every scheduler. Their
        # repeated rejections afterwards would add time that depends on the backoff.
        end_seconds, waiting_seconds, idle_seconds = self._last_change
        return ReplayedDay(
            sent_by=self._sent_by,
            started=len(self._waited),
            never_started=self._never,
            rejections=self._by_node.total(),
            rejections_by_node=dict(self._by_node.most_common()),
            most_rejections_of_a_pod=self._most_rejections,
            waiting_seconds=sorted(self._waited),
            waiting_device_seconds=waiting_seconds,
            wanted_idle_device_seconds=idle_seconds,
            end_seconds=end_seconds,
            samples=[each for each in self._samples if each.at_seconds <= end_seconds],
        )

    def _changed(self) -> None:
        """Record that a pod arrived, started or ended: rejected pods may be admitted now."""
        self._rejected_since_change.clear()
        self._last_change = (self._now, self._waiting_seconds, self._idle_seconds)

    def _schedule(self, at_seconds: float, event: _Event) -> None:
        # The running number keeps events of one moment in order; events themselves cannot be
        # compared.
        heapq.heappush(self._events, (at_seconds, next(self._order), event))

    def _pass_time(self, to_seconds: float) -> None:
        free = self._free_devices()
        while self._next_sample <= to_seconds:
            waiting = len(self._queue) + len(self._rejected_waiting)
            self._samples.append(
                Sample(self._next_sample, self._running, waiting, self._waiting_devices, free)
            )
            self._next_sample += self._between_samples
        passed = to_seconds - self._now
        self._waiting_seconds += passed * self._waiting_devices
        # Idle devices count only up to what waiting pods request.
        self._idle_seconds += passed * min(free, self._waiting_devices)
        self._now = to_seconds

    def _free_devices(self) -> int:
        return sum(max(free.get(self._resource, 0), 0) * n for free, n in self._nodes.free())

    def _arrived(self, arrival: Arrival) -> None:
        self._changed()
        pod = kube_scheduler.as_new(arrival.pod)
        shape = shapes.key_of(pod)
        devices = pod_demand.amounts(pod.pod).get(self._resource, 0)
        for _ in range(arrival.count):
            number = next(self._numbers)
            job = _Job(number, pod, shape, devices, arrival.duration_seconds, self._now)
            self._waiting_devices += devices
            if not self._place(job, None):
                self._queue.append(job)

    def _ended(self, event: _Ended) -> None:
        self._running -= 1
        self._changed()
        on = self._nodes[event.node_name]
        self._put(replace(on, node=on.node.remove(event.pod_uid)))
        self._try_waiting({event.node_name})

    def _try_waiting(self, changed: Collection[str]) -> None:
        """Try waiting pods on these nodes by priority, then order; other nodes have not changed."""
        hopeless: set[PodKey] = set()
        waiting = sorted(self._queue, key=lambda each: -(each.pod.pod.priority or 0))
        self._queue = []
        for each in waiting:
            # A pod equal to one that was just refused cannot fit either.
            if each.shape in hopeless:
                self._queue.append(each)
            elif not self._place(each, changed):
                hopeless.add(each.shape)
                self._queue.append(each)

    def _place(self, job: _Job, among: Collection[str] | None) -> bool:
        """Send the pod to a node if there is one; its kubelet may still reject it."""
        pod = job.next_pod()
        on = self._chosen(job, pod, among)
        if on is None:
            return False
        node, decision = on.node.admit(pod.pod)
        if decision.admitted:
            node = node.pod_started(pod.pod.uid)
            self._started(job, on.name, pod.pod.uid)
        else:
            self._rejected(job, on.name)
        self._put(replace(on, node=node))
        return True

    def _chosen(
        self, job: _Job, pod: ClusterPod, among: Collection[str] | None
    ) -> ClusterNode | None:
        if self._preferred is not None:
            # It tracks changed nodes itself.
            return self._preferred.best(job.pod, job.shape)
        return next(self._nodes.ranked(pod, among), None)

    def _put(self, node: ClusterNode) -> None:
        self._nodes.put(node)
        if self._preferred is not None:
            self._preferred.put(node)

    def _started(self, job: _Job, node_name: str, uid: str) -> None:
        self._waited.append(self._now - job.since_seconds)
        self._waiting_devices -= job.devices
        self._running += 1
        self._changed()
        self._schedule(self._now + job.duration_seconds, _Ended(node_name, uid))

    def _rejected(self, job: _Job, node_name: str) -> None:
        rules = self._rules
        self._by_node[node_name] += 1
        job.rejections += 1
        self._most_rejections = max(self._most_rejections, job.rejections)
        # As a Job with a backoffLimit does.
        if rules.most_attempts is not None and job.rejections >= rules.most_attempts:
            self._waiting_devices -= job.devices
            self._never += 1
            return
        pause = min(
            # Larger exponents would overflow a float.
            rules.first_retry_seconds * 2 ** min(job.rejections - 1, 62),
            rules.longest_retry_seconds,
        )
        self._rejected_waiting.add(job)
        self._rejected_since_change.add(job)
        self._schedule(self._now + pause, job)

    def _give_up(self) -> None:
        """Stop once no pod runs or arrives, and all were rejected since the last change."""
        rejected = self._rejected_since_change
        if not (self._running or self._coming) and len(self._events) == len(rejected):
            self._never += len(self._events)
            self._events.clear()
