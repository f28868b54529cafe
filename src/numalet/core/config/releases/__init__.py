"""Kubernetes releases whose kubelets can be followed exactly, each stated once.

A release is a value: its feature gates, the maturity of its policy options, and the named rules in
which its kubelet decides otherwise than the kubelet v1.32. Each but the first is written as the
difference to the one before, so a new release is one file here, one row in ``table``, and its
recorded decisions. From these values ``docs/reference/releases.md`` is generated.

Nothing outside this room asks which release it is. Code asks for the rule that it is about, a
field of ``release.ReleaseRules``; ``Release.rules_with`` says which of them hold with the feature
gates as they are set. Only what is shown to people has the name of a release.
"""
