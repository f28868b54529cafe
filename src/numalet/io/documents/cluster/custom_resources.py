"""The definitions of NumaNode and NumaNodeClass, made from the types that read and write them.

``python -m numalet.io.documents.cluster.custom_resources FOLDER`` writes them, one file each. Their
schemas are structural and use what every API server since 1.20 knows.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from numalet.core.model.machine_info import MachineInfo
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.documents.cluster.numa_node import GROUP, VERSION, NumaNodeSpec
from numalet.io.documents.cluster.numa_node_class import NumaNodeClassSpec

_REFERENCE: Final = "{name}"
_KEPT: Final = ("description", "type", "enum", "minimum", "required")
_ATOMIC: Final = {"x-kubernetes-map-type": "atomic"}

Schema = dict[str, Any]


def definitions() -> dict[str, Schema]:
    """By file name."""
    node = _structural(NumaNodeSpec)
    # One writer replaces it as a whole; a merge of two states would be meaningless.
    node["properties"]["state"] |= _ATOMIC
    of_class = _structural(NumaNodeClassSpec)
    described = of_class["properties"]["machine"]["description"]
    machine = {**_structural(MachineInfo), "description": described}
    of_class["properties"]["machine"] = numa_node_class.with_camel_case(machine)
    return {
        f"{numa_node.PLURAL}.yaml": _definition(
            numa_node.KIND,
            numa_node.PLURAL,
            node,
            (
                _column("Class", "string", ".spec.class"),
                _column("Pods", "integer", ".spec.pods"),
                _column("Free CPUs", "string", ".spec.freeCpus"),
                _column("Free devices", "string", ".spec.freeDevices"),
                _column("Published", "date", ".spec.published"),
                _column("Age", "date", ".metadata.creationTimestamp", priority=1),
            ),
        ),
        f"{numa_node_class.PLURAL}.yaml": _definition(
            numa_node_class.KIND,
            numa_node_class.PLURAL,
            of_class,
            (
                _column("Release", "string", ".spec.release"),
                _column("CPUs", "integer", ".spec.machine.cpuCount"),
                _column("Topology policy", "string", ".spec.configuration.topologyManagerPolicy"),
                _column("Scope", "string", ".spec.configuration.topologyManagerScope"),
                _column("Age", "date", ".metadata.creationTimestamp"),
            ),
        ),
    }


def _column(name: str, kind: str, path: str, priority: int = 0) -> Schema:
    column: Schema = {"name": name, "type": kind, "jsonPath": path}
    return column | ({"priority": priority} if priority else {})


def _definition(kind: str, plural: str, spec: Schema, columns: tuple[Schema, ...]) -> Schema:
    schema = {
        "description": spec["description"],
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "additionalPrinterColumns": list(columns),
                }
            ],
        },
    }


def _structural(of: type[Any]) -> Schema:
    """A structural schema, as API servers require: without references, one type for each value."""
    (schema,), parts = msgspec.json.schema_components([of], ref_template=_REFERENCE)
    return _written_out(schema, parts)


def _written_out(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Schema:
    if "$ref" in schema:
        return _written_out(parts[schema["$ref"]], parts)
    if "anyOf" in schema:
        # The one other form of a value is null.
        (whole,) = (each for each in schema["anyOf"] if each.get("type") != "null")
        shown = {name: schema[name] for name in _KEPT if name in schema}
        return {**_written_out(whole, parts), **shown, "nullable": True}
    result = {name: schema[name] for name in _KEPT if schema.get(name)}
    if "description" in result:
        result["description"] = " ".join(inspect.cleandoc(result["description"]).split())
    if "minimum" in schema:
        result["minimum"] = schema["minimum"]
    if "enum" in schema:
        result["type"] = "string"
    if schema.get("type") == "integer":
        result["format"] = "int64"
    if "items" in schema:
        result["items"] = _written_out(schema["items"], parts)
    if isinstance(schema.get("additionalProperties"), Mapping):
        result["additionalProperties"] = _written_out(schema["additionalProperties"], parts)
    if "properties" in schema:
        result["properties"] = {
            name: _written_out(each, parts) for name, each in schema["properties"].items()
        }
    result |= {name: each for name, each in schema.items() if name.startswith("x-kubernetes-")}
    return result


def text(definition: Mapping[str, Any]) -> str:
    note = "# Made by `make schemas`; the types are in numalet/io/documents.\n"
    # Parts that occur twice are the same object, which YAML would refer to.
    plain = json.loads(json.dumps(definition))
    return note + yaml.safe_dump(plain, sort_keys=False, width=100)


def write(folder: Path) -> None:
    for name, definition in definitions().items():
        (folder / name).write_text(text(definition), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m numalet.io.documents.cluster.custom_resources FOLDER")
    write(Path(sys.argv[1]))
