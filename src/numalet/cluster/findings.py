"""Findings on a followed cluster: they load without the client, which needs an extra."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.io.kube_api.answers import ApiStatus


class ClusterCollectionAbsent(NoteFinding):
    sentence = "the API server has no {path}; treated as empty"
    path: str


class ClusterCollectionForbidden(WarningFinding):
    sentence = "these credentials may not list {path}; treated as empty"
    fix = "grant get, list and watch of them"
    path: str


class ClusterUnlisted(Finding):
    sentence = "cannot list {path}: {problem}"
    path: str
    problem: str


class ClusterDisconnected(WarningFinding):
    sentence = "{path} may be out of date: {problem}"
    path: str
    problem: str


def not_to_be_had(path: str, status: ApiStatus | None) -> Finding | None:
    if status is not None and status.is_absent:
        return ClusterCollectionAbsent(path=path)
    if status is not None and status.is_forbidden:
        return ClusterCollectionForbidden(path=path)
    return None
