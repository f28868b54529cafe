"""Answers to a scheduler that asks before it binds: which nodes admit the pod, and which is best.

    nodes of the cluster ─┐
    pods promised         ├─► ExpectedNodes ──► ShapeVerdicts ──► filtered      which nodes, why not
    (time is an argument) ┘   each node with         one table      scored      0 to 10 points
                              what is on its way     a shape        preempted   whose going helps

The engine decides, here as in a kubelet: no answer goes by sums. What a node was promised counts
as there until its object shows it, the pod is bound elsewhere, or a time limit passes.

All of it is values and memos of pure functions; who asks, and when, is ``cluster/extender``.
"""
