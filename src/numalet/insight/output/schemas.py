"""The JSON Schemas of documents that a command prints and of files that a user writes.

``python -m numalet.insight.output.schemas FOLDER`` makes ``docs/schemas``. Schemas of users' files
forbid undescribed fields, so that an editor marks a typo.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import Struct

from numalet.insight.explain.explanation_types import Explanation, ExplanationNotStartedDocument
from numalet.insight.explain.matrix import Matrix
from numalet.insight.fleet.class_draft import ClassDraft
from numalet.insight.fleet.fit import FleetFit
from numalet.insight.fleet.rejected import FleetRejected
from numalet.insight.fleet.traps import Traps
from numalet.insight.fleet.variants import WhatIf
from numalet.insight.maps.machine_map import MachineMap, Profiles
from numalet.insight.output import json_schema, state_document
from numalet.insight.output.check_document import CheckDocument, ChecksDocument, DoctorDocument
from numalet.insight.output.findings_document import FindingsDocument
from numalet.insight.output.fleet_days_document import FleetReplayDocument
from numalet.insight.output.fleet_free_document import FleetFreeDocument
from numalet.insight.output.fleet_why_document import FleetWhyDocument
from numalet.insight.output.json_schema import DIALECT, Schema
from numalet.insight.output.machine_document import LabListDocument
from numalet.insight.output.replay_document import ReplayDocument
from numalet.insight.output.reserve_document import ReserveDocument
from numalet.insight.output.run_document import RunDocument
from numalet.insight.output.upgrade_document import UpgradeDocument
from numalet.insight.simulate.simulation_document import NotStartedDocument, SimulationDocument
from numalet.insight.state.holder_map import StateMap
from numalet.io.documents.cluster import fleet_file_types
from numalet.io.documents.kubelet import numalet_config
from numalet.io.documents.text.typed import PUBLISHED_AS

INPUTS: Final[Mapping[str, tuple[type[Any], ...]]] = MappingProxyType(
    {
        "fleet-file": fleet_file_types.PARTS,
        "numalet-configuration": numalet_config.PARTS,
    }
)
"""The types of a file by the name of its schema, that of the whole file first."""


def input_schema(name: str) -> Schema:
    (whole, *_), parts = msgspec.json.schema_components(INPUTS[name], ref_template="#/$defs/{name}")
    schema: Schema = _published({"$schema": DIALECT, **whole, "$defs": parts})
    return schema


def _published(value: Any) -> Any:
    if isinstance(value, list):
        return [_published(each) for each in value]
    if not isinstance(value, dict):
        return value
    if PUBLISHED_AS in value:
        # Custom types are published in the form of the file; only their description is kept.
        kept = {name: value[name] for name in ("description", "default") if name in value}
        return {**kept, **value[PUBLISHED_AS]}
    shown = {name: _published(each) for name, each in value.items()}
    if "title" in value and "properties" in value:
        shown["additionalProperties"] = False
        shown["description"] = inspect.cleandoc(value["description"])
    return shown


DOCUMENTS: Final[Mapping[str, tuple[type[Struct], ...]]] = MappingProxyType(
    {
        "check": (CheckDocument,),
        "checks": (ChecksDocument,),
        "doctor": (DoctorDocument,),
        "explanation": (Explanation, ExplanationNotStartedDocument),
        "findings": (FindingsDocument,),
        "fleet-classes": (ClassDraft,),
        "fleet-fit": (FleetFit,),
        "fleet-free": (FleetFreeDocument,),
        "fleet-rejected": (FleetRejected,),
        "fleet-replay": (FleetReplayDocument,),
        "fleet-traps": (Traps,),
        "fleet-what-if": (WhatIf,),
        "fleet-why": (FleetWhyDocument,),
        "lab-list": (LabListDocument,),
        "machine": (MachineMap,),
        "machine-profiles": (Profiles,),
        "replay": (ReplayDocument,),
        "reserve": (ReserveDocument,),
        "run": (RunDocument,),
        "simulation": (SimulationDocument, NotStartedDocument),
        "state-diff": (state_document.ComparedDocument,),
        "state-rebase": (state_document.RebasedDocument,),
        "state-restore-check": (state_document.CheckedDocument,),
        "state-show": (StateMap,),
        "state-verify": (state_document.VerifiedDocument,),
        "upgrade": (UpgradeDocument,),
        "what-if": (Matrix,),
    }
)
"""The forms of a document, by its name."""


def write(folder: Path) -> None:
    made = {name: json_schema.of(*forms) for name, forms in DOCUMENTS.items()}
    made |= {name: input_schema(name) for name in INPUTS}
    for name, schema in made.items():
        text = json.dumps(schema, indent=2) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m numalet.insight.output.schemas FOLDER")
    write(Path(sys.argv[1]))
