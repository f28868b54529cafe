"""What is wrong with a kubeconfig, and what goes wrong while an API server is asked."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class KubeApiUnreachable(Finding):
    code = "kube-api/unreachable"
    sentence = "the API server {server} gives no answer: {problem}"
    server: str
    problem: str


class KubeApiRefused(Finding):
    code = "kube-api/refused"
    sentence = "the API server refused {asked} ({status} {reason}): {message}"
    asked: str
    status: int
    reason: str
    message: str
