"""Keeps a node's objects in the cluster current: NumaNode and NodeResourceTopology."""
