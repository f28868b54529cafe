"""Make the table of the fields of pods, workloads and claims from Kubernetes' OpenAPI documents.

    generate.py

For each release below this fetches the module k8s.io/kubernetes (Go, the Go module proxy, 50 MB
each) and writes src/numalet/io/documents/pods/pod_table/fields.json: the fields of the first
release, and those that a later release adds or defines otherwise. A field that a
release drops stays.

``[]T`` is a list, ``{}T`` a map, and ``!`` at the end marks a required field.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RELEASES = ("1.32.13", "1.33.13", "1.34.9", "1.35.6", "1.36.3", "1.37.2")
TABLE = Path(__file__).parents[2] / "src/numalet/io/documents/pods/pod_table/fields.json"
CLAIMS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
ROOTS = {
    "api__v1": ("Pod", "ReplicationController"),
    "apis__apps__v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "apis__batch__v1": ("CronJob", "Job"),
    "apis__resource.k8s.io__v1": CLAIMS,
    "apis__resource.k8s.io__v1beta2": CLAIMS,
    "apis__resource.k8s.io__v1beta1": CLAIMS,
    "apis__resource.k8s.io__v1alpha3": CLAIMS,
}
"""By document: the types from which the walk over the fields begins."""
PLAIN = {"IntOrString": "int-or-string", "Quantity": "quantity", "Time": "time"}
# numalet does not check the members of these. The pod of a template is checked when it is made.
OPAQUE_FIELDS = {
    *("PodTemplateSpec.metadata", "PodTemplateSpec.spec", "ResourceClaimTemplateSpec.metadata"),
    *("BasicDevice.nodeSelector", "Device.nodeSelector", "ResourceSliceSpec.nodeSelector"),
    *(f"{kind}.status" for kinds in ROOTS.values() for kind in kinds if kind != "Pod"),
    "PersistentVolumeClaim.status",
}
OPAQUE_TYPES = {
    *("CapacityRequestPolicy", "CounterSet", "DeviceClaimConfiguration"),
    *("DeviceClassConfiguration", "DeviceCounterConsumption", "DeviceDerivedAttribute"),
    *("DeviceTaint", "DeviceToleration", "NodeAllocatableResource"),
    "NodeAllocatableResourceMapping",
}


def main() -> None:
    """Write the table: by release, group of types, type and field, the type of the field."""
    table: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    known: dict[tuple[str, str, str], str] = {}
    for version in RELEASES:
        command = ("go", "mod", "download", "-json", f"k8s.io/kubernetes@v{version}")
        folder = Path(json.loads(subprocess.check_output(command))["Dir"])
        groups = table.setdefault(version.rpartition(".")[0], {})
        given = dict(fields(folder / "api/openapi-spec/v3"))
        types = {path[:2] for path in given}
        # A field that its type no longer has is no longer required.
        dropped = {path: text.rstrip("!") for path, text in known.items() if path[:2] in types}
        for path, text in {**dropped, **given}.items():
            if known.get(path) != text:
                known[path] = text
                group, name, field = path
                groups.setdefault(group, {}).setdefault(name, {})[field] = text
    # One line for each type, so that a new release is read as a difference.
    text = re.sub(r"(?<={)\n {4}|\n {3}(?=})", "", json.dumps(table, indent=1, sort_keys=True))
    TABLE.write_text(re.sub(r",\n {4}", ", ", text) + "\n", encoding="utf-8")


def fields(folder: Path) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield group, type and name of each field of a release, and its type as the table has it."""
    for document, roots in ROOTS.items():
        path = folder / f"{document}_openapi.json"
        schemas = json.loads(path.read_text())["components"]["schemas"] if path.exists() else {}
        by_name = {name.rpartition(".")[2]: schema for name, schema in schemas.items()}
        claims = document.rpartition("resource.k8s.io__")[2] if roots == CLAIMS else ""
        of_pods = {"ObjectMeta"} if claims else set()
        names = [name for name in roots if name in by_name]
        for name in names:
            required = by_name[name].get("required", ())
            for field, schema in by_name[name]["properties"].items():
                kind = "object" if f"{name}.{field}" in OPAQUE_FIELDS else written(schema, by_name)
                text = f"{kind}{'!' * (field in required)}"
                yield (claims or "pods", name, field), text
                reached = re.split(r"[\]}]", kind)[-1]
                if reached in by_name.keys() - of_pods and reached not in names:
                    names.append(reached)


def written(schema: Mapping[str, Any], by_name: Mapping[str, Any]) -> str:
    """Return a type as the table has it."""
    if "allOf" in schema:
        return written(schema["allOf"][0], by_name)
    if "$ref" in schema:
        name = schema["$ref"].rpartition(".")[2]
        has_members = "properties" in by_name[name] and name not in OPAQUE_TYPES
        return PLAIN.get(name) or (name if has_members else "object")
    if schema["type"] == "array":
        return "[]" + written(schema["items"], by_name)
    if schema["type"] == "object" and "additionalProperties" in schema:
        return "{}" + written(schema["additionalProperties"], by_name)
    return str(schema.get("format") or schema["type"])


if __name__ == "__main__":
    main()
