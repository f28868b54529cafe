"""Check the configuration of a node: the kubelet's errors and numalet's own rules.

*Start*: the errors that the kubelet of the release would report on this machine, with these state
files (``starting``). *Rules*: functions that check a ``Subject`` and yield findings with codes
``lint/...``; ``rules`` lists them in order.

An error keeps the kubelet from starting, crashes it, corrupts its accounting, or makes a given pod
impossible; a warning is probably a mistake; a note is good to know.
"""
