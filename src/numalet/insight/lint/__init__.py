"""Check the configuration of a node: the kubelet's start errors and numalet's own rules.

An error keeps the kubelet from starting, crashes it, corrupts its accounting, or makes a given pod
impossible; a warning is probably a mistake; a note is good to know.
"""
