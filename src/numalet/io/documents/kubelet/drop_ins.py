"""Drop-in files of ``--config-dir``, and their merge.

Every ``*.conf`` file below the directory, in the order of a lexical walk, is a JSON merge patch:
mappings merge, other values replace, null deletes. Kubelet v1.32: ``mergeKubeletConfigurations``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from numalet.core.model import input_error
from numalet.core.model.findings import NOWHERE, Location
from numalet.io import os_problem
from numalet.io.documents.text.yaml_source import child_path

_SUFFIX: Final = ".conf"


class Part(Protocol):
    """A mapping of fields with their locations."""

    @property
    def value(self) -> Any:
        """The mapping."""

    def location(self, path: str) -> Location:
        """The place of a path such as ``$.maxPods``."""


class MergedDocuments:
    """Several documents merged into one value, with the origin of every part."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self._origins: dict[str, Part] = {}

    def merge(self, document: Part) -> None:
        self._patch(self.value, document.value, "$", document)

    def locate(self, path: str) -> Location:
        around = path
        while around:
            if around in self._origins:
                return self._origins[around].location(path)
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return NOWHERE if path == "$" else Location("", path)

    def _patch(
        self, target: dict[str, Any], patch: dict[str, Any], path: str, document: Part
    ) -> None:
        for key, value in patch.items():
            place = child_path(path, key)
            if value is None:
                target.pop(key, None)
            elif isinstance(value, dict):
                if not isinstance(target.get(key), dict):
                    target[key] = {}
                    self._origins[place] = document
                self._patch(target[key], value, place, document)
            else:
                target[key] = value
                self._origins[place] = document


def files(directory: Path) -> Iterator[Path]:
    """In the kubelet's order. Raises ``BadInput`` if the directory is unreadable."""
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208 - text order, as Go walks
    except OSError as error:
        raise input_error.Unreadable(
            f"cannot read the drop-in directory: {os_problem.text(error)}",
            where=Location(str(directory)),
        ).bad_input() from None
    for name in names:
        path = directory / name
        # Go's filepath.WalkDir does not follow symbolic links to folders.
        if path.is_dir() and not path.is_symlink():
            yield from files(path)
        elif name.endswith(_SUFFIX):
            yield path
