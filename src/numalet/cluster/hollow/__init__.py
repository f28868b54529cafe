"""Hollow nodes: nodes of a cluster that do not exist, and decide as their kubelets would.

A hollow node registers itself, renews its lease, and admits the pods that are bound to it with
the engine of its release, on ledgers of its own. No container runs: a pod says in annotations for
how long its containers are to run and how they end. To the scheduler and to every client of the
API server it is a node whose kubelet enforces NUMA alignment, and rejects what does not fit.

``node_life`` is the whole of what such a node does, as a function of values. ``fleet`` carries its
actions out for thousands of them in one process: one watch of pods for all nodes, leases spread
over time, bounded numbers of requests under way.
"""
