"""How much input is accepted: sizes, counts, depths and digits that several readers share.

Nothing here is a rule of Kubernetes, unless it says so. Each limit keeps one input within bounded
time and memory; the finding about an input beyond it names the place and the limit.
"""

from __future__ import annotations

from typing import Final

WORD_BYTES: Final = 128 * 1024
"""A word of a command or a variable, with the zero at its end. Linux: ``MAX_ARG_STRLEN``."""
WORDS_OF_A_POD_BYTES: Final = 6 * 1024 * 1024
"""All of them. Linux accepts no more for one program, and one record has those of a pod."""
FINDINGS_OF_AN_OBJECT: Final = 100
"""Errors, and again as many warnings. A hostile object may have millions."""
