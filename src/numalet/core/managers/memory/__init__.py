"""The Memory Manager: guaranteed memory and huge pages on as few NUMA nodes as possible.

*Node map.* For every NUMA node and every memory type (``memory``, ``hugepages-<size>``) a
table: total, kept back for the system, allocatable, reserved, free (``tables``). The ledger is
the node map, plus the blocks that each container got, plus what the containers of one pod may
use again (``ledger``).

*Groups.* A request that exceeds every single node takes several, and these become a group:
from then on they are used together or not at all, until the last assignment on them is gone.
A node that holds an assignment of its own never joins a group. Inside a group memory is filled
and released from the lowest node, so the sums of a group are true and the figures of its single
nodes need not be.

*Hints.* A set of nodes is offered if all requested types fit in by what is allocatable and by
what is free, and the groups allow it. Preferred are the sets as small as the smallest that
could hold the request on an empty machine (``hints``).

*Affinity to blocks.* The merged hint may be "any node", or too small because another resource
cut it down. Then the manager searches for the best set itself (``affinity``), takes the memory
from the lowest node upwards and notes a block (``allocation``).

*Reuse.* An init container ends before the next container starts, so later containers of the
pod may have its memory again, if they use exactly the same nodes (``init_reuse``).

*Restart.* The ledger comes back from the state file and is compared with what the machine and
the blocks say it should be (``validation``).

All sizes are bytes in unsigned 64 bits that wrap around, as the kubelet's do.
Deliberately absent: files, the container runtime, what containers really use.
Kubelet: ``pkg/kubelet/cm/memorymanager``, v1.32.
"""
