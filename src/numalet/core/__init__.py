"""The decision and everything it needs, as values and pure functions: no I/O, clock or randomness.

Rooms from the bottom up: ``model``, ``config``, ``hints``, ``managers``, ``snapshot``,
``admission``, ``checkpoint``, ``node``, ``enforcement``, ``workload``.
"""
