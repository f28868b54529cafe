"""A link to a dashboard, printed for people or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from numalet.cli import output as shown
from numalet.core.model.value import Value


class LinkFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class PrintedLink(Value):
    """A link that works once, within some seconds.

    ``fingerprint`` is the SHA-256 of a self-signed certificate, else empty.
    """

    url: str
    seconds: int
    fingerprint: str = ""


def of_answer(answer: Mapping[str, Any]) -> PrintedLink:
    return PrintedLink(answer["url"], answer["seconds"], answer["fingerprint"] or "")


def say(link: PrintedLink, output: LinkFormat, *, is_opened: bool) -> None:
    """Print a link, and open it if requested and if there is a browser."""
    if output is not LinkFormat.TEXT:
        fingerprint = link.fingerprint or None
        document = {"url": link.url, "seconds": link.seconds, "fingerprint": fingerprint}
        shown.print_document(document, output)
    else:
        shown.print_line(link.url)
        shown.say(f"The link works once, within {link.seconds // 60} minutes.")
        if link.fingerprint:
            shown.say(
                "The browser warns, because the agent signed the certificate itself. It is the"
                f" right one if its SHA-256 fingerprint is\n{link.fingerprint}"
            )
    if is_opened:
        _open(link)


def _open(link: PrintedLink) -> None:
    import webbrowser

    if not webbrowser.open(link.url):
        shown.say("No browser can be opened here; open the link by hand.")
