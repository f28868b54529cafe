"""The plain document of an explanation, and its brief words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.hints.provider import NotListed, Reason
from numalet.core.managers.cpu import reasons as cpu
from numalet.core.managers.device import reasons as device
from numalet.core.managers.memory import reasons as memory
from numalet.insight.explain import search, story
from numalet.insight.explain.cases import Case, OtherNode
from numalet.insight.output import explanation_document, json_schema
from numalet.wording import explanations, kubelet_start
from values.builders import simple
from values.explain_bench import (
    GPU,
    GPUS,
    STATIC_CPUS,
    asking,
    case,
    config,
    forever,
    narrow,
    session,
    shape,
    wide,
)
from values.made_up import MadeUp

MI = 1 << 20
GI = 1 << 30


def explained(asked: Case) -> dict[str, Any]:
    """The document, after a round through JSON."""
    told = story.trace(asked)
    tallies = () if told.decision.admitted else tuple(search.search(asked, told, forever))
    found: dict[str, Any] = json_schema.plain(
        explanation_document.explanation(asked, told, tallies)
    )
    assert json.loads(json.dumps(found)) == found
    return found


def test_a_rejected_pod_has_its_whole_story() -> None:
    fleet = [OtherNode("nine", shape("9n2c1t"))]
    found = explained(case(narrow(), wide(), fleet=fleet))

    assert found["schema"] == "numalet.explanation/2"
    assert (found["admitted"], found["reason"]) == (False, "TopologyAffinityError")
    assert found["queue"] == [{"name": "default/wide", "uid": "wide", "admitted": True}]
    assert found["why"]["code"] == "admission/not-aligned"
    assert found["why"]["figures"]["affinity"] == {"nodes": [0, 1], "preferred": False}
    first_node, second_node = found["nodes_before"]
    assert first_node["group"] == [0, 1]
    assert first_node["types"]["memory"] == {
        "total_bytes": 10 * GI,
        "allocatable_bytes": 10 * GI - 100 * MI,
        "reserved_bytes": 10 * GI - 100 * MI,
        "free_bytes": 0,
    }
    assert (second_node["cpus"], second_node["devices"]) == (None, {})
    held = sum(each["types"]["memory"]["reserved_bytes"] for each in found["nodes_before"])
    assert found["held_before"] == [
        {"nodes": [0, 1], "pod": "default/wide", "type": "memory", "size_bytes": held}
    ]
    assert found["nodes"] == []
    (subject,) = found["subjects"]
    merged = {"nodes": [0, 1], "preferred": False, "admit": False, "bounded": False}
    assert subject["merged"] == merged
    assert subject["finalists"] == [{"nodes": [0, 1], "preferred": False}]
    first = subject["answers"][2]["sets"][0]
    assert first["held_by"] == [{"pod": "default/wide", "container": "c"}]
    assert first["why_not"]["figures"] == {"node": 0, "group": [0, 1]}
    assert first["brief"] == "node 0 belongs to group {0,1} of default/wide"
    assert found["refused_allocation"] is None


def test_every_category_is_in_the_document() -> None:
    fleet = [OtherNode("nine", shape("9n2c1t"))]
    found = explained(case(narrow(), wide(), fleet=fleet))["would_admit"]

    by_category = {each["category"]: each for each in found}
    assert list(by_category) == list(explanations.CATEGORIES)
    (freed,) = by_category["freed-pods"]["offers"]
    assert freed["text"] == "delete default/wide first"
    assert (freed["nodes"], freed["lost"]) == ([0], [])
    assert freed["figures"] == {"uids": ["wide"], "pods": "default/wide"}
    (earlier,) = by_category["queue-order"]["offers"]
    assert earlier["lost"] == ["default/wide"]
    (nine,) = by_category["other-machine"]["would_not_start"]
    assert "NUMA" in nine["start_error"]


def test_an_admitted_pod_has_its_allocation_and_no_search() -> None:
    begun = session(config(**STATIC_CPUS), devices=GPUS)
    found = explained(case(asking(narrow(), gpu="1"), begun=begun))

    assert (found["admitted"], found["why"], found["would_admit"]) == (True, None, [])
    assert found["nodes"] == [0]
    first_node, second_node = found["nodes_before"]
    # The CPU 0 is reserved.
    assert first_node["cpus"] == {"allocatable": 7, "free": "1-3,8-11", "reserved": "0"}
    assert first_node["devices"] == second_node["devices"] == {GPU: {"total": 2, "free": 2}}
    assert found["allocated"] == [
        {
            "container": "c",
            "memory": [{"nodes": [0], "type": "memory", "size_bytes": 2 * GI}],
            "cpus_by_node": {"0": "8"},
            "devices": {GPU: ["g0"]},
            "chosen_among": None,
        }
    ]


def test_a_node_tells_the_devices_that_it_has() -> None:
    begun = session(config(**STATIC_CPUS), devices={GPU: tuple(GPUS[GPU])[:2]})
    first_node, second_node = explained(case(narrow(), begun=begun))["nodes_before"]
    assert (first_node["devices"], second_node["devices"]) == ({GPU: {"total": 2, "free": 2}}, {})


def test_a_refused_allocation_has_the_sets_it_chose_among() -> None:
    found = explained(case(simple("huge", "25Gi"), begun=session(config("none"))))

    refused = found["refused_allocation"]
    assert refused["reason"]["code"] == "memory/no-node-fits"
    assert [each["offered"] for each in refused["chosen_among"]["sets"]] == [False] * 3
    assert found["why"]["figures"]["cause"]["code"] == "memory/no-node-fits"
    assert found["would_admit"][-1]["offers"][0]["figures"]["asked"] == "25Gi"


def test_a_refusal_without_sets_and_an_impossible_answer_are_there() -> None:
    begun = session(config("best-effort", **STATIC_CPUS))
    found = explained(case(asking(narrow(), cpu="16"), begun=begun))

    assert found["refused_allocation"]["chosen_among"] is None
    (impossible,) = (each for each in found["subjects"][0]["answers"] if each["reason"])
    assert impossible["answer"] == "impossible"


def test_nodes_of_which_nobody_keeps_account_are_there_too() -> None:
    options = config("none", memoryManagerPolicy="None", reservedMemory=[])
    found = explained(case(narrow(), begun=session(options)))
    assert found["nodes_before"] == [
        {
            "node": node,
            "class": "cpu",
            "group": [node],
            "types": {},
            "cpus": None,
            "devices": {},
        }
        for node in (0, 1)
    ]
    assert found["held_before"] == []


def test_a_pod_that_the_beginning_knows_has_its_name() -> None:
    begun = case(narrow(), begun=replace(session(), pods={"wide": wide()}))
    assert begun.name_of("wide") == "default/wide"
    assert begun.name_of("who") == "who"


def test_without_a_policy_what_was_chosen_among_is_there() -> None:
    found = explained(case(narrow(), begun=session(config("none"))))
    assert found["allocated"][0]["chosen_among"]["answer"] == "sets"


def test_on_many_nodes_there_are_no_finalists() -> None:
    options = {"max-allowable-numa-nodes": "16"}
    begun = session(config(topologyManagerPolicyOptions=options), shape("12n2c1t"))
    (subject,) = explained(case(narrow(), begun=begun))["subjects"]
    assert (subject["finalists"], subject["wanted_size"]) == (None, None)


def test_the_document_of_a_start_error() -> None:
    refused = StartRefused(StartStage.NUMALET, (MadeUp(),))
    assert json_schema.plain(explanation_document.not_started(refused)) == {
        "schema": "numalet.explanation/2",
        "release": DEFAULT.name,
        "start_error": kubelet_start.text(refused),
        "start_error_stage": "numalet",
    }


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            memory.TooLittleAllocatable(0b1, "memory", 12 * GI, 10 * GI),
            "2Gi of memory short, even empty (10Gi allocatable)",
        ),
        (memory.TooLittleFree(0b1, "memory", 12 * GI, 9 * GI), "3Gi of memory short (9Gi free)"),
        (memory.NodeInGroup(1, 0b11), "node 1 belongs to group {0,1} of a, b and 1 more"),
        (memory.NodeInUse(0b11, 0, 0b1), "overlaps {0}, in use by a, b and 1 more"),
        (cpu.TooFewCpusOnNodes(0b1, 8, 5), "3 CPUs short (5 free)"),
        (cpu.ReuseElsewhere(0b1, 0b10), "container a, b and 1 more of the pod holds CPUs on {1}"),
        (cpu.NoCpusOnNodes(0b100, 0b100), "nodes without CPUs: {2}"),
        (device.TooFewDevicesOnNodes(0b1, GPU, 1, 3), f"2 of {GPU} short (1 available)"),
        (device.LeavesOutReused(0b1, GPU, "g3"), "without g3, which the pod reuses"),
        (NotListed(0b1), "not offered"),
        (cpu.TooFewCpusOnNodes(0b1, 1, 0), "1 CPU short (0 free)"),
        (cpu.TooFewCpus(2, 1), "2 more CPUs are needed, but only 1 is free."),
        (cpu.TooFewCpus(1, 0), "1 more CPU is needed, but only 0 are free."),
    ],
)
def test_reasons_are_brief(reason: Reason, text: str) -> None:
    assert explanations.brief(reason, ["a", "b", "c"]) == text


def test_a_group_that_nobody_is_known_to_hold_says_so() -> None:
    assert explanations.brief(memory.NodeInGroup(1, 0b11)).endswith("of unknown pods")


@pytest.mark.parametrize(
    ("count", "offers", "text"), [(6, 2, "6 tried, 2 would do"), (1, 1, "1 tried, 1 would do")]
)
def test_what_was_tried_is_said(count: int, offers: int, text: str) -> None:
    assert explanations.tried(count, offers=offers) == text


def test_what_was_tried_in_vain_is_counted() -> None:
    assert explanations.in_vain("smaller-request", 9) == "a smaller request (9)"


def test_a_price_is_said_only_where_there_is_one() -> None:
    assert explanations.price([]) == ""
    assert explanations.price(["default/a"]) == "but would displace default/a"


@pytest.mark.parametrize(
    ("is_preferred", "by_distance", "text"),
    [
        (True, False, "preferred by every provider; ranked by fewer nodes, lower numbers"),
        (
            True,
            True,
            "preferred by every provider; ranked by fewer nodes, smaller distance, lower numbers",
        ),
        (
            False,
            False,
            "no set is preferred by every provider; ranked by size nearest to 2 nodes,"
            " lower numbers",
        ),
    ],
)
def test_the_ranking_is_explained(is_preferred: bool, by_distance: bool, text: str) -> None:
    assert explanations.ranking(2, is_preferred=is_preferred, by_distance=by_distance) == text
