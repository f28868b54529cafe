"""Splits the words of a kubelet's command line into flags and values, as pflag does.

``--flag=value`` and ``--flag value``, switches without a value, shorthands, ``_`` for ``-`` in
names, no abbreviations. Errors that stop the kubelet are collected, and the remaining words are
still parsed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.config.releases import flag_table
from numalet.core.findings.config import FlagArgument, FlagSyntax
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.io.documents.kubelet import command_text

_PASSED_ON: Final = {
    **dict.fromkeys(("k3s", "k3s-server", "k3s-agent", "rke2"), "kubelet-arg"),
    "k0s": "kubelet-extra-args",
    "minikube": "extra-config",
}
"""The options of other programs that pass flags on to the kubelet."""


class GivenFlag(Value):
    """A flag and its value, or a problem without a flag; ``name`` has ``-`` for ``_``."""

    name: str = ""
    value: str = ""
    problem: Finding | None = None


def of_program(words: Iterable[str], program: str) -> Iterator[GivenFlag]:
    """The kubelet's flags among the words after the name of a program."""
    option = _PASSED_ON.get(program)
    return parsed(words if option is None else _passed_on([*words], option, program))


def parsed(words: Iterable[str]) -> Iterator[GivenFlag]:
    """The flags in order, and then the first word that is not part of a flag."""
    left = deque(words)
    others: list[str] = []
    while left:
        word = left.popleft()
        if word == "--":
            others += left
            break
        if len(word) < len("-v") or word[0] != "-":
            others.append(word)
        elif word[1] == "-":
            yield _long(word, left)
        else:
            yield from _short(word, left)
    if others:
        yield GivenFlag(problem=FlagArgument(word=others[0]))


def _long(word: str, left: deque[str]) -> GivenFlag:
    given, equals, value = word[2:].partition("=")
    if not given or given[0] == "-":
        return _syntax(f"bad flag syntax: {word}")
    name = given.replace("_", "-")
    flag = flag_table.flags().get(name)
    if equals:
        return GivenFlag(name, value)
    if flag is None:
        # A flag of no known release: guess that the next word is its value unless it is a flag.
        has_value = bool(left) and left[0][:1] != "-"
        return GivenFlag(name, left.popleft() if has_value else "")
    # pflag's NoOptDefVal: such a flag never uses the next word as its value.
    if flag.no_option:
        return GivenFlag(name, flag.no_option)
    return GivenFlag(name, left.popleft()) if left else _without_value(name, word)


def _short(word: str, left: deque[str]) -> Iterator[GivenFlag]:
    """The flags in a word such as ``-v2``: a letter each, and the last may have a value."""
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        flag = flag_table.by_shorthand().get(letter)
        if flag is None:
            shown = f"{letter}{letters}"
            yield _syntax(f"unknown shorthand flag: '{letter}' in -{shown}")
            return
        if letters[:1] == "=" and len(letters) > 1:
            yield GivenFlag(flag.name, letters[1:])
            return
        if flag.no_option:
            yield GivenFlag(flag.name, flag.no_option)
            continue
        if letters or left:
            yield GivenFlag(flag.name, letters or left.popleft())
        else:
            yield _without_value(flag.name, f"'{letter}' in -{letter}")
        return


def _without_value(name: str, shown: str) -> GivenFlag:
    problem = FlagSyntax(problem=f"flag needs an argument: {shown}")
    return GivenFlag(name, problem=problem)


def _syntax(problem: str) -> GivenFlag:
    return GivenFlag(problem=FlagSyntax(problem=problem))


def _passed_on(words: list[str], option: str, program: str) -> Iterator[str]:
    """The kubelet's words in the values of an option of another program."""
    for at, word in enumerate(words):
        name, equals, value = word.lstrip("-").partition("=")
        if name != option or not word.startswith("-"):
            continue
        given = value if equals else "".join(words[at + 1 : at + 2])
        # k0s has all flags in one value; the others repeat the option.
        if program == "k0s":
            yield from command_text.words_of(given)
            continue
        if program == "minikube":
            component, _, given = given.partition(".")
            if component != "kubelet":
                continue
        given = given.removeprefix("--")
        if given:
            yield f"--{given}" if "=" in given else f"--{given}=true"
