"""The dashboard: pages of a node or of a fleet, live, for browsers.

An ASGI application over a *source*: the agent, a simulated node, an observed kubelet, or a cluster.
A source has a view, a value that is whole and never changes, and says when there is another
(``sources``). What pages say is worked out of the view by ``insight``; what they are made of is in
``pages`` and ``drawing``. Nothing in here decides, and nothing changes the node.

Every answer has a Content-Security-Policy without inline script; every path but the door
(``sessions``) needs a session.
"""
