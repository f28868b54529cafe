"""Answers to a scheduler before it binds: which nodes admit the pod, and which is best.

    nodes of the cluster ─┐
    promised pods         ├─► ExpectedNodes ──► ShapeVerdicts ──► filtered      nodes, or reasons
    (time is an argument) ┘   each node with         one table      scored      0 to 10 points
                              its expected pods      per shape      preempted   useful victims

Every answer is an admission of the engine, never a comparison of sums. A promised pod occupies its
node until its object shows a node, it is bound elsewhere, or a time limit passes.

This package holds values and memos of pure functions; ``cluster/extender`` calls it.
"""
