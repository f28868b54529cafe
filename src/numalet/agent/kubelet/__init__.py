"""Observation of a kubelet: state files, process, problems. Pure."""
