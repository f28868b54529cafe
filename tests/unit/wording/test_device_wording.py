"""The Device Manager's sentences, the kubelet's own and ours."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from numalet.core.hints.provider import Reason
from numalet.core.managers.device import reasons

REFUSALS: list[tuple[Any, str]] = [
    (
        reasons.ChangedRequest("uid", "c", "r/x", 1, 2),
        'pod "uid" container "c" changed request for resource "r/x" from 1 to 2',
    ),
    (reasons.NotRegistered("c", "r/x"), "cannot allocate unregistered device r/x"),
    (
        reasons.NoneHealthy("c", "r/x"),
        "no healthy devices present; cannot allocate unhealthy devices r/x",
    ),
    (
        reasons.HeldNotHealthy("c", "r/x", "d0"),
        "previously allocated devices are no longer healthy; cannot allocate unhealthy devices r/x",
    ),
    (
        reasons.TooFewFree("c", "r/x", 3, 1),
        "requested number of devices unavailable for r/x. Requested: 3, Available: 1",
    ),
    (
        reasons.PreferenceFailed("c", "r/x", "gone"),
        "device plugin GetPreferredAllocation rpc failed with err: gone",
    ),
    (
        reasons.Vetoed("c", "r/x", "rpc error: code = Unknown desc = no"),
        "rpc error: code = Unknown desc = no",
    ),
    (
        reasons.EmptyResponse("c", "r/x", "&AllocateResponse{}"),
        "no containers return in allocation response &AllocateResponse{}",
    ),
]

NOT_OFFERED: list[Any] = [
    reasons.OtherNumberHeld("r/x", 1, 2),
    reasons.FewerThanAsked("r/x", 1, 2),
    reasons.NoSetOfNodes("r/x", 2),
    reasons.LeavesOutReused(0b10, "r/x", "d0"),
    reasons.TooFewDevicesOnNodes(0b10, "r/x", 1, 2),
]


def shown(reason: Reason, sentence: str) -> str:
    """A sentence with the values of its reason."""
    return sentence.format(**{f.name: getattr(reason, f.name) for f in fields(reason)})  # type: ignore[arg-type]


@pytest.mark.parametrize(("reason", "text"), REFUSALS)
def test_a_refusal_has_the_kubelets_own_text(reason: Reason, text: str) -> None:
    assert text == shown(reason, vars(type(reason))["kubelet_text"])


@pytest.mark.parametrize("reason", [*(reason for reason, _ in REFUSALS), *NOT_OFFERED])
def test_every_reason_has_a_sentence_that_names_the_resource(reason: Reason) -> None:
    assert "r/x" in shown(reason, vars(type(reason))["sentence"])


def test_the_kubelet_has_a_text_for_refusals_only() -> None:
    with_text = {each for each in vars(reasons).values() if hasattr(each, "kubelet_text")}
    assert {type(reason) for reason, _ in REFUSALS} == with_text
