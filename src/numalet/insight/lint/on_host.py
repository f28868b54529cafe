"""Rules about the host besides its NUMA nodes: the checks of a starting kubelet.

Most facts are known only on a live machine; ``skipped_checks`` names those that are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import OperatingSystem
from numalet.insight.lint.lint_finding import LintFinding, LintWarning
from numalet.insight.lint.subject import LintSubject


class LintSwapIsOn(LintWarning):
    sentence = "this host swaps to {areas}, and failSwapOn is true"
    why = "The kubelet does not start with swap unless failSwapOn is false."
    fix = "swapoff -a, or set failSwapOn to false"
    areas: str


class LintCgroupV1(LintWarning):
    sentence = "this host has cgroup v1"
    why = "The kubelet starts, and warns: from v1.35 on it does so only if failCgroupV1 is false."
    fix = "boot with systemd.unified_cgroup_hierarchy=1"


class LintCgroupV1Refused(LintFinding):
    sentence = "this host has cgroup v1, and failCgroupV1 is true{by_default}"
    why = "Then the kubelet does not start with cgroup v1; since v1.35 that is the default."
    fix = "boot with systemd.unified_cgroup_hierarchy=1, or set failCgroupV1 to false"
    kubelet_text = "kubelet is configured to not run on a host using cgroup v1. {future}"
    by_default: str
    future: str


class LintNoContainerRuntime(LintWarning):
    sentence = "no container runtime listens at {endpoint}"
    why = "The kubelet does not start before it reaches its runtime."
    fix = "start the container runtime, or set containerRuntimeEndpoint"
    endpoint: str


class LintSoftEvictionWithoutGracePeriod(LintFinding):
    sentence = "evictionSoft has a threshold for {signal}, and evictionSoftGracePeriod does not"
    why = "The kubelet does not start with a soft threshold that has no grace period."
    fix = "set evictionSoftGracePeriod.{signal}"
    signal: str


STOPPING: Final = frozenset(
    each.code for each in (LintSwapIsOn, LintCgroupV1Refused, LintSoftEvictionWithoutGracePeriod)
)
"""The kubelet does not start with these, whatever its resource managers say."""

_IN_MAINTENANCE: Final = "cgroup v1 support is in maintenance mode"
_UNSUPPORTED: Final = "cgroup v1 support is unsupported and will be removed in a future release"
SWAP: Final = "swap"
CGROUPS: Final = "cgroup-version"
RUNTIME: Final = "container-runtime"
SOFT_EVICTION: Final = "soft-eviction"


def swap_is_on(subject: LintSubject) -> Iterator[Finding]:
    """Kubelet v1.32: ``NewContainerManager``."""
    areas = subject.host.swap_areas
    if areas and subject.config.fail_swap_on:
        where = subject.config.where("failSwapOn")
        yield LintSwapIsOn(areas=", ".join(areas), where=where)


def cgroups_are_old(subject: LintSubject) -> Iterator[Finding]:
    """Kubelet v1.35: ``run`` in ``cmd/kubelet/app``."""
    if subject.host.cgroup_version != 1:
        return
    is_default = subject.release_rules.cgroup_v1_is_refused_unless_allowed
    refuses = subject.config.fail_cgroup_v1
    # Before v1.35 an unset field means false.
    if is_default if refuses is None else refuses:
        yield LintCgroupV1Refused(
            by_default=" by default" if refuses is None else "",
            future=_UNSUPPORTED if is_default else _IN_MAINTENANCE,
            where=subject.config.where("failCgroupV1"),
        )
    else:
        yield LintCgroupV1()


def runtime_is_missing(subject: LintSubject) -> Iterator[Finding]:
    if subject.host.has_runtime is False:
        where = subject.config.where("containerRuntimeEndpoint")
        yield LintNoContainerRuntime(
            endpoint=subject.config.container_runtime_endpoint, where=where
        )


def soft_eviction_without_grace_period(subject: LintSubject) -> Iterator[Finding]:
    """Kubelet v1.32: ``eviction.ParseThresholdConfig``."""
    for signal in sorted(subject.config.eviction_soft):
        if signal not in subject.config.eviction_soft_grace_period:
            where = subject.config.where(f"evictionSoft.{signal}")
            yield LintSoftEvictionWithoutGracePeriod(signal=signal, where=where)


def skipped_checks(subject: LintSubject) -> tuple[str, ...]:
    """Return the kubelet's start checks that were skipped."""
    host = subject.host
    is_linux = subject.machine.os is OperatingSystem.LINUX
    unknown = {
        SWAP: is_linux and subject.config.fail_swap_on and host.swap_areas is None,
        CGROUPS: is_linux and host.cgroup_version is None,
        RUNTIME: host.has_runtime is None,
        # Only the grace periods are checked; the thresholds themselves are not parsed.
        SOFT_EVICTION: bool(subject.config.eviction_soft),
    }
    return tuple(name for name, is_unknown in unknown.items() if is_unknown)
