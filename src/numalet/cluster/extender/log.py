"""The extender's log: a line for each relevant event, but not for requests.

Form and levels are those of the agent's log.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.findings import Finding
from numalet.insight.scheduling.filtering import Filtered
from numalet.wording import log_line
from numalet.wording.log_line import LogLine

LogWriter: TypeAlias = Callable[[Iterable[LogLine]], None]

REQUESTS_LEVEL: Final = 4
"""From this level on there is a line for each request."""
_MOST_PODS: Final = 10_000
_MOST_REASONS: Final = 5
_MOST_REPEATED: Final = 1_000


class ExtenderLog:
    """Writes the log. For one thread."""

    def __init__(self, write: LogWriter = lambda lines: None) -> None:
        self._write = write
        self._notes: frozenset[Finding] = frozenset()
        self._refused: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._times: OrderedDict[tuple[str, str], int] = OrderedDict()

    def say(self, message: str, **keys: Any) -> None:
        self._write([LogLine(message, keys)])

    def complain(self, message: str, **keys: Any) -> None:
        """Log a problem; these lines are written at every verbosity."""
        self._write([LogLine(message, keys, is_error=True)])

    def repeat(self, message: str, of: str, **keys: Any) -> None:
        """Log a problem that may repeat with every request: the 1st, 2nd, 4th, 8th time.

        ``of`` identifies the repeated problem.
        """
        times = self._times.pop((message, of), 0) + 1
        self._times[message, of] = times
        if len(self._times) > _MOST_REPEATED:
            self._times.popitem(last=False)
        # A power of two.
        if times & (times - 1) == 0:
            self.complain(message, **keys, times=times)

    def request(self, message: str, **keys: Any) -> None:
        self._write([LogLine(message, keys, REQUESTS_LEVEL)])

    def finding(self, finding: Finding) -> None:
        self._write([log_line.of_finding(finding)])

    def notes(self, notes: Iterable[Finding]) -> None:
        now = frozenset(notes)
        self._write([log_line.of_finding(each) for each in now - self._notes])
        self._notes = now

    def refused_by_all(self, pod: ClusterPod, answer: Filtered) -> bool:
        """Log that no node admits the pod, unless all causes were logged; return whether it did."""
        uid, causes = pod.pod.uid, frozenset(answer.failed.values())
        said = self._refused.get(uid, frozenset())
        # The scheduler retries a pending pod for hours; each attempt with known causes would repeat
        # the line.
        if causes <= said:
            return False
        # Causes contain figures of the pod alone, so there are few.
        self._refused[uid] = said | causes
        self._refused.move_to_end(uid)
        if len(self._refused) > _MOST_PODS:
            self._refused.popitem(last=False)
        self.say("no node admits the pod", pod=str(pod.pod), nodes=len(answer.failed),
                 why=_counted(answer.failed))  # fmt: skip
        return True

    def forget(self, uid: str) -> None:
        """Forget a pod that was deleted or has a node."""
        self._refused.pop(uid, None)


def _counted(failed: Mapping[str, str]) -> str:
    counts: dict[str, int] = {}
    for reason in failed.values():
        counts[reason] = counts.get(reason, 0) + 1
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    texts = [f"{count} {reason}" for reason, count in ordered[:_MOST_REASONS]]
    if len(ordered) > _MOST_REASONS:
        texts.append(f"{len(ordered) - _MOST_REASONS} other reasons")
    return "; ".join(texts)
