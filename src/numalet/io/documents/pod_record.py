"""A pod's record as a text, and back.

The text is the agent's own memory of a pod: what is wanted and what has happened. Reading
a damaged one gives findings with the place, never another pod than was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import UnsetType

from numalet.core.model import qos
from numalet.core.model.findings import BadInput, Findings
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass, Resources
from numalet.core.workload.record import PodRecord
from numalet.core.workload.run import (
    Cause,
    ContainerRun,
    Deletion,
    Evicted,
    Exit,
    PodRun,
    Verdict,
)
from numalet.core.workload.spec import ContainerSpec, Runner, Workload, WorkloadSource
from numalet.io.documents import (
    pod_constraints,
    pod_level,
    pod_resources,
    typed,
    workload_fields,
)
from numalet.io.documents.pod_record_schema import (
    CausePart,
    ContainerPart,
    ContainerRunPart,
    DeletionPart,
    EvictedPart,
    ExitPart,
    RecordDocument,
    RunnerPart,
    RunPart,
    VerdictPart,
    WorkloadPart,
)
from numalet.io.documents.pod_resources import PodSource
from numalet.io.documents.pod_table import checking
from numalet.io.documents.pod_table.table import POD
from numalet.io.documents.typed import Place
from numalet.io.findings.files import (
    RecordContainers,
    RecordNotJson,
    RecordTextOnly,
    RecordUnknownContainer,
    RecordUnreadable,
)

_ENCODER: Final = msgspec.json.Encoder()
_SOME_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


def encode(record: PodRecord) -> bytes:
    """The text of the record, UTF-8 and one line, without its end."""
    parts = RecordDocument(
        resource_version=record.resource_version,
        workload=_workload_part(record.workload),
        run=_run_part(record.run),
    )
    return _ENCODER.encode(parts)


def decode(content: bytes, document: str) -> PodRecord:
    """The record that was written.

    Raises:
        BadInput: it is not JSON, a part is missing or of the wrong type, or parts disagree.
    """
    findings, place = Findings(), Place(document)
    file = typed.decode_json(content, RecordDocument, place, RecordNotJson)
    record = PodRecord(
        workload=_workload(file.workload, place.member("workload"), findings),
        run=_run(file.run),
        resource_version=file.resource_version,
    )
    _check_runs(record, file, place.member("run").member("containers"), findings)
    findings.raise_errors()
    return record


def check_readable(workload: Workload, place: Place, findings: Findings) -> None:
    """An error if the record of this pod could not be read again after it was written."""
    record = PodRecord(workload, PodRun(accepted_at=_SOME_TIME))
    try:
        decode(encode(record), "")
    except BadInput as bad:
        problem = bad.findings[0].located
    except (OverflowError, RecursionError, UnicodeEncodeError) as error:
        problem = str(error)
    else:
        return
    findings.add(RecordUnreadable(problem=problem, where=place.location))


def _check_runs(record: PodRecord, file: RecordDocument, place: Place, findings: Findings) -> None:
    """Findings for runs of containers that are not there, or that are there twice."""
    left = [container.name for container in record.workload.containers]
    for index, part in enumerate(file.run.containers):
        if part.name in left:
            left.remove(part.name)
        else:
            where = place.item(index).member("name").location
            findings.add(RecordUnknownContainer(name=typed.described(part.name), where=where))


def _workload_part(workload: Workload) -> WorkloadPart:
    pod, runner = workload.pod, workload.runner
    return WorkloadPart(
        uid=pod.uid,
        name=pod.name,
        namespace=pod.namespace,
        containers=[
            _container_part(container, workload.container(container.name))
            for container in pod.containers()
        ],
        qos_class=_class_of_containers(pod),
        overhead=_texts(pod.overhead),
        phase=pod.phase,
        node_name=pod.node_name,
        labels=dict(pod.labels),
        restart_policy=workload.restart_policy,
        grace_period_seconds=workload.grace_period_seconds,
        priority_class=workload.priority_class,
        source=workload.source,
        origin=workload.origin,
        manifest=dict(workload.manifest),
        runner=None
        if runner is None
        else RunnerPart(pid=runner.pid, ticks=runner.ticks, boot=runner.boot),
    )


def _class_of_containers(pod: Pod) -> QosClass:
    """The class without ``spec.resources``; whether these count is decided anew at every start."""
    counts = pod.pod_level is not None and pod.pod_level.count
    return qos.qos_class(pod.containers()) if counts else pod.qos_class


def _container_part(container: Container, spec: ContainerSpec) -> ContainerPart:
    return ContainerPart(
        name=container.name,
        kind=container.kind,
        requests=_texts(container.requests),
        limits=_texts(container.limits),
        image=spec.image,
        command=list(spec.command),
        args=list(spec.args),
        env=list(spec.env),
        working_dir=spec.working_dir,
        run_as_user=spec.run_as_user,
        run_as_group=spec.run_as_group,
    )


def _texts(resources: Resources) -> dict[str, Any]:
    return {name: quantity.exact_text() for name, quantity in resources.items()}


def _workload(part: WorkloadPart, place: Place, findings: Findings) -> Workload:
    workload_fields.check_uid(part.uid, place.member("uid"), findings)
    at = place.member("containers")
    containers = [
        _container(each, at.item(index), findings) for index, each in enumerate(part.containers)
    ]
    names = {each.name for each in containers}
    if len(names) < len(containers) or not _in_order(containers):
        findings.add(
            RecordContainers(names=", ".join(c.name for c in containers), where=at.location)
        )
    of_manifest = Findings()
    checking.check(part.manifest, POD, place.member("manifest"), checking.OF_SERVERS, of_manifest)
    findings.extend(of_manifest.all)
    # What the fields of the pod are read from is as the table says, or is not read.
    spec = None if of_manifest.has_errors else part.manifest.get("spec")
    init = tuple(c for c in containers if c.kind is not ContainerKind.APP)
    apps = tuple(c for c in containers if c.kind is ContainerKind.APP)
    pod = Pod(
        uid=part.uid,
        name=part.name,
        namespace=part.namespace,
        init_containers=init,
        app_containers=apps,
        qos_class=part.qos_class,
        overhead=_quantities(part.overhead, place.member("overhead"), findings),
        phase=part.phase,
        node_name=part.node_name,
        labels=part.labels,
        priority=_priority(spec),
        is_static=part.source is WorkloadSource.FILE,
        constraints=pod_constraints.of_spec(spec),
        pod_level=pod_level.of_spec(spec, pod_level.PodLevelContext(init, apps, None)),
    )
    return Workload(
        pod=pod,
        containers=tuple(map(_spec, part.containers)),
        restart_policy=part.restart_policy,
        grace_period_seconds=part.grace_period_seconds,
        priority_class=part.priority_class,
        source=part.source,
        origin=part.origin,
        manifest=part.manifest,
        runner=None
        if part.runner is None
        else Runner(part.runner.pid, part.runner.ticks, part.runner.boot),
    )


def _priority(spec: object) -> int | None:
    priority = spec.get("priority") if isinstance(spec, Mapping) else None
    return priority if type(priority) is int else None


def _in_order(containers: Iterable[Container]) -> bool:
    """Whether init containers and sidecars come first, and an app container is there."""
    are_apps = [container.kind is ContainerKind.APP for container in containers]
    return are_apps == sorted(are_apps) and any(are_apps)


def _container(part: ContainerPart, place: Place, findings: Findings) -> Container:
    return Container(
        name=part.name,
        kind=part.kind,
        requests=_quantities(part.requests, place.member("requests"), findings),
        limits=_quantities(part.limits, place.member("limits"), findings),
    )


def _quantities(given: Mapping[str, Any], place: Place, findings: Findings) -> Resources:
    """Quantities by name. Whether a pod may ask for them was decided when it came."""
    quantities = {
        name: pod_resources.decode_quantity(value, place.member(name), findings, PodSource.FILE)
        for name, value in given.items()
    }
    return {name: quantity for name, quantity in quantities.items() if quantity is not None}


def _spec(part: ContainerPart) -> ContainerSpec:
    return ContainerSpec(
        name=part.name,
        kind=part.kind,
        image=part.image,
        command=tuple(part.command),
        args=tuple(part.args),
        env=tuple(part.env),
        working_dir=part.working_dir,
        run_as_user=part.run_as_user,
        run_as_group=part.run_as_group,
    )


def _run_part(run: PodRun) -> RunPart:
    verdict, deletion = run.verdict, run.deletion
    return RunPart(
        accepted_at=run.accepted_at,
        verdict=None
        if verdict is None
        else VerdictPart(
            admitted=verdict.admitted,
            reason=verdict.reason,
            message=verdict.message,
            cause=verdict.cause,
        ),
        decided_at=run.decided_at,
        containers=[_container_run_part(each) for each in run.containers.values()],
        deletion=None
        if deletion is None
        else DeletionPart(requested_at=deletion.requested_at, grace_seconds=deletion.grace_seconds),
        evicted=[
            EvictedPart(uid=each.uid, name=each.name, until=each.until) for each in run.evicted
        ],
        causes=list(map(_cause_part, run.causes)),
    )


def _container_run_part(run: ContainerRun) -> ContainerRunPart:
    return ContainerRunPart(
        name=run.name,
        phase=run.phase,
        attempt=run.attempt,
        started_at=run.started_at,
        last_exit=None if run.last_exit is None else _exit_part(run.last_exit),
        back_off_seconds=run.back_off_seconds,
        level=run.level,
        shortfalls=list(run.shortfalls),
        asked_to_end=run.asked_to_end,
    )


def _exit_part(exit_: Exit) -> ExitPart:
    return ExitPart(
        code=exit_.code,
        reason=exit_.reason,
        finished_at=exit_.finished_at,
        started_at=exit_.started_at,
        signal=exit_.signal,
        cause=None if exit_.cause is None else _cause_part(exit_.cause),
    )


def _cause_part(cause: Cause) -> CausePart:
    return CausePart(code=cause.code, fields=dict(cause.fields))


def _run(part: RunPart) -> PodRun:
    return PodRun(
        accepted_at=part.accepted_at,
        verdict=None
        if part.verdict is None
        else Verdict(
            part.verdict.admitted, part.verdict.reason, part.verdict.message, part.verdict.cause
        ),
        decided_at=part.decided_at,
        containers={each.name: _container_run(each) for each in part.containers},
        deletion=None
        if part.deletion is None
        else Deletion(part.deletion.requested_at, part.deletion.grace_seconds),
        evicted=tuple(Evicted(each.uid, each.name, each.until) for each in part.evicted),
        causes=tuple(map(_cause, part.causes)) or _text_only(part.unpromised),
    )


def _container_run(part: ContainerRunPart) -> ContainerRun:
    return ContainerRun(
        name=part.name,
        phase=part.phase,
        attempt=part.attempt,
        started_at=part.started_at,
        last_exit=None if part.last_exit is None else _exit(part.last_exit),
        back_off_seconds=part.back_off_seconds,
        level=part.level,
        shortfalls=tuple(part.shortfalls),
        asked_to_end=part.asked_to_end,
    )


def _exit(part: ExitPart) -> Exit:
    return Exit(
        code=part.code,
        reason=part.reason,
        finished_at=part.finished_at,
        started_at=part.started_at,
        signal=part.signal,
        cause=next(iter(_text_only(part.message)), None)
        if part.cause is None
        else _cause(part.cause),
    )


def _cause(part: CausePart) -> Cause:
    return Cause(part.code, part.fields)


def _text_only(text: str | UnsetType) -> tuple[Cause, ...]:
    """The cause as earlier releases wrote it, if they wrote one."""
    return (Cause.of(RecordTextOnly(text=text)),) if text else ()
