"""How much input is accepted: sizes, counts, depths and digits that several readers share.

Nothing here is a rule of Kubernetes, unless it says so. Each limit keeps one input within bounded
time and memory; the finding about an input beyond it names the place and the limit.
"""

from __future__ import annotations

from typing import Final

FINDINGS_OF_AN_OBJECT: Final = 100
"""Errors, and again as many warnings. A hostile object may have millions."""
