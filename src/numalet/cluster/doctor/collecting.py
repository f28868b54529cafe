"""Read the facts for ``rules`` from an API server, without changes; continue after a refusal."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from numalet.cluster.doctor import other_schedulers, scheduler_collecting
from numalet.cluster.doctor.facts import (
    ACCOUNTS,
    NAMESPACE,
    NUMALET,
    READER,
    TOPOLOGY,
    ClockReading,
    ClusterFacts,
    ClusterNodeFacts,
    NumaNodeFacts,
    Permission,
    ZoneOwners,
    contradictions,
)
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api import paths
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import ApiCollection, Decode, listed
from numalet.io.tasks import together
from numalet.shared.kubernetes import node_resource_topology

T = TypeVar("T")

_REVIEWS: Final = "/apis/authorization.k8s.io/v1"
_MANAGER: Final = "numalet"
_HEADER_STEP_SECONDS: Final = 1.0
"""The date header of the answer has whole seconds."""


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


class _GroupVersion(msgspec.Struct, rename="camel"):
    group_version: str = ""


class _Group(msgspec.Struct):
    versions: list[_GroupVersion] = []


class _Resource(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Allowed = msgspec.field(default_factory=_Allowed)


class _ManagedFields(msgspec.Struct, rename="camel"):
    manager: str = ""
    time: datetime | None = None
    fields_v1: dict[str, Any] = msgspec.field(default_factory=dict, name="fieldsV1")


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    managed_fields: list[_ManagedFields] = []


class _NodeInfo(msgspec.Struct, rename="camel"):
    kubelet_version: str = ""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _NodeStatus(msgspec.Struct, rename="camel"):
    node_info: _NodeInfo = msgspec.field(default_factory=_NodeInfo)
    conditions: list[_Condition] = []


class _Node(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _NumaNodeSpec(msgspec.Struct):
    class_name: str = msgspec.field(default="", name="class")
    published: datetime | None = None


class _NumaNode(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _NumaNodeSpec = msgspec.field(default_factory=_NumaNodeSpec)


class _Named(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


_node_decoder: Final = msgspec.json.Decoder(_Node)
_numa_node_decoder: Final = msgspec.json.Decoder(_NumaNode)
_named_decoder: Final = msgspec.json.Decoder(_Named)


async def collected(api: ApiClient, scheduler_files: Iterable[Path] = ()) -> ClusterFacts:
    """Return all facts that the API server gives to this user, and the content of these files.

    Raises:
        BadInput: a file contains no KubeSchedulerConfiguration.
        ApiRefused: even the version is refused: the credentials are unknown.
        ApiUnreachable: the API server does not answer.
    """
    version, clock = await _version(api)
    served = await _served(api)
    async with together() as group:
        may_not = group.create_task(_may_not(api))
        accounts = group.create_task(_accounts(api))
    async with together() as group:
        nodes = group.create_task(_items(api, paths.NODES, _node))
        numa_nodes = group.create_task(_items(api, numa_node.PATH, _numa_node))
        named = group.create_task(_items(api, numa_node_class.PATH, _name))
        topologies = group.create_task(_items(api, node_resource_topology.PATH, _topology))
    classes = named.result()
    scheduling = await scheduler_collecting.collected(api, scheduler_files)
    return ClusterFacts(
        server=api.access.server,
        version=version,
        clock=clock,
        served=served,
        may_not=may_not.result(),
        accounts=accounts.result(),
        nodes=nodes.result(),
        numa_nodes=numa_nodes.result(),
        class_names=None if classes is None else frozenset(classes),
        topologies=topologies.result(),
        contradictions=await contradictions(api),
        scheduling=scheduling,
        others=await other_schedulers.collected(api, scheduling.configurations),
    )


async def _version(api: ApiClient) -> tuple[str, ClockReading | None]:
    before = time.time()
    content, date = await api.get_dated("/version")
    after = time.time()
    clock = None
    if date is not None:
        # The header truncates the time by half a second on average.
        clock = ClockReading(
            server_seconds=date.timestamp() + _HEADER_STEP_SECONDS / 2,
            own_seconds=(before + after) / 2,
            error_seconds=_HEADER_STEP_SECONDS / 2 + (after - before) / 2,
        )
    return msgspec.json.decode(content, type=_Version).git_version, clock


async def _served(api: ApiClient) -> Mapping[str, frozenset[str]]:
    served: dict[str, frozenset[str]] = {}
    for group in (NUMALET, TOPOLOGY):
        content = await _if_there(api, f"/apis/{group}")
        versions = msgspec.json.decode(content, type=_Group).versions if content else []
        for each in versions:
            content = await _if_there(api, f"/apis/{each.group_version}")
            known = msgspec.json.decode(content, type=_Resources).resources if content else []
            served[each.group_version] = frozenset(one.name for one in known)
    return served


async def _if_there(api: ApiClient, path: str) -> bytes | None:
    try:
        return await api.get(path)
    except ApiRefused as refused:
        if refused.status.is_forbidden or refused.status.is_absent:
            return None
        raise


async def _may_not(api: ApiClient) -> frozenset[Permission]:
    async def refused(permission: Permission) -> bool:
        body = {"spec": {"resourceAttributes": _attributes(permission)}}
        return not await _is_allowed(api, "selfsubjectaccessreviews", body)

    return await _those(READER, refused)


async def _accounts(api: ApiClient) -> Mapping[str, frozenset[Permission]] | None:
    """Return missing permissions of the manifests' accounts, if this user may query them."""
    lacking: dict[str, frozenset[Permission]] = {}
    for account, needed in ACCOUNTS.items():

        async def refused(permission: Permission, account: str = account) -> bool:
            spec = {
                "user": f"system:serviceaccount:{NAMESPACE}:{account}",
                "groups": [
                    "system:serviceaccounts",
                    f"system:serviceaccounts:{NAMESPACE}",
                    "system:authenticated",
                ],
                "resourceAttributes": _attributes(permission),
            }
            return not await _is_allowed(api, "subjectaccessreviews", {"spec": spec})

        try:
            lacking[account] = await _those(needed, refused)
        except ApiRefused as answer:
            if not answer.status.is_forbidden:
                raise
            return None
    return lacking


async def _those(permissions: frozenset[Permission], refused: Any) -> frozenset[Permission]:
    async with together() as group:
        asked = {each: group.create_task(refused(each)) for each in permissions}
    return frozenset(each for each, answer in asked.items() if answer.result())


def _attributes(permission: Permission) -> Mapping[str, str]:
    return {
        "group": permission.group,
        "resource": permission.resource,
        "verb": permission.verb,
    }


async def _is_allowed(api: ApiClient, reviews: str, body: Mapping[str, Any]) -> bool:
    content = await api.create(f"{_REVIEWS}/{reviews}", body)
    return msgspec.json.decode(content, type=_Review).status.allowed


async def _items(api: ApiClient, path: str, decode: Decode[T]) -> tuple[T, ...] | None:
    try:
        return tuple((await listed(api, ApiCollection(path), decode)).items.values())
    except ApiRefused as refused:
        if refused.status.is_forbidden or refused.status.is_absent:
            return None
        raise


def _node(content: bytes) -> ClusterNodeFacts:
    node = _node_decoder.decode(content)
    return ClusterNodeFacts(
        name=node.metadata.name,
        kubelet_version=node.status.node_info.kubelet_version,
        is_ready=any(
            each.type == "Ready" and each.status == "True" for each in node.status.conditions
        ),
    )


def _numa_node(content: bytes) -> NumaNodeFacts:
    read = _numa_node_decoder.decode(content)
    written = [
        each.time.timestamp()
        for each in read.metadata.managed_fields
        if each.manager.startswith(_MANAGER) and each.time is not None
    ]
    published = read.spec.published
    return NumaNodeFacts(
        name=read.metadata.name,
        class_name=read.spec.class_name,
        published_seconds=None if published is None else published.timestamp(),
        written_seconds=max(written, default=None),
    )


def _name(content: bytes) -> str:
    return _named_decoder.decode(content).metadata.name


def _topology(content: bytes) -> ZoneOwners:
    meta = _named_decoder.decode(content).metadata
    owners = (each.manager for each in meta.managed_fields if "f:zones" in each.fields_v1)
    return ZoneOwners(name=meta.name, zone_managers=frozenset(owners))
