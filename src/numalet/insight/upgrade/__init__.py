"""What another release of the kubelet makes of the same configuration, machine, files and pods.

Two subjects that differ in the release alone are compared: what a check of the later one finds and
one of the earlier does not, which gates and options stand otherwise, which rules come or go, which
pods would be decided otherwise, and what would become of the state files, there and back. Nothing
is decided here: both releases are asked, and the answers are compared.
"""
