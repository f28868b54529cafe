"""Parts that the agent and ``cluster`` use."""
