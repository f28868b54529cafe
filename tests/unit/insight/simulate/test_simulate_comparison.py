"""What counts as a difference between a recorded outcome and a computed one."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.insight.simulate.comparison import ABSENT, OutcomeDifference, compare, first_difference

STATE = {"checksum": 7, "machineState": {"0": {"cells": [0, 1]}}, "policyName": "Static"}
FULL: dict[str, Any] = {
    "initial_cpu_state": {"checksum": 1},
    "initial_memory_state": STATE,
    "start_error": None,
    "steps": [{"admitted": True, "memory": {"c0": [{"size": 5}]}, "memory_state": STATE}],
}


def changed(outcome: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A full outcome whose only step has other fields."""
    return outcome | {"steps": [outcome["steps"][0] | fields]}


def test_an_outcome_equals_itself() -> None:
    assert compare(FULL, FULL) == ()
    assert first_difference(FULL, FULL) is None


def test_a_difference_names_the_path_and_both_values() -> None:
    other = changed(FULL, memory_state=STATE | {"machineState": {"0": {"cells": [0, 2]}}})
    expected = OutcomeDifference("steps[0].memory_state.machineState.0.cells[1]", 1, 2)
    assert (expected,) == compare(FULL, other)
    assert expected == first_difference(FULL, other)


def test_the_order_of_members_does_not_matter_and_the_order_of_lists_does() -> None:
    assert compare({"memory": {"a": 1, "b": 2}}, {"memory": {"b": 2, "a": 1}}) == ()
    assert (OutcomeDifference("cells[0]", 0, 1), OutcomeDifference("cells[1]", 1, 0)) == compare(
        {"cells": [0, 1]}, {"cells": [1, 0]}
    )


def test_causes_come_before_consequences() -> None:
    recorded = {"memory_state": {"checksum": 1}, "reason": "", "admitted": True}
    computed = {"memory_state": {"checksum": 2}, "reason": "TopologyAffinityError"}
    paths = [d.path for d in compare(recorded, computed | {"admitted": False})]
    assert paths == ["admitted", "reason", "memory_state.checksum"]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [(True, 1), (1, 1.0), (0, False), ("1", 1), (None, ""), ([], {}), ({}, None), ([0], 0)],
)
def test_values_of_different_types_differ(expected: Any, actual: Any) -> None:
    assert (OutcomeDifference("size", expected, actual),) == compare(
        {"size": expected}, {"size": actual}
    )


def test_what_is_recorded_and_was_not_computed_is_a_difference() -> None:
    assert (OutcomeDifference("memory", {}, ABSENT),) == compare({"memory": {}}, {})
    assert (OutcomeDifference("memory.c0", [], ABSENT),) == compare(
        {"memory": {"c0": []}}, {"memory": {}}
    )
    assert (OutcomeDifference("memory.c0[1]", 2, ABSENT),) == compare(
        {"memory": {"c0": [1, 2]}}, {"memory": {"c0": [1]}}
    )


def test_what_was_computed_beyond_a_recorded_field_is_a_difference() -> None:
    assert (OutcomeDifference("memory.c0", ABSENT, []),) == compare(
        {"memory": {}}, {"memory": {"c0": []}}
    )
    assert (OutcomeDifference("cells[0]", ABSENT, 1),) == compare({"cells": []}, {"cells": [1]})


def test_a_full_record_says_something_by_what_it_leaves_out() -> None:
    computed = changed(FULL, merged={"c0": {"nodes": [0]}})
    assert (OutcomeDifference("steps[0].merged", ABSENT, {"c0": {"nodes": [0]}}),) == compare(
        FULL, computed
    )


def test_an_expectation_by_hand_compares_only_what_it_names() -> None:
    assert compare({"steps": [{"admitted": True}]}, FULL) == ()


def test_a_missing_or_surplus_step_is_a_difference() -> None:
    step = FULL["steps"][0]
    assert (OutcomeDifference("steps[0]", step, ABSENT),) == compare(FULL, FULL | {"steps": []})
    twice = FULL | {"steps": [step, step]}
    assert (OutcomeDifference("steps[1]", ABSENT, step),) == compare(FULL, twice)


def test_steps_that_are_no_list_of_objects_differ_as_they_are() -> None:
    assert (OutcomeDifference("steps", [], None),) == compare({"steps": []}, {"steps": None})
    assert (OutcomeDifference("steps", 3, []),) == compare({"steps": 3}, {"steps": []})
    assert (OutcomeDifference("steps[0]", 3, {}),) == compare({"steps": [3]}, {"steps": [{}]})
    assert (OutcomeDifference("steps[0]", {}, 3),) == compare({"steps": [{}]}, {"steps": [3]})


def test_other_forms_of_a_state_need_not_be_recorded() -> None:
    computed = changed(FULL, memory_state_blocks="sorted", memory_state_raw="{}")
    assert compare(FULL, computed | {"initial_cpu_state_raw": "{}"}) == ()


def test_nothing_computed_is_the_same_as_not_recorded() -> None:
    assert compare(FULL, FULL | {"start_error_stage": None}) == ()


def test_nondeterministic_fields_are_skipped_whether_recorded_or_not() -> None:
    recorded = changed(FULL, nondeterministic=["devices"], devices_by_numa={"c0": {"0": 1}})
    computed = changed(FULL, devices={"c0": {"gpu": ["a"]}}, devices_by_numa={"c0": {"0": 1}})
    assert compare(recorded, computed) == ()
    elsewhere = changed(FULL, devices={}, devices_by_numa={"c0": {"1": 1}})
    assert [d.path for d in compare(recorded, elsewhere)] == [
        "steps[0].devices_by_numa.c0.0",
        "steps[0].devices_by_numa.c0.1",
    ]


def test_nothing_but_devices_can_be_declared_nondeterministic() -> None:
    recorded = changed(FULL, nondeterministic=["devices", "memory"], memory={})
    allowed = ["devices", "devices_by_numa"]
    assert (
        OutcomeDifference("steps[0].memory.c0", ABSENT, [{"size": 5}]),
        OutcomeDifference("steps[0].nondeterministic[1]", "memory", allowed),
    ) == tuple(sorted(compare(recorded, FULL), key=lambda d: d.path))
    assert (OutcomeDifference("steps[0].nondeterministic", True, allowed),) == compare(
        changed(FULL, nondeterministic=True), FULL
    )


def test_pods_of_a_restart_are_compared_like_steps() -> None:
    recorded = {"readmitted": [{"uid": "a", "nondeterministic": ["devices"], "devices": {}}]}
    assert compare(recorded, {"readmitted": [{"uid": "a", "devices": {"c0": {}}}]}) == ()
    assert (OutcomeDifference("readmitted[0].uid", "a", "b"),) == compare(
        recorded, {"readmitted": [{"uid": "b"}]}
    )


def test_the_text_of_a_node_allocatable_error_is_skipped_and_the_stage_is_not() -> None:
    recorded = {"start_error": "{{17 0}}", "start_error_stage": "node-allocatable"}
    computed = {"start_error": "17", "start_error_stage": "node-allocatable"}
    assert compare(recorded, computed) == ()
    elsewhere = {"start_error": "{{17 0}}", "start_error_stage": "memory-manager"}
    assert (
        OutcomeDifference("start_error_stage", "node-allocatable", "memory-manager"),
    ) == compare(recorded, elsewhere)
    assert [d.path for d in compare(recorded, {"start_error": None})] == [
        "start_error_stage",
        "start_error",
    ]
    assert (OutcomeDifference("start_error", None, "17"),) == compare(
        {"start_error": None}, computed
    )


def test_a_text_of_another_stage_is_compared() -> None:
    recorded = {"start_error": "a", "start_error_stage": "memory-manager"}
    assert (OutcomeDifference("start_error", "a", "b"),) == compare(
        recorded, {"start_error": "b", "start_error_stage": "memory-manager"}
    )


def test_names_that_are_no_words_are_quoted_in_the_path() -> None:
    assert (OutcomeDifference('devices.c0["example.com/gpu"]', [], ABSENT),) == compare(
        {"devices": {"c0": {"example.com/gpu": []}}}, {"devices": {"c0": {}}}
    )


def start_error(text: str) -> dict[str, Any]:
    """The outcome of a start that a gate stops."""
    return {"start_error": text, "start_error_stage": "config-decode", "steps": []}


NEEDS = "{0} is enabled, but depends on features that are disabled: [{1}]"


def test_gates_that_lack_others_are_complained_of_in_any_order() -> None:
    recorded = start_error(f"error: [{NEEDS.format('A', 'X, Y')}, {NEEDS.format('B', 'X')}]")
    computed = start_error(f"error: [{NEEDS.format('B', 'X')}, {NEEDS.format('A', 'Y, X')}]")

    assert compare(recorded, computed) == ()


@pytest.mark.parametrize(
    "text",
    [
        f"error: [{NEEDS.format('B', 'X')}, {NEEDS.format('A', 'X, Z')}]",
        f"error: [{NEEDS.format('B', 'X, Y')}, {NEEDS.format('A', 'X')}]",
        f"error: {NEEDS.format('A', 'X, Y')}",
        f"failure: [{NEEDS.format('B', 'X')}, {NEEDS.format('A', 'X, Y')}]",
        "unrecognized feature gate: A",
    ],
)
def test_other_gates_or_other_needs_differ(text: str) -> None:
    recorded = start_error(f"error: [{NEEDS.format('A', 'X, Y')}, {NEEDS.format('B', 'X')}]")

    assert [each.path for each in compare(recorded, start_error(text))] == ["start_error"]


def test_of_several_texts_that_chance_decides_any_may_be_recorded() -> None:
    computed = start_error("unrecognized: A") | {
        "start_error_by_chance": ["unrecognized: A", "unrecognized: B"]
    }

    assert compare(start_error("unrecognized: B"), computed) == ()
    assert [each.path for each in compare(start_error("unrecognized: C"), computed)] == [
        "start_error"
    ]
