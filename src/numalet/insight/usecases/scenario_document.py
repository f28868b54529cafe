"""Decode one scenario, as the reference of the scenario file describes it.

All errors are collected, each with its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.numalet_config import NumaletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import NEWEST
from numalet.core.model import input_error, kubelet_view
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.node.node import NO_DEVICES, Devices
from numalet.insight.simulate import session
from numalet.insight.simulate.session import (
    STATE_FILES,
    RemoveStep,
    RestartStep,
    Scenario,
    StateFiles,
    Step,
)
from numalet.io.documents.kubelet import kubelet_config, kubelet_version, numalet_config
from numalet.io.documents.machine import device_file, machine_file
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.wording import kubelet_start

_MEMBERS: Final = (
    *("devices", "expect", "kubelet_config", "machine", "name", "numalet_config"),
    *("record_raw", "release", "state_files", "steps", "tags"),
)
_STEPS: Final = ("admit", "remove", "restart")
_RESTART_MEMBERS: Final = ("kubelet_config", "machine", "order", "state_files")


def resembles_scenario(value: object) -> bool:
    """Return whether a decoded document is a scenario rather than a manifest."""
    return isinstance(value, Mapping) and "steps" in value and "machine" in value


class _Shape(msgspec.Struct, frozen=True):
    machine: dict[str, Any]
    name: str = ""
    tags: list[str] = []
    kubelet_config: dict[str, Any] | None = None
    numalet_config: dict[str, Any] | None = None
    devices: list[Any] | None = None
    state_files: dict[str, Any] | None = None
    record_raw: bool = False
    release: str | int | float | None = None
    steps: list[Any] | None = None
    expect: dict[str, Any] | None = None


class _Restart(msgspec.Struct, frozen=True):
    order: list[str] = []
    kubelet_config: dict[str, Any] | None = None
    machine: dict[str, Any] | None = None
    state_files: dict[str, Any] | None = None


def decode(value: object, place: Place) -> Scenario:
    """Decode a scenario.

    Raises:
        BadInput: With everything that is wrong in it.
    """
    findings = Findings()
    shape = typed.decode(value, _Shape, place, findings)
    if shape is None or not isinstance(value, Mapping):
        raise BadInput(findings.all)
    typed.check_members(value, _MEMBERS, place, findings)
    machine = _machine(shape.machine, place.member("machine"), findings)
    own_place = place.member("numalet_config")
    own = numalet_config.decode(shape.numalet_config or {}, own_place, findings)
    numalet_config.check(own, own_place, findings)
    if own.general_predicates is None:
        # In recorded scenarios only the managers decide.
        own = replace(own, general_predicates=False)
    if shape.release is not None:
        own = _with_release(own, shape.release, place.member("release"), findings)
    config = _config(
        shape.kubelet_config or {},
        place.member("kubelet_config"),
        findings,
        own.behaviour.release,
        may_fail=_expects_undecoded(shape.expect),
    )
    steps = _steps(shape.steps or [], place.member("steps"), findings)
    devices = _devices(shape.devices or [], place.member("devices"), findings)
    files = _files(shape.state_files or {}, place.member("state_files"), findings)
    findings.raise_errors()
    if machine is None or config is None:
        raise AssertionError("a part is missing and no finding says why")
    return Scenario(
        name=shape.name or f"{place.document}:{place.location.line}",
        machine=machine,
        config=config,
        numalet=own,
        steps=steps,
        tags=tuple(shape.tags),
        devices=devices,
        state_files=session.not_deleted(files),
        record_raw=shape.record_raw,
        expect=shape.expect,
    )


def _with_release(
    own: NumaletConfig, value: object, place: Place, findings: Findings
) -> NumaletConfig:
    release = kubelet_version.read(value, place.location, findings)
    if release is None:
        return own
    if own.release is not None and own.release is not release:
        findings.add(_other_release(release, own.release, place.location))
    return replace(own, release=release)


def followed_as(scenario: Scenario, release: Release | None, where: Location) -> Scenario:
    """Return the scenario with the release of the user, if there is one.

    Raises:
        BadInput: The scenario itself names another release.
    """
    if release is None:
        return scenario
    own = scenario.numalet.release
    if own is not None and own is not release:
        raise BadInput([_other_release(own, release, where)])
    return replace(scenario, numalet=replace(scenario.numalet, release=release))


def _other_release(recorded: Release, chosen: Release, where: Location) -> Finding:
    return input_error.Conflict(
        f"this scenario was recorded with release {recorded.name} and cannot be replayed with "
        f"release {chosen.name}",
        where=where,
    )


def _machine(value: dict[str, Any], place: Place, findings: Findings) -> MachineInfo | None:
    try:
        return kubelet_view.kubelet_view(machine_file.decode(value, place.location, place.lines))
    except BadInput as bad:
        findings.extend(_moved(finding, place) for finding in bad.findings)
        return None


def _expects_undecoded(expect: object) -> bool:
    """Return whether the recorded kubelet did not start because of the type of a value."""
    if not isinstance(expect, Mapping):
        return False
    return str(expect.get("start_error")).startswith(kubelet_start.UNDECODED)


def _config(
    value: dict[str, Any],
    place: Place,
    findings: Findings,
    release: Release = NEWEST,
    *,
    may_fail: bool = False,
) -> KubeletConfig | None:
    try:
        return kubelet_config.decode(value, place.document, release)
    except BadInput as bad:
        moved = tuple(_moved(finding, place) for finding in bad.findings)
        # The record expects the kubelet's error, so the findings are part of the outcome.
        if may_fail and all(finding.kubelet_text for finding in moved):
            return KubeletConfig(undecoded=moved)
        findings.extend(moved)
        return None


def _moved(finding: Finding, place: Place) -> Finding:
    """Move a finding on a part to the place of the part in the whole."""
    path = finding.where.path
    if not path.startswith(place.path):
        path = place.path + path.removeprefix("$")
    return finding.at(place._replace(path=path).location)


def _steps(values: list[Any], place: Place, findings: Findings) -> tuple[Step, ...]:
    steps: list[Step] = []
    known: set[str] = set()
    for index, value in enumerate(values):
        step = _step(value, place.item(index), known, findings)
        if isinstance(step, Pod):
            # Later steps may name the pod, whether or not it was admitted.
            known.add(step.uid)
        if step is not None:
            steps.append(step)
    return tuple(steps)


def _step(value: object, place: Place, known: set[str], findings: Findings) -> Step | None:
    """Decode a step; ``known`` are the uids of the pods of earlier steps."""
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _STEPS:
        got = sorted(map(str, value)) if isinstance(value, Mapping) else typed.described(value)
        findings.add(
            input_error.Invalid(
                f"invalid step {got!s}",
                expected=f"an object with exactly one of these fields: {', '.join(_STEPS)}",
                where=place.location,
            )
        )
        return None
    ((kind, what),) = value.items()
    at = place.member(kind)
    match kind:
        case "admit":
            try:
                return pod_manifest.decode_pod(what, at)
            except BadInput as bad:
                findings.extend(bad.findings)
                return None
        case "remove":
            uid = typed.decode(what, str, at, findings)
            _check_known(() if uid is None else (uid,), known, at, findings)
            return None if uid is None else RemoveStep(uid)
        case _:
            return _restart(what, at, known, findings)


def _restart(
    value: object, place: Place, known: set[str], findings: Findings
) -> RestartStep | None:
    shape = typed.decode(value, _Restart, place, findings)
    if shape is None or not isinstance(value, Mapping):
        return None
    typed.check_members(value, _RESTART_MEMBERS, place, findings)
    _check_known(tuple(shape.order), known, place.member("order"), findings)
    config = machine = files = None
    if shape.kubelet_config is not None:
        config = _config(shape.kubelet_config, place.member("kubelet_config"), findings)
    if shape.machine is not None:
        machine = _machine(shape.machine, place.member("machine"), findings)
    if shape.state_files is not None:
        files = _files(shape.state_files, place.member("state_files"), findings)
    return RestartStep(tuple(shape.order), config, machine, files)


def _check_known(uids: tuple[str, ...], known: set[str], place: Place, findings: Findings) -> None:
    for uid in uids:
        if uid not in known:
            problem = f"no earlier step admits a pod with the uid {uid!r}"
            findings.add(input_error.NotFound(problem, where=place.location))


def _devices(values: list[Any], place: Place, findings: Findings) -> Devices:
    try:
        return device_file.decode(values, place.location, place.lines)
    except BadInput as bad:
        findings.extend(bad.findings)
        return NO_DEVICES


def _files(value: Mapping[str, Any], place: Place, findings: Findings) -> StateFiles:
    files = {}
    for name, text in value.items():
        if name not in STATE_FILES:
            findings.add(
                input_error.NotSupported(
                    f"unknown state file {name!r}",
                    expected=f"one of {', '.join(STATE_FILES)}",
                    where=place.location,
                )
            )
        elif isinstance(text, str):
            files[name] = text
        else:
            typed.wrong_type(text, "a text", place.member(name), findings)
    return files
