"""A cluster as a value: nodes that decide like their kubelets, and the pods on them.

A node of a cluster is a ``Node`` with rules and ledgers. This room adds the origins of the ledgers
and decisions for thousands of nodes at once.

Ledgers have one of three origins. *Published*: the node's NumaNode object lists every manager's
allocations. *Rebuilt*: the pods bound to the node are admitted, in the order of their start, to an
empty node of its class. This is an estimate, because deleted pods influenced the allocations, so
every answer includes the origin. *Described*: the node is only part of a description.

Nodes with the same hardware and configuration share a class and its roster, so a cluster of 5,000
nodes has a handful of rosters and 5,000 snapshots. A pod is decided once for each distinct state
instead of once for each node: ``keys`` determines which states are the same to a pod.
"""
