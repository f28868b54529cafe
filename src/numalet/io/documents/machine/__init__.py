"""Machines: machine files, listings of other tools, devices, profiles."""
