"""What the administrator decided, resolved against one machine."""
