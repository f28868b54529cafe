"""Rejected pods: their owners, when there are too many, and the actions to take.

Values and pure functions with the time as an argument. ``cluster/breaker`` performs the planned
actions and undoes them. The changed object stores the end and the undo of its action, so a
restarted breaker continues where the former one stopped.

*When a storm ends.* A ReplicaSet replaces a rejected pod at once, and a scheduler binds it at once
by sums, as long as the sums of one node suffice. Deleting rejected pods does not change that, and a
ReplicaSet cannot be stopped without scaling it. The storm ends when every node whose sums suffice
but whose kubelet refuses has the taint; then the replacements wait. A taint on only some of these
nodes moves the storm to the others, so the cap is decisive.
"""
