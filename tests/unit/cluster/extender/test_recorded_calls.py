"""Calls that a kube-scheduler really made, as they were recorded, are answered in its own form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from running.extender_parts import at_work

_FOLDER: Final = os.environ.get("NUMALET_NOTES", "")
_FILE: Final = Path(_FOLDER or "nowhere") / "scheduler-extender-examples.json"

pytestmark = pytest.mark.skipif(
    not _FILE.is_file(), reason="NUMALET_NOTES names no folder with recorded calls"
)


def _calls(verb: str) -> Iterator[dict[str, Any]]:
    """The requests of a verb, with what is fetched for them."""
    for run in json.loads(_FILE.read_text(encoding="utf-8"))["runs"]:
        for result in run["results"]:
            for call in result["calls"]:
                if call["verb"] == verb:
                    yield call


async def test_recorded_filter_calls_are_answered_in_the_form_in_which_they_came() -> None:
    calls = 0
    async with at_work() as extender:
        for each in _calls("filter"):
            request = each["request"]
            answer = await extender.call("filter", request)
            assert answer.status_code == 200
            given = answer.json()
            assert given["Error"] == ""
            if request["Nodes"] is None:
                asked, passed = request["NodeNames"], given["NodeNames"]
                assert given["Nodes"] is None
            else:
                sent = {item["metadata"]["name"]: item for item in request["Nodes"]["items"]}
                asked, passed = list(sent), [n["metadata"]["name"] for n in given["Nodes"]["items"]]
                assert given["NodeNames"] is None
                assert given["Nodes"]["items"] == [sent[name] for name in passed]
            # Nothing is known of these nodes, so all of them pass, in the order in which they came.
            assert passed == asked
            assert {**given["FailedNodes"], **given["FailedAndUnresolvableNodes"]} == {}
            calls += 1
    assert calls > 20


async def test_recorded_prioritize_calls_are_answered_with_points_for_nodes_that_were_named() -> (
    None
):
    calls = 0
    async with at_work() as extender:
        for each in _calls("prioritize"):
            request = each["request"]
            answer = await extender.call("prioritize", request)
            assert answer.status_code == 200
            items = (request["Nodes"] or {}).get("items", [])
            asked = request["NodeNames"] or [item["metadata"]["name"] for item in items]
            assert {given["Host"] for given in answer.json()} <= set(asked)
            assert all(0 <= given["Score"] <= 10 for given in answer.json())
            calls += 1
    assert calls > 10
