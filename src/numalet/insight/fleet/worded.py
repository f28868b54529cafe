"""Reasons of this package with a sentence over their fields."""

from __future__ import annotations

from typing import Any, ClassVar

from numalet.core.model import resources
from numalet.core.model.value import Value
from numalet.wording import english, numbers


class Worded(Value):
    """A reason why a pod does not fit. ``text`` follows "61 nodes: "."""

    code: ClassVar[str]
    sentence: ClassVar[str]

    @property
    def text(self) -> str:
        return self.sentence.format(**english.fields_of(self))


class WordedAmount(Worded):
    """A reason about an amount of one resource; CPU is in thousandths, with special words."""

    of_cpus: ClassVar[str]
    resource: str
    asked: int

    @property
    def text(self) -> str:
        sentence = self.of_cpus if self.resource == resources.CPU else self.sentence
        return sentence.format(**english.fields_of(self) | self._amounts())

    def _amounts(self) -> dict[str, Any]:
        return {"asked": numbers.amount(self.resource, self.asked)}
