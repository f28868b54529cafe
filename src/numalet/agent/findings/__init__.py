"""Findings by area: a class per code, with its sentence, why the rule is, and the fix."""
