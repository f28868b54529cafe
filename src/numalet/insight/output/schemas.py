"""Every JSON Schema of a document that a command prints; as a program it writes them to files.

``python -m numalet.insight.output.schemas FOLDER`` is how ``docs/schemas`` is made. A document is
called ``numalet.NAME/NUMBER``, and its schema is in ``NAME.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from numalet.insight.output import (
    check_document,
    explanation_schema,
    findings_document,
    lab_schema,
    machine_schema,
    replay_schema,
    reserve_document,
    run_document,
    simulation_schema,
    state_schema,
)
from numalet.insight.output.json_schema import Schema

SCHEMAS: Final[Mapping[str, Callable[[], Schema]]] = MappingProxyType(
    {
        "check": check_document.schema,
        "explanation": explanation_schema.explanation,
        "findings": findings_document.schema,
        "lab-list": lab_schema.listed,
        "machine": machine_schema.machine,
        "machine-profiles": machine_schema.profiles,
        "replay": replay_schema.replay,
        "reserve": reserve_document.schema,
        "run": run_document.schema,
        "simulation": simulation_schema.simulation,
        "state-diff": state_schema.compared,
        "state-rebase": state_schema.rebased,
        "state-restore-check": state_schema.checked,
        "state-show": state_schema.shown,
        "state-verify": state_schema.verified,
        "what-if": explanation_schema.matrix,
    }
)
"""What gives the schema, by the name of the document."""


def write(folder: Path) -> None:
    """Write every schema into a folder."""
    for name, schema in SCHEMAS.items():
        text = json.dumps(schema(), indent=2) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m numalet.insight.output.schemas FOLDER")
    write(Path(sys.argv[1]))
