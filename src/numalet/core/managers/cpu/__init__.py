"""The CPU Manager: exclusive CPUs for some containers, a shared pool for all others.

*Shared pool.* Every container without exclusive CPUs runs on the default set. The pool begins as
all CPUs of the machine, without the CPUs that containers hold exclusively (``ledger``).

*Exclusive CPUs.* Containers of Guaranteed pods that request a whole number of CPUs get them. An
app container that requests ``1500m`` in the same pod stays in the pool (``demand``).

*Reserved CPUs.* Some CPUs are reserved for the system. They are part of the pool, but no
container gets them exclusively; with strict-cpu-reservation the pool lacks them too (``reserved``).

*Hints.* The manager offers any set of NUMA nodes with enough free CPUs. It prefers the sets of the
smallest size that could hold the request on an empty machine (``hints``).

*Picking.* First from the CPUs of the affinity, then from anywhere (``picking``). Two ways:

- packed: whole NUMA nodes and sockets, then whole cores, then single CPUs, always from the part
  with the fewest free CPUs, so that the free CPUs stay in large pieces (``take_packed``; whole
  caches in between, ``take_aligned``; free CPUs per core, ``free_cores``);
- distributed: the same number on each of the fewest possible NUMA nodes, such that the free CPUs
  afterwards are as balanced as possible (``take_distributed``).

The kubelet's bugs in these algorithms (overwritten winners, an infinite loop) have separate modules
(``combination_storage``, ``balance``).

*Reuse.* An init container ends before the next container starts, so the pod's later containers
may take its CPUs; its record stays until the pod ends (``ledger.ReusableCpus``).

*Restart.* The state file restores the pool and the records. Together they must equal the machine's
CPUs (``validation``).

Inside this room, a set of CPUs is an integer with a bit per CPU (``cpu_mask``); in its interfaces
it is a ``CpuSet``. Policy none is ``core.hints.no_policy`` over an empty ledger. Deliberately
absent: cgroups, quotas, the periodic reconciliation, metrics.

Kubelet: ``pkg/kubelet/cm/cpumanager``, v1.32.
"""
