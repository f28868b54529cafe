"""The dashboard: live pages of a node or of a fleet.

An ASGI application over a *source*: the agent, a simulated node, an observed kubelet, or a cluster.
A source has a view, an immutable value, and signals a new one (``sources``). ``insight`` computes
the content of the pages from the view; ``pages`` and ``drawing`` make the HTML. The dashboard makes
no decisions, and never changes the node.

Every answer has a Content-Security-Policy without inline script; every path except the login
(``sessions``) requires a session.
"""
