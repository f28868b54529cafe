"""Facts about the schedulers, extenders and breakers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from numalet.core.model.value import Value

DEFAULT_SCHEDULER: Final = "default-scheduler"
DEFAULT_TIMEOUT_SECONDS: Final = 5.0
"""Default of kube-scheduler's ``httpTimeout`` and of ``numalet extender --timeout``."""


class SchedulerConfiguration(Value, kw_only=True):
    """A KubeSchedulerConfiguration, and its source: a file or a ConfigMap."""

    source: str
    document: Mapping[str, Any]

    @property
    def extenders(self) -> tuple[Mapping[str, Any], ...]:
        """Its extenders that are objects."""
        given = self.document.get("extenders")
        listed = given if isinstance(given, list) else []
        return tuple(each for each in listed if isinstance(each, Mapping))

    @property
    def scheduler_names(self) -> frozenset[str]:
        given = self.document.get("profiles")
        names = [
            str(each.get("schedulerName") or DEFAULT_SCHEDULER)
            for each in (given if isinstance(given, list) else [])
            if isinstance(each, Mapping)
        ]
        return frozenset(names or [DEFAULT_SCHEDULER])


class ExtenderProgram(Value, kw_only=True):
    """A ``numalet extender`` in the template of a workload, or in a static pod.

    ``scheduler`` is empty if its pods name their node and need no scheduler.
    """

    name: str
    listens: str
    timeout_seconds: float
    scheduler: str
    replicas: int
    has_lease: bool
    beside_scheduler: bool


class LeaseFacts(Value, kw_only=True):
    """A lease of numalet; ``renewed_seconds`` since 1970, by the clock of its holder."""

    namespace: str
    name: str
    holder: str
    renewed_seconds: float
    duration_seconds: float


class SchedulingFacts(Value, kw_only=True):
    """All facts that the API server returned.

    ``without_configuration`` names pods with an extender and a kube-scheduler without
    configuration; ``traps`` is the end of the breaker's taint by node.
    """

    configurations: tuple[SchedulerConfiguration, ...] = ()
    extenders: tuple[ExtenderProgram, ...] = ()
    without_configuration: tuple[str, ...] = ()
    traps: Mapping[str, float] | None = None
    leases: tuple[LeaseFacts, ...] = ()
