"""Command line options of ``numalet run``, and its output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from numalet.agent.run.request import RunRequest
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.insight.explain.cases import Case
from numalet.insight.output.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.io import kubelets

SEARCH_SECONDS: Final = 2
"""How long to search for a change that would admit a refused command."""


class RunOptions(Value, kw_only=True):
    """Without ``wait_seconds``, the command does not wait."""

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
    """Output to the user.

    ``explained`` explains a refusal, given the number of other commands; ``explain`` prints it,
    given the decider. ``show`` prints the document of a dry run, if requested.
    """

    report: Callable[[Finding], None]
    explained: Callable[[Case, int], Explanation]
    explain: Callable[[Explanation, str], None]
    show: Callable[[RunDocument], None] | None = None
