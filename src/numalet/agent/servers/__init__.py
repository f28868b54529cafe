"""Things that listen: the agent's API.

A server reads the current ``AgentView``, an immutable value, and asks for changes through the
``Door``. It decides nothing and keeps nothing.
"""
