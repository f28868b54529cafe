"""Valid names and values of labels.

Kubernetes v1.32: ``IsQualifiedName`` and ``IsValidLabelValue`` of ``apimachinery``.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX: Final = re.compile(rf"{_PART}(\.{_PART})*", re.ASCII)


def is_name(name: str) -> bool:
    prefix, slash, own = name.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return len(own) <= _LONGEST_NAME and _NAME.fullmatch(own) is not None


def is_value(value: str) -> bool:
    """Return whether the text is empty, or valid as the last part of a name."""
    return not value or (len(value) <= _LONGEST_NAME and _NAME.fullmatch(value) is not None)
