"""Scenarios from files: JSON lines (compressed or not), JSON or YAML, one scenario at a time.

A file of recorded scenarios is long, so it is cut into raw scenarios first, which cost little
and can be handed to another process, and each is decoded when it is its turn. What a scenario
says is described in the reference of the scenario file.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import msgspec

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import kubelet_view
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.node.node import NO_DEVICES, Devices
from numalet.insight.simulate.scenario import (
    STATE_FILES,
    AdmitStep,
    RemoveStep,
    RestartStep,
    Scenario,
    StateFiles,
    Step,
)
from numalet.io.documents import (
    device_file,
    kubelet_config,
    machine_file,
    numalet_config,
    pod_manifest,
    typed,
    yaml_source,
)
from numalet.io.documents.typed import Place
from numalet.io.findings.documents import DocumentTooLarge, DocumentUnreadable


class ScenariosNotJson(Finding):
    code = "scenarios/not-json"
    sentence = "this line is no JSON: {problem}; every line holds one scenario"
    problem: str


class ScenariosStateFile(Finding):
    code = "scenarios/state-file"
    sentence = "no state file is called {value!r}; allowed: {allowed}"
    value: str
    allowed: str


class ScenariosStep(Finding):
    code = "scenarios/step"
    sentence = "{value} is no step; a step is an object with exactly one of these fields: {allowed}"
    value: str
    allowed: str


class ScenariosUnknownPod(Finding):
    code = "scenarios/unknown-pod"
    sentence = (
        "no earlier step admits a pod with the uid {uid!r}; only the uid of such a pod can stand "
        "here"
    )
    uid: str


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

_PACKED: Final[Mapping[str, Callable[[str], gzip.GzipFile | lzma.LZMAFile]]] = {
    ".gz": gzip.GzipFile,
    ".xz": lzma.LZMAFile,
}
_READ_ERRORS: Final = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_LINE_SUFFIXES: Final = (".jsonl", ".ndjson")
_MEMBERS: Final = (
    *("devices", "expect", "kubelet_config", "machine", "name", "numalet_config"),
    *("record_raw", "state_files", "steps", "tags"),
)
_STEPS: Final = ("admit", "remove", "restart")
_RESTART_MEMBERS: Final = ("kubelet_config", "machine", "order", "state_files")


@dataclass(frozen=True, slots=True)
class RawScenario:
    """The text of one scenario and where it stands.

    ``line`` is the line of a file of lines; a text of several documents has ``index``.
    """

    document: str
    text: str
    line: int | None = None
    index: int = 0

    def decode(self) -> Scenario:
        """The scenario in the text.

        Raises:
            BadInput: with everything that is wrong in it.
        """
        place, value = self._value()
        return decode(value, place)

    def _value(self) -> tuple[Place, object]:
        if self.line is not None:
            place = Place(self.document, "$", lambda _path: self.line)
            try:
                return place, msgspec.json.decode(self.text)
            except (msgspec.DecodeError, RecursionError) as error:
                finding = ScenariosNotJson(
                    problem=str(error), where=Location(self.document, "", self.line)
                )
                raise BadInput([finding]) from None
        loaded = yaml_source.load_documents(self.text, self.document)[self.index]
        if loaded.duplicates:
            raise BadInput(loaded.duplicates)
        return Place(self.document, "$", loaded.line_of), loaded.value


def read_scenarios(path: str) -> Iterator[RawScenario]:
    """The scenarios of a file in order, not yet decoded.

    Raises:
        BadInput: the file can not be read, or is neither JSON nor YAML.
    """
    packed = Path(path).suffix in _PACKED
    if (Path(path).stem if packed else Path(path).name).endswith(_LINE_SUFFIXES):
        yield from _lines(path)
        return
    text = _whole_text(path)
    count = len(yaml_source.load_documents(text, path))
    for index in range(count):
        yield RawScenario(path, text, index=index)


def resembles_scenario(value: object) -> bool:
    """Whether a decoded document is meant as a scenario and not as a manifest."""
    return isinstance(value, Mapping) and "steps" in value and "machine" in value


def _lines(path: str) -> Iterator[RawScenario]:
    limit = yaml_source.LARGEST_BYTES
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(limit + 1):
                number += 1
                if len(line) > limit:
                    raise _too_large(path, number, limit)
                if line.strip():
                    yield RawScenario(path, line.decode("utf-8"), number)
    except UnicodeDecodeError as error:
        where = Location(path, "", number)
        raise BadInput([ScenariosNotJson(problem=str(error), where=where)]) from None
    except _READ_ERRORS as error:
        raise _unreadable(path, error) from None


def _whole_text(path: str) -> str:
    if Path(path).suffix not in _PACKED:
        return yaml_source.read_text(path)
    limit = yaml_source.LARGEST_BYTES
    try:
        with _opened(path) as file:
            content = file.read(limit + 1)
    except _READ_ERRORS as error:
        raise _unreadable(path, error) from None
    if len(content) > limit:
        raise _too_large(path, None, limit)
    return yaml_source.decode(content, path)


def _opened(path: str) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    unpack = _PACKED.get(Path(path).suffix)
    return Path(path).open("rb") if unpack is None else unpack(path)


def _unreadable(path: str, error: Exception) -> BadInput:
    reason = getattr(error, "strerror", None) or str(error)
    return BadInput([DocumentUnreadable(reason=reason, where=Location(path))])


def _too_large(path: str, line: int | None, limit_bytes: int) -> BadInput:
    where = Location(path, "", line)
    return BadInput([DocumentTooLarge(limit_bytes=limit_bytes, where=where)])


class _Shape(msgspec.Struct, frozen=True):
    machine: dict[str, Any]
    name: str = ""
    tags: list[str] = []
    kubelet_config: dict[str, Any] | None = None
    numalet_config: dict[str, Any] | None = None
    devices: list[Any] | None = None
    state_files: dict[str, Any] | None = None
    record_raw: bool = False
    steps: list[Any] | None = None
    expect: dict[str, Any] | None = None


class _Pages(msgspec.Struct, frozen=True):
    page_size_kib: _Count
    count: _Count


class _Totals(msgspec.Struct, frozen=True):
    memory_bytes: _Count | None = None
    cpus: _Count | None = None
    sockets: _Count | None = None
    hugepages: list[_Pages] | None = None


class _Restart(msgspec.Struct, frozen=True):
    order: list[str] = []
    kubelet_config: dict[str, Any] | None = None
    machine: dict[str, Any] | None = None
    state_files: dict[str, Any] | None = None


def decode(value: object, place: Place) -> Scenario:
    """The scenario in a decoded document.

    Raises:
        BadInput: with everything that is wrong in it.
    """
    findings = Findings()
    shape = typed.decode(value, _Shape, place, findings)
    if shape is None or not isinstance(value, Mapping):
        raise BadInput(findings.all)
    typed.check_members(value, _MEMBERS, place, findings)
    machine = _machine(shape.machine, place.member("machine"), findings)
    config = _config(shape.kubelet_config or {}, place.member("kubelet_config"), findings)
    own_place = place.member("numalet_config")
    own = numalet_config.decode(shape.numalet_config or {}, own_place, findings)
    numalet_config.check(own, own_place, findings)
    if own.general_predicates is None:
        # Scenarios are recorded of the managers alone.
        own = replace(own, general_predicates=False)
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
        state_files=files,
        record_raw=shape.record_raw,
        expect=shape.expect,
    )


def _machine(value: dict[str, Any], place: Place, findings: Findings) -> MachineInfo | None:
    """The machine, as the kubelet sees it; ``totals`` stand for sums over its nodes."""
    totals = typed.decode(value.get("totals") or {}, _Totals, place.member("totals"), findings)
    described = {name: member for name, member in value.items() if name != "totals"}
    try:
        machine = machine_file.decode(described, place.location, place.lines)
    except BadInput as bad:
        findings.extend(_moved(finding, place) for finding in bad.findings)
        return None
    return None if totals is None else _with_totals(kubelet_view.kubelet_view(machine), totals)


def _with_totals(machine: MachineInfo, totals: _Totals) -> MachineInfo:
    if totals.memory_bytes is not None:
        machine = replace(machine, memory_capacity_bytes=totals.memory_bytes)
    if totals.cpus is not None:
        machine = replace(machine, cpu_count=totals.cpus)
    if totals.sockets is not None:
        machine = replace(machine, socket_count=totals.sockets)
    if totals.hugepages is not None:
        pages = tuple(HugePages(each.page_size_kib, each.count) for each in totals.hugepages)
        machine = replace(machine, hugepages=pages)
    return machine


def _config(value: dict[str, Any], place: Place, findings: Findings) -> KubeletConfig | None:
    try:
        return kubelet_config.decode(value, place.document)
    except BadInput as bad:
        findings.extend(_moved(finding, place) for finding in bad.findings)
        return None


def _moved(finding: Finding, place: Place) -> Finding:
    """A finding of a part, with the place that the part has in the whole."""
    path = finding.where.path
    if not path.startswith(place.path):
        path = place.path + path.removeprefix("$")
    return finding.at(place._replace(path=path).location)


def _steps(values: list[Any], place: Place, findings: Findings) -> tuple[Step, ...]:
    steps: list[Step] = []
    known: set[str] = set()
    for index, value in enumerate(values):
        step = _step(value, place.item(index), known, findings)
        if isinstance(step, AdmitStep):
            known.add(step.pod.uid)
        if step is not None:
            steps.append(step)
    return tuple(steps)


def _step(value: object, place: Place, known: set[str], findings: Findings) -> Step | None:
    """One step; ``known`` are the uids of the pods that came before it."""
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _STEPS:
        got = sorted(map(str, value)) if isinstance(value, Mapping) else typed.described(value)
        findings.add(ScenariosStep(value=str(got), allowed=", ".join(_STEPS), where=place.location))
        return None
    ((kind, what),) = value.items()
    at = place.member(kind)
    match kind:
        case "admit":
            try:
                return AdmitStep(pod_manifest.decode_pod(what, at))
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
            findings.add(ScenariosUnknownPod(uid=uid, where=place.location))


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
            allowed = ", ".join(STATE_FILES)
            findings.add(ScenariosStateFile(value=name, allowed=allowed, where=place.location))
        elif isinstance(text, str):
            files[name] = text
        else:
            typed.wrong_type(text, "a text", place.member(name), findings)
    return files
