"""The dashboard: live pages of a node or a fleet, as an ASGI application over a *source*.

A source (``sources``) has a view, an immutable value, and signals a new one. ``insight`` computes
the content of the pages; ``pages`` and ``drawing`` make the HTML. The dashboard never changes the
node.
"""
