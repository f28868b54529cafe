"""Findings about a file of devices."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class DevicesIdMissing(Finding):
    sentence = "a device of {resource} has an empty id; every device needs one"
    resource: str
