"""The specification of a pod's programs and of their restarts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

from numalet.core.model import resources
from numalet.core.model.pod import ContainerKind, Pod, QosClass
from numalet.core.model.value import Meta, Value, replace

Count: TypeAlias = Annotated[int, Meta(ge=0)]


class RestartPolicy(Enum):
    """Whether an app container restarts after it ended."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"


class WorkloadSource(Enum):
    API = "api"
    FILE = "file"
    """A file in the manifest folder: a static pod."""
    RUN = "run"
    """One command in the foreground; the pod ends with it."""


class ContainerSpec(Value, kw_only=True):
    """One program: its command line, environment and user.

    The command line is ``command`` followed by ``args``; ``env`` keeps the order of the manifest.
    ``run_as_user`` and ``run_as_group`` are ids; None means those of the agent. ``image`` is only
    displayed.
    """

    name: str
    kind: ContainerKind = ContainerKind.APP
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    working_dir: str = ""
    run_as_user: Count | None = None
    run_as_group: Count | None = None


class Runner(Value):
    """The foreground process that starts and accompanies a pod's only program itself.

    ``ticks`` since the boot, and ``boot``, distinguish it from a later process with the same id.
    """

    pid: Annotated[int, Meta(gt=0)]
    ticks: Count
    boot: str = ""


class Workload(Value, kw_only=True, dict=True):
    """A pod with everything that is needed to run it.

    ``containers`` are in the order of ``pod.containers()``. ``manifest`` is the original Pod object
    with Kubernetes' defaults and without a status; the API shows it. ``origin`` is the path of the
    manifest's file, or empty. Only a foreground command has a ``runner``.
    """

    pod: Pod
    containers: tuple[ContainerSpec, ...]
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS
    grace_period_seconds: Count = 30
    priority_class: str = ""
    source: WorkloadSource = WorkloadSource.API
    origin: str = ""
    manifest: Mapping[str, Any] = MappingProxyType({})
    runner: Runner | None = None

    @property
    def uid(self) -> str:
        return self.pod.uid

    def container(self, name: str) -> ContainerSpec:
        """Return the program of a container. Raises ``KeyError`` for an unknown name."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> Mapping[str, ContainerSpec]:
        return {spec.name: spec for spec in self.containers}


def of_command(workload: Workload, runner: Runner | None = None) -> Workload:
    """Return the workload of a foreground command, which has one container.

    It gets exclusive CPUs even without a memory size, unlike a pod of a kubelet.
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
