"""Answers to a scheduler before it binds: which nodes admit the pod, and which is best.

``expected_nodes`` has the nodes with the pods that they will get, ``shape_verdicts`` one table of
decisions per shape; from these ``filtering``, ``scoring`` and ``preempting`` answer. Every answer
is an admission of the engine, never a comparison of sums.
"""
