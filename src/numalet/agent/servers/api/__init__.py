"""The agent's API: Kubernetes paths, objects and errors, and objects of ``numalet.dev``.

``application`` builds the ASGI application; ``listening`` serves it on a Unix socket and a TCP
port. Most modules handle one kind of object.
"""
