"""``numalet breaker``: ends storms of rejected pods; each action has an end and an undo.

    API server ──failed pods──► FailedPods ──owners──► RejectedPod ─┐
               ──the cluster──► LiveCluster ────────────────────────┼─► planned()   insight/
               ──Jobs─────────► SuspendedJobs ──────────────────────┘       │        rejections
               ◄──delete, patch, create, with preconditions── ActionWorker ◄───┘
                                                    └── one line of audit for each action

``insight/rejections`` makes all decisions; this package waits, reads and writes. Of several
breakers only the lease holder acts. A breaker stores nothing on disk: the changed objects record
all that a restart needs, and ``undoing`` reads it from there.
"""
