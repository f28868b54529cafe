"""The controller of a node: where pods come from, the node state, the steps, and recovery.

``docs/explanation/node-agent.md`` says what the agent promises and in which order it writes.
Everything that can be a function of values is in ``core``; here is what has to wait, to write, and
to know the time. ``wiring`` is the only place where the host and the servers meet the controller.
"""
