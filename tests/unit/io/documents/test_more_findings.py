"""Many warnings about an object never displace an error about it."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.model import limits
from numalet.core.model.findings import Findings, Severity
from numalet.core.model.value import replace
from numalet.io.documents.pods import pod_document, pod_record
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from running import agents

MOST = limits.FINDINGS_OF_AN_OBJECT
WRONG: dict[str, dict[str, Any]] = {
    "image": {"spec": {"containers": [{"name": "main", "command": ["a"], "image": 3.9}]}},
    "container without a name": {"spec": {"containers": [{"command": ["a"]}]}},
    "tolerations": {"spec": {"tolerations": "x"}},
    "priority": {"spec": {"priority": 2**40}},
    "user": {"spec": {"securityContext": {"runAsUser": -1}}},
    "selector": {"spec": {"nodeSelector": {"a": 5}}},
    "restart policy": {"spec": {"restartPolicy": "Bogus"}},
    "affinity": {"spec": {"affinity": []}},
    "moment": {"metadata": {"name": "p", "creationTimestamp": "garbage"}},
    "annotation": {"metadata": {"name": "p", "annotations": {"a": {}}}},
    "quantity": {"spec": {"overhead": {"cpu": "1x"}}},
}


def wrong_pod(name: str, unknown: int) -> dict[str, Any]:
    value = agents.manifest("p")
    value["spec"] |= WRONG[name].get("spec", {})
    value["metadata"] = WRONG[name].get("metadata", value["metadata"])
    return {f"u{i:03}": 1 for i in range(unknown)} | value


@pytest.mark.parametrize("unknown", [0, MOST, 3 * MOST])
@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_pod_is_refused_however_many_fields_are_unknown(name: str, unknown: int) -> None:
    findings = Findings()
    options = WorkloadOptions(uid="u", node_name="n", unknown_fields=Severity.WARNING)
    assert decode_workload(wrong_pod(name, unknown), Place(""), options, findings) is None
    assert findings.has_errors


@pytest.mark.parametrize("name", ["image", "tolerations", "moment"])
def test_so_is_one_that_a_server_wrote(name: str) -> None:
    findings = Findings()
    value = wrong_pod(name, MOST) | {"status": {"phase": "Pending"}}
    assert pod_document.decode_pod(value, Place(""), PodIdentity(), findings) is None


@pytest.mark.parametrize("severity", [Severity.ERROR, Severity.WARNING])
def test_findings_that_are_not_listed_are_counted(severity: Severity) -> None:
    findings = Findings()
    options = WorkloadOptions(uid="u", node_name="n", unknown_fields=severity)
    value = wrong_pod("user", MOST + 7)
    assert decode_workload(value, Place("pod.yaml"), options, findings) is None
    said = [each for each in findings.all if each.code == "document/more-findings"]
    more = 8 if severity is Severity.ERROR else 7
    assert [f"pod.yaml: $: not listed: {more} more findings of this object ({severity.value})"] == [
        each.located for each in said
    ]
    assert len(findings.all) <= MOST + 2


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (
            {"spec": {"tolerations": "x"}},
            "$.workload.manifest.spec.tolerations: a list is expected",
        ),
        ({"kind": "\ud800"}, "surrogates not allowed"),
    ],
)
def test_a_record_that_could_not_be_read_again_is_an_error(
    broken: dict[str, Any], problem: str
) -> None:
    findings = Findings()
    workload = replace(agents.pod("p"), manifest=broken)
    pod_record.check_readable(workload, Place("pod.yaml"), findings)
    (finding,) = findings.all
    assert finding.code == "input/unreadable"
    assert problem in finding.located
