"""What a reason is: a value with a stable code; its sentence is in ``wording``."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Reason(Protocol):
    """Why something was refused or not offered.

    A frozen dataclass with a class attribute ``code`` of the form ``room/what``, stable across
    releases, and the figures that explain it as fields.
    """

    @property
    def code(self) -> str:
        """The stable code."""
        ...
