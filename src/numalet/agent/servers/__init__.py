"""Servers of the agent.

A server reads the current immutable ``AgentView`` and requests changes through the ``Door``.
"""
