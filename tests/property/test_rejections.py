"""A rejection that was written down as codes and values comes back, with the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.admission import reasons as admission_reasons
from numalet.core.admission.reasons import (
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    NothingToPreempt,
    OutOfResource,
    PredicateFailed,
    Rejection,
    SidecarForbidden,
)
from numalet.core.hints.provider import Hint, Reason
from numalet.core.managers.cpu import reasons as cpu_reasons
from numalet.core.managers.device import reasons as device_reasons
from numalet.core.managers.memory import reasons as memory_reasons
from numalet.core.workload import rejections
from numalet.core.workload.run import Cause
from numalet.shared.findings import recorded
from numalet.wording import kubelet

pytestmark = pytest.mark.property

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
MASKS = st.integers(0, 2**70)
INNER: list[Any] = [
    each
    for room in (cpu_reasons, device_reasons, memory_reasons)
    for each in vars(room).values()
    if isinstance(each, type) and hasattr(each, "code")
]


def inner() -> st.SearchStrategy[Reason]:
    """What a manager may say."""
    return st.one_of(
        *(
            st.builds(each, **{of.name: MASKS for of in fields(each) if of.type == "NumaMask"})
            for each in INNER
        )
    )


REJECTIONS: st.SearchStrategy[Rejection] = st.one_of(
    st.builds(NotAligned, affinity=st.builds(Hint, st.none() | MASKS, st.booleans())),
    st.builds(AllocationRefused, container=TEXT, provider=TEXT, cause=inner()),
    st.builds(KubeletWouldCrash, subject=TEXT, provider=TEXT, cause=inner()),
    st.builds(OutOfResource),
    st.builds(PredicateFailed, st.sampled_from(["NodeName", "NodePorts", "NodeAffinity"])),
    st.builds(SidecarForbidden, TEXT),
    st.builds(NothingToPreempt),
)


@given(REJECTIONS)
def test_a_rejection_comes_back_from_what_is_written_down(rejection: Rejection) -> None:
    causes = rejections.causes(rejection)
    assert causes[0].code == rejection.code
    assert rejections.rejection(causes) == rejection
    assert recorded.loss_sentence(causes) == kubelet.message(rejection)


@given(REJECTIONS, st.data())
def test_values_that_are_damaged_are_shown_and_break_nothing(
    rejection: Rejection, data: st.DataObject
) -> None:
    causes = list(rejections.causes(rejection))
    at = data.draw(st.integers(0, len(causes) - 1))
    names = [*causes[at].fields, "later"]
    value = data.draw(TEXT | st.sampled_from(["null", "[]", "[[]]", "{}", "1", "[1, 2]", "NaN"]))
    changed = {**causes[at].fields, data.draw(st.sampled_from(names)): value}
    causes[at] = Cause(causes[at].code, changed)
    assert isinstance(recorded.loss_sentence(causes), str)


def test_no_set_of_nodes_is_below_zero() -> None:
    about = {"subject": "pod", "policy": "restricted"}
    whole = Cause(NotAligned.code, about | {"affinity": "[1, true]"})
    assert rejections.rejection([whole]) == NotAligned(**about, affinity=Hint(1, preferred=True))
    for affinity in ("[-1, true]", "[1.5, true]"):
        damaged = Cause(NotAligned.code, about | {"affinity": affinity})
        assert rejections.rejection([damaged]) is None


def test_every_class_of_a_reason_is_known() -> None:
    rooms: Iterable[Mapping[str, Any]] = map(
        vars, (admission_reasons, cpu_reasons, device_reasons, memory_reasons)
    )
    declared = {
        each.code
        for room in rooms
        for each in room.values()
        if isinstance(each, type) and hasattr(each, "code") and each.__module__ == room["__name__"]
    }
    assert declared <= rejections.CLASSES.keys()


def test_a_reason_of_another_release_is_shown_as_it_is() -> None:
    refused = Cause("admission/allocation-refused", {"container": "a", "provider": "gpu"})
    later = Cause("gpu/later", {"what": "x y"})
    assert recorded.loss_sentence((refused, later)) == (
        "admission/allocation-refused: container 'a', provider 'gpu'; gpu/later: what 'x y'"
    )
    assert recorded.loss_sentence(()) == ""
