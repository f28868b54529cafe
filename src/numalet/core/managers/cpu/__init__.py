"""The CPU Manager: exclusive CPUs for some containers, a shared pool for all others.

``static_policy`` decides who gets exclusive CPUs, ``hints`` on which NUMA nodes, ``picking`` which
CPUs; ``ledger`` records them. ``take_distributed`` has two kubelet bugs: an overwritten winner and
an infinite loop. See docs/explanation/cpu-manager.md.

A set of CPUs is an integer with a bit per CPU inside this package (``cpu_mask``) and a ``CpuSet``
at its interfaces. Policy none is ``core.hints.provider.Indifferent``. Deliberately absent: cgroups,
quotas, the periodic reconciliation, metrics. Kubelet: ``pkg/kubelet/cm/cpumanager``, v1.32.
"""
