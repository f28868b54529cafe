"""Read, verify, compare and rebase the kubelet's state files."""
