"""A cluster as a value: nodes that decide as their kubelets do, and the pods on them.

A node of a cluster is a ``Node`` like any other: its rules and its ledgers. What is new here is
where its ledgers come from, and how thousands of nodes are asked at once.

Ledgers come from one of three origins. The node *published* them: its NumaNode object says what
each manager holds. Or they are *rebuilt*: the pods that are bound to the node are admitted in the
order in which they started, on an empty node of its class. That is a guess about the past, since
pods that are gone have shaped what the others got, so the origin stands in every answer. Or the
node was only *described*.

Nodes of one hardware and configuration share a class and its roster, so that a cluster of 5,000
nodes holds a handful of rosters and 5,000 snapshots. A pod is decided once for each distinct
state instead of once for each node: ``keys`` says which states are the same to a pod.
"""
