"""Texts of untrusted documents: YAML and JSON with lines, limits and typed values."""
