"""Read facts about schedulers, extenders and the breaker from an API server.

The configuration of a scheduler is a file on its machine, or in a ConfigMap. Files are read if the
command line names them. Collections that are forbidden are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from numalet.cluster.doctor.facts import (
    DEFAULT_SCHEDULER,
    DEFAULT_TIMEOUT_SECONDS,
    NAMESPACE,
    ExtenderProgram,
    LeaseFacts,
    SchedulerConfiguration,
    SchedulingFacts,
)
from numalet.cluster.doctor.scheduler_findings import ClusterSchedulerFileUnusable
from numalet.core.model import go_text
from numalet.core.model.findings import BadInput
from numalet.core.model.go_text import DurationError
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import patches
from numalet.io.documents.text import yaml_source
from numalet.io.kube_api import paths
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import ApiCollection, listed

_KIND: Final = "KubeSchedulerConfiguration"
_SYSTEM: Final = "kube-system"
_LARGEST_FILE_BYTES: Final = 1 << 20
_WORKLOADS: Final = {
    "deployments": "Deployment",
    "daemonsets": "DaemonSet",
    "statefulsets": "StatefulSet",
}
"""The kind of each collection, which the items of a list lack."""
_Object = Mapping[str, Any]


async def collected(api: ApiClient, files: Iterable[Path] = ()) -> SchedulingFacts:
    """Return all facts visible to this user, and the configurations in these files.

    Raises ``BadInput`` if a file contains no KubeSchedulerConfiguration, and the client's errors.
    """
    configurations = [each for path in files for each in in_file(path)]
    pods = [*await objects(api, f"/api/v1/namespaces/{_SYSTEM}/pods")]
    programs = [each for pod in pods if _is_static(pod) for each in _in_pod(pod)]
    for space in (_SYSTEM, NAMESPACE):
        for each in await objects(api, f"/api/v1/namespaces/{space}/configmaps"):
            configurations += _in_config_map(each, space)
    for plural, kind in _WORKLOADS.items():
        for each in await objects(api, f"/apis/apps/v1/{plural}"):
            programs += _in_workload(each, kind)
    leases = await objects(api, f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")
    return SchedulingFacts(
        configurations=tuple(configurations),
        extenders=tuple(programs),
        without_configuration=tuple(each for pod in pods for each in _without_configuration(pod)),
        traps=dict(_traps(await objects(api, paths.NODES))),
        leases=tuple(_leases(leases)),
    )


def in_file(path: Path) -> list[SchedulerConfiguration]:
    """Return the configurations in a file. Raises ``BadInput`` without one."""
    content = yaml_source.read_bytes(path, _LARGEST_FILE_BYTES)
    found = _in_text(yaml_source.decode(content, str(path)), str(path))
    if not found:
        raise BadInput([ClusterSchedulerFileUnusable(file=str(path))])
    return found


def _in_text(text: str, source: str) -> list[SchedulerConfiguration]:
    return [
        SchedulerConfiguration(source=source, document=each.value)
        for each in yaml_source.load_documents(text, source)
        if isinstance(each.value, Mapping) and each.value.get("kind") == _KIND
    ]


def _in_config_map(given: _Object, space: str) -> Iterator[SchedulerConfiguration]:
    for key, text in (given.get("data") or {}).items():
        source = f"ConfigMap {space}/{given['metadata']['name']} ({key})"
        if _KIND in text:
            try:
                yield from _in_text(text, source)
            except BadInput:
                continue  # A document of something else that names the kind.


# Programs in pods.


def _in_workload(given: _Object, kind: str) -> Iterator[ExtenderProgram]:
    spec, meta = given.get("spec") or {}, given["metadata"]
    pod = ((spec.get("template") or {}).get("spec")) or {}
    name = f"{kind} {meta['namespace']}/{meta['name']}"
    names_node = bool(pod.get("nodeName"))
    scheduler = "" if names_node else str(pod.get("schedulerName") or DEFAULT_SCHEDULER)
    yield from _programs(pod, name, scheduler, spec.get("replicas", 1))


def _in_pod(pod: _Object) -> Iterator[ExtenderProgram]:
    yield from _programs(pod["spec"], _pod_name(pod), "", 1)


def _programs(pod: _Object, name: str, scheduler: str, replicas: int) -> Iterator[ExtenderProgram]:
    containers = pod.get("containers") or []
    beside = any(_is_scheduler(each) for each in containers)
    for words in map(_words, containers):
        options = _options(words)
        if "extender" in words and any("numalet" in str(each.get("image")) for each in containers):
            yield ExtenderProgram(
                name=name,
                listens=options.get("--listen", "127.0.0.1:8888"),
                timeout_seconds=_seconds(options.get("--timeout", "")),
                scheduler=scheduler,
                replicas=replicas,
                has_lease="--lease" in options,
                beside_scheduler=beside,
            )


def _without_configuration(pod: _Object) -> Iterator[str]:
    """Yield the pod if it has an extender and its scheduler starts without a configuration."""
    if not [*_programs(pod["spec"], "", "", 1)]:
        return
    for each in pod["spec"]["containers"]:
        if _is_scheduler(each) and "--config" not in _options(_words(each)):
            yield _pod_name(pod)


def _is_static(pod: _Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    return any(each.get("kind") == "Node" for each in owners)


def _is_scheduler(container: _Object) -> bool:
    words = _words(container)
    return bool(words) and words[0].rpartition("/")[2] == "kube-scheduler"


def _words(container: _Object) -> list[str]:
    return [*(container.get("command") or []), *(container.get("args") or [])]


def _options(words: Iterable[str]) -> Mapping[str, str]:
    options: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, _, options[word.partition("=")[0]] = word.partition("=")
        elif name:
            options[name] = options[name] or word
            name = ""
    return options


def _seconds(text: str) -> float:
    try:
        return go_text.parse_duration_ns(text) / go_text.SECOND_NS
    except DurationError:
        return DEFAULT_TIMEOUT_SECONDS


def _pod_name(pod: _Object) -> str:
    return f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"


# Objects with an end time.


def _traps(nodes: Iterable[_Object]) -> Iterator[tuple[str, float]]:
    for node in nodes:
        for each in (node.get("spec") or {}).get("taints") or []:
            mark = patches.trap_mark(each.get("value") or "")
            if each.get("key") == TAINT_KEY and mark is not None:
                yield node["metadata"]["name"], mark.until_seconds


def _leases(given: Iterable[_Object]) -> Iterator[LeaseFacts]:
    for each in given:
        spec, meta = each.get("spec") or {}, each["metadata"]
        if renewed := spec.get("renewTime"):
            yield LeaseFacts(
                namespace=meta["namespace"],
                name=meta["name"],
                holder=spec.get("holderIdentity") or "",
                renewed_seconds=datetime.fromisoformat(renewed).timestamp(),
                duration_seconds=spec.get("leaseDurationSeconds") or 0,
            )


async def objects(api: ApiClient, path: str) -> tuple[_Object, ...]:
    """Return the items of the collection; empty if it is missing or forbidden."""
    try:
        return tuple((await listed(api, ApiCollection(path), msgspec.json.decode)).items.values())
    except ApiRefused as refused:
        if refused.status.is_forbidden or refused.status.is_absent:
            return ()
        raise
