"""Values for parts of templates, where ``insight`` has no type."""

from __future__ import annotations

from numalet import __version__
from numalet.core.model.value import Value


class PageOrigin(Value, kw_only=True):
    """The origin of a page, for readers of a copy.

    ``command`` is the command line or the function, ``machine`` the name of the machine;
    ``release`` is the kubelet's, ``at`` a time as text. Empty fields are left out.
    """

    command: str
    machine: str = ""
    release: str = ""
    at: str = ""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        known = (
            ("machine", self.machine),
            ("kubelet", self.release),
            ("numalet", __version__),
            ("made", self.at),
        )
        return tuple((name, text) for name, text in known if text)


class TextTable(Value):
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
