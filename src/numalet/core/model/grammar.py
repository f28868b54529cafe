"""The singular in sentences whose templates have the plural: ``1 pods are`` is ``1 pod is``.

Templates have numbers and lists of NUMA nodes and CPUs as fields. A field can have the value 1, or
name one node.
"""

from __future__ import annotations

import re
from typing import Final

_NOUNS: Final = (
    "CPU|NUMA node|node|pod|container|core|device|record|row|set|assignment|block|byte|variant"
)
_VERBS: Final = {"are": "is", "have": "has", "were": "was", "hold": "holds", "do": "does"}
_VERB: Final = f"(?P<verb> (?:{'|'.join(_VERBS)})\\b)?"
# Not the end of an id, a range or a fraction: v1, 0-1, 0.1.
_ONE: Final = r"(?<![\w.,/-])1 "
_COUNT: Final = re.compile(
    rf"{_ONE}(?P<between>(?:more |free |other |exclusive )?)(?P<noun>{_NOUNS})s\b{_VERB}"
)
_LISTED: Final = re.compile(rf"\b(?P<noun>NUMA node|CPU)s (?P<id>\d+)(?![\w,.-]| and | to ){_VERB}")
_BARE: Final = re.compile(r"(?P<before>^|; |\(|\bbut |\bonly )1 are\b")


def singular(text: str) -> str:
    """Return the sentence with the singular after the number 1, and for a list of one."""
    text = _COUNT.sub(lambda found: f"1 {found['between']}{found['noun']}{_verb(found)}", text)
    text = _LISTED.sub(lambda found: f"{found['noun']} {found['id']}{_verb(found)}", text)
    return _BARE.sub(r"\g<before>1 is", text)


def _verb(found: re.Match[str]) -> str:
    verb = found["verb"]
    return f" {_VERBS[verb.strip()]}" if verb else ""
