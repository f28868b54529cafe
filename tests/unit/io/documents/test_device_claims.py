"""Claims, classes and slices as documents have them, right ones and wrong ones, of all versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from numalet.core.model.device_claims import (
    AttributeValue,
    ClaimConstraint,
    ClaimDocuments,
    GatedField,
    SliceReach,
)
from numalet.core.model.findings import BadInput, Severity
from numalet.core.model.quantity import Quantity
from numalet.io.documents.claims import device_claims
from numalet.io.documents.claims.device_claims import LoadedClaims
from numalet.io.documents.text import yaml_source

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: aligned, namespace: lab}
spec:
  devices:
    requests:
    - name: cpus
      exactly:
        deviceClassName: dra.cpu
        capacity: {requests: {dra.cpu/cpu: "10"}}
    - name: gpu
      firstAvailable:
      - {name: large, deviceClassName: gpu.example.com, count: 2}
      - name: small
        deviceClassName: gpu.example.com
        allocationMode: All
        selectors:
        - cel: {expression: 'device.attributes["gpu.example.com"].model == "a"'}
    constraints:
    - requests: [cpus, gpu]
      matchAttribute: resource.kubernetes.io/numaNode
"""
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node7-cpus}
spec:
  driver: dra.cpu
  nodeName: node7
  pool: {name: node7, generation: 3, resourceSliceCount: 2}
  devices:
  - name: numa0
    allowMultipleAllocations: true
    attributes:
      numCPUs: {int: 16}
      resource.kubernetes.io/numaNode: {int: 0}
      resource.kubernetes.io/pcieRoot: {strings: ["pci0000:00", "pci0000:10"]}
      smtEnabled: {bool: true}
    capacity:
      cpu: {value: "16"}
"""
FLAT_CLAIM = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: one}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, deviceClassName: gpu.example.com, adminAccess: true}
"""
FLAT_SLICE = """\
apiVersion: resource.k8s.io/v1alpha3
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  allNodes: true
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu0
    basic:
      attributes: {model: {string: a}}
      capacity: {memory: 40Gi}
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  extendedResourceName: example.com/gpu
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
"""


def read(*texts: str) -> LoadedClaims:
    return device_claims.of_inputs(
        [
            (f"{index}.yaml", yaml_source.load_documents(text, f"{index}.yaml"))
            for index, text in enumerate(texts)
        ]
    )


def documents(*texts: str) -> ClaimDocuments:
    loaded = read(*texts)
    assert loaded.notes == ()
    return loaded.documents


def wrong(text: str) -> list[tuple[str, int | None, str]]:
    with pytest.raises(BadInput) as bad:
        read(text)
    return [(each.code, each.where.line, str(each)) for each in bad.value.findings]


def test_a_claim_has_its_requests_and_constraints() -> None:
    (claim,) = documents(CLAIM).claims
    cpus, gpu = claim.requests
    assert str(claim) == "ResourceClaim lab/aligned"
    assert (cpus.name, cpus.alternatives[0].device_class) == ("cpus", "dra.cpu")
    assert cpus.alternatives[0].capacity == {"dra.cpu/cpu": Quantity.parse("10")}
    assert [(each.name, each.count) for each in gpu.alternatives] == [("large", 2), ("small", None)]
    assert gpu.alternatives[1].selectors == ('device.attributes["gpu.example.com"].model == "a"',)
    assert claim.constraints == (
        ClaimConstraint(
            attribute="resource.kubernetes.io/numaNode",
            requests=("cpus", "gpu"),
            path=".spec.devices.constraints[0]",
        ),
    )
    assert [each.name for each in claim.gated_fields] == ["requests", "firstAvailable"]
    assert claim.at(cpus.path).line == 7


def test_a_slice_has_complete_names_and_values_with_types() -> None:
    (found,) = documents(SLICE).slices
    (device,) = found.devices
    assert (found.driver, found.pool, found.generation, found.slice_count) == (
        "dra.cpu",
        "node7",
        3,
        2,
    )
    assert (device.reach, device.node, device.is_shared) == (SliceReach.NODE, "node7", True)
    assert device.attributes == {
        "dra.cpu/numCPUs": {AttributeValue("int", 16)},
        "dra.cpu/smtEnabled": {AttributeValue("bool", True)},
        "resource.kubernetes.io/numaNode": {AttributeValue("int", 0)},
        "resource.kubernetes.io/pcieRoot": {
            AttributeValue("string", "pci0000:00"),
            AttributeValue("string", "pci0000:10"),
        },
    }
    assert device.capacity == {"dra.cpu/cpu": Quantity.parse("16")}
    assert GatedField(
        "attributes",
        ".spec.devices[0].attributes.resource.kubernetes.io/pcieRoot.strings",
    ) in (found.gated_fields)


def test_the_older_form_says_the_same() -> None:
    loaded = documents(FLAT_CLAIM, FLAT_SLICE)
    (claim,), (found,) = loaded.claims, loaded.slices
    assert (claim.is_template, claim.version, claim.namespace) == (True, "v1beta1", "default")
    assert [each.name for each in claim.gated_fields] == ["adminAccess"]
    assert claim.requests[0].alternatives[0].device_class == "gpu.example.com"
    (device,) = found.devices
    assert (device.reach, device.capacity) == (
        SliceReach.ALL_NODES,
        {"gpu.example.com/memory": Quantity.parse("40Gi")},
    )


def test_a_class_may_stand_for_an_extended_resource() -> None:
    (found,) = documents(CLASS).classes
    assert (found.extended_resource, found.selectors) == (
        "example.com/gpu",
        ('device.driver == "gpu.example.com"',),
    )


def test_each_device_may_name_its_own_node() -> None:
    text = SLICE.replace("nodeName: node7", "perDeviceNodeSelection: true")
    text = text.replace(
        "- name: numa0", "- name: other\n    allNodes: true\n  - name: numa0\n    nodeName: node8"
    )
    (found,) = documents(text).slices
    assert [(each.reach, each.node) for each in found.devices] == [
        (SliceReach.ALL_NODES, ""),
        (SliceReach.NODE, "node8"),
    ]


def test_a_list_of_one_kind_gives_its_version_to_its_members() -> None:
    item = yaml.safe_load(CLAIM)
    del item["apiVersion"], item["kind"]
    listed = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimList",
        "metadata": {},
        "items": [item],
    }
    (claim,) = documents(json.dumps(listed)).claims
    assert claim.name == "aligned"


def test_several_documents_and_files_may_be_mixed_with_other_kinds() -> None:
    mixed = "---\n".join((CLAIM, "kind: Pod\nmetadata: {name: p}\n", CLASS, "kind: Odd\n"))
    loaded = documents(mixed, SLICE)
    assert [str(each) for each in loaded.objects] == [
        "ResourceClaim lab/aligned",
        "DeviceClass gpu.example.com",
        "ResourceSlice node7-cpus",
    ]


def test_the_second_of_a_name_is_passed_over_with_a_warning() -> None:
    loaded = read(CLAIM, CLAIM.replace("dra.cpu\n", "other\n"))
    (claim,) = loaded.documents.claims
    (note,) = loaded.notes
    assert claim.requests[0].alternatives[0].device_class == "dra.cpu"
    assert (note.code, note.severity, note.where.document) == (
        "input/ignored",
        Severity.WARNING,
        "1.yaml",
    )


def test_an_unknown_field_is_a_warning_that_names_the_nearest() -> None:
    (note,) = read(CLAIM.replace("matchAttribute", "matchAttributes")).notes
    assert (note.code, note.severity) == ("document/unknown-field", Severity.WARNING)
    assert "matchAttribute" in str(note)
    assert note.where.line == CLAIM.splitlines().index("    - requests: [cpus, gpu]") + 1


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        (
            CLAIM.replace("k8s.io/v1", "k8s.io/v1alpha2"),
            "input/not-supported",
            "v1alpha2",
            "v1beta2",
        ),
        (CLAIM.partition("\n")[2], "input/not-supported", "kind", "nothing"),
        (CLAIM.replace("resource.k8s.io/v1", "v1"), "input/not-supported", "apiVersion", "'v1'"),
        (
            CLAIM.replace(
                "      exactly:\n        deviceClassName", "      deviceClassName"
            ).replace("        capacity", "      capacity"),
            "input/invalid",
            "dra.cpu",
            "unlike v1beta1 and v1alpha3; expected the field in exactly",
        ),
        (
            FLAT_CLAIM.replace("deviceClassName: gpu.example.com", "exactly: {}"),
            "input/invalid",
            "exactly",
            "unlike v1 and v1beta2; expected the field in the request itself",
        ),
        (
            FLAT_SLICE.replace("v1alpha3", "v1"),
            "input/invalid",
            "attributes",
            "expected the field in the device itself",
        ),
        (
            SLICE.replace("k8s.io/v1", "k8s.io/v1beta1"),
            "input/invalid",
            "numCPUs",
            "expected the field in basic",
        ),
        (
            CLAIM.replace("deviceClassName: dra.cpu\n", "count: 1\n"),
            "input/required",
            "count: 1",
            "set exactly.deviceClassName",
        ),
        (CLAIM.replace('"10"', "[10]"), "document/type", "dra.cpu/cpu", "a quantity"),
        (CLAIM.replace('"10"', '"1O"'), "input/invalid", "1O", "1O"),
        (CLAIM.replace("count: 2", "count: two"), "document/type", "two", "a whole number"),
        (CLAIM.replace("count: 2", "count: 0"), "input/invalid", "count: 0", "0"),
        (CLAIM.replace("- requests: [cpus, gpu]", "- requests: cpus"), "document/type", "cpus", ""),
        (CLAIM.replace("name: aligned, ", ""), "pods/name-missing", "metadata", "ResourceClaim"),
        (
            SLICE.replace("{int: 16}", "{int: 16, string: x}"),
            "input/invalid",
            "numCPUs",
            "int and string",
        ),
        (SLICE.replace("{int: 16}", "{}"), "input/invalid", "numCPUs", "has none"),
        (SLICE.replace("{int: 16}", "16"), "document/type", "numCPUs", "an object"),
        (SLICE.replace("  driver: dra.cpu\n", ""), "document/field-missing", "nodeName", "driver"),
        (SLICE.replace('{value: "16"}', '"16"'), "document/type", "cpu:", "an object"),
        (CLAIM.partition("metadata")[0], "document/field-missing", "apiVersion", "spec"),
        (CLASS.partition("spec")[0] + "spec: 3\n", "document/type", "spec", "an object"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, code: str, line: str, words: str) -> None:
    of_code = [(at, sentence) for found, at, sentence in wrong(text) if found == code]
    assert any(words in sentence for _, sentence in of_code)
    assert any(at is not None and line in text.splitlines()[at - 1] for at, _ in of_code)


def test_what_a_server_printed_may_lack_parts_and_have_new_ones() -> None:
    printed = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s", "resourceVersion": "7"},
        "spec": {
            "driver": "d.example.com",
            "pool": {"name": "p"},
            "devices": [{"name": "a", "attributes": {"x": {"decimal": 1}}, "novelty": {}}],
        },
    }
    loaded = read(json.dumps(printed))
    (found,) = loaded.documents.slices
    assert (found.is_from_server, found.devices[0].attributes) == (
        True,
        {"d.example.com/x": frozenset()},
    )
    assert {note.severity for note in loaded.notes} == {Severity.WARNING}


def test_every_object_that_is_wrong_is_named() -> None:
    text = "---\n".join((CLAIM.replace("count: 2", "count: x"), SLICE.replace("{int: 16}", "16")))
    assert [code for code, *_ in wrong(text)] == ["document/type", "document/type"]


def test_files_are_read_as_texts_are(tmp_path: Path) -> None:
    paths = [tmp_path / "claim.yaml", tmp_path / "class.yaml"]
    for path, text in zip(paths, (CLAIM, CLASS), strict=True):
        path.write_text(text, encoding="utf-8")
    loaded = device_claims.load_claims(paths).documents
    assert [str(each) for each in loaded.objects] == [
        "ResourceClaim lab/aligned",
        "DeviceClass gpu.example.com",
    ]
    assert device_claims.load_claims(paths[0]).documents.claims == loaded.claims
    assert device_claims.read_claims(CLAIM, "x").documents.claims == loaded.claims


def test_every_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(CLAIM.replace("k8s.io/v1", "k8s.io/v7"), encoding="utf-8")
    with pytest.raises(BadInput) as bad:
        device_claims.load_claims([tmp_path / "absent", tmp_path / "bad.yaml"])
    assert [each.code for each in bad.value.findings] == [
        "document/unreadable",
        "input/not-supported",
    ]
