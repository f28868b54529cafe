"""Findings about unreadable files of the host."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class ProcfsUnreadable(Finding):
    code = "procfs/unreadable"
    sentence = "{path!r} can not be read: {error}"
    path: str
    error: str | None


class ProcfsNoArea(Finding):
    code = "procfs/no-area"
    sentence = "{value!r} is no line of a numa_maps file"
    value: str


class ProcfsNoList(Finding):
    code = "procfs/no-list"
    sentence = "{name} {value!r} is no list of numbers such as 0-3,8"
    name: str
    value: str


class ProcfsNoFigures(Finding):
    code = "procfs/no-figures"
    sentence = "{value!r} is no line of figures by node, such as 'anon N0=4096 N1=0'"
    value: str
