"""Rules about the host beside its NUMA nodes: what a kubelet looks at when it starts.

Most of it is known on a live machine only. What was not looked at is said beside the answer
whether a kubelet would start (``not_looked_at``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.model.findings import Finding, Severity
from numalet.core.model.machine_info import OperatingSystem
from numalet.insight.lint.subject import LintSubject

SWAP: Final = "swap"
CGROUPS: Final = "cgroup-version"
RUNTIME: Final = "container-runtime"
SOFT_EVICTION: Final = "soft-eviction"


def swap_is_on(subject: LintSubject) -> Iterator[Finding]:
    """The kubelet does not start beside swap unless it is told to.

    Kubelet v1.32: ``NewContainerManager``.
    """
    areas = subject.host.swap_areas
    if areas and subject.config.fail_swap_on:
        where = subject.config.where("failSwapOn")
        fields = {"areas": ", ".join(areas)}
        yield Finding("lint/swap-is-on", fields, where, Severity.WARNING)


def cgroups_are_old(subject: LintSubject) -> Iterator[Finding]:
    """With cgroup v1 a kubelet v1.32 starts, and warns."""
    if subject.host.cgroup_version == 1:
        yield Finding("lint/cgroup-v1", {}, severity=Severity.WARNING)


def runtime_is_missing(subject: LintSubject) -> Iterator[Finding]:
    """Nothing listens where the kubelet expects the container runtime."""
    if subject.host.has_runtime is False:
        where = subject.config.where("containerRuntimeEndpoint")
        fields = {"endpoint": subject.config.container_runtime_endpoint}
        yield Finding("lint/no-container-runtime", fields, where, Severity.WARNING)


def soft_eviction_without_grace_period(subject: LintSubject) -> Iterator[Finding]:
    """The kubelet does not start with such a threshold.

    Kubelet v1.32: ``eviction.ParseThresholdConfig``.
    """
    for signal in sorted(subject.config.eviction_soft):
        if signal not in subject.config.eviction_soft_grace_period:
            where = subject.config.where(f"evictionSoft.{signal}")
            yield Finding("lint/soft-eviction-without-grace-period", {"signal": signal}, where)


def not_looked_at(subject: LintSubject) -> tuple[str, ...]:
    """What keeps a kubelet from starting, too, and was not looked at here."""
    host = subject.host
    is_linux = subject.machine.os is OperatingSystem.LINUX
    unknown = {
        SWAP: is_linux and subject.config.fail_swap_on and host.swap_areas is None,
        CGROUPS: is_linux and host.cgroup_version is None,
        RUNTIME: host.has_runtime is None,
        SOFT_EVICTION: bool(subject.config.eviction_soft),
    }
    return tuple(name for name, is_unknown in unknown.items() if is_unknown)
