"""Scenarios and their outcomes."""
