"""What was said on the command line, and how messages reach the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from numalet.agent.run.request import RunRequest
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.insight.explain.case import Case
from numalet.insight.output.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.io import kubelets

SEARCH_SECONDS: Final = 2
"""How long to search for what would have admitted a command that is refused."""


class RunOptions(Value, kw_only=True):
    """``wait_seconds`` is None for not waiting."""

    request: RunRequest
    root: Path | None = None
    config_file: Path | None = None
    policy: str | None = None
    release: str | None = None
    devices_file: str | None = None
    wait_seconds: float | None = None
    dry_run: bool = False
    kubelet_root: Path = kubelets.ROOT


class Voice(Value):
    """How messages reach the user.

    ``explained`` finds out why there is no place, given how many other commands run: the
    document of ``numalet explain``, which an agent gives in its place. ``explain`` prints it, given
    who decided.
    ``show`` prints the answer of a dry run as a document; it is None where that is not wanted.
    """

    report: Callable[[Finding], None]
    explained: Callable[[Case, int], Explanation]
    explain: Callable[[Explanation, str], None]
    show: Callable[[RunDocument], None] | None = None
