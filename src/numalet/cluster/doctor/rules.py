"""Turn facts about a cluster into findings; unknown facts give no finding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from numalet.cluster.doctor import other_schedulers, scheduler_rules
from numalet.cluster.doctor.facts import ClusterFacts, Permission
from numalet.cluster.doctor.findings import (
    ClusterAccountForbidden,
    ClusterAccountsUnknown,
    ClusterClock,
    ClusterContradicted,
    ClusterDefinitionVersion,
    ClusterForbidden,
    ClusterKubeletUnknown,
    ClusterNoClass,
    ClusterNodeClock,
    ClusterNoDefinition,
    ClusterNotPublished,
    ClusterPublishedOfNoNode,
    ClusterServerUnknown,
    ClusterStale,
    ClusterTopologyOwner,
)
from numalet.core.config.releases.table import NEWEST
from numalet.core.config.releases.versions import MinorVersion, minor_version, version_of
from numalet.core.model.findings import Finding
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.shared.kubernetes import node_resource_topology
from numalet.wording.numbers import counted

OLDEST_SERVER: Final = MinorVersion(1, 20)
NEWEST_SERVER: Final = version_of(NEWEST)
MANAGER: Final = "numalet"
CLOCK_SECONDS: Final = 2.0
"""A smaller difference of clocks is ignored."""
STALE_SECONDS: Final = 2 * 3600.0
"""Twice the interval at which an agent writes without any change."""
_NAMES_SHOWN: Final = 5
_HOUR_SECONDS: Final = 3600
_WANTED: Final = (
    (numa_node.API_VERSION, numa_node.PLURAL, "crds"),
    (numa_node.API_VERSION, numa_node_class.PLURAL, "crds"),
    (node_resource_topology.API_VERSION, node_resource_topology.PLURAL, "node-resource-topology"),
)


def findings(facts: ClusterFacts) -> tuple[Finding, ...]:
    """Return all findings, the most basic ones first."""
    return (
        *_definitions(facts),
        *_access(facts),
        *_versions(facts),
        *_clock(facts),
        *_publishers(facts),
        *_ages(facts),
        *_contradictions(facts),
        *_topologies(facts),
        *scheduler_rules.findings(
            facts.scheduling,
            minor_version(facts.version),
            None if facts.clock is None else facts.clock.server_seconds,
        ),
        *other_schedulers.findings(facts.others),
    )


def _definitions(facts: ClusterFacts) -> Iterator[Finding]:
    for api_version, resource, folder in _WANTED:
        if resource in facts.served.get(api_version, ()):
            continue
        group, _, version = api_version.partition("/")
        name = f"{resource}.{group}"
        served = [
            group_version.partition("/")[2]
            for group_version, resources in facts.served.items()
            if group_version.startswith(f"{group}/") and resource in resources
        ]
        if served:
            yield ClusterDefinitionVersion(
                resource=name, served=", ".join(sorted(served)), wanted=version
            )
        else:
            yield ClusterNoDefinition(resource=name, folder=folder)


def _access(facts: ClusterFacts) -> Iterator[Finding]:
    for resource, verbs in _by_resource(facts.may_not):
        yield ClusterForbidden(verbs=verbs, resource=resource)
    if facts.accounts is None:
        yield ClusterAccountsUnknown()
        return
    for account, missing in sorted(facts.accounts.items()):
        for resource, verbs in _by_resource(missing):
            yield ClusterAccountForbidden(account=account, verbs=verbs, resource=resource)


def _by_resource(permissions: Iterable[Permission]) -> Iterator[tuple[str, str]]:
    verbs: dict[str, list[str]] = defaultdict(list)
    for each in sorted(permissions):
        verbs[each.resource_name].append(each.verb)
    return ((resource, ", ".join(given)) for resource, given in verbs.items())


def _versions(facts: ClusterFacts) -> Iterator[Finding]:
    server = minor_version(facts.version)
    if server is None or not OLDEST_SERVER <= server <= NEWEST_SERVER:
        yield ClusterServerUnknown(
            version=facts.version, oldest=OLDEST_SERVER.name, newest=NEWEST_SERVER.name
        )
    unknown: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in facts.nodes or ():
        minor = minor_version(node.kubelet_version)
        if minor is None:
            unknown[node.kubelet_version, "which is not a version"].append(node.name)
        elif minor.release is None:
            unknown[minor.name, minor.why_unknown].append(node.name)
    for (version, why), names in sorted(unknown.items()):
        yield ClusterKubeletUnknown(
            nodes=_nodes(names), version=version, why_unknown=why, names=_shown(names)
        )


def _clock(facts: ClusterFacts) -> Iterator[Finding]:
    clock = facts.clock
    if clock is not None and abs(clock.ahead_seconds) > max(CLOCK_SECONDS, clock.error_seconds):
        yield ClusterClock(
            seconds=f"{abs(clock.ahead_seconds):.0f}",
            direction="ahead of" if clock.ahead_seconds > 0 else "behind",
        )


def _publishers(facts: ClusterFacts) -> Iterator[Finding]:
    if facts.nodes is None or facts.numa_nodes is None:
        return
    nodes = {each.name for each in facts.nodes}
    published = {each.name for each in facts.numa_nodes}
    if without := sorted(nodes - published):
        yield ClusterNotPublished(nodes=_nodes(without), names=_shown(without), first=without[0])
    if left := sorted(published - nodes):
        yield ClusterPublishedOfNoNode(
            objects=counted(len(left), "NumaNode"), names=_shown(left), all_names=" ".join(left)
        )
    if facts.class_names is None:
        return
    classless: dict[str, list[str]] = defaultdict(list)
    for each in facts.numa_nodes:
        if each.class_name not in facts.class_names:
            classless[each.class_name].append(each.name)
    for class_name, names in sorted(classless.items()):
        yield ClusterNoClass(nodes=_nodes(names), class_name=class_name, names=_shown(names))


def _ages(facts: ClusterFacts) -> Iterator[Finding]:
    ready = {each.name for each in facts.nodes or () if each.is_ready}
    stale: dict[str, float] = {}
    ahead: dict[str, float] = {}
    for each in facts.numa_nodes or ():
        if each.published_seconds is not None and each.written_seconds is not None:
            # The node published before it wrote, so its clock is ahead.
            difference = each.published_seconds - each.written_seconds
            if difference > CLOCK_SECONDS:
                ahead[each.name] = difference
        last = each.written_seconds if each.written_seconds is not None else each.published_seconds
        if facts.clock is not None and last is not None and each.name in ready:
            age_seconds = facts.clock.server_seconds - last
            if age_seconds > STALE_SECONDS:
                stale[each.name] = age_seconds
    if ahead:
        names = sorted(ahead)
        seconds = f"{max(ahead.values()):.0f}"
        yield ClusterNodeClock(nodes=_nodes(names), seconds=seconds, names=_shown(names))
    if stale:
        names = sorted(stale)
        hours = f"{int(min(stale.values())) // _HOUR_SECONDS}"
        yield ClusterStale(nodes=_nodes(names), hours=hours, names=_shown(names), first=names[0])


def _contradictions(facts: ClusterFacts) -> Iterator[Finding]:
    if contradictions := facts.contradictions:
        names = sorted(contradictions)
        first = names[0]
        yield ClusterContradicted(
            nodes=_nodes(names),
            names=_shown(names),
            first=first,
            problem=str(contradictions[first][0]),
        )


def _topologies(facts: ClusterFacts) -> Iterator[Finding]:
    others: dict[str, list[str]] = defaultdict(list)
    for each in facts.topologies or ():
        for manager in each.zone_managers - {MANAGER}:
            others[manager].append(each.name)
    for manager, names in sorted(others.items()):
        yield ClusterTopologyOwner(
            nodes=_nodes(names), manager=manager, names=_shown(sorted(names)), first=min(names)
        )


def _nodes(names: Sequence[str]) -> str:
    return counted(len(names), "node")


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    shown = ", ".join(sorted(names)[:_NAMES_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
