"""The CPU Manager: whole CPUs for containers that ask for them, a shared pool for the others.

*Shared pool.* Every container without CPUs of its own runs on the default set. It begins as all
CPUs of the machine and shrinks and grows by what containers hold exclusively (``ledger``).

*Who gets exclusive CPUs.* Containers of Guaranteed pods that ask for a whole number of CPUs; an
app container may stand beside one that asks for ``1500m`` and stays in the pool (``demand``).

*Reserved CPUs.* Some CPUs are kept for the system. They are part of the pool, but are never
given away; with strict-cpu-reservation they are not even part of the pool (``reserved``).

*Hints.* Any set of NUMA nodes with enough free CPUs is offered; preferred are the sets as small
as the smallest that has so many CPUs at all (``hints``).

*Picking.* First from the CPUs of the affinity, then from anywhere (``picking``). Two ways:

- packed: whole NUMA nodes and sockets, then whole cores, then single CPUs, always where the
  least is free, so that what is free stays in large pieces (``take_packed``; on the way whole
  caches, ``take_aligned``; which cores have how many free CPUs, ``free_cores``);
- distributed: the same number on each of the fewest NUMA nodes that can do it, such that what
  is left is as even as possible (``take_distributed``).

The kubelet's accidents on the way (winners overwritten in memory, a loop without an end) have
places of their own (``combination_storage``, ``balance``).

*Reuse.* An init container ends before the next container starts, so the pod's later containers
may take its CPUs; its record stays until the pod goes (``ledger.Reusable``).

*Restart.* The pool and the records come back from the state file and must make up exactly the
machine (``validation``).

Inside, a set of CPUs is an integer with a bit per CPU (``cpu_mask``); at the edges of the room
it is a ``CpuSet``. Policy none is ``core.hints.no_policy`` over an empty ledger.
Deliberately absent: cgroups, quotas, the periodic reconciliation, metrics.
Kubelet: ``pkg/kubelet/cm/cpumanager``, v1.32.
"""
