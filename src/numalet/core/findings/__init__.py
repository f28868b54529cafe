"""Findings by area: a class per code, with its sentence, the reason of the rule, and the fix."""
