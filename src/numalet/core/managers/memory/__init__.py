"""The Memory Manager: guaranteed memory and huge pages on as few NUMA nodes as possible.

*Node map.* Each NUMA node has one table for every memory type (``memory``, ``hugepages-<size>``):
total, reserved for the system, allocatable, reserved, free (``tables``). The ledger is the node
map, the blocks of each container, and the memory that containers of one pod may reuse
(``ledger``).

*Groups.* A request that no single node can hold takes several nodes, and these become a group:
pods use them together or not at all, until the last assignment on them ends. A node with a
single-node assignment never joins a group. Inside a group, memory is taken and released from the
lowest node up. The sums over a group are therefore correct, but figures of its nodes may not be.

*Hints.* The manager offers a set of nodes if all requested types fit into its allocatable and its
free memory, and the groups allow it. It prefers sets of the smallest size that could hold the
request on an empty machine (``hints``).

*From affinity to blocks.* The merged hint may be "any node", or too small because another resource
narrowed it. Then the manager searches for the best set itself (``affinity``), takes the memory
from the lowest node upwards and records a block (``allocation``).

*Reuse.* An init container ends before the next container starts, so later containers of the
pod may reuse its memory, if they use exactly the same nodes (``init_reuse``).

*Restart.* The state file restores the ledger. The manager compares it with the ledger that follows
from the machine and the blocks (``validation``).

All sizes are bytes in unsigned 64 bits that wrap around, as in the kubelet. Deliberately absent:
files, the container runtime, the containers' actual use.

Kubelet: ``pkg/kubelet/cm/memorymanager``, v1.32.
"""
