"""The agent's API: Kubernetes' paths, objects and errors, and a few objects of our own.

    /api/v1/...                            pods, events, nodes, namespaces, as a kube-apiserver's
    /apis/numalet.dev/v1alpha1/...         placements, the node's state, explanations
    /healthz /readyz /metrics /configz     as a kubelet's
    /version /api /apis /openapi           discovery

``application`` puts it together from the door; ``listening`` serves it on a Unix socket, and
``tls_listening`` behind a ``guard`` on a port. Requests are read in ``requests``, errors written in
``status``, answers given as objects or tables in ``forms``; every other module is one kind of
object. The objects are made in one place, ``objects``.
"""
