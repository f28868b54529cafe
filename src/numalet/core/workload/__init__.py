"""A pod as a running program: its specification, its history and its next step.

The managers see a pod as a request for resources (``core.model.pod``). Here it is a set of programs
with a restart policy: ``spec`` defines the programs, ``run`` holds the history, ``lifecycle``
determines the next step, ``folding`` updates a run after an event, ``phase`` summarizes it;
``record`` holds spec and run together, as stored on disk. ``static_pods`` and ``expansion``
transform a manifest before it is parsed.

This room starts no process, reads no clock and never waits. The time is an argument; a step is a
value; the outcome of a step gives a new ``PodRun``. Deliberately absent: images, volumes, networks
and probes, because a container here is a program of the host.
"""
