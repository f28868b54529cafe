"""Pods and containers as a runtime reports them, and the pods that the engine decides on.

A runtime reports neither requests nor the pod's other containers. With the Pod object from the
cluster the engine decides on the whole pod. Without it, the engine decides on each container as on
a pod of its own: Guaranteed by its cgroup, requests from CPU shares and limits. Pod scope and the
reuse of init containers' resources need the Pod object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from google.protobuf.message import Message

from numalet.agent.nri import pod_annotations
from numalet.agent.nri.pod_annotations import (
    NO_CHOICE,
    NOTHING_PERMITTED,
    Permissions,
    Placement,
    PodChoice,
)
from numalet.core.managers.cpu.confinement import Confined
from numalet.core.managers.memory.ledger import Blocks
from numalet.core.model import cpu_set, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.io.rpc import nri_v1alpha1_pb2 as nri

RECORD: Final = "numalet.dev/allocation"
"""Annotation that the plugin adds to a container: what it allocated, for the next plugin."""

_MIRROR_OF: Final = "kubernetes.io/config.hash"
_SHARES_PER_CPU: Final = 1024
_FEWEST_SHARES: Final = 2
_OOM_SCORES: Final = {-997: QosClass.GUARANTEED, 1000: QosClass.BEST_EFFORT}
_PAGE_SIZES: Final = {"KB": 1, "MB": 1 << 10, "GB": 1 << 20}


class Sets(Value):
    """CPUs and NUMA nodes of a container; an empty set leaves them as they are."""

    cpus: CpuSet = cpu_set.EMPTY
    nodes: frozenset[int] = frozenset()

    @property
    def is_empty(self) -> bool:
        return not (self.cpus or self.nodes)


class Record(Value):
    """The content of ``RECORD``. ``pod_uid`` is the engine's, ``confined`` its pod's place."""

    pod_uid: str
    cpus: str
    memory: Blocks
    confined: Confined | None = None


class SeenPod(Value):
    """``qos_class`` is that of its cgroup; None if the cgroup does not show it.

    ``has_process`` is whether its sandbox runs. Some runtimes run none where a pod needs none.
    """

    sandbox_id: str
    uid: str
    namespace: str
    name: str
    choice: PodChoice = NO_CHOICE
    qos_class: QosClass | None = None
    has_process: bool = False

    @property
    def is_ignored(self) -> bool:
        return self.choice.placement is Placement.IGNORE

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class SeenContainer(Value):
    """A container of a runtime. ``in_force`` are its present settings, ``pid`` 0 if unknown."""

    id: str
    name: str
    pod: SeenPod
    alone: Pod
    """The container as a pod of its own."""
    in_force: Sets = Sets()
    record: Record | None = None
    pid: int = 0


def pod(message: nri.PodSandbox, permissions: Permissions = NOTHING_PERMITTED) -> SeenPod:
    names = message.namespace, message.name
    return SeenPod(
        sandbox_id=message.id,
        # The API server has another uid for a static pod; its annotation has the file's.
        uid=message.uid,
        namespace=message.namespace,
        name=message.name,
        choice=pod_annotations.choice_of(message.annotations, *names, permissions),
        qos_class=_qos_class(message.linux.cgroup_parent),
        has_process=message.pid > 0,
    )


def uid_in_runtime(uid: str, of_pod: Mapping[str, str]) -> str:
    """Return the uid by which the runtime knows a Pod object: that of its file if it is static."""
    return of_pod.get(_MIRROR_OF, uid)


def container(
    message: nri.Container,
    sandbox: nri.PodSandbox,
    permissions: Permissions = NOTHING_PERMITTED,
) -> SeenContainer:
    of = pod(sandbox, permissions)
    return SeenContainer(
        id=message.id,
        name=message.name,
        pod=of,
        alone=_alone(message, of),
        in_force=sets(message.linux.resources),
        record=_record(message.annotations.get(RECORD, "")),
        pid=message.pid,
    )


def sets(message: nri.LinuxResources) -> Sets:
    """Return the sets in force; a malformed list counts as unset."""
    return Sets(_numbers(message.cpu.cpus), _numbers(message.cpu.mems))


def resources_of(sets: Sets) -> nri.LinuxResources:
    return nri.LinuxResources(
        cpu=nri.LinuxCPU(cpus=cpu_set.text(sets.cpus), mems=cpu_set.text(sets.nodes))
    )


def record_text(record: Record) -> str:
    return msgspec.json.encode(record).decode()


def _record(text: str) -> Record | None:
    try:
        return msgspec.json.decode(text, type=Record) if text else None
    except msgspec.MsgspecError:
        # Anybody may write annotations in an image or a pod.
        return None


def _numbers(text: str) -> CpuSet:
    try:
        return cpu_set.parse(text)
    except cpu_set.CpuListError:
        return cpu_set.EMPTY


def _alone(message: nri.Container, of: SeenPod) -> Pod:
    by_score = _OOM_SCORES.get(message.linux.oom_score_adj.value, QosClass.BURSTABLE)
    qos = of.qos_class or by_score
    asked, limits = message.linux.resources, _sizes(message.linux.resources)
    requests = limits if qos is QosClass.GUARANTEED else {}
    by_shares, by_quota = _milli_of_shares(asked.cpu), _milli_of_quota(asked.cpu)
    if qos is QosClass.GUARANTEED:
        # The quota is exact, but a kubelet may set none.
        by_quota = by_quota or by_shares
    elif by_shares:
        requests = {resources.CPU: Quantity.from_milli(by_shares)}
    if by_quota:
        limits[resources.CPU] = Quantity.from_milli(by_quota)
    return Pod(
        uid=f"{of.uid}/{message.name}",
        name=of.name,
        namespace=of.namespace,
        app_containers=(Container(message.name, requests=requests, limits=limits),),
        qos_class=qos,
    )


def _qos_class(cgroup_parent: str) -> QosClass | None:
    if "kubepods" not in cgroup_parent:
        return None
    for qos in (QosClass.BURSTABLE, QosClass.BEST_EFFORT):
        if qos.value.lower() in cgroup_parent:
            return qos
    return QosClass.GUARANTEED


def _sizes(message: nri.LinuxResources) -> dict[str, Quantity]:
    """Return the limits of memory and huge pages."""
    sizes = {}
    if message.memory.limit.value > 0:
        sizes[resources.MEMORY] = Quantity.from_bytes(message.memory.limit.value)
    for each in message.hugepage_limits:
        unit = _PAGE_SIZES.get(each.page_size[-2:])
        if each.limit and unit and each.page_size[:-2].isdecimal():
            name = resources.hugepages_name(int(each.page_size[:-2]) * unit)
            sizes[name] = Quantity.from_bytes(each.limit)
    return sizes


def _milli_of_quota(message: nri.LinuxCPU) -> int:
    """Return the CPU limit in thousandths; 0 without a limit."""
    if message.quota.value > 0 and message.period.value:
        return message.quota.value * 1000 // message.period.value
    return 0


def _milli_of_shares(message: nri.LinuxCPU) -> int:
    """Return the CPU request in thousandths.

    The kubelet rounds shares down, so rounding up gives the request again.
    """
    shares = message.shares.value
    return -(-shares * 1000 // _SHARES_PER_CPU) if shares > _FEWEST_SHARES else 0


class Parts:
    """Collects the parts of a Synchronize request, and answers the last one."""

    def __init__(
        self,
        permissions: Permissions,
        handle: Callable[[list[SeenPod], list[SeenContainer]], Message],
    ) -> None:
        self._permissions = permissions
        self._handle = handle
        self._pods: list[nri.PodSandbox] = []
        self._containers: list[nri.Container] = []

    def __call__(self, request: nri.SynchronizeRequest) -> Message:
        self._pods += request.pods
        self._containers += request.containers
        if request.more:
            return nri.SynchronizeResponse(more=True)
        pods, found = self._pods, self._containers
        self._pods, self._containers = [], []
        by_id = {each.id: each for each in pods}
        ordered = sorted(found, key=lambda each: (each.created_at, each.id))
        containers = [
            container(each, by_id[each.pod_sandbox_id], self._permissions)
            for each in ordered
            if each.pod_sandbox_id in by_id
        ]
        return self._handle([pod(each, self._permissions) for each in pods], containers)
