"""A node's objects in the cluster, and their writers."""
