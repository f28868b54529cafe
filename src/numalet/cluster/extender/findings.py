"""Findings on an extender: its address, and requests that cannot be answered."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class ExtenderBodyUnreadable(Finding):
    sentence = "the request can not be read: {problem}"
    problem: str


class ExtenderListenOpen(Finding):
    sentence = (
        "others than this machine reach {address!r}; give --client-ca, --tls-cert and --tls-key,"
        " or --insecure-listen if only the scheduler gets there"
    )
    why = "who asks learns of the cluster's pods, and takes the time that the scheduler needs"
    address: str


class ExtenderTlsIncomplete(Finding):
    sentence = "{given} needs {missing} too"
    given: str
    missing: str


class ExtenderTlsFile(Finding):
    sentence = "it can not be used for TLS: {problem}"
    problem: str


class ExtenderSeconds(Finding):
    sentence = "{value!r} is no length of time above 0; write it as 5s, 500ms or 2m"
    value: str
