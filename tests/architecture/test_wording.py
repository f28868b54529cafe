"""Every code has a sentence, every sentence a use, and the two agree about the fields."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from string import Formatter

from architecture import codes
from numalet import wording
from numalet.wording import english


def _sentences_by_module() -> dict[str, Mapping[str, str]]:
    """What every module of the room exposes as ``SENTENCES``."""
    names = sorted(module.name for module in pkgutil.iter_modules(wording.__path__))
    modules = {name: importlib.import_module(f"numalet.wording.{name}") for name in names}
    return {
        name: module.SENTENCES for name, module in modules.items() if hasattr(module, "SENTENCES")
    }


SENTENCES: Mapping[str, str] = {
    code: sentence
    for sentences in _sentences_by_module().values()
    for code, sentence in sentences.items()
}


def _placeholders(sentence: str) -> frozenset[str]:
    """Names of the fields that a template shows."""
    return frozenset(
        name.split(".")[0].split("[")[0]
        for _, name, _, _ in Formatter().parse(sentence)
        if name is not None
    )


def test_every_code_has_a_sentence() -> None:
    silent = {use.code: use.place for use in codes.uses() if use.code not in SENTENCES}
    assert silent == {}


def test_every_english_sentence_is_in_the_merged_table() -> None:
    lost = {
        code
        for name, sentences in _sentences_by_module().items()
        if name.startswith("english_")
        for code in sentences
        if code not in english.SENTENCES
    }
    assert lost == set()


def test_every_sentence_is_used() -> None:
    used = codes.texts()
    beginnings = tuple(codes.beginnings())
    idle = {
        code
        for code in SENTENCES
        if code not in used and not (beginnings and code.startswith(beginnings))
    }
    assert idle == set()


def test_every_field_of_a_sentence_is_given_where_its_code_is_used() -> None:
    lacking = {
        (use.code, use.place): missing
        for use in codes.uses()
        if use.fields is not None
        and use.code in SENTENCES
        and (missing := _placeholders(SENTENCES[use.code]) - use.fields)
    }
    assert lacking == {}


def test_no_placeholder_is_a_position() -> None:
    nameless = {code for code, sentence in SENTENCES.items() if "" in _placeholders(sentence)}
    assert nameless == set()


def test_codes_are_found_in_all_their_forms() -> None:
    found = {use.code for use in codes.uses()}
    assert {"memory/no-node-fits", "pods/no-containers", "memory-state/no-machine-state"} <= found
