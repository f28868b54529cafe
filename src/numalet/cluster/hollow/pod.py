"""A pod that is bound to a hollow node: its requests and run times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value, field
from numalet.core.workload.spec import Workload

AT_ONCE: Final = timedelta()


class RunTimes(Value, kw_only=True):
    """How long the containers of a pod run, and how they end.

    ``app`` is the run time of each app container, forever without one, and ``exit_code`` its
    result; ``init`` is the run time of each init container. ``ending`` is how long a container runs
    after its signal, within its grace period.
    """

    app: timedelta | None = None
    init: timedelta = AT_ONCE
    ending: timedelta = AT_ONCE
    exit_code: int = 0


class ContainerBefore(Value):
    """A container that already runs when the pod is seen for the first time."""

    started_at: datetime
    restart_count: int = 0


class HollowPod(Value, kw_only=True):
    """A pod as its node gets it from the API server.

    ``running`` are the containers that run by its status: the former process of its node has ended,
    and they are not started again. ``grace_seconds`` is set for a pod that is being deleted.
    """

    workload: Workload
    times: RunTimes = field(default_factory=RunTimes)
    created_at: datetime
    running: Mapping[str, ContainerBefore] = MappingProxyType({})
    grace_seconds: float | None = None

    @property
    def uid(self) -> str:
        return self.workload.uid

    @property
    def order(self) -> tuple[datetime, str]:
        """The sort key of pods that ask for admission together: the oldest first, as in a kubelet.

        Kubelet: ``HandlePodAdditions``, which sorts by creation time alone; ties are in any order,
        and here in the order of their names.
        """
        return self.created_at, str(self.workload.pod)
