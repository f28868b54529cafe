"""The node agent, and ``numalet run``: everything that waits, writes and serves.

``controller`` owns the node, ``host`` is the machine, ``kubernetes``, ``kubelet`` and ``telemetry``
are pure projections, ``servers`` listen, ``run`` is the command in the foreground.
"""
