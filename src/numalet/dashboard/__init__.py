"""The dashboard: live pages of a node or a fleet, as an ASGI application.

A *source* (``sources``) has a view, an immutable value, and signals a new one. Nothing here changes
the node.
"""
