"""How a rule of releases is stated: a name that is true or false, and the row of its page.

A class of rules is no dataclass: with some sixty fields one takes ten milliseconds to be made, in
every command, and most of them are false in most releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self


class Rule:
    """One rule that the kubelet v1.32 does not have, by its name in a class of rules.

    ``sentence`` says what a kubelet with this rule does, ``kubelet`` is the kubelet's function,
    ``test`` the test that shows it, as pages name tests. ``is_of_words`` means that nothing but
    the words of an error changes.
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

    def __get__(self, rules: object | None, owner: type) -> Any:
        # A rule that holds is in the instance, and found there first.
        return self if rules is None else False


def rule(sentence: str, *, kubelet: str, test: str, is_of_words: bool = False) -> Any:
    """A rule; declared as a ``bool``, which it is in every instance."""
    return Rule(sentence, kubelet, test, is_of_words)


class Rules:
    """The rules that hold, by their names; the others are false. A value, never changed."""

    stated: Mapping[str, Rule] = MappingProxyType({})
    """Every rule of the class by its name, those of its bases first."""

    def __init_subclass__(cls) -> None:
        own = {name: each for name, each in vars(cls).items() if isinstance(each, Rule)}
        cls.stated = MappingProxyType({**cls.stated, **own})

    def __init__(self, **holding: bool) -> None:
        unknown = holding.keys() - self.stated.keys()
        if unknown:
            raise TypeError(f"no rule is called {', '.join(sorted(unknown))}")
        self.__dict__.update((name, True) for name, holds in holding.items() if holds)

    def and_also(self, **holding: bool) -> Self:
        """The same, but for these."""
        return type(self)(**{**self.__dict__, **holding})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"rules do not change: {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(frozenset(self.__dict__))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(sorted(self.__dict__)) or 'none'}>"
