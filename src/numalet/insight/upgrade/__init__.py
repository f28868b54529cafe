"""Effects of another kubelet release on the same configuration, machine, files and pods."""
