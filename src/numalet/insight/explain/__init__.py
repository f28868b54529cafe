"""Why a pod was decided on as it was, and what would have been decided otherwise.

*Story.* One decision, made again with a recorder that collects: what was asked for, what every
provider offered, why it did not offer other sets of NUMA nodes, how the merge ranked what was
left, what was allocated (``story``, ``considered``, ``ranking``).

*Change.* One thing that could have been otherwise: a policy, a request, a pod less, another
order. A change is applied by making the decision again from where it makes a difference
(``change``), never by reasoning about it. What is not known to be monotone is not assumed to be:
a smaller request may be refused where a larger one is admitted.

*Search.* Every category of changes in turn, cheapest first, each with what was tried and what
would have admitted the pod (``search``). A search asks ``keep_going`` before every decision, so
that a caller with a clock can end it.

*Matrix.* A list of pods on many variants of a node: what is admitted, what is stranded, how wide
and how far the placements are (``variants``, ``matrix``, ``measures``).

Deliberately absent: files, clocks, sentences.
"""
