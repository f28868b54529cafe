"""The nouns. Machine, pod, quantity, sets of NUMA nodes and of CPUs.

What lives here knows no policy and decides nothing. No input, no output, no clock.
"""
