"""Kubernetes releases whose kubelets numalet follows exactly.

A release is a value: its feature gates, the maturity of its policy options, and the named rules in
which its kubelet differs from v1.32. Each release but the first is the difference to the one
before, so a new release is one file here, one row in ``table``, and its recorded decisions.
``docs/reference/releases.md`` is generated from these values.

Code outside this package never compares releases. It tests a rule, a field of
``release.ReleaseRules``; ``Release.rules_with`` evaluates the rules under the feature gates. Only
output for people names a release.
"""
