"""Explain a decision, and search changes that would have led to another one.

Changes are tried by repeating decisions, never inferred, because decisions are not monotone: the
kubelet may refuse a smaller request and admit a larger one.
"""
