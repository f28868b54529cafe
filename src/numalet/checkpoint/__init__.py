"""Floor 7: the files that a kubelet reads and writes, values to documents and back. No I/O."""
