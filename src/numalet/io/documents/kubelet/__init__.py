"""The configuration of a kubelet: files, drop-ins, flags, documents of vendors, numalet's own."""
