"""Turn facts about schedulers, extenders and the breaker into findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from numalet.cluster.doctor.facts import (
    DEFAULT_TIMEOUT_SECONDS,
    SchedulerConfiguration,
    SchedulingFacts,
)
from numalet.cluster.doctor.scheduler_findings import (
    ClusterBreakerTaintPast,
    ClusterExtenderAsksItself,
    ClusterExtendersShareNothing,
    ClusterLeaseNotRenewed,
    ClusterSchedulerApiVersion,
    ClusterSchedulerBackOff,
    ClusterSchedulerBatching,
    ClusterSchedulerFailsOpen,
    ClusterSchedulerNodesPerCycle,
    ClusterSchedulerNoPreempt,
    ClusterSchedulerTimeOut,
    ClusterSchedulerTwoBinders,
    ClusterSchedulerUnchecked,
    ClusterSchedulerWeight,
    ClusterSchedulerWholeNodes,
    ClusterSchedulerWithoutConfiguration,
)
from numalet.core.config.releases.versions import MinorVersion
from numalet.core.model import go_text
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import DurationError
from numalet.wording.numbers import counted

_VERSIONS: Final = (
    # The first release that does not read a version any more.
    ("kubescheduler.config.k8s.io/v1beta1", MinorVersion(1, 23)),
    ("kubescheduler.config.k8s.io/v1beta2", MinorVersion(1, 28)),
    ("kubescheduler.config.k8s.io/v1beta3", MinorVersion(1, 29)),
)
_FIRST_V1: Final = MinorVersion(1, 25)
_FIRST_BATCHING: Final = MinorVersion(1, 35)
_DEFAULT_BACK_OFF_SECONDS: Final = 10
_SHORT_BACK_OFF_SECONDS: Final = 2
_DECIDING_WEIGHT: Final = 121
"""Ten points times this weight exceed the 1,200 of the scheduler's own plugins."""
_LATE_SECONDS: Final = 60.0
"""A taint or a lease that ended this long ago cannot be explained by differing clocks."""


def findings(
    facts: SchedulingFacts, server: MinorVersion | None, now_seconds: float | None
) -> Iterator[Finding]:
    """Yield all findings; those that need a clock only if the API server's is known."""
    for each in facts.configurations:
        if each.extenders or str(each.document.get("apiVersion", "")):
            yield from _of_configuration(each, facts, server)
    yield from _of_programs(facts)
    if now_seconds is not None:
        yield from _of_moments(facts, now_seconds)


def _of_configuration(
    given: SchedulerConfiguration, facts: SchedulingFacts, server: MinorVersion | None
) -> Iterator[Finding]:
    yield from _version(given, server)
    if not given.extenders:
        return
    percentage = given.document.get("percentageOfNodesToScore") or 0
    # Nodes that the scheduler does not examine never reach the extender.
    if percentage != 100:
        shown = str(percentage) if percentage else "of the default"
        yield ClusterSchedulerNodesPerCycle(source=given.source, percentage=shown)
    seconds = given.document.get("podMaxBackoffSeconds") or _DEFAULT_BACK_OFF_SECONDS
    if isinstance(seconds, int) and seconds > _SHORT_BACK_OFF_SECONDS:
        yield ClusterSchedulerBackOff(source=given.source, seconds=str(seconds))
    for extender in given.extenders:
        yield from _of_extender(given.source, extender, facts)
    binders = [_url(each) for each in given.extenders if each.get("bindVerb")]
    if len(binders) > 1:
        count = counted(len(binders), "extender").partition(" ")[0]
        yield ClusterSchedulerTwoBinders(source=given.source, count=count, urls=", ".join(binders))
    if server is None or server >= _FIRST_BATCHING:
        yield ClusterSchedulerBatching(source=given.source)


def _version(given: SchedulerConfiguration, server: MinorVersion | None) -> Iterator[Finding]:
    if server is None:
        return
    version = str(given.document.get("apiVersion", ""))
    gone = dict(_VERSIONS).get(version)
    too_old = version == "kubescheduler.config.k8s.io/v1" and server < _FIRST_V1
    if too_old or (gone is not None and server >= gone):
        yield ClusterSchedulerApiVersion(
            source=given.source, api_version=version, release=server.name
        )


def _of_extender(
    source: str, extender: Mapping[str, Any], facts: SchedulingFacts
) -> Iterator[Finding]:
    url = _url(extender)
    if not extender.get("nodeCacheCapable"):
        yield ClusterSchedulerWholeNodes(source=source, url=url)
    waits = _seconds(extender.get("httpTimeout"))
    for program in facts.extenders:
        if waits is not None and program.listens in url and program.timeout_seconds > waits:
            yield ClusterSchedulerTimeOut(
                source=source,
                waits=f"{waits:g}",
                url=url,
                program=program.name,
                answers=f"{program.timeout_seconds:g}",
            )
    weight = extender.get("weight") or 0
    if extender.get("prioritizeVerb") and isinstance(weight, int) and weight < _DECIDING_WEIGHT:
        yield ClusterSchedulerWeight(source=source, url=url, weight=str(weight))
    if not extender.get("preemptVerb"):
        yield ClusterSchedulerNoPreempt(source=source, url=url)
    tls = extender.get("tlsConfig")
    has_authority = isinstance(tls, Mapping) and (tls.get("caFile") or tls.get("caData"))
    if extender.get("enableHTTPS") and not has_authority:
        yield ClusterSchedulerUnchecked(source=source, url=url)
    if extender.get("ignorable"):
        yield ClusterSchedulerFailsOpen(source=source, url=url)


def _of_programs(facts: SchedulingFacts) -> Iterator[Finding]:
    for pod in facts.without_configuration:
        yield ClusterSchedulerWithoutConfiguration(pod=pod)
    needing = [
        each
        for each in facts.configurations
        if any(not extender.get("ignorable") for extender in each.extenders)
    ]
    for program in facts.extenders:
        if program.replicas > 1 and not program.has_lease and not program.beside_scheduler:
            yield ClusterExtendersShareNothing(program=program.name, replicas=str(program.replicas))
        for each in needing:
            if program.scheduler in each.scheduler_names:
                yield ClusterExtenderAsksItself(
                    program=program.name, scheduler=program.scheduler, source=each.source
                )


def _of_moments(facts: SchedulingFacts, now_seconds: float) -> Iterator[Finding]:
    past = sorted(
        name for name, until in (facts.traps or {}).items() if until + _LATE_SECONDS < now_seconds
    )
    if past:
        yield ClusterBreakerTaintPast(nodes=counted(len(past), "node"), names=", ".join(past))
    for lease in facts.leases:
        silent_seconds = now_seconds - lease.renewed_seconds
        if lease.holder and silent_seconds > lease.duration_seconds + _LATE_SECONDS:
            yield ClusterLeaseNotRenewed(
                lease=f"{lease.namespace}/{lease.name}",
                holder=lease.holder,
                seconds=f"{silent_seconds:.0f}",
                namespace=lease.namespace,
            )


def _url(extender: Mapping[str, Any]) -> str:
    return str(extender.get("urlPrefix") or "an extender without urlPrefix")


def _seconds(text: object) -> float | None:
    """Parse Go's duration, or the default, into seconds; None if it is invalid."""
    if not text:
        return DEFAULT_TIMEOUT_SECONDS
    try:
        return go_text.parse_duration_ns(str(text)) / go_text.SECOND_NS
    except DurationError:
        return None
