"""``numalet extender``: answers kube-scheduler's extender calls with the verdicts of the engine.

    API server ──watches──► LiveCluster ──changes──► ExtenderState ◄── filter, prioritize,
                                                     (one event loop)    preempt, bind
                                                                              ▲
                                                             kube-scheduler ──┘ HTTP, JSON

The scheduler stays Kubernetes' own. It asks about a pod and the nodes that passed its filters, and
the answer is what each of their kubelets would say: ``insight/scheduling`` has it from the engine.
Here is what waits and serves: the watch, the clock, the HTTP server, metrics and the log.

Everything happens in one event loop, so that nothing is locked: between two requests all of the
state is consistent. The scheduler sends filter calls one at a time; binds may come in parallel.
"""
