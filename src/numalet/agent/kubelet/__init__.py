"""A kubelet that is observed: what its files and process show, and what follows. Pure."""
