"""A pod as a running program: its specification, its history and its next step.

``spec`` defines the programs, ``run`` holds the history, ``lifecycle`` determines the next step,
``folding`` updates a run after an event, ``records`` are stored on disk. No process, no clock, no
waiting: the time is an argument, a step is a value. Deliberately absent: images, volumes, networks
and probes, because a container here is a program of the host.
"""
