"""What a kubelet leaves on its node for others to read: its state, its logs, its cgroups."""
