"""Kernel settings that follow from a decision: desired, observed, and the difference.

``desired`` derives the settings of every cgroup and every container from a snapshot and its
workloads; ``comparison`` compares them with the observed ones; the caller writes the difference.
First start, periodic resync and recovery after a crash are therefore the same operation. No I/O
here.
"""
