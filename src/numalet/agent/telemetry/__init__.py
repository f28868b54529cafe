"""The agent's log lines and metrics. Pure."""
