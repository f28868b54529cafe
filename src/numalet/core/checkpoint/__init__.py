"""The kubelet's state files: values to texts and back. No I/O."""
