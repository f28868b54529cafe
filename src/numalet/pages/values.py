"""What templates of parts are filled with, where ``insight`` has no value for it."""

from __future__ import annotations

from numalet import __version__
from numalet.core.model.value import Value


class PageOrigin(Value, kw_only=True):
    """What made a page, for those who get it without its maker.

    ``command`` is the command line or the function, ``machine`` what the machine is called;
    ``release`` is the kubelet's, ``at`` a moment as text. What is empty is left out.
    """

    command: str
    machine: str = ""
    release: str = ""
    at: str = ""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Names with their texts, as far as they are known."""
        known = (
            ("machine", self.machine),
            ("kubelet", self.release),
            ("numalet", __version__),
            ("made", self.at),
        )
        return tuple((name, text) for name, text in known if text)


class TextTable(Value):
    """A table with a title; every row has as many cells as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
