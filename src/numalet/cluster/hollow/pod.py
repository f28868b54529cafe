"""A pod that is bound to a hollow node: what it asks for, and for how long it is to run."""

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

    ``app`` is for how long each app container runs, None for ever, and ``exit_code`` with what it
    ends then; ``init`` is for how long each init container runs. ``ending`` is how long a container
    runs on after it was asked to end, as far as its grace period lets it.
    """

    app: timedelta | None = None
    init: timedelta = AT_ONCE
    ending: timedelta = AT_ONCE
    exit_code: int = 0


class ContainerBefore(Value):
    """A container that runs already when the pod is seen for the first time."""

    started_at: datetime
    restart_count: int = 0


class HollowPod(Value, kw_only=True):
    """A pod as its node gets it from the API server.

    ``running`` are the containers that run by its status: the process that pretended to be its
    node before is gone, and they are not started again. ``grace_seconds`` is that of a pod that is
    being deleted, None of one that is not.
    """

    workload: Workload
    times: RunTimes = field(default_factory=RunTimes)
    created_at: datetime
    running: Mapping[str, ContainerBefore] = MappingProxyType({})
    grace_seconds: float | None = None

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.workload.uid

    @property
    def order(self) -> tuple[datetime, str]:
        """Its place among pods that ask for admission together: the oldest first, as in a kubelet.

        Kubelet: ``HandlePodAdditions``, which sorts by the moment of creation alone; among equal
        ones it takes any order, and here it is that of their names.
        """
        return self.created_at, str(self.workload.pod)
