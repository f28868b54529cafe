"""Kubernetes API objects made from the core's values. Pure."""
