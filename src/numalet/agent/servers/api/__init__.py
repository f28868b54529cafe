"""The agent's API: Kubernetes paths, objects and errors, and objects of ``numalet.dev``.

``application`` builds the ASGI application; ``listening`` serves it on a Unix socket,
``tls_listening`` on a port for clients with the token. Most modules handle one kind of object.
"""
