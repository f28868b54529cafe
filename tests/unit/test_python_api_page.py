"""The examples of the page about the Python API hold, in their order."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numalet

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python-api.md"
_EXAMPLE = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


def test_the_examples_of_the_page_hold() -> None:
    text = PAGE.read_text(encoding="utf-8")
    runner = doctest.DocTestRunner()
    names: dict[str, object] = {}
    for example in _EXAMPLE.finditer(text):
        line = text.count("\n", 0, example.start())
        test = doctest.DocTestParser().get_doctest(
            example.group(1), names, PAGE.name, str(PAGE), line
        )
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).attempted > 20
    assert runner.summarize(verbose=False).failed == 0


def test_every_public_name_is_on_the_page() -> None:
    words = set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))
    assert set(numalet.__all__) - words == set()
