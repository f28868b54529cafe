"""Questions about a whole cluster: what fits, which nodes are traps, what must go. Pure."""
