"""The objects of a node in a cluster, and who writes them."""
