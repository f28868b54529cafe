"""Pods that request their CPUs as a whole, from the manager itself."""

from __future__ import annotations

from numalet.core.admission import counting
from numalet.core.hints.provider import Hint, Refused
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.pod_pool import CpuPodPools
from numalet.core.managers.cpu.reasons import TooFewCpus
from values import cpu_builders, whole_pods


def test_a_whole_pod_is_refused_if_too_few_cpus_are_free() -> None:
    pools = CpuPodPools(cpu_builders.policy(cpu_builders.shape(1, 1, 4, 1)), are_placed_anew=True)
    asked = whole_pods.pod("u", whole_pods.asked("3", "1Gi"), {"c0": None})
    whole = counting.counted(asked, whole_pods.node().rules.release_rules)
    # CPU 0 is reserved: two CPUs come from the affinity, and no CPU is left for the third.
    free = CpuLedger(cpu_builders.cpus("0-2"))

    assert pools.allocate(free, whole, Hint(1, True)) == Refused(TooFewCpus(1, 0))
