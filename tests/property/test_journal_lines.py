"""An event comes back from its line in the journal, and a damaged line is no event."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.agent.controller import journal
from numalet.agent.findings import events
from numalet.agent.findings.events import EventPromiseLost, EventStartFailed, Message
from numalet.agent.findings.kubelet import KubeletCpusDiffer
from numalet.core.model.findings import Finding, Location
from numalet.core.workload.records import EventKind, NodeEvent
from numalet.core.workload.run import Cause
from numalet.insight.state.rebase import RebaseCpusGone
from numalet.shared.findings.runtime import RuntimeNotExecutable

pytestmark = pytest.mark.property

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - the zone is the next argument
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


def failed(why: Finding) -> Message:
    return events.message(EventStartFailed(cause=str(why)), [Cause.of(why)])


def lost(file: str, why: Finding) -> Message:
    return events.message(EventPromiseLost(file=file, cause=str(why)), [Cause.of(why)])


PLACES = st.builds(Location, TEXT, TEXT)
MESSAGES = st.one_of(
    st.builds(Message, TEXT),
    st.builds(failed, st.builds(RuntimeNotExecutable, program=TEXT, error=TEXT)),
    st.builds(lost, TEXT, st.builds(RebaseCpusGone, cpus=TEXT)),
    st.builds(KubeletCpusDiffer, promised=TEXT, found=TEXT, where=PLACES).map(events.located),
)


@st.composite
def node_events(draw: st.DrawFn) -> NodeEvent:
    """Any event."""
    message = draw(MESSAGES)
    return NodeEvent(
        kind=draw(st.sampled_from(EventKind)),
        reason=draw(TEXT),
        message=message.text,
        causes=message.causes,
        at=draw(MOMENTS),
        resource_version=draw(st.integers(0, 2**62)),
        pod_uid=draw(TEXT),
        pod_name=draw(TEXT),
        namespace=draw(TEXT),
        container=draw(TEXT),
        first_at=draw(st.none() | MOMENTS),
        count=draw(st.integers(1, 100)),
    )


@given(node_events())
def test_an_event_comes_back_as_it_was(event: NodeEvent) -> None:
    assert journal.event_of(json.loads(json.dumps(journal.line_of(event)))) == event


@given(node_events(), st.data())
def test_a_damaged_line_is_an_event_or_none(event: NodeEvent, data: st.DataObject) -> None:
    line = json.loads(json.dumps(journal.line_of(event)))
    part: Any = line
    while isinstance(part, dict | list) and part:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(part[key], dict | list):
            part[key] = data.draw(st.sampled_from([None, "", -1, 1e99, [], {}, "{", True, [{}]]))
            break
        part = part[key]
    found = journal.event_of(line)
    assert found is None or isinstance(found.message, str)
