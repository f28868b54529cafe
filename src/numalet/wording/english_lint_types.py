"""What the words for a rule of our own are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LintWords:
    """The words for the findings of one code.

    ``sentence`` says what is wrong and ``mend`` what to do: templates over the fields of a finding.
    ``why`` is the reason of the rule, the same for every finding.
    """

    sentence: str
    why: str
    mend: str
