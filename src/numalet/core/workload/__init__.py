"""A pod as something that runs: what to start, what has become of it, what is to be done next.

The managers' rooms know a pod as a request for resources (``core.model.pod``). Here it is a set of
programs with a restart policy: ``spec`` says what is to run, ``run`` what has happened so far,
``lifecycle`` which step comes next, ``folding`` what a run becomes when something happened,
``phase`` how it sums up; ``record`` holds spec and run together, as they are kept on disk.
``static_pods`` and ``expansion`` are what becomes of a manifest before it is read.

Nothing here starts a process, reads a clock or waits. The time is an argument; a step is a
value; what came of a step comes back as a new ``PodRun``. Deliberately absent: images, volumes,
networks and probes, because a container here is a program of the host.
"""
