"""``numalet run``: one command as one Guaranteed pod, in the foreground.

``command`` is the whole procedure: ``request`` makes the pod, ``queue`` has those who wait, an
``allocator`` is asked for a place, ``program`` starts the command there and stays with it as
``child`` says. There are two allocators:

- ``beside_agent`` asks the agent that holds the root folder; ``joining`` accepts the place that it
  prepared, and hands it back.
- ``without_agent`` decides by itself: ``shared_state`` is the node state that all such commands of
  one root folder share, ``placing`` decides on it, ``holders`` are those who have a place there,
  ``other_runs`` what is done to their processes.

Commands without an agent hold the lock of the root folder together, so that an agent, which wants
it alone, and they exclude each other; a second lock is held while the state is changed. The state
is state files in the kubelet's formats and a list of who holds what: a run whose lock is free was
killed, and the next run that reads the list removes what it left (``leftovers``).
"""
