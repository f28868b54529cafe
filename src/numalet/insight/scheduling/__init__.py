"""Answers to a scheduler before it binds: which nodes admit the pod, and which is best.

Every answer is an admission of the engine, never a comparison of sums.
"""
