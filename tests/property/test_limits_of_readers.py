"""Every reader of what others wrote, driven to each limit: it ends soon, with a value or findings.

A good document of each reader has something hostile put at every place in turn: numbers of 5,000
digits, CPU lists and sizes beyond any machine, nesting without end. Then come texts of too many
documents and of too many items. A new module that reads texts has to be in this table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from harness import thoroughness
from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.config import start
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import limits
from numalet.core.model.findings import BadInput, Finding, Findings, Severity
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import PodRun
from numalet.insight.usecases import scenario_file
from numalet.io import devices, machines
from numalet.io.documents.claims import device_claims
from numalet.io.documents.cluster import cluster_dump, fleet_file
from numalet.io.documents.kubelet import kubelet_config, kubelet_flags, numalet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.documents.pods import listed_pods, pod_manifest, pod_record, pod_trace, workload
from numalet.io.documents.pods.workload import WorkloadOptions
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import kubeconfig
from property import test_readers_of_documents as good
from running import agents
from values import state_builders

pytestmark = pytest.mark.property

MOST_SECONDS: Final = 20.0
"""For one reading, on a busy machine; what is not bounded takes minutes."""
DIGITS: Final = "9" * 5_000
HOSTILE: Final[Mapping[str, str]] = {
    "a number of 5,000 digits": DIGITS,
    "a negative one": "-" + DIGITS,
    "one in a text": f'"{DIGITS}"',
    "a fraction of 5,000 digits": f"0.{DIGITS}",
    "one in a text too": f'"0.{DIGITS}Gi"',
    "more than 64 bits": "18446744073709551616",
    "an exponent without end": "1e999999999",
    "one in a quantity": '"1e999999999"',
    "the most exbibytes": '"9999999999Ei"',
    "percents": f'"{DIGITS}%"',
    "a far CPU": "30000000000",
    "a far CPU in a list": '"0-3,30000000000"',
    "CPUs without end": '"0-30000000000"',
    "a million CPUs": '"0-1048570"',
    "nested lists": "[" * 3_000 + "]" * 3_000,
    "nested objects": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "nothing": "[]",
    "a long text": '"' + "x" * 200_000 + '"',
    "a duration without end": f'"{DIGITS}h"',
}
MARK: Final = "@@here@@"

Reader = Callable[[Path], object]


def _config(path: Path) -> object:
    loaded = kubelet_config.load(ConfigSources(config_file=path))
    return start.resolve(loaded.config, machines.open_machine("2n4c2t", memory_per_node="8Gi").info)


def _own_config(path: Path) -> object:
    findings = Findings()
    for each in yaml_source.load_documents(yaml_source.read_text(path), "f"):
        config = numalet_config.decode(each.value, Place("f"), findings)
        numalet_config.check(config, Place("f"), findings)
    findings.raise_errors()
    return findings


def _flags(path: Path) -> object:
    (document,) = yaml_source.load_documents(yaml_source.read_text(path), "f")
    values = document.value if isinstance(document.value, dict) else {}
    given = kubelet_flags.parse([(name, kubelet_flags.flag_text(v)) for name, v in values.items()])
    applied = kubelet_flags.applied(KubeletConfig(), given)
    info = machines.open_machine("2n4c2t", memory_per_node="8Gi").info
    return start.resolve(applied, info)


def _scenarios(path: Path) -> list[object]:
    return [each.decode() for each in scenario_file.read_scenarios(str(path))]


def _posted(path: Path) -> object:
    findings = Findings()
    documents = yaml_source.load_documents(yaml_source.read_text(path), "f")
    options = WorkloadOptions(uid="u", node_name="n", unknown_fields=Severity.WARNING)
    for each in documents:
        workload.decode_workload(each.value, Place("f"), options, findings)
    return findings


def _trace(path: Path) -> object:
    return pod_trace.read(yaml_source.read_text(path), "f", {})


def _state(load: Callable[[str], object]) -> Reader:
    def read(path: Path) -> object:
        return load(path.read_text())

    return read


def _runtime_states(path: Path) -> object:
    return pod_record.decode(path.read_bytes(), "f")


STATES: Final = state_builders.files()
FLEET: Final[dict[str, Any]] = {
    "pools": [
        {
            "name": "big",
            "machine": "2n4c2t",
            "memory_per_node": "8Gi",
            "count": 3,
            "configuration": good.KUBELET,
            "devices": [good.GPUS],
            "labels": {"a": "b"},
        }
    ]
}
CLUSTER: Final[dict[str, Any]] = {
    "kind": "List",
    "items": [
        good.POD,
        {
            "kind": "Node",
            "metadata": {"name": "n", "uid": "u", "labels": {"a": "b"}},
            "status": {
                "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "allocatable": {"cpu": "4"},
                "nodeInfo": {"kubeletVersion": "v1.34.0"},
            },
        },
        {
            "kind": "NumaNode",
            "metadata": {"name": "n"},
            "spec": {
                "class": "c",
                "published": "2026-05-01T08:00:00Z",
                "state": {
                    "sharedCpus": "0-3",
                    "memory": {
                        "0": {"assignments": 1, "group": "0", "reserved": {"memory": "1Gi"}}
                    },
                    "resources": ["r/x"],
                    "pods": {"p": "baaa70 c1-2 m0=1Gi d0=2-3"},
                },
            },
        },
        {
            "kind": "NumaNodeClass",
            "metadata": {"name": "c"},
            "spec": {
                "release": "1.34",
                "machine": {"nodes": [{"id": 0, "memory": "8Gi", "cpus": "0-3"}]},
                "configuration": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"},
            },
        },
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "d"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}},
            "status": {"disruptionsAllowed": 1},
        },
        {
            "kind": "NodeResourceTopology",
            "metadata": {"name": "n"},
            "zones": [{"name": "node-0", "type": "Node"}],
        },
    ],
}
CLAIMS: Final[dict[str, Any]] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c"},
    "spec": {
        "devices": {
            "requests": [{"name": "r", "exactly": {"deviceClassName": "x", "count": 2}}],
        }
    },
}
KUBECONFIG: Final[dict[str, Any]] = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "https://x", "tls-server-name": "y"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}
FLAGS: Final[dict[str, Any]] = {
    "cpu-manager-policy": "static",
    "reserved-cpus": "0",
    "kube-reserved": "memory=1Gi",
    "reserved-memory": "0:memory=1Gi",
    "eviction-hard": "memory.available<5%",
    "max-pods": "10",
    "node-status-update-frequency": "10s",
    "topology-manager-policy-options": "max-allowable-numa-nodes=9",
}
RECORD: Final = json.loads(
    pod_record.encode(
        PodRecord(agents.pod("p"), PodRun(accepted_at=datetime(2026, 1, 1, tzinfo=UTC)))
    )
)

READERS: Final[Mapping[str, tuple[Any, Reader]]] = {
    "pods": (good.POD, pod_manifest.load_pods),
    "deployment": (good.WORKLOADS["deployment"], pod_manifest.load_pods),
    "posted pod": (agents.manifest("p"), _posted),
    "record of a pod": (RECORD, _runtime_states),
    "kubelet configuration": (good.KUBELET, _config),
    "kubelet flags": (FLAGS, _flags),
    "our configuration": (good.NUMALET | {"memoryNodeClasses": ["cpu"]}, _own_config),
    "machine file": (good.MACHINE, machines.open_machine),
    "machine of cadvisor": (good.MACHINE_INFO, machines.open_machine),
    "device file": ({"devices": [good.GPUS]}, lambda path: devices.named_devices(str(path), [])),
    "fleet file": (FLEET, lambda path: fleet_file.load(str(path))),
    "objects of a cluster": (CLUSTER, lambda path: cluster_dump.load([str(path)])),
    "claims": (CLAIMS, device_claims.load_claims),
    "scenario": (good.SCENARIO, _scenarios),
    "trace": (
        {"arrival": "1", "duration": "1m", "shape": {"cpu": "2", "memory": "1Gi"}, "count": 2},
        _trace,
    ),
    "names of pods": (good.DUMP, lambda path: listed_pods.load([path])),
    "kubeconfig": (KUBECONFIG, lambda path: kubeconfig.access([path], None)),
    "CPU state": (
        json.loads(STATES["cpu_manager_state"]),
        _state(lambda text: cpu_file.load(text, "static")),
    ),
    "memory state": (
        json.loads(STATES["memory_manager_state"]),
        _state(lambda text: memory_file.load(text, "Static")),
    ),
    "device checkpoint": (
        json.loads(STATES["kubelet_internal_checkpoint"]),
        _state(device_file.load),
    ),
}


def _marked(value: Any) -> Iterator[Any]:
    """The document with the mark at each place in turn."""
    yield MARK
    if isinstance(value, dict):
        for name, member in value.items():
            for marked in _marked(member):
                yield {**value, name: marked}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for marked in _marked(item):
                yield [*value[:index], marked, *value[index + 1 :]]


def _read(read: Reader, path: Path, text: str, case: str) -> None:
    """What comes of it: a value, or findings; nothing else, and soon."""
    path.write_text(text)
    begin = time.process_time()
    findings: tuple[Finding, ...] = ()
    try:
        read(path)
    except BadInput as bad:
        findings = bad.findings
    except Exception as bug:
        raise AssertionError(case) from bug
    seconds = time.process_time() - begin
    assert seconds < MOST_SECONDS, f"{case} took {seconds:.1f} s"
    assert all(str(each) for each in findings), case
    assert len(findings) <= limits.ERRORS_OF_A_TEXT + 2 * limits.FINDINGS_OF_AN_OBJECT, case


@pytest.mark.parametrize("name", sorted(READERS))
def test_something_hostile_at_every_place(name: str, tmp_path: Path) -> None:
    document, read = READERS[name]
    path = tmp_path / "f.json"
    path.write_text(json.dumps(document))
    read(path)
    number = 0
    step = thoroughness.of(23, 1)
    for marked in _marked(document):
        text = json.dumps(marked)
        for what, hostile in HOSTILE.items():
            number += 1
            if number % step == 0:
                at = text.index(MARK)
                case = f"{what} at {text[max(at - 40, 0) : at]!r} of {name}"
                _read(read, path, text.replace(f'"{MARK}"', hostile), case)
