"""A class for each code of a finding or reason, and words that agree with its fields."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from collections import Counter
from functools import cache
from string import Formatter
from typing import Any

import msgspec

import numalet
from architecture import tree
from numalet.cli import code_index
from numalet.core.model.findings import Finding
from numalet.core.model.input_error import InputFinding

CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*")
# Reasons in few words may show what follows from the figures of a reason.
COMPUTED = frozenset({"short", "short_bytes", "holders"})


@cache
def classes() -> tuple[type[Any], ...]:
    """Every class of the project that has a code, wherever it is."""
    names = [
        each.name
        for each in pkgutil.walk_packages(numalet.__path__, "numalet.")
        if not each.name.endswith("__main__")
    ]
    return tuple(
        each
        for name in names
        for each in vars(importlib.import_module(name)).values()
        if isinstance(each, type)
        and each.__module__ == name
        and isinstance(code := vars(each).get("code"), str)
        and code
    )


def fields_of(each: type[Any]) -> frozenset[str]:
    if issubclass(each, Finding):
        return frozenset(field.name for field in msgspec.structs.fields(each))
    return frozenset(field.name for field in dataclasses.fields(each))


def placeholders(template: str) -> frozenset[str]:
    """Names of the fields that a template shows, those in the format of others included."""
    return frozenset(
        re.split(r"[.\[]", name)[0]
        for _, name, format_spec, _ in Formatter().parse(template)
        if name is not None
        for name in (name, *(placeholders(format_spec) if format_spec else ()))
    )


def test_classes_with_codes_are_found() -> None:
    assert len(classes()) > 400
    assert {"memory/no-node-fits", "pods/no-containers", "config/field-value"} <= {
        each.code for each in classes()
    }


def test_every_code_is_of_one_class_and_in_the_index() -> None:
    by_code = {each.code: each for each in classes()}
    assert len(by_code) == len(classes())
    assert dict(code_index.classes()) == by_code


def test_a_finding_is_named_after_its_code() -> None:
    misnamed = {
        each.__name__: each.code
        for each in classes()
        if not CODE.fullmatch(each.code)
        or (
            issubclass(each, Finding)
            and not issubclass(each, InputFinding)
            and each.__name__.removesuffix("Finding") != pascal(each.code)
        )
    }
    assert misnamed == {}


def pascal(code: str) -> str:
    return "".join(part.capitalize() for part in re.split("[-/]", code))


def test_words_show_what_their_class_has() -> None:
    lacking = {
        (each.__name__, what): missing
        for each in classes()
        for what in ("sentence", "fix", "kubelet_text", "brief")
        if (missing := placeholders(getattr(each, what, "")) - fields_of(each) - computed(what))
    }
    assert lacking == {}


def computed(what: str) -> frozenset[str]:
    return COMPUTED if what == "brief" else frozenset()


def test_every_class_has_a_sentence() -> None:
    assert [each.__name__ for each in classes() if not getattr(each, "sentence", "")] == []


def test_every_class_is_used() -> None:
    uses = Counter(
        name for module in tree.modules() for name in re.findall(r"\b[A-Z]\w+", module.read_text())
    )
    assert [each.__name__ for each in classes() if uses[each.__name__] < 2] == []
