"""``numalet breaker``: ends storms of rejected pods; each action has an end and an undo.

    API server ──failed pods──► FailedPods ──owners──► RejectedPod ─┐
               ──the cluster──► LiveCluster ────────────────────────┼─► planned()   insight/
               ──Jobs─────────► SuspendedJobs ──────────────────────┘       │        rejections
               ◄──delete, patch, create, with preconditions── ActionPerformer ◄───┘
                                                    └── one line of audit for each action

What is to be done is decided in ``insight/rejections`` alone. Here is what waits, asks and writes.
Of several breakers one works, by a Lease. It keeps nothing on disk: what has to be known after a
restart stands on the objects that were changed, and ``undoing`` finds it there.
"""
