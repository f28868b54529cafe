"""A node's objects in the cluster, kept current: NumaNode and NodeResourceTopology."""
