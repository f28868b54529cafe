"""``numalet run``: one command as one Guaranteed pod, in the foreground.

``command`` is the whole procedure: ``request`` makes the pod, ``queue`` has those who wait, an
``allocator`` is asked for a place, ``program`` starts the command there and stays with it as
``child`` says. There are two allocators:

- ``beside_agent`` asks the agent that holds the root folder, and accepts the place it prepared.
- ``without_agent`` decides by itself: ``placing`` decides on the node state that all such commands
  of one root folder share (``controller.shared_state``), ``other_runs`` is what is done to the
  processes of the others.

Either way the command has an order and leaves the files of an attempt (``joining``), so that it
goes on whether an agent comes or goes (``controller.adoption``). A run whose lock is free was
killed, and the next run removes what it left (``leftovers``).
"""
