"""cgroup v2: the agent's tree, its settings, its counters.

``root`` finds a place for the tree; ``tree`` makes, removes, reads, writes and locks;
``interface_files`` converts between files and ``CgroupSettings``.
"""
