"""Reads traces of pods: CSV with a header, or JSON lines.

    arrival,duration,shape,count
    0,2h,"nvidia.com/gpu=4,cpu=16,memory=128Gi",3
    90s,30m,train,1

``arrival`` and ``duration`` are seconds or durations such as ``1h30m``; an arrival may be a time
such as ``2026-05-01T08:00:00Z``. ``shape`` is a list of amounts (in JSON lines also an object), or
the name of a pod or workload in another file. ``count`` is 1 by default.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from numalet.core.cluster.cluster import Arrival, ClusterPod
from numalet.core.model import go_text, input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.value import replace
from numalet.io.documents.pods import pod_shapes
from numalet.io.documents.text import kube_objects, yaml_source
from numalet.io.documents.text.typed import Place

MOST_PODS: Final = 1_000_000
"""Of one trace. Low enough to survive a typing error."""

_NEEDED: Final = ("arrival", "duration", "shape")
_DURATION: Final = "a number of seconds or a duration such as 1h30m, not below 0"
_ARRIVAL: Final = f"{_DURATION}, or a moment such as 2026-05-01T08:00:00Z"
_COUNT: Final = "a whole number from 1 on"
_LONGEST_SECONDS: Final = 1e11


def load(path: str, shapes: Mapping[str, ClusterPod]) -> tuple[Arrival, ...]:
    """The arrivals in a file, or in the standard input for ``-``; the first is at second 0.

    ``shapes`` are the pods that rows may name.

    Raises:
        BadInput: with all errors.
    """
    return read(yaml_source.read_text_or_input(path), path, shapes)


def read(text: str, document: str, shapes: Mapping[str, ClusterPod]) -> tuple[Arrival, ...]:
    """``load`` for a text. Raises ``BadInput`` with all errors."""
    findings = Findings()
    rows = _json_rows if text.lstrip().startswith("{") else _csv_rows
    reader = _RowReader(document, dict(shapes), findings)
    arrivals = [
        arrival
        for line, row in rows(text, document, findings)
        if (arrival := reader.arrival(row, line)) is not None
    ]
    if not arrivals and not findings.has_errors:
        findings.add(
            input_error.Required(
                "the trace has no rows; each row needs an arrival, a duration and a shape",
                where=Location(document),
            )
        )
    if sum(each.count for each in arrivals) > MOST_PODS:
        findings.add(
            input_error.TooLarge(
                f"the trace has more than {MOST_PODS} pods", where=Location(document)
            )
        )
    findings.raise_errors()
    first = min(each.at_seconds for each in arrivals)
    return tuple(replace(each, at_seconds=each.at_seconds - first) for each in arrivals)


def _json_rows(
    text: str, document: str, findings: Findings
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        kube_objects.stop_after_many(findings, Place(document, ""))
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            where = Location(document, line=number)
            findings.add(input_error.Invalid(f"the row is not a JSON object: {error}", where=where))


def _csv_rows(
    text: str, document: str, findings: Findings
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    names: list[str] | None = None
    try:
        for cells in reader:
            kube_objects.stop_after_many(findings, Place(document, ""))
            if not any(each.strip() for each in cells):
                continue
            if names is None:
                names = [each.strip() for each in cells]
                missing = [each for each in _NEEDED if each not in names]
                if missing:
                    where = Location(document, line=reader.line_num)
                    findings.add(
                        input_error.Required(
                            f"the first line of the trace does not name {', '.join(missing)}",
                            expected="the columns arrival, duration, shape and optionally count",
                            where=where,
                        )
                    )
                    return
            elif len(cells) != len(names):
                where = Location(document, line=reader.line_num)
                findings.add(
                    input_error.Invalid(
                        f"the row has {len(cells)} values for {len(names)} columns", where=where
                    )
                )
            else:
                yield reader.line_num, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        where = Location(document, line=reader.line_num)
        findings.add(input_error.Invalid(f"the row is not valid CSV: {error}", where=where))


class _RowReader:
    """Converts rows to arrivals; pods of one shape are one object."""

    def __init__(self, document: str, shapes: dict[str, ClusterPod], findings: Findings) -> None:
        self._document = document
        self._named = shapes
        self._shapes: dict[str, ClusterPod | None] = {}
        self._findings = findings

    def arrival(self, row: Mapping[str, Any], line: int) -> Arrival | None:
        where = Location(self._document, line=line)
        missing = [each for each in _NEEDED if row.get(each) in (None, "")]
        for name in missing:
            self._findings.add(input_error.Required(f"the row has no {name}", where=where))
        if missing:
            return None
        at = _seconds(row["arrival"]) if not _is_moment(row["arrival"]) else _moment(row["arrival"])
        duration = _seconds(row["duration"])
        count = _count(row.get("count", 1))
        for name, value, expected in (
            ("arrival", at, _ARRIVAL),
            ("duration", duration, _DURATION),
            ("count", count, _COUNT),
        ):
            if value is None:
                self._findings.add(
                    input_error.Invalid(
                        f"invalid {name} {str(row.get(name))!r}", expected=expected, where=where
                    )
                )
        pod = self._shape(row["shape"], where)
        if at is None or duration is None or count is None or pod is None:
            return None
        return Arrival(at_seconds=at, duration_seconds=duration, pod=pod, count=count)

    def _shape(self, given: object, where: Location) -> ClusterPod | None:
        key = msgspec.json.encode(given, order="sorted").decode()
        if key not in self._shapes:
            try:
                self._shapes[key] = self._new_shape(given, where)
            except BadInput as bad:
                # Remember the failure, so that each bad shape is reported once.
                self._shapes[key] = None
                self._findings.extend(bad.findings)
        return self._shapes[key]

    def _new_shape(self, given: object, where: Location) -> ClusterPod:
        name = where.text
        if isinstance(given, Mapping):
            return pod_shapes.of_mapping({str(key): each for key, each in given.items()}, name)
        text = str(given).strip()
        if text in self._named:
            return self._named[text]
        if "=" in text:
            parts = [each.partition("=") for each in text.split(",")]
            return pod_shapes.of_mapping(
                {key.strip(): each.strip() for key, _, each in parts}, name
            )
        files = ", ".join(sorted(self._named)) or "another file (see --shapes)"
        raise input_error.Invalid(
            f"shape {text!r} is neither a list of amounts nor a pod of {files}", where=where
        ).bad_input()


def _is_moment(value: object) -> bool:
    return isinstance(value, str) and "T" in value


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        seconds = float(value) if isinstance(value, int | float) else float(str(value).strip())
    except (ValueError, OverflowError):
        try:
            seconds = go_text.parse_duration_ns(str(value).strip()) / go_text.SECOND_NS
        except go_text.DurationError:
            return None
    # Infinity and NaN fail this comparison, too.
    return seconds if 0 <= seconds <= _LONGEST_SECONDS else None


def _count(value: object) -> int | None:
    try:
        number = int(str(value).strip() or "1")
    except ValueError:
        return None
    return number if number >= 1 else None
