"""A small process per program that starts it, waits for it and records its end.

It must start fast and outlive the agent, so it imports only the standard library. ``begin`` runs in
the program's process, ``process_tree`` kills its leftovers.
"""
