"""Findings about the manifest of a pod."""

from __future__ import annotations

from numalet.io.findings.documents import PartMissing


class PodsNameMissing(PartMissing):
    sentence = "the {what} has no name"


class PodsNoContainers(PartMissing):
    sentence = "the pod has no containers; add at least one"
