"""``numalet run``: one command as one Guaranteed pod, in the foreground.

``command`` is the procedure. An ``Allocator`` finds a place: ``beside_agent`` through the agent
that holds the root folder, ``without_agent`` on the node state that all commands of this folder
share. In both cases the command leaves an attempt's files, so an agent may start or stop meanwhile.
"""
