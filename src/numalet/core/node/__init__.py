"""A node over time, one event after the other."""
