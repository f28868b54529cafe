"""Recognises texts that users pass by mistake, and names what to pass instead."""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location

_CONFIGZ: Final = "kubectl get --raw /api/v1/nodes/NAME/proxy/configz"
_HEAD: Final = 4096
_NOT_MARKED_UP: Final = re.compile(r"[^:=\[\]{}<>\"'&*!%@|-][^:={}\[\]]*")
_TEXTS: Final = tuple(
    (re.compile(pattern), found, instead)
    for pattern, found, instead in (
        (
            r"(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ \S+: )?[IWEF]\d{4} \d\d:\d\d:\d\d",
            "a log without the FLAG lines of a kubelet",
            "the log from the start of a kubelet with --v=1 or more, or the output of "
            f"'{_CONFIGZ}'",
        ),
        (
            r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ \S+: |-- (?:Journal|Logs) begin",
            "a journal without the FLAG lines of a kubelet",
            "the journal from the start of a kubelet with --v=1 or more, or the output of "
            f"'{_CONFIGZ}'",
        ),
        (
            r"Name: +\S+\nRoles: ",
            "output of 'kubectl describe node'",
            f"the output of '{_CONFIGZ}'",
        ),
        (
            r"(?:NAMESPACE|NAME) {2,}[A-Z]",
            "a table of kubectl",
            f"the output of '{_CONFIGZ}'",
        ),
        (
            r"(?:Architecture: |available: \d+ nodes|CPU +NODE)",
            "a description of a machine",
            "the kubelet's configuration with -c, and this file with -m",
        ),
        (
            r"#!.*sh\b",
            "a shell script",
            "the command line that it starts the kubelet with",
        ),
        (r"(?i)<(?:!doctype|html|\?xml)", "a web page", "the file that the page shows"),
        (r"-----BEGIN ", "a key or certificate", "the file that --config names"),
        (
            r"(?:.*\n)*?\[plugins\b|\[crio\b",
            "the configuration of a container runtime",
            "the configuration of the kubelet",
        ),
    )
)


def problem(text: str, document: str) -> Finding | None:
    """A finding that names the text and its replacement, unless it may be a configuration."""
    head = text[:_HEAD].lstrip("\n")
    where = Location(document)
    for pattern, found, instead in _TEXTS:
        if pattern.match(head):
            return input_error.NotSupported(
                f"this is {found}, which contains no kubelet configuration",
                expected=instead,
                where=where,
            )
    # Without a single character of YAML, JSON or flags it is prose.
    lines = [line for line in head.split("\n") if line.strip()]
    if lines and not lines[0].startswith("#") and all(map(_NOT_MARKED_UP.fullmatch, lines)):
        instead = (
            "a KubeletConfiguration, a unit or environment file of the kubelet, its line of ps, or "
            f"the output of '{_CONFIGZ}'"
        )
        return input_error.NotSupported(
            "this is plain text, which contains no kubelet configuration",
            expected=instead,
            where=where,
        )
    return None
