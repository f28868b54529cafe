"""Floor 5: the whole state of a node as one immutable value."""
