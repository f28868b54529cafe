"""What the agent logs and counts: lines of its log, metrics and their values. Pure."""
