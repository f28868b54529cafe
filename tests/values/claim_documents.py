"""Claims, slices, classes and pods as short texts for tests of rules about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import NodeIdentity
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from numalet.io.documents.claims import device_claims
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.text import yaml_source
from values import builders

NUMA = "resource.kubernetes.io/numaNode"
# Two NUMA nodes with two CPUs each, and one of memory alone.
_THREE = builders.machine(10, 10, 10, distances=((10, 20, 40), (20, 10, 30), (40, 30, 10)))
MACHINE = replace(
    _THREE, nodes=(*_THREE.nodes[:2], replace(_THREE.nodes[2], cores=())), cpu_count=4
)

Object = dict[str, Any]


def named(kind: str, name: str, spec: Object, version: str = "v1") -> Object:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def request(name: str, device_class: str, **more: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": device_class, **more}}


def cpus(name: str, count: str, device_class: str = "dra.cpu") -> Object:
    return request(name, device_class, capacity={"requests": {"dra.cpu/cpu": count}})


def claim(name: str, *requests: Object, match: str = "", kind: str = "ResourceClaim") -> Object:
    devices: Object = {"requests": list(requests)}
    if match:
        devices["constraints"] = [{"matchAttribute": match}]
    spec: Object = {"devices": devices}
    return named(kind, name, spec if kind == "ResourceClaim" else {"spec": spec})


def device(name: str, numa_node: int | None = None, cpus: str = "", **more: Any) -> Object:
    attributes = {} if numa_node is None else {NUMA: {"int": numa_node}}
    capacity = {"dra.cpu/cpu": {"value": cpus}} if cpus else {}
    shared = {"allowMultipleAllocations": True} if cpus else {}
    return {"name": name, "attributes": attributes, "capacity": capacity, **shared, **more}


def devices(driver: str, *of: Object, node: str = "node7", **pool: Any) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1, **pool}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": list(of)}
    generation = pool["generation"]
    return named("ResourceSlice", f"{node}-{driver}-{generation}", spec)


def device_class(name: str, *expressions: str, **more: Any) -> Object:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return named("DeviceClass", name, {"selectors": selectors, **more})


def container(name: str, amounts: Object, *claims: str | Object) -> Object:
    used = [{"name": each} if isinstance(each, str) else each for each in claims]
    resources = {"requests": amounts, "limits": amounts, "claims": used}
    return {"name": name, "image": "none", "resources": resources}


def pod(name: str, claims: dict[str, str], *containers: Object) -> Object:
    """A pod whose claims are ResourceClaims, or templates where the name begins with ``+``."""
    named_claims = [
        {"name": each, "resourceClaimTemplateName": of.removeprefix("+")}
        if of.startswith("+")
        else {"name": each, "resourceClaimName": of}
        for each, of in claims.items()
    ]
    spec = {"resourceClaims": named_claims, "containers": list(containers)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


ON = KubeletConfig(uses_default_eviction=True, feature_gates={"DynamicResourceAllocation": True})


def found(
    *objects: Object,
    config: KubeletConfig = ON,
    release: str = "1.36",
    node: str = "node7",
    machine: MachineInfo = MACHINE,
    **more: Any,
) -> list[Finding]:
    """What our rules about claims find, whatever else they find."""
    text = "\n".join(map(json.dumps, objects))
    inputs = [("all.json", yaml_source.load_documents(text, "all.json"))]
    of_name = table.named(release)
    assert of_name is not None
    subject = LintSubject(
        config=config,
        machine=machine,
        pods=pod_manifest.pods_of(inputs).pods,
        claims=device_claims.of_inputs(inputs).documents,
        identity=NodeIdentity(name=node),
        behaviour=replace(EXACT, release=of_name),
        **more,
    )
    words = ("claim", "dra", "device", "dynamic", "extended", "slices")
    return [
        each
        for each in rules.check(subject).own
        if each.code.startswith("lint/") and any(word in each.code for word in words)
    ]


def codes(findings: Sequence[Finding]) -> list[str]:
    return [each.code.removeprefix("lint/") for each in findings]
