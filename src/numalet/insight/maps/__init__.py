"""A machine, its memory, CPUs and devices as rows."""
