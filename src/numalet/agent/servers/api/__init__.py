"""The agent's API: Kubernetes' paths, objects and errors, and a few objects of our own.

    /api/v1/...                            pods, events, nodes, namespaces, as a kube-apiserver's
    /apis/numalet.dev/v1alpha1/...         placements, the node's state, explanations
    /healthz /readyz /metrics /configz     as a kubelet's
    /version /api /apis /openapi           discovery

``application`` makes the ASGI application from the door. ``listening`` serves it on a Unix socket,
``tls_listening`` on a port, for clients with the token. ``requests`` reads requests, ``status``
writes errors, ``forms`` writes objects and tables, and ``objects`` makes all objects. Every other
module is about one kind of object.
"""
