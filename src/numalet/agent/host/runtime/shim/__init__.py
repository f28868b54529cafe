"""A small process per program that starts it, waits for it and records its end.

It must start fast and outlive the agent, so it imports only a small part of the standard library:
``typing``, ``pathlib`` and ``dataclasses`` each take about as long to load as Python to start.
``begin`` runs in the program's process, ``process_tree`` kills its leftovers.
"""
