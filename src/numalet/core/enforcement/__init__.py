"""Kernel settings that follow from a decision: desired, observed, and the difference.

A snapshot and its workloads give the *desired* settings of every cgroup and every container
(``desired``), by the kubelet's formulas (``conversions``). ``drift`` compares them with the
*observed* ones; the caller writes the difference. The first start, the periodic
resync and the recovery after a crash are therefore the same operation. ``levels`` gives the
strength of a guarantee if the kernel cannot give the full one; ``audit`` compares a container's
actual pages with its allocation.

This room does no I/O: a setting is a value, a write is a value.
"""
