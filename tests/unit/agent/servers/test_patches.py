"""Merge patches and JSON patches, as values."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.agent.servers.api import patches
from numalet.agent.servers.api.patches import PatchDoesNotFit, PatchUnreadable

NAMES = st.sampled_from(["env", "name", "containers", "a"])
LEAVES = st.none() | st.integers(0, 2) | st.sampled_from(["a", "delete", "replace"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
)


def test_members_are_removed_and_lists_replaced() -> None:
    value = {"a": {"x": 1, "y": 2}, "b": 1, "c": [1]}
    patch = {"a": {"x": None}, "b": {"c": None}, "c": [2]}
    assert patches.merge(value, patch) == {"a": {"y": 2}, "b": {}, "c": [2]}
    assert patches.merge(value, [1]) == [1]


@pytest.mark.slow
@pytest.mark.property
@given(VALUES, VALUES)
def test_a_merge_patch_applied_twice_is_applied_once(value: Any, patch: Any) -> None:
    once = patches.merge(value, patch)
    assert patches.merge(once, patch) == once


DOUBLED = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(60)]
NESTED = [{"op": "copy", "from": "/a", "path": "/a/a"}] * 900


def test_a_json_patch_does_not_touch_what_it_is_applied_to() -> None:
    value = {"a": {"b": [1]}}
    assert patches.operations(value, [{"op": "add", "path": "/a/b/-", "value": 2}]) == {
        "a": {"b": [1, 2]}
    }
    assert value == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    "patch",
    [
        {},
        DOUBLED,
        NESTED,
        [{"op": "test", "path": ""}] * 10_001,
        [{"op": "copy", "from": 5, "path": "/a"}],
        [{"op": "add", "path": 5, "value": 1}],
        [None],
    ],
)
def test_a_json_patch_of_no_sense_or_bound_is_unreadable(patch: Any) -> None:
    with pytest.raises(PatchUnreadable):
        patches.operations({"a": {"b": "x" * 100}}, patch)


POINTERS = st.sampled_from(
    ["", "/", "/a", "/a/0", "/a/-", "/a/01", "/b/c", "/b/c/d", "/b/~2", "a", "/a/99999999999999999"]
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "copy", "move", "remove", "replace", "test"])},
    optional={"path": POINTERS | LEAVES, "from": POINTERS | LEAVES, "value": VALUES},
)


@given(st.lists(OPERATIONS, max_size=4) | VALUES)
def test_any_json_patch_is_applied_or_refused(patch: Any) -> None:
    with contextlib.suppress(PatchUnreadable, PatchDoesNotFit):
        patches.operations({"a": [1, "x"], "b": {"c": None}}, patch)
