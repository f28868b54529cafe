"""Scenarios, and what happens in them."""
