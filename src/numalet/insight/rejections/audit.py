"""One line for each action: the change, its object, its reason, its end, and its undo."""

from __future__ import annotations

from numalet.core.model.value import Value
from numalet.insight.rejections import marks
from numalet.insight.rejections.actions import Action, SuspendJob, TaintNode


class AuditLine(Value, kw_only=True):
    """``until`` is a time in UTC; permanent changes have no such time."""

    verb: str
    target: str
    why: str
    until: str | None
    undo: str

    @property
    def text(self) -> str:
        until = "" if self.until is None else f", until {self.until}"
        return f"{self.verb} {self.target}{until}: {self.why} (undo: {self.undo})"

    @property
    def document(self) -> dict[str, str | None]:
        return {
            "verb": self.verb,
            "target": self.target,
            "why": self.why,
            "until": self.until,
            "undo": self.undo,
        }


def line(action: Action) -> AuditLine:
    until = None
    if isinstance(action, TaintNode | SuspendJob):
        until = marks.moment_text(action.until_seconds)
    return AuditLine(
        verb=action.verb,
        target=action.target,
        why=" ".join(action.why.split()),
        until=until,
        undo=action.undo,
    )
