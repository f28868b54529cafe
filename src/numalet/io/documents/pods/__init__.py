"""Pods: manifests, workloads and their templates, traces, and the records of the agent."""
