"""Findings about a kubeconfig, and about requests to an API server."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class KubeApiUnreachable(Finding):
    code = "kube-api/unreachable"
    sentence = "the API server {server} does not answer: {problem}"
    server: str
    problem: str


class KubeApiRefused(Finding):
    code = "kube-api/refused"
    sentence = "the API server refused {asked} ({status} {reason}): {message}"
    asked: str
    status: int
    reason: str
    message: str
