"""The kernel's /sys turned into a Machine: live, from a folder, or from a tarball."""
