"""Findings that records and published objects refer to."""
