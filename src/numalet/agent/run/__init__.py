"""``numalet run``: one command as one Guaranteed pod, in the foreground.

Where an agent holds the root folder, it is asked: ``beside_agent`` asks, ``joining``
runs the command in the place that the agent prepared. Without one:

``request`` makes the pod, ``shared_state`` is the state that all such commands of one root folder
share, ``placing`` decides and waits, ``program`` starts the command and stays with it. ``child``
is what both ways share: the process that becomes the command.

Every run holds the lock of the root folder together with the others, so that an agent, which
wants it alone, and runs exclude each other; a second lock is held while the state is changed.
The shared state is state files in the kubelet's formats and a list of who holds what by process: a
run whose process is gone was killed, and the next run that reads the list releases what it held.
"""
