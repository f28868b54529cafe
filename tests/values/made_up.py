"""Findings that mean nothing, for tests of what every finding can do."""

from __future__ import annotations

from numalet.core.model.findings import Finding, WarningFinding


class MadeUp(Finding):
    code = "numalet/x"
    sentence = "made up"


class First(Finding):
    code = "a/first"
    sentence = "the first has {value!r}"
    value: int = 0


class Second(Finding):
    code = "b/second"
    sentence = "the second"


class Third(Finding):
    code = "c/third"
    sentence = "the third"


class OnlyWarned(WarningFinding):
    code = "a/warning"
    sentence = "a warning"
