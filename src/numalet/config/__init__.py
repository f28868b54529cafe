"""Floor 2: what the administrator decided, resolved against one machine."""
