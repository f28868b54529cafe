"""cgroup v2: the agent's tree, its settings, its counters.

``root`` finds a place for the tree; ``tree`` makes, removes, reads and writes; ``reading`` and
``writing`` convert between files and ``CgroupSettings``.
"""
