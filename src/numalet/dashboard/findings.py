"""Findings about the dashboard's history."""

from __future__ import annotations

from numalet.core.model.findings import WarningFinding


class DashboardHistoryStopped(WarningFinding):
    sentence = "the history is not kept: {problem}"
    problem: str
    why = "what happens meanwhile is missing in the charts; the node is served as before"
    fix = "make room, or make the file writable: the next figures are tried within seconds"


class DashboardHistorySetAside(WarningFinding):
    sentence = (
        "could not read the history, so a new one begins: {problem}; the old file is now {path}"
    )
    problem: str
    path: str
    why = "the charts lack the points of the old file"
    fix = "delete the file that was set aside when it is of no more use"
