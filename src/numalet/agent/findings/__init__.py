"""Findings by area: one class per code, with message, reason and fix."""
