"""cgroup v2: a tree that is ours, settings written by difference, and read back before believed.

``tree`` makes, removes, reads and writes; ``root`` finds the place where a tree may be and turns
the controllers on; ``reading`` and ``writing`` translate between files and ``CgroupSettings``;
``counters`` and ``numa_stat`` read what the kernel counted.

The kernel accepts some writes without applying them: a NUMA node without memory, or a CPU
that is offline, alone in a set, leaves the parent's set in force. So ``writing`` compares the
``.effective`` files after every write, and refuses. It needs no order for growing and shrinking:
a child's set may exceed its parent's for a moment, and levels above containers have none.
"""
