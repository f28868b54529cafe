"""The node agent, ``numalet run`` and ``numalet publish``.

``controller`` owns the node state, ``host`` accesses the machine, ``servers`` accept requests.
``kubelet`` and ``telemetry`` are pure.
"""
