"""The files that a kubelet reads and writes, values to documents and back. No I/O."""
