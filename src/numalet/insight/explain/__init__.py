"""Explain a decision, and search changes that would have led to another one.

*Story.* One decision, repeated with a recorder: the requests, the hints of every provider, why it
did not offer other sets of NUMA nodes, how the merge ranked the rest, the allocation (``story``,
``considered_sets``, ``ranking``).

*Change.* One difference in the input: a policy, a request, a pod less, another order. A change is
applied by repeating the decisions that it affects (``change``), never by reasoning: decisions are
not monotone, and a smaller request may be refused where a larger one is admitted.

*Search.* Every category of changes in turn, cheapest first, each with the number of attempts and
the changes that would have admitted the pod (``search``). A search calls ``keep_going`` before
every decision, so that a caller with a clock can end it.

*Matrix.* A list of pods on many variants of a node: admitted pods, stranded resources, the width
and distance of placements (``matrix``, ``measures``).

These modules contain no files, clocks or sentences.
"""
