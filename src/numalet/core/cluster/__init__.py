"""A cluster as a value: nodes that decide like their kubelets, and the pods on them.

A node's ledgers are *published* in its NumaNode object, *rebuilt* by admitting its pods again (an
estimate, because deleted pods influenced the allocations), or only *described*. Every answer
includes this origin.

Nodes with the same hardware and configuration share a class and its roster. A pod is decided once
for each distinct state instead of once for each node: ``keys`` determines which states are the same
to a pod.
"""
