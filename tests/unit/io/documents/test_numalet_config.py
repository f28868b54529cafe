"""Our own settings: what they come to, and how a scenario keeps them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE, Mode
from numalet.core.config.numalet_config import AS_THE_KUBELET, NumaletConfig, PublishSettings
from numalet.core.model.findings import BadInput, Findings
from numalet.core.model.machine_queries import NodeClass
from numalet.insight.simulate import recording, runner
from numalet.insight.simulate.session import Scenario
from numalet.insight.usecases.scenario_file import RawScenario
from numalet.io.documents.kubelet import numalet_config
from numalet.io.documents.text.typed import Place

SCENARIO = {
    "name": "n",
    "machine": {"numa_nodes": [{"id": 0, "memory_bytes": 1 << 30, "hugepages": [], "cores": []}]},
    "kubelet_config": {},
    "steps": [],
}


def _scenario(**fields: Any) -> Scenario:
    return RawScenario("s.jsonl", json.dumps(SCENARIO | fields), 1).decode()


def test_settings_come_to_rules() -> None:
    assert EXACT is AS_THE_KUBELET.behaviour
    assert NATIVE is NumaletConfig(mode=Mode.NATIVE).behaviour


@pytest.mark.parametrize("mode", Mode)
def test_general_predicates_are_asked_in_either_mode_as_the_administrator_says(mode: Mode) -> None:
    for wanted in (True, False):
        rules = NumaletConfig(mode=mode, general_predicates=wanted).behaviour
        assert wanted is rules.predicates_are_asked
        # It is the mode of the managers, which know nothing of them.
        assert mode is rules.mode


def test_in_scenarios_the_managers_alone_decide_and_elsewhere_predicates_are_asked() -> None:
    assert not _scenario().behaviour.predicates_are_asked
    assert not _scenario(numalet_config={"mode": "native"}).behaviour.predicates_are_asked
    assert _scenario(numalet_config={"generalPredicates": True}).behaviour.predicates_are_asked
    assert AS_THE_KUBELET.behaviour.predicates_are_asked


def test_a_document_is_told_by_its_kind_or_its_version() -> None:
    assert numalet_config.is_meant({"kind": "NumaletConfiguration"})
    assert numalet_config.is_meant({"apiVersion": "numalet.dev/v7"})
    assert not numalet_config.is_meant({"kind": "KubeletConfiguration"})
    assert not numalet_config.is_meant(["kind"])


@pytest.mark.parametrize("value", [[], "native", {"mode": 7}])
def test_what_can_not_be_read_is_found_and_changes_nothing(value: object) -> None:
    findings = Findings()

    assert AS_THE_KUBELET is numalet_config.decode(value, Place("d"), findings)
    assert [finding.code for finding in findings.all] == ["document/type"]


def test_a_scenario_names_its_mode_and_keeps_it_when_recorded() -> None:
    own = {"mode": "native", "memoryNodeClasses": ["memory"]}
    native = _scenario(numalet_config=own)
    plain = _scenario(numalet_config={"mode": "native"})
    document = recording.document(native, runner.run(native))

    assert native.behaviour.memory_node_classes == (NodeClass.MEMORY,)
    assert own == document["numalet_config"]
    assert native.numalet == RawScenario("s.jsonl", json.dumps(document), 1).decode().numalet
    assert recording.document(plain, {})["numalet_config"] == {"mode": "native"}
    asked = {"generalPredicates": True}
    assert asked == recording.document(_scenario(numalet_config=asked), {})["numalet_config"]
    both = asked | own
    assert both == recording.document(_scenario(numalet_config=both), {})["numalet_config"]
    alone = {"mode": "exact", "generalPredicates": False}
    assert "numalet_config" not in recording.document(_scenario(numalet_config=alone), {})
    assert "numalet_config" not in recording.document(_scenario(), {})


def test_a_slip_in_a_scenario_has_its_place() -> None:
    with pytest.raises(BadInput) as caught:
        _scenario(numalet_config={"mode": "exactly"})

    (finding,) = caught.value.findings
    assert (
        finding.code,
        finding.where.path,
    ) == ("input/not-supported", "$.numalet_config.mode")


def _decoded(**fields: Any) -> tuple[NumaletConfig, list[tuple[str, str]]]:
    findings = Findings()
    config = numalet_config.decode(fields, Place("/etc/numalet/own.yaml"), findings)
    return config, [(each.code, each.where.path) for each in findings.all]


def test_what_is_published_is_read_and_paths_begin_at_the_file() -> None:
    assert _decoded(publish={}) == (NumaletConfig(publish=PublishSettings()), [])
    section = {
        "kubeconfig": "node.conf",
        "context": "prod",
        "nodeResourceTopology": False,
        "takeOver": True,
        "numaPlacement": True,
        "kai": False,
        "refreshSeconds": 60,
        "configz": True,
    }
    expected = PublishSettings(
        kubeconfig="/etc/numalet/node.conf",
        context="prod",
        node_resource_topology=False,
        force=True,
        numa_placement=True,
        kai=False,
        refresh_seconds=60.0,
        configz=True,
    )
    assert _decoded(publish=section) == (NumaletConfig(publish=expected), [])
    absolute = _decoded(publish={"kubeconfig": "/k", "context": ""})[0].publish
    assert absolute == PublishSettings(kubeconfig="/k")
    assert _decoded(publish={"kubeconfig": ""})[0].publish == PublishSettings()


@pytest.mark.parametrize(
    ("section", "code", "path"),
    [
        ({"refreshSeconds": 9}, "input/invalid", "$.publish.refreshSeconds"),
        ({"refreshSeconds": float("inf")}, "input/invalid", "$.publish.refreshSeconds"),
        ({"refreshSeconds": float("nan")}, "input/invalid", "$.publish.refreshSeconds"),
        ({"refreshSeconds": "1h"}, "document/type", "$.publish.refreshSeconds"),
        ({"takeOver": "yes"}, "document/type", "$.publish.takeOver"),
        ({"takeover": True}, "document/unknown-field", "$.publish"),
        (True, "document/type", "$.publish"),
    ],
)
def test_a_slip_about_publishing_has_its_place(section: object, code: str, path: str) -> None:
    assert _decoded(publish=section)[1] == [(code, path)]


def test_exact_mode_publishes_as_the_file_says() -> None:
    own = NumaletConfig(mode=Mode.NATIVE, publish=PublishSettings(force=True))
    exact = numalet_config.with_flags(own, Mode.EXACT, None, "d")
    assert exact == NumaletConfig(publish=PublishSettings(force=True))
    assert own.behaviour is NATIVE
