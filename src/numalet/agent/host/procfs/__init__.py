"""Readers for ``/proc``: memory location and allowed CPUs of processes, kernel limits."""
