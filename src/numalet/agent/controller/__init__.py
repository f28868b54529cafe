"""The controller of a node: sources of pods, node state, steps, recovery.

``docs/explanation/node-agent.md`` explains the order of writes. Pure functions are in ``core``;
this package waits, writes and knows the time. ``wiring`` connects it with host and servers.
"""
