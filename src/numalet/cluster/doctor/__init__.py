"""Diagnose a cluster and print fixes.

``collecting`` reads facts from the API server, ``rules`` turns them into findings without requests,
``facts`` defines them and lists the permissions. A refused request leaves its facts unknown, which
is a finding, and no rule guesses them.
"""
