"""The CPU Manager: exclusive CPUs for some containers, a shared pool for all others.

``demand`` says who gets exclusive CPUs, ``hints`` which NUMA nodes, ``picking`` which CPUs,
``ledger`` who has them. Two kubelet bugs have modules of their own: an overwritten winner
(``combination_storage``) and an infinite loop (``balance``). See docs/explanation/cpu-manager.md.

A set of CPUs is an integer with a bit per CPU inside this package (``cpu_mask``) and a ``CpuSet``
at its interfaces. Policy none is ``core.hints.no_policy``. Deliberately absent: cgroups, quotas,
the periodic reconciliation, metrics. Kubelet: ``pkg/kubelet/cm/cpumanager``, v1.32.
"""
