"""A rule of releases: a boolean, and its row in the documentation.

Not a dataclass: with some sixty fields, building one takes ten milliseconds in every command, and
most rules are false in most releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self


class Rule:
    """One rule that kubelet v1.32 does not have.

    ``sentence`` describes a kubelet with this rule, ``kubelet`` is the kubelet's function, ``test``
    a test of it. ``is_of_words``: only an error text changes.
    """

    __slots__ = ("is_of_words", "kubelet", "name", "sentence", "test")

    def __init__(self, sentence: str, kubelet: str, test: str, is_of_words: bool) -> None:
        self.name = ""
        self.sentence = sentence
        self.kubelet = kubelet
        self.test = test
        self.is_of_words = is_of_words

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name


def rule(sentence: str, *, kubelet: str, test: str, is_of_words: bool = False) -> Any:
    """Declare a rule; it is a ``bool`` in every instance."""
    return Rule(sentence, kubelet, test, is_of_words)


class Rules:
    """A value with the rules that hold; the others are false."""

    stated: Mapping[str, Rule] = MappingProxyType({})
    """Every rule of the class by its name, those of its bases first."""

    def __init_subclass__(cls) -> None:
        own = {name: each for name, each in vars(cls).items() if isinstance(each, Rule)}
        cls.stated = MappingProxyType({**cls.stated, **own})

    def __init__(self, **holding: bool) -> None:
        unknown = holding.keys() - self.stated.keys()
        if unknown:
            raise TypeError(f"no rule is called {', '.join(sorted(unknown))}")
        # All rules, because Python finds a value of the instance faster than it calls a descriptor.
        self.__dict__.update(dict.fromkeys(self.stated, False) | holding)

    def and_also(self, **holding: bool) -> Self:
        """Return a copy with these rules changed."""
        return type(self)(**{**self.__dict__, **holding})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"rules do not change: {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(frozenset(self.holding()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(sorted(self.holding())) or 'none'}>"

    def holding(self) -> list[str]:
        """Return the names of the rules that hold."""
        return [name for name, holds in self.__dict__.items() if holds]
