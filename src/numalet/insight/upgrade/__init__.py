"""Effects of another kubelet release on the same configuration, machine, files and pods.

The two subjects differ only in the release. The comparison shows findings that only the later
release has, changed gates and options, rules of one release only, pods with another decision, and
the state files on the way there and back. All decisions are the core's; this package compares them.
"""
