"""The kubelet's NUMA resource managers as a library."""

__version__ = "0.1.0"
