"""Parsers of configuration give a value or their own refusal, whatever they are given."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.config import kubelet_fields, memory_policy, node_allocatable, start
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.memory_policy import ReservedMemoryError
from numalet.core.config.node_allocatable import PercentageError
from numalet.core.config.releases import flag_table
from numalet.core.config.rules import NodeRules, StartRefused, StartStage
from numalet.core.model.findings import BadInput
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.text import yaml_source
from numalet.wording import kubelet_start as wording

pytestmark = pytest.mark.property

NOISE = st.text(max_size=40)
YAML_NOISE = st.text(alphabet="{}[]:-,&*!<>'\"\n\t ab1.#%|?@~0xe+_\\u", max_size=60)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), NOISE, st.sampled_from(["1Gi", "static"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NOISE, inner, max_size=3)
)
KEYS = st.sampled_from(list(kubelet_fields.HONOURED)) | NOISE
FLAGS = st.sampled_from(
    [row.flag for row in kubelet_fields.HONOURED.values() if row.flag in flag_table.flags()]
)
MACHINE = MachineInfo(
    nodes=tuple(
        NumaNodeInfo(node, 2**33, cores=(CoreInfo(node, 0, (node,)),), distances=(10, 20))
        for node in range(2)
    ),
    memory_capacity_bytes=2**34,
    cpu_count=2,
    socket_count=2,
)


T = TypeVar("T")


def sayable(action: Callable[[], T]) -> T | None:
    """What an action gives; None if it is bad input, every finding of which has a sentence."""
    try:
        return action()
    except BadInput as bad:
        findings = bad.findings
    assert findings
    assert all(str(finding) for finding in findings)
    return None


@given(NOISE | YAML_NOISE | VALUES.map(json.dumps))
def test_a_text_becomes_documents_or_bad_input(text: str) -> None:
    for document in sayable(lambda: yaml_source.load_documents(text, "file")) or ():
        assert document.line_of("$.a[0].b") is None or document.line_of("$") is not None
        assert all(str(finding) for finding in document.duplicates)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
    )
)
def test_json_comes_back_as_it_was(value: Any) -> None:
    (document,) = yaml_source.load_documents(json.dumps([value]), "file")

    assert document.value == [value]


@given(VALUES | st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_value_becomes_a_configuration_or_bad_input(value: Any) -> None:
    config = sayable(lambda: kubelet_config.decode(value, "file"))

    assert config is None or isinstance(config, KubeletConfig)


FLAG_VALUES = NOISE | st.sampled_from(
    [
        "0:memory=1Gi",
        "cpu=1",
        "memory.available<5%",
        "AllAlpha=true",
        "Static",
        "static",
        "1",
        "0-1",
    ]
)


@given(st.lists(st.tuples(FLAGS, FLAG_VALUES), max_size=4))
def test_flags_lead_to_rules_a_refusal_or_bad_input(flags: list[tuple[str, str]]) -> None:
    loaded = sayable(lambda: kubelet_config.load(kubelet_config.ConfigSources(flags=flags)))
    if loaded is None:
        return
    found = start.resolve(loaded.config, MACHINE)
    if isinstance(found, StartRefused):
        assert wording.text(found) or found.stage is StartStage.EVICTION_HARD
        assert all(str(each) for each in (*found.findings, *found.further))
    else:
        assert isinstance(found, NodeRules)


@given(NOISE | st.text(alphabet="0123456789:;,=-memoryhugpas Gi", max_size=30))
def test_reserved_memory_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ReservedMemoryError):
        entries = memory_policy.parse_flag_value(text)
        again = (
            memory_policy.parse_flag_value(memory_policy.flag_text(entries).replace(",", ";"))
            if all(len(entry.limits) == 1 for entry in entries)
            else entries
        )
        assert len(again) == len(entries)


@given(NOISE | st.floats(0, 100).map(str))
def test_a_percentage_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(PercentageError):
        share = node_allocatable.parse_percentage(f"{text}%")
        assert share.is_negative or share.is_above_all or 0 <= share.of(2**40) <= 2**40
