"""The agent's API: Kubernetes' paths, objects and errors, and a few objects of our own.

    /api/v1/...                            pods, events, nodes, namespaces, as a kube-apiserver's
    /apis/numalet.dev/v1alpha1/...         placements, the node's state, explanations
    /healthz /readyz /metrics /configz     as a kubelet's

``application`` puts it together from the door; ``listening`` serves it on a Unix socket. Requests
are read in ``requests``, errors written in ``status``; every other module is one kind of object.
Another way to be reached (TLS, tokens) or another form of the answers (tables, discovery) is put
around or beside these routes; the objects are made in one place, ``objects``.
"""
