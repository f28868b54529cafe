"""``kubectl explain`` texts of types and fields besides the table of Pod fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REFUSED: Final = "Refused: the program would do something else than its author meant."
WARNED: Final = "The pod runs, but this has no effect; creating it prints a warning."
IGNORED: Final = "Ignored: it means nothing to a program of the host."
KEPT: Final = "Kept and shown; nothing follows from it."
PART: Final = "A part of a pod."
UNDER_RULE: Final = "Honoured while the rule {rule} is on, as in exact mode; else ignored."
SINCE: Final = "Not in v1.32; Kubernetes has it since v{release}."

ANSWERS: Final[Mapping[str, str]] = {
    "PodList": "Pods of one moment.",
    "Object": "An object of some kind.",
    "ObjectList": "Objects of one moment.",
    "Status": "A failed request, and why.",
}
