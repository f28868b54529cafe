"""Every reader of documents, with something of every type at every place of a good document.

The other laws about readers draw what is odd at random; here nothing is left out. Whatever comes,
it ends in a value or in findings with sentences, and never in another exception.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller import shared_state
from numalet.agent.servers.api import patches
from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.checkpoint import device_file as device_checkpoint
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.insight.usecases import scenario_document
from numalet.io.documents.kubelet import kubelet_config, numalet_config
from numalet.io.documents.machine import cadvisor, device_file, machine_file
from numalet.io.documents.pods import listed_pods, pod_manifest
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place
from values import full_pod, state_builders

pytestmark = pytest.mark.property

HERE = Location("f", "$")
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "uid": "u", "labels": {"a": "b"}, "ownerReferences": []},
    "spec": {
        "initContainers": [{"name": "i", "restartPolicy": "Always"}],
        "containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}],
        "overhead": {"cpu": "1"},
        "nodeName": "n",
    },
    "status": {"phase": "Running", "qosClass": "Guaranteed", "startTime": "2026-01-31T12:00:00Z"},
}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
OWNED = {"name": "web", "namespace": "shop", "ownerReferences": [{"controller": True, "name": "x"}]}


def _workload(kind: str, **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": OWNED, "spec": {"template": TEMPLATE, **spec}}


WORKLOADS: dict[str, dict[str, Any]] = {
    "pod": POD,
    "list": {"kind": "List", "items": [POD]},
    "pod-list": {"kind": "PodList", "items": [{k: v for k, v in POD.items() if k != "kind"}]},
    "deployment": _workload("Deployment", replicas=2),
    "stateful-set": _workload("StatefulSet", replicas=2, ordinals={"start": 1}),
    "daemon-set": _workload("DaemonSet"),
    "job": _workload("Job", parallelism=2, completions=3, completionMode="Indexed", suspend=False),
    "cron-job": {
        "kind": "CronJob",
        "metadata": OWNED,
        "spec": {"jobTemplate": {"metadata": {}, "spec": {"template": TEMPLATE}}},
    },
}
KUBELET: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
    "reservedSystemCPUs": "0",
    "kubeReserved": {"memory": "1Gi"},
    "systemReserved": {"cpu": "1"},
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    "featureGates": {"MemoryManager": True},
    "maxPods": 110,
    "podsPerCore": 0,
    "cpuManagerReconcilePeriod": "10s",
    "registerWithTaints": [],
    "failSwapOn": True,
}
NUMALET: dict[str, Any] = {
    "apiVersion": "numalet.dev/v1alpha1",
    "kind": "NumaletConfiguration",
    "mode": "native",
    "generalPredicates": True,
    "memoryNodeClasses": ["CPU"],
}
MACHINE: dict[str, Any] = {
    "os": "linux",
    "nodes": [
        {
            "id": 0,
            "memory": "8Gi",
            "hugepages": {"2Mi": 4},
            "cpus": "0-3",
            "socket": 0,
            "threads_per_core": 2,
            "distances": [10, 20],
        },
        {"id": 1, "memory": "8Gi", "cpus": "4-7", "distances": [20, 10]},
    ],
}
MACHINE_INFO: dict[str, Any] = {
    "num_cores": 2,
    "num_sockets": 1,
    "memory_capacity": 8 << 30,
    "hugepages": [{"page_size": 2048, "num_pages": 1}],
    "topology": [
        {
            "node_id": 0,
            "memory": 8 << 30,
            "hugepages": [{"page_size": 2048, "num_pages": 1}],
            "cores": [
                {
                    "core_id": 0,
                    "thread_ids": [0, 1],
                    "socket_id": 0,
                    "caches": [{"id": 0, "size": 1, "type": "Unified", "level": 3}],
                    "uncore_caches": [{"id": 0, "size": 1, "type": "Unified", "level": 3}],
                }
            ],
            "caches": [],
            "distances": [10],
        }
    ],
}
GPUS: dict[str, Any] = {
    "resource": "example.com/gpu",
    "devices": [{"id": "g0", "numa_nodes": [0], "health": "Healthy"}, {"id": "g1"}],
}
SCENARIO: dict[str, Any] = {
    "name": "s",
    "machine": MACHINE,
    "kubelet_config": KUBELET,
    "numalet_config": {"mode": "native"},
    "devices": [GPUS],
    "steps": [{"admit": POD}, {"restart": {"order": ["u"]}}, {"remove": "u"}],
}
DUMP: dict[str, Any] = {
    "podResources": [
        {
            "name": "p",
            "namespace": "default",
            "containers": [
                {
                    "name": "a",
                    "cpuIds": ["1", 2],
                    "devices": [{"resourceName": "r/x", "deviceIds": ["d"]}],
                    "memory": [
                        {"memoryType": "memory", "size": "5", "topology": {"nodes": [{"ID": "1"}]}}
                    ],
                }
            ],
        }
    ]
}
SHARED: list[Any] = [
    {
        "uid": "u", "name": "p", "pid": 5, "ticks": 5, "boot": "b", "command": ["x"],
        "pod": {}, "cpus": "0-3", "started": "2026-01-31T12:00:00Z",
    }
]  # fmt: skip


def _said(findings: tuple[Finding, ...]) -> None:
    assert findings
    assert all(str(each) for each in findings)


def _findings_of(
    read: Callable[[Any], object], value: Any, where: str
) -> tuple[Finding, ...] | None:
    """Why the value can not be read; None if it can."""
    try:
        read(value)
    except BadInput as bad:
        return bad.findings
    except Exception as bug:
        raise AssertionError(where) from bug
    return None


def _each_place(whole: Any, read: Callable[[Any], object], step: int = 1) -> None:
    """Read the document as it is, then with something odd at every place in turn."""
    read(whole)
    for number, (where, value) in enumerate(full_pod.replaced(whole)):
        if number % step:
            continue
        findings = _findings_of(read, value, where)
        if findings is not None:
            _said(findings)


def _collected(read: Callable[[Any, Findings], object]) -> Callable[[Any], object]:
    def collected(value: Any) -> object:
        findings = Findings()
        found = read(value, findings)
        if found is None:
            _said(findings.all)
        return found

    return collected


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_pods_lists_and_workloads(name: str) -> None:
    def read(value: Any) -> object:
        # JSON, as kubectl prints it; what JSON can not say is said in YAML by nobody.
        return pod_manifest.read_pods(json.dumps(value), "f")

    _each_place(WORKLOADS[name], read, step=3)


def test_kubelet_configurations() -> None:
    _each_place(KUBELET, lambda value: kubelet_config.decode(value, "f"))


def test_our_own_configuration() -> None:
    def read(value: Any, findings: Findings) -> object:
        config = numalet_config.decode(value, Place("f"), findings)
        numalet_config.check(config, Place("f"), findings)
        return config

    _each_place(NUMALET, _collected(read))


def test_machine_files() -> None:
    _each_place(MACHINE, lambda value: machine_file.decode(value, HERE))


def test_machine_infos() -> None:
    _each_place(MACHINE_INFO, lambda value: cadvisor.decode(value, HERE))


def test_device_files() -> None:
    _each_place({"devices": [GPUS]}, lambda value: device_file.decode(value, HERE))


def test_scenarios() -> None:
    _each_place(SCENARIO, lambda value: scenario_document.decode(value, Place("f")), step=5)


def test_pods_for_their_names_and_dumps_of_pod_resources(tmp_path: Path) -> None:
    file = tmp_path / "f.json"

    def read(value: Any) -> object:
        file.write_text(json.dumps(value))
        return listed_pods.load([file])

    _each_place(DUMP, read, step=2)
    _each_place({"items": [POD]}, read, step=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(state_builders.files()))
def test_state_files(name: str) -> None:
    def read(value: Any) -> object:
        texts = [json.dumps(value)]
        with contextlib.suppress(AssertionError, KeyError, TypeError, ValueError, AttributeError):
            texts.append(state_builders.sealed(name, json.loads(texts[0])))
        for text in texts:
            found: list[object] = [
                cpu_file.load(text, "static"),
                memory_file.load(text, "Static"),
                device_checkpoint.load(text),
            ]
            for each in found:
                if isinstance(each, Finding):
                    _said((each,))
        return texts

    _each_place(json.loads(state_builders.files()[name]), read, step=7)


def test_node_state_of_runs(tmp_path: Path) -> None:
    state = shared_state.SharedState(tmp_path / "root")
    assert state.prepare()

    def read(value: Any) -> object:
        (state.folder / shared_state.HOLDERS).write_text(json.dumps(value))
        with state.held() as content:
            return content

    with contextlib.suppress(BadInput):
        read(SHARED)
    _each_place([], read)
    for where, value in full_pod.replaced(SHARED):
        with contextlib.suppress(BadInput):
            assert read(value) is not None, where


@pytest.mark.parametrize("apply", [patches.operations, patches.merge])
def test_patches(apply: Callable[[Any, Any], Any]) -> None:
    operation = [
        {"op": "replace", "path": "/spec/nodeName", "value": "m"},
        {"op": "copy", "from": "/spec/nodeName", "path": "/spec/hostname"},
    ]
    patch = operation if apply is patches.operations else POD
    for where, value in full_pod.replaced(patch):
        try:
            apply(POD, value)
        except (patches.PatchUnreadable, patches.PatchDoesNotFit):
            continue
        except Exception as bug:
            raise AssertionError(where) from bug


def test_texts() -> None:
    for _, value in full_pod.replaced({"kind": "Pod", "metadata": {"name": "p"}}):
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            with contextlib.suppress(BadInput):
                yaml_source.load_documents(text, "f")
    assert typed.described("\ud800")
