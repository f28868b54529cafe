"""Readers of foreign documents (YAML, JSON, flags); findings name the place."""
