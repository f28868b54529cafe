"""A node through time, one event after the other."""
