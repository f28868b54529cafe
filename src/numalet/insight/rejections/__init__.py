"""Rejected pods: their owners, when there are too many, and the actions to take.

    failed pods ──► one RejectedPod each ──► counted by owner, shape and node
                                              │ over the budget of a window
                                              ▼
                      planned actions: prune, inform, taint, suspend, create again

Values and pure functions with the time as an argument. ``cluster/breaker`` performs the planned
actions and undoes them.

An action has an end and an undo. The changed object stores the data for both: a Node in the value
of its taint, a Job or a new pod in its annotations. Therefore a restarted breaker continues where
the former one stopped, and ``undoing`` needs no memory.

*When a storm ends.* A ReplicaSet replaces a rejected pod at once, and a scheduler binds it at once
by sums, as long as the sums of one node suffice. Deleting rejected pods does not change that, and a
ReplicaSet cannot be stopped without scaling it. The storm ends when every node whose sums suffice
but whose kubelet refuses has the taint; then the replacements wait. Therefore the cap is decisive:
a taint on only some of these nodes moves the storm to the others.
"""
