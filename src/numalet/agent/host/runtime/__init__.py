"""Runtimes: who starts, watches and ends the programs of containers.

``port`` says what the agent asks of one. A runtime knows nothing of managers, policies and
allocations: it gets a program with its settings, and reports what became of them.
"""
