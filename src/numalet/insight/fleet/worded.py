"""Reasons of the fleet in words: each has a sentence over its figures, as reasons elsewhere."""

from __future__ import annotations

from typing import ClassVar

from numalet.wording import english


class Worded:
    """A reason why a pod does not fit. ``text`` says it after "61 nodes: "."""

    __slots__ = ()
    code: ClassVar[str]
    sentence: ClassVar[str]

    @property
    def text(self) -> str:
        """In words."""
        return self.sentence.format(**english.fields_of(self))
