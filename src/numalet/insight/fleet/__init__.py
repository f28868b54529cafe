"""Questions about a whole cluster: which pods fit, which nodes are traps, which pods to evict."""
