"""Encodes a pod's record as JSON, and decodes it.

The fields are those of ``PodRecord``, with quantities as texts. Node constraints and
``spec.resources`` are decoded from the manifest in it. Unknown members are ignored and missing ones
get defaults, so releases can read each other's records, including ``numalet.dev/v1alpha1``. A
damaged record gives findings, never another pod.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from numalet.core.model import input_error, pod_demand
from numalet.core.model.findings import BadInput, Findings
from numalet.core.model.pod import Container, ContainerKind, Resources
from numalet.core.model.value import replace
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import Cause, PodRun
from numalet.core.workload.spec import Workload
from numalet.io.documents.pods import pod_constraints, pod_level, pod_resources, workload_fields
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.pods.pod_table import checking
from numalet.io.documents.pods.pod_table.table import POD
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.findings.files import (
    RecordTextOnly,
)

# msgspec can encode everything but read-only mappings.
_ENCODER: Final = msgspec.json.Encoder(enc_hook=dict)
_SOME_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIER: Final = "numalet.dev/v1alpha1"
_CAPITAL: Final = re.compile("[A-Z]")
_AMOUNTS: Final = ("requests", "limits", "overhead")
_NAMES_AS_WRITTEN: Final = frozenset({*_AMOUNTS, "labels", "manifest", "fields"})


def encode(record: PodRecord) -> bytes:
    """The record in one line of UTF-8 without a line break."""
    workload, pod = record.workload, record.workload.pod
    # Each start decides again whether spec.resources apply, see ``core.admission.counting``.
    counts = pod.pod_level is not None and pod.pod_level.count
    written = replace(
        pod,
        init_containers=tuple(map(_with_texts, pod.init_containers)),
        app_containers=tuple(map(_with_texts, pod.app_containers)),
        overhead=_texts(pod.overhead),
        qos_class=pod_demand.qos_class(pod.containers()) if counts else pod.qos_class,
        constraints=None,
        pod_level=None,
    )
    return _ENCODER.encode(replace(record, workload=replace(workload, pod=written)))


def _with_texts(container: Container) -> Container:
    requests, limits = _texts(container.requests), _texts(container.limits)
    return replace(container, requests=requests, limits=limits)


def _texts(resources: Resources) -> Any:
    return {name: quantity.exact_text() for name, quantity in resources.items()}


def decode(content: bytes, document: str) -> PodRecord:
    """Raises ``BadInput`` if a part is missing or invalid, or if parts disagree."""
    findings, place = Findings(), Place(document)
    value = typed.decode_json(content, dict[str, Any], place)
    if value.get("apiVersion") == _EARLIER:
        # A damaged record is reported like one of the present version.
        with suppress(AttributeError, KeyError, TypeError, RecursionError):
            value = _of_earlier(value)
    at_workload = place.member("workload")
    at_pod = at_workload.member("pod")
    given = value.get("workload")
    _read_quantities(given.get("pod") if isinstance(given, dict) else None, at_pod, findings)
    record = typed.decode(value, PodRecord, place, findings)
    if record is None:
        raise BadInput(findings.all)
    workload, pod = record.workload, record.workload.pod
    workload_fields.check_uid(pod.uid, at_pod.member("uid"), findings)
    _check_containers(workload, at_workload.member("containers"), findings)
    _check_runs(record, place.member("run").member("containers"), findings)
    at_manifest = at_workload.member("manifest")
    checking.check(workload.manifest, POD, at_manifest, checking.OF_SERVERS, findings)
    findings.raise_errors()
    spec = workload.manifest.get("spec")
    context = pod_level.PodLevelContext(pod.init_containers, pod.app_containers, None)
    pod = replace(
        pod,
        constraints=pod_constraints.of_spec(spec),
        pod_level=pod_level.of_spec(spec, context),
        allocated=None,
    )
    return replace(record, workload=replace(workload, pod=pod))


def check_readable(workload: Workload, place: Place, findings: Findings) -> None:
    """Add an error if the record of this pod could not be decoded again."""
    record = PodRecord(workload, PodRun(accepted_at=_SOME_TIME))
    try:
        decode(encode(record), "")
    except BadInput as bad:
        problem = bad.findings[0].located
    except (OverflowError, RecursionError, UnicodeEncodeError) as error:
        problem = str(error)
    else:
        return
    findings.add(
        input_error.Unreadable(
            f"the agent could not read its record of this pod when it starts: {problem}",
            where=place.location,
        )
    )


def _read_quantities(pod: object, place: Place, findings: Findings) -> None:
    """Replace the texts of quantities; ``typed.decode`` reports everything else."""
    if not isinstance(pod, dict):
        return
    parts: list[tuple[object, Place]] = [(pod, place)]
    for name in ("init_containers", "app_containers"):
        each_list, at = pod.get(name), place.member(name)
        if isinstance(each_list, list):
            parts += [(each, at.item(index)) for index, each in enumerate(each_list)]
    for part, at in parts:
        for name in _AMOUNTS:
            amounts = part.get(name) if isinstance(part, dict) else None
            if isinstance(part, dict) and isinstance(amounts, dict):
                part[name] = _quantities(amounts, at.member(name), findings)


def _quantities(given: Mapping[str, Any], place: Place, findings: Findings) -> Resources:
    # FILE: the admission has already checked which resources the pod may request.
    quantities = {
        name: pod_resources.decode_quantity(value, place.member(name), findings, PodSource.FILE)
        for name, value in given.items()
    }
    return {name: quantity for name, quantity in quantities.items() if quantity is not None}


def _check_containers(workload: Workload, place: Place, findings: Findings) -> None:
    pod = workload.pod
    containers = [(each.name, each.kind) for each in pod.containers()]
    programs = [(each.name, each.kind) for each in workload.containers]
    of_apps = {each.kind for each in pod.app_containers}
    # Names must be unique, app containers last, and each container needs its program.
    if (
        containers != programs
        or len(dict(containers)) < len(containers)
        or of_apps != {ContainerKind.APP}
        or any(each.kind is ContainerKind.APP for each in pod.init_containers)
    ):
        names = ", ".join(name for name, _ in programs)
        findings.add(
            input_error.Invalid(
                f"the containers of the record ({names}) do not form a pod",
                expected="unique names, init containers first, and at least one app container",
                where=place.location,
            )
        )


def _check_runs(record: PodRecord, place: Place, findings: Findings) -> None:
    known = {each.name for each in record.workload.containers}
    for name, run in record.run.containers.items():
        if name not in known or run.name != name:
            where = place.member(name).location
            findings.add(
                input_error.Invalid(
                    f"the record has a run of container {typed.described(run.name)}, which is not "
                    "in the pod",
                    where=where,
                )
            )


def _of_earlier(file: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a ``v1alpha1`` record; the result may have unknown members.

    Raises ``AttributeError``, ``KeyError``, ``TypeError`` or ``RecursionError`` for a damaged one.
    """
    record: dict[str, Any] = _with_todays_names(file)
    workload, run = record["workload"], record["run"]
    containers = workload["containers"]
    workload["pod"] = {
        **workload,
        "init_containers": [each for each in containers if each["kind"] != "app"],
        "app_containers": [each for each in containers if each["kind"] == "app"],
        "priority": workload.get("manifest", {}).get("spec", {}).get("priority"),
        "is_static": workload.get("source") == "file",
    }
    run["containers"] = {each["name"]: each for each in run.get("containers", ())}
    # Causes were texts before they got codes.
    if text := run.get("unpromised"):
        run["causes"] = run.get("causes") or [_text_only(text)]
    for each in run["containers"].values():
        last = each.get("last_exit") or {}
        if text := last.get("message"):
            last["cause"] = last.get("cause") or _text_only(text)
    return record


def _with_todays_names(value: Any) -> Any:
    match value:
        case list():
            return [_with_todays_names(each) for each in value]
        case dict():
            return {
                _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name): member
                if name in _NAMES_AS_WRITTEN
                else _with_todays_names(member)
                for name, member in value.items()
            }
        case _:
            return value


def _text_only(text: str) -> Cause:
    return Cause.of(RecordTextOnly(text=text))
