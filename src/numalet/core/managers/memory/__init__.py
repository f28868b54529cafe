"""The Memory Manager: guaranteed memory and huge pages on as few NUMA nodes as possible.

``tables`` is the arithmetic of the node map, ``ledger`` the state, ``hints`` the sets of nodes,
``static_policy`` the manager with its own search, ``allocation`` the blocks. See
docs/explanation/memory-manager.md.

A request that no single node can hold takes several nodes, and these become a *group*: pods use
them together or not at all, until the last assignment on them ends. Memory is taken and released
from the lowest node up, so sums over a group are correct, but figures of its nodes may not be.

All sizes are bytes in unsigned 64 bits that wrap around, as in the kubelet. Kubelet:
``pkg/kubelet/cm/memorymanager``, v1.32.
"""
