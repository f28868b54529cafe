"""Findings about what a question to a fleet comes with: shapes of pods, traces."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class FleetAmounts(Finding):
    sentence = (
        "{value!r} is neither a file nor a list of amounts, such as"
        " nvidia.com/gpu=4,cpu=16,memory=128Gi"
    )
    value: str


class FleetAmountTwice(Finding):
    sentence = "{value!r} asks for {name} twice; write the sum"
    value: str
    name: str


class FleetNoPods(Finding):
    sentence = "nothing in {value!r} asks for a pod; name a Pod, a Job or another workload"
    value: str


class FleetNotOneShape(Finding):
    sentence = (
        "{value!r} asks for {count} kinds of pods, and one is asked about at a time; give a file "
        "with one of them, or what it asks for"
    )
    value: str
    count: int


class FleetTraceEmpty(Finding):
    sentence = "the trace has no row; each one has an arrival, a duration and a shape"


class FleetTraceColumns(Finding):
    sentence = (
        "the first line names no column {missing}; a trace has the columns arrival, duration and"
        " shape, and may have count"
    )
    missing: str


class FleetTraceField(Finding):
    sentence = "{field} {value!r} is not {expected}"
    field: str
    value: str
    expected: str


class FleetTraceRow(Finding):
    sentence = "the line is no row of a trace: {problem}"
    problem: str


class FleetTraceShape(Finding):
    sentence = "shape {value!r} is neither a list of amounts nor a pod of {files}"
    value: str
    files: str


class FleetTraceTooLong(Finding):
    sentence = "the trace has more than {most} pods"
    most: int
