"""Reads the kernel's /sys into a Machine: live, from a folder, or from a tarball."""
