"""Pods that kubelets rejected: whose they are, when there are too many, and what is to be done.

    failed pods ──► one Rejection each ──► counted by owner, shape and node
                                            │ over the budget of a window
                                            ▼
                    planned actions: prune, inform, taint, suspend, create anew

Values and pure functions; time is an argument. What is planned is carried out, and undone, by
``cluster/breaker``.
"""
