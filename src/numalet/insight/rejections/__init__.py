"""Rejected pods: their owners, when there are too many, and the actions to take.

Pure functions with the time as an argument; ``cluster/breaker`` performs the actions.

A ReplicaSet replaces a rejected pod at once, and a scheduler binds it at once, as long as the sums
of one node suffice. A storm ends when every node whose sums suffice but whose kubelet refuses has
the taint; then the replacements wait. A taint on only some of these nodes moves the storm to the
others, so the cap is decisive.
"""
