"""Hollow nodes: simulated nodes of a cluster that decide as their kubelets would.

A hollow node registers itself, renews its lease, and admits pods that are bound to it with the
engine of its release, on its own ledgers. No container runs: annotations of a pod give the run time
of its containers and how they end. ``node_life`` is the complete logic of such a node, as a
function of values; ``fleet`` performs its actions for thousands of nodes in one process.
"""
