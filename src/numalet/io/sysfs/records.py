"""A tree with warnings about its malformed files, which are treated as missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from numalet.core.model import input_error
from numalet.core.model.findings import Findings, Location
from numalet.core.model.value import Value, field
from numalet.io.sysfs import kernel_text
from numalet.io.sysfs.trees import Tree

_MOST_WARNINGS: Final = 50
"""Enough to recognise a broken tree."""

T = TypeVar("T")


class TreeSource(Value):
    tree: Tree
    document: str
    warnings: Findings = field(default_factory=Findings)

    def read(self, path: str, parse: Callable[[str | None], T | None]) -> T | None:
        try:
            return parse(self.tree.text(path))
        except kernel_text.KernelTextError as error:
            if len(self.warnings.all) < _MOST_WARNINGS:
                self.warnings.add(
                    input_error.Ignored(
                        f"{path} is ignored: {error.text[:100]!r} is not a {error.wanted}",
                        where=Location(self.document, path),
                    )
                )
            return None

    def numbered(self, path: str, prefix: str) -> dict[int, str]:
        """Entries of a directory such as ``node7``, by ascending number."""
        # No leading zeros: ``node07`` would be a second node 7, and kernels never write it.
        names = self.tree.names(path, re.compile(rf"{prefix}(?:0|[1-9][0-9]{{0,6}})", re.ASCII))
        return dict(sorted((int(name.removeprefix(prefix)), name) for name in names))
