"""Errors in user input: one class for each kind of error, the sentence at the call.

The model is Kubernetes' ``field.Error`` (docs/decisions/0026). The sentence says which input is
wrong, and how to correct it.

    raise input_error.Invalid(f"invalid memory {text!r}", expected="a size such as 1Gi").bad_input()

``expected`` ends the sentence and quotes nothing of the input.
"""

from __future__ import annotations

from numalet.core.model.findings import BadInput, Finding, Severity


class InputFinding(Finding, kw_only=False):
    """One error; ``why`` is common to all errors of its kind."""

    code = ""
    sentence = "{message}"
    message: str
    expected: str = ""

    def __str__(self) -> str:
        return f"{self.message}; expected {self.expected}" if self.expected else self.message

    def bad_input(self) -> BadInput:
        """Return the exception for this finding alone."""
        return BadInput([self])


class Required(InputFinding):
    code = "input/required"
    why = "a required value is missing"


class Invalid(InputFinding):
    code = "input/invalid"
    why = "a value is not valid"


class NotSupported(InputFinding):
    code = "input/not-supported"
    why = "a value is valid, but not supported here"


class Duplicate(InputFinding):
    code = "input/duplicate"
    why = "a value occurs twice and must be unique"


class TooLarge(InputFinding):
    code = "input/too-large"
    why = "the input exceeds a limit"


class Forbidden(InputFinding):
    code = "input/forbidden"
    why = "permissions or a rule of the program forbid it"


class Conflict(InputFinding):
    code = "input/conflict"
    why = "two values or options exclude each other"


class NotFound(InputFinding):
    code = "input/not-found"
    why = "the named object does not exist"


class Unreadable(InputFinding):
    code = "input/unreadable"
    why = "a file or an answer cannot be read"


class Unwritable(InputFinding):
    code = "input/unwritable"
    why = "a file cannot be written"


class Unavailable(InputFinding):
    code = "input/unavailable"
    why = "a program, a service or a package does not work here"


class Ignored(InputFinding):
    code = "input/ignored"
    why = "a part of the input is not used"
    severity: Severity = Severity.WARNING


class Assumed(InputFinding):
    code = "input/assumed"
    why = "a value is taken from elsewhere, because the input does not state it"
    severity: Severity = Severity.NOTE
