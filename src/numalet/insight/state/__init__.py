"""The kubelet's state files examined: read, verified, compared, rebased."""
