"""Runtimes: start, monitor and end the programs of containers.

``port`` is the interface. A runtime does not know managers, policies or allocations.
"""
