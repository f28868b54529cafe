"""The kubelet's command line: flags that stop a release.

Each release has its own flags. Kubelet v1.32: ``app.NewKubeletCommand``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.config.kubelet_config import CommandFlag
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import RELEASES
from numalet.core.findings.config import FlagUnknown
from numalet.core.model.findings import Finding

_RESEMBLES: Final = 0.8


def problems(flags: Iterable[CommandFlag], release: Release) -> Iterator[Finding]:
    """Yield the errors that stop a kubelet of the release, in the order of the flags."""
    for flag in flags:
        if flag.name and flag.name not in release.flags:
            yield FlagUnknown(
                flag=f"--{flag.name}", hint=_hint(flag.name, release), where=flag.where
            )
        elif flag.problem is not None:
            yield flag.problem


def accepted(flags: Iterable[CommandFlag], release: Release) -> tuple[CommandFlag, ...]:
    """Return the flags without those that stop a kubelet of the release."""
    return tuple(flag for flag in flags if not [*problems((flag,), release)])


def _hint(name: str, release: Release) -> str:
    for each in reversed(RELEASES):
        if name in each.flags:
            return f" (v{each.name} is the last release that has it)"
    close = difflib.get_close_matches(name, sorted(release.flags), n=1, cutoff=_RESEMBLES)
    return f"; did you mean --{close[0]}?" if close else ""
