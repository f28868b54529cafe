"""Pods that kubelets rejected: whose they are, when there are too many, and what is to be done.

    failed pods ──► one RejectedPod each ──► counted by owner, shape and node
                                              │ over the budget of a window
                                              ▼
                      planned actions: prune, inform, taint, suspend, create anew

Values and pure functions; time is an argument. What is planned is carried out, and undone, by
``cluster/breaker``.

An action has an end and an undo. What is needed for both stands on the object that was changed:
on a Node in the value of its taint, on a Job in its annotations, on a new pod likewise. So a
breaker that begins anew goes on where another one was stopped, and ``undoing`` needs no memory.

*When a storm ends.* A ReplicaSet replaces a rejected pod at once, and a scheduler that goes by sums
binds it at once, as long as the sums of one node promise room. Deleting rejected pods changes
nothing about that, and a ReplicaSet can not be stopped without scaling it. The storm ends when no
node is left whose sums promise room that its kubelet refuses: all of these have the taint, and the
replacements wait. So the cap decides: a taint on some of them moves the storm to the others.
"""
