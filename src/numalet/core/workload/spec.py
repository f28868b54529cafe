"""What is to run: the programs of a pod and the rules by which they are started again."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Any

from numalet.core.model import resources
from numalet.core.model.pod import ContainerKind, Pod, QosClass
from numalet.core.model.value import Value, replace


class RestartPolicy(Enum):
    """Whether an app container is started again after it ended."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class WorkloadSource(Enum):
    """Who wants the pod to run."""

    API = "api"
    FILE = "file"
    """A file in the manifest folder: a static pod in the kubelet's words."""
    RUN = "run"
    """One command in the foreground; the pod ends with it."""


class ContainerSpec(Value, kw_only=True):
    """One program: its words, its surroundings, and as whom it runs.

    ``command`` and ``args`` are put one after the other; ``env`` keeps the order of the
    manifest. ``run_as_user`` and ``run_as_group`` are ids; None means those of the agent.
    ``image`` is shown and otherwise ignored.
    """

    name: str
    kind: ContainerKind = ContainerKind.APP
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    working_dir: str = ""
    run_as_user: int | None = None
    run_as_group: int | None = None


class Runner(Value):
    """The process that starts and accompanies a pod's only program itself, in the foreground.

    ``ticks`` since the boot, and ``boot``, distinguish it from a later process with the same id.
    """

    pid: int
    ticks: int
    boot: str = ""


class Workload(Value, kw_only=True, dict=True):
    """A pod with everything that is needed to run it.

    ``containers`` are in the order of ``pod.containers()``. ``manifest`` is the Pod object as it
    was given, with Kubernetes' defaults filled in and without a status; the API shows it.
    ``origin`` is the path of the manifest's file, or empty. ``runner`` is there for a command in
    the foreground alone.
    """

    pod: Pod
    containers: tuple[ContainerSpec, ...]
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS
    grace_period_seconds: int = 30
    priority_class: str = ""
    source: WorkloadSource = WorkloadSource.API
    origin: str = ""
    manifest: Mapping[str, Any] = MappingProxyType({})
    runner: Runner | None = None

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.pod.uid

    def container(self, name: str) -> ContainerSpec:
        """The program of the container of this name. Raises ``KeyError`` without one."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> Mapping[str, ContainerSpec]:
        return {spec.name: spec for spec in self.containers}


def of_command(workload: Workload, runner: Runner | None = None) -> Workload:
    """The workload of a command in the foreground, which has one container.

    It has CPUs of its own also if it asks for no size of memory; a pod of a kubelet's would get
    none without.
    """
    pod = workload.pod
    (container,) = pod.containers()
    asked = container.requests
    is_without_size = resources.CPU in asked and resources.MEMORY not in asked
    if is_without_size and asked == container.limits:
        pod = replace(pod, qos_class=QosClass.GUARANTEED)
    return replace(
        workload,
        pod=pod,
        source=WorkloadSource.RUN,
        restart_policy=RestartPolicy.NEVER,
        runner=runner,
    )
