"""Wording that a reader has to read twice becomes rarer, never more frequent.

A pattern marks a place to look at: some hits are right. Each kind of text has a ceiling, in hits
per 1,000 words; whoever writes plainer lowers it. ``python -m architecture.test_plain_words`` from
the folder ``tests`` prints every hit.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from architecture import tree

CEILINGS: Final = {"docstrings and comments": 4.0, "messages": 5.0, "pages": 1.0}
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
_WORDS_OF_A_SENTENCE: Final = 4
_PATTERNS: Final = {
    "relative clause instead of a noun": r"\b(?:of|for|to|in|by|with|on|from) who(?:m|se)\b"
    r"|\b(?:of|for|to|in|by|with|on|from) which\b"
    r"|\bwhat (?:is|was|are|were|it|there|they|a|has|have)\b",
    "negated noun": r"\b(?:is|are|was|were) no\b(?! longer)|\bnone\b(?! policy)",
    "degree before the subject": r"\bso (?:long|many|much)\b",
    "is to do": r"\b(?:is|are|was|were) to [a-z]+\b",
    "passive without an actor": r"\b(?:is|are|was|were|be|been) "
    r"(?:asked|said|told|meant|taken|given|looked|found|heard)\b",
    "everyday verb for a term": r"\b(?:goes|gone|comes|came)\b"
    r"|\bcounts? (?:as|for|there|here|no|none)\b|\bmend(?:s|ed|ing)?\b|\bh[au]ngs? on\b",
    "old or rare word": r"\banew\b|\bbeside\b|\bcan not\b|\bhitherto\b|\blately\b|\bin vain\b"
    r"|\bat hand\b|\bto be had\b|\bat the price\b|\b(?:kept|keeps) back\b|\bput (?:by|off)\b",
    "otherwise for different": r"\b(?:is|are|be|made|was|were) otherwise\b",
    "his own": r"\bof (?:its|their|his|our) own\b",
    "person for a program": r"\b(?:whoever|whosoever|somebody|nobody|everybody)\b"
    r"|\b(?:for|of|by|from|to) who\b|\bwho(?:m|se)? (?:asks|reads|writes|holds|has|waits)\b",
    "as it is": r"\bas (?:it is|they are|it was)\b",
}
_ANY: Final = re.compile("|".join(_PATTERNS.values()), re.IGNORECASE)
_NOT_PROSE: Final = re.compile(r"^( *)```.*?^\1```|`[^`]*`", re.DOTALL | re.MULTILINE)


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(tree.parsed(path)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case _:
                pass
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def _messages(path: Path) -> Iterator[str]:
    """Constants of several words that are not docstrings."""
    nodes = list(ast.walk(tree.parsed(path)))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in alone and " " in text:
                if len(_WORD.findall(text)) >= _WORDS_OF_A_SENTENCE:
                    yield text
            case _:
                pass


def _pages(path: Path) -> Iterator[str]:
    yield _NOT_PROSE.sub("", path.read_text(encoding="utf-8"))


def _texts(kind: str) -> Iterator[tuple[Path, str]]:
    if kind == "pages":
        paths, read = [tree.ROOT / "README.md", *sorted(tree.DOCS.rglob("*.md"))], _pages
    else:
        paths = [path for path in tree.modules() if not path.name.endswith("_pb2.py")]
        read = _messages if kind == "messages" else _docstrings
    for path in paths:
        for text in read(path):
            yield path, text


def _rate(texts: list[str]) -> float:
    words = sum(len(_WORD.findall(text)) for text in texts)
    return 1000 * sum(len(_ANY.findall(text)) for text in texts) / max(1, words)


@pytest.mark.parametrize("kind", CEILINGS)
def test_no_kind_of_text_becomes_harder_to_read(kind: str) -> None:
    assert _rate([text for _, text in _texts(kind)]) <= CEILINGS[kind]


def test_the_rate_counts_hits_in_a_thousand_words() -> None:
    plain, hard = "The kubelet rejects the pod.", "It is to be made anew by whoever asks."
    assert _rate([plain]) == 0
    assert _rate([plain, hard]) == pytest.approx(1000 * 3 / 14)


if __name__ == "__main__":
    for each in CEILINGS:
        print(f"{each}: {_rate([text for _, text in _texts(each)]):.1f}")  # noqa: T201
        for where, told in _texts(each):
            for hit in _ANY.finditer(told):
                around = told[max(0, hit.start() - 40) : hit.end() + 40].replace("\n", " ")
                print(f"  {tree.relative(where)}: {around}")  # noqa: T201
