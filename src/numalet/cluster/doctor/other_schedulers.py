"""What KAI or NodeResourceTopologyMatch read in a cluster: facts from the API server, and rules.

Nothing is read, and nothing found, where neither is in use.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from numalet.cluster.doctor import scheduler_collecting
from numalet.cluster.doctor.facts import OtherSchedulers, SchedulerConfiguration
from numalet.cluster.doctor.scheduler_findings import (
    ClusterFingerprintOfEndedPods,
    ClusterKaiTooManyZones,
    ClusterKaiTwoPublishers,
    ClusterKaiZonesUnmanaged,
    ClusterTopologyTwoPublishers,
)
from numalet.core.model import resources
from numalet.core.model.findings import Finding
from numalet.core.model.pod_standing import TERMINAL_PHASES
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api import paths
from numalet.io.kube_api.client import ApiClient
from numalet.shared.kubernetes import kai, node_resource_topology
from numalet.wording.numbers import counted

_SHARDS: Final = "/apis/kai.scheduler/v1/schedulingshards"
_MATCH: Final = "NodeResourceTopologyMatch"
_MOST_ZONES: Final = 8
_Object = Mapping[str, Any]


async def collected(
    api: ApiClient, configurations: Iterable[SchedulerConfiguration]
) -> OtherSchedulers:
    """Raises the client's errors; what is missing or forbidden is left out."""
    plugins = [
        plugin
        for each in await scheduler_collecting.objects(api, _SHARDS)
        if (plugin := _at(each, "spec", "plugins", "numa")).get("enabled")
    ]
    caches = [each for given in configurations for each in _caches(given)]
    if not plugins and not caches:
        return OtherSchedulers()
    names = (set(_words(_at(each, "arguments").get("ignoreList"))) for each in plugins)
    nodes = await scheduler_collecting.objects(api, numa_node.PATH)
    classes = await scheduler_collecting.objects(api, numa_node_class.PATH)
    return OtherSchedulers(
        # A resource counts in every shard whose list lacks it.
        ignored=frozenset(set.intersection(*names)) if plugins else None,
        sharing=tuple(source for source, is_shared in caches if is_shared),
        topologies=await scheduler_collecting.objects(api, node_resource_topology.PATH),
        class_of_node={_name(each): str(_at(each, "spec").get("class")) for each in nodes},
        classes={_name(each): _at(each, "spec", "configuration") for each in classes},
        pods=await scheduler_collecting.objects(api, paths.PODS),
    )


def _caches(given: SchedulerConfiguration) -> Iterator[tuple[str, bool]]:
    for profile in given.document.get("profiles") or ():
        for each in profile.get("pluginConfig") or ():
            if each.get("name") == _MATCH:
                has_cache = bool(_at(each, "args").get("cacheResyncPeriodSeconds"))
                mode = _at(each, "args", "cache").get("informerMode") or "Shared"
                yield given.source, has_cache and mode == "Shared"


def findings(facts: OtherSchedulers) -> Iterator[Finding]:
    yield from _two_publishers(facts)
    if facts.ignored is not None:
        yield from _of_kai(facts, facts.ignored)
    if facts.sharing:
        stale = [_name(each) for each in facts.topologies if _counts_ended(each, facts.pods)]
        if stale:
            yield ClusterFingerprintOfEndedPods(
                nodes=counted(len(stale), "node"),
                names=", ".join(sorted(stale)),
                sources=", ".join(facts.sharing),
            )


def _two_publishers(facts: OtherSchedulers) -> Iterator[Finding]:
    for each in facts.topologies:
        managers = _managers(each, "f:zones")
        if len(managers) > 1:
            yield ClusterTopologyTwoPublishers(node=_name(each), managers=", ".join(managers))
    writers: dict[str, set[str]] = defaultdict(set)
    for each in facts.pods:
        for key in (kai.PLACEMENT, kai.GROUPS):
            managers = _managers(each, "f:metadata", "f:annotations", f"f:{key}")
            writers[str(_at(each, "spec").get("nodeName"))].update(managers)
    for node, found in sorted(writers.items()):
        if len(found) > 1:
            yield ClusterKaiTwoPublishers(node=node, managers=", ".join(sorted(found)))


def _of_kai(facts: OtherSchedulers, ignored: frozenset[str]) -> Iterator[Finding]:
    unmanaged: dict[str, list[str]] = defaultdict(list)
    for each in facts.topologies:
        zones = each.get("zones") or ()
        if len(zones) > _MOST_ZONES:
            yield ClusterKaiTooManyZones(node=_name(each), zones=str(len(zones)))
        config = facts.classes.get(facts.class_of_node.get(_name(each), ""))
        names = {one["name"] for zone in zones for one in zone.get("resources") or ()}
        if config is not None:
            without = sorted(name for name in names - ignored if not _is_managed(name, config))
            if without:
                unmanaged[",".join(without)].append(_name(each))
    for listed, nodes in sorted(unmanaged.items()):
        yield ClusterKaiZonesUnmanaged(
            nodes=counted(len(nodes), "node"),
            resources=listed,
            names=", ".join(sorted(nodes)),
            ignore=",".join(sorted({*listed.split(","), *ignored})),
        )


def _is_managed(resource: str, config: _Object) -> bool:
    if resource == resources.CPU:
        return config.get("cpuManagerPolicy") == "static"
    return not resources.is_memory_type(resource) or config.get("memoryManagerPolicy") == "Static"


def _counts_ended(topology: _Object, pods: Iterable[_Object]) -> bool:
    """Whether the fingerprint is that of the node's pods with those that have ended."""
    phases = {
        (each["metadata"]["namespace"], _name(each)): _at(each, "status").get("phase")
        for each in pods
        if _at(each, "spec").get("nodeName") == _name(topology)
    }
    written = {
        each.get("value")
        for each in topology.get("attributes") or ()
        if each.get("name") == "nodeTopologyPodsFingerprint"
    }
    return bool(TERMINAL_PHASES & set(phases.values())) and written == {
        node_resource_topology.fingerprint(
            name for name, phase in phases.items() if phase != "Pending"
        )
    }


def _managers(given: _Object, *names: str) -> list[str]:
    """The field managers of a field, sorted."""
    entries = given["metadata"].get("managedFields") or ()
    owning = (each for each in entries if names[-1] in _at(each, "fieldsV1", *names[:-1]))
    return sorted({str(each.get("manager")) for each in owning})


def _name(given: _Object) -> str:
    return str(given["metadata"]["name"])


def _words(given: object) -> list[str]:
    """KAI's arguments are texts, so a list is a text with commas."""
    return [each for each in re.split(r"[,\s]+", str(given or "")) if each]


def _at(given: _Object, *names: str) -> _Object:
    """The object at this path; empty if there is none."""
    found: Any = given
    for name in names:
        found = found.get(name)
        if not isinstance(found, Mapping):
            return {}
    return found if isinstance(found, Mapping) else {}
