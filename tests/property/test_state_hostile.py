"""Whatever stands in a state file: it is shown, verified, compared, tried, rebased, or refused."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.quantity import Quantity
from numalet.insight.output import json_schema, state_document
from numalet.insight.state import (
    holder_map,
    reading,
    rebase,
    restart_check,
    state_diff,
)
from numalet.insight.state import (
    verify as state_verify,
)
from values import state_builders

pytestmark = pytest.mark.property

FILES = state_builders.files()
MACHINE = state_builders.machine()
STAFF = state_builders.staff(state_builders.rules())
CONFIG = KubeletConfig(
    memory_manager_policy="Static",
    cpu_manager_policy="static",
    reserved_system_cpus="0",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)
NUMBERS = st.sampled_from((0, 1, 2, 5, 63, 64, -1, 1 << 31, 1 << 40, (1 << 64) - 1, 1 << 64))
TEXTS = st.sampled_from(("", "memory", "0-3", "1,5", "hugepages-2Mi", "\ud800", "a b", "x" * 50))
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every member of a document."""
    found: list[tuple[Any, ...]] = []
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((*path, key))
        if isinstance(member, dict | list):
            found += places(member, (*path, key))
    return found


@st.composite
def hostile(draw: st.DrawFn) -> dict[str, str]:
    """The files, with anything at up to two places of one of them, sealed again if possible."""
    name = draw(st.sampled_from(sorted(FILES)))
    value = json.loads(FILES[name])
    every = places(value)
    for _ in range(draw(st.integers(1, 2))):
        *path, last = draw(st.sampled_from(every))
        parent = value
        for key in path:
            try:
                parent = parent[key]
            except (KeyError, IndexError, TypeError):
                break
        if isinstance(parent, dict):
            parent[draw(st.sampled_from((last, "7", "-1", "x")))] = draw(ANYTHING)
        elif isinstance(parent, list) and parent:
            parent[0] = draw(ANYTHING)
    text = json.dumps(value)
    if draw(st.booleans()):
        with contextlib.suppress(AssertionError):
            text = state_builders.sealed(name, copy.deepcopy(value))
    return FILES | {name: text}


@given(hostile())
def test_any_content_is_checked_or_refused(files: dict[str, str]) -> None:
    states = reading.read(files)
    sound = reading.read(FILES)
    chart = holder_map.state_map(states, {})
    checked = restart_check.check(CONFIG, MACHINE, files)
    documents = (
        state_document.verified(state_verify.verify(files, MACHINE)),
        chart,
        state_document.ComparedDocument(state_diff.differences(sound, states), ()),
        state_document.checked(checked, "/var/lib/kubelet"),
        state_document.rebased(rebase.rebase(STAFF, files), {}),
    )
    for document in documents:
        plain = json_schema.plain(document)
        assert json.dumps(plain)
        assert document == msgspec.convert(plain, type(document))


@given(st.text(max_size=80))
def test_any_text_is_checked_or_refused(text: str) -> None:
    for name in FILES:
        report = state_verify.verify_file(name, text)
        assert report.findings
