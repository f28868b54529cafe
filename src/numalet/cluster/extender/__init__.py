"""``numalet extender``: answers kube-scheduler's extender calls with verdicts of the engine.

The unchanged scheduler sends a pod and the nodes that passed its filters; the answer predicts the
decision of each kubelet (``insight/scheduling``). This package waits and serves: the watch, the
clock, the HTTP server, metrics and the log.

Everything runs in one event loop without locks: between two requests the whole state is consistent.
The scheduler sends filter calls one at a time; binds may arrive in parallel.
"""
