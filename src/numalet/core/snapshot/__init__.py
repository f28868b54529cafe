"""The whole state of a node as one immutable value."""
