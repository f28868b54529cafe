"""Floor 7: a node through time, one event after the other."""
