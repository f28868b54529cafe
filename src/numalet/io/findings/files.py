"""Findings about files and folders that are read or written."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class FilesNoSuchDirectory(Finding):
    sentence = "there is no directory {path!r}; create it first, or name one with state files"
    path: str


class RecordTextOnly(Finding):
    sentence = "{text}"
    why = "a record of an earlier release has a cause as a text, without a code"
    text: str
