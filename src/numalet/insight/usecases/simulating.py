"""Gather the input of a simulation: machine, configuration, pods, state files.

The input is a set of files or one scenario file; either way the result is a scenario and a started
node. Every input is read once, because it may be a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.admission import counting
from numalet.core.config.behaviour import Mode
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import StartRefused
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field, replace
from numalet.core.node import node as nodes
from numalet.insight.simulate.session import Scenario, Session
from numalet.insight.usecases import (
    input_findings,
    kubelet_at_hand,
    scenario_document,
    scenario_file,
)
from numalet.insight.usecases.input_findings import amounts_derived, no_pods
from numalet.insight.usecases.kubelet_at_hand import UsedKubelet, with_kubelets
from numalet.io.documents.cluster import node_labels as node_identities
from numalet.io.documents.kubelet import kubelet_config, kubelet_version
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources, LoadedConfig
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_history import RecordedRejection
from numalet.io.documents.pods.pod_manifest import Ignored, PodOptions
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.typed import Place
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory
from numalet.io.machines import MachineChoice

FORGET_ALL: Final = "all"

_RUNNING: Final = "Running"
_LINES: Final = (".jsonl", ".jsonl.gz", ".json.gz")

Inputs: TypeAlias = list[tuple[str, Sequence[YamlDocument]]]
"""Names of inputs and their documents."""


class SimulateInputs(Value, kw_only=True):
    """The arguments of the user. ``pods`` are paths, or ``-``; ``forget`` are pod uids, or ``all``.

    ``devices`` are texts such as ``example.com/gpu=gpu0@0,gpu1@1``; ``device_file`` contains the
    same. With ``uses_kubelet`` a kubelet on this machine provides the inputs that the user does not
    name.
    """

    machine: MachineChoice = field(default_factory=MachineChoice)
    config: ConfigSources = field(default_factory=ConfigSources)
    pods: Sequence[str] = ()
    node_name: str | None = None
    node_labels: str | None = None
    pod_source: PodSource = PodSource.API
    state_dir: Path | None = None
    forget: Sequence[str] = ()
    devices: Sequence[str] = ()
    device_file: str | None = None
    uses_kubelet: bool = False

    def beside_the_pods(self) -> tuple[str, ...]:
        """Return the given options that have no effect with a scenario."""
        given = {
            "--machine": self.machine.text,
            "--memory-per-node": self.machine.memory_per_node,
            "--hugepages-per-node": self.machine.hugepages_per_node,
            "--config": self.config.config_file,
            "--config-dir": self.config.config_dir,
            "--no-config-file": self.config.base is Base.FLAGS_ONLY,
            "--native": self.config.mode is Mode.NATIVE,
            "--exact": self.config.mode is Mode.EXACT,
            "--kubelet-version": self.config.kubelets,
            "--memory-node-classes": self.config.memory_node_classes is not None,
            "--node-name": self.node_name,
            "--node-labels": self.node_labels,
            "--pod-source": self.pod_source is not PodSource.API,
            "--state-dir": self.state_dir,
            "--forget": self.forget,
            "--device": self.devices,
            "--devices": self.device_file,
        }
        flags = dict.fromkeys(name for name, _ in self.config.flags)
        return (*(option for option, value in given.items() if value), *flags)


class Prepared(Value):
    """A scenario and the session before its first step; or why the kubelet does not start.

    Uids of pods: ``held`` have memory in the state files; ``assumed`` of these are treated as
    running without a manifest, ``forgotten`` are not; ``waiting`` were seen by no kubelet;
    ``running`` run on the user's node by their status. ``ignored`` counts objects of the manifests
    without a pod. ``rejected`` are the recorded rejections, by uid, of pods that are tried again,
    and ``contradictions`` those of them that are impossible with the configuration.
    """

    scenario: Scenario
    session: Session | StartRefused
    notes: tuple[Finding, ...] = ()
    held: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    ignored: Mapping[Ignored, int] = MappingProxyType({})
    rejected: Mapping[str, RecordedRejection] = MappingProxyType({})
    contradictions: Mapping[str, Finding] = MappingProxyType({})
    waiting: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    state_dir: StateDirectory | None = None


def prepare(pieces: SimulateInputs) -> Prepared:
    """Prepare the simulation of these inputs, or of the one scenario among them.

    Raises:
        BadInput: With everything that is wrong in any of them.
    """
    if not pieces.pods and not pieces.forget:
        raise BadInput([no_pods()])
    yaml_source.refuse_second_reader((*pieces.pods, pieces.config.config_file))
    # JSON lines are not YAML, so such a file is recognised by its name.
    if len(pieces.pods) == 1 and pieces.pods[0].endswith(_LINES):
        return _from_scenario(_only_line(pieces.pods[0]), pieces)
    findings = Findings()
    inputs: Inputs = []
    for path in pieces.pods:
        read = findings.collect(partial(_documents, path))
        if read is not None:
            inputs.append((path, read))
    documents = [document for _, each in inputs for document in each]
    if any(scenario_document.resembles_scenario(document.value) for document in documents):
        findings.raise_errors()
        return _from_scenario(_only_document(pieces.pods, documents), pieces)
    return _from_pieces(pieces, inputs, findings)


def prepare_inputs(
    pieces: SimulateInputs,
    inputs: Inputs,
    about: int | None = None,
    finished: frozenset[str] = frozenset(),
) -> Prepared:
    """Prepare a simulation of pods whose documents were read before, without ``pieces.pods``.

    ``about`` is the index of the input with the explained pod (see ``PodOptions``); ``finished``
    are the uids of pods that have ended according to other inputs.

    Raises:
        BadInput: With everything that is wrong in any of them.
    """
    return _from_pieces(pieces, inputs, Findings(), about, finished)


def documents_of(path: str) -> Sequence[YamlDocument]:
    """Return the documents of a file with pods, or of the standard input for ``-``.

    Raises:
        BadInput: With everything that is wrong in it.
    """
    return _documents(path)


def _documents(path: str) -> Sequence[YamlDocument]:
    return yaml_source.load_documents(yaml_source.read_text_or_input(path), path)


def _only_line(path: str) -> Scenario:
    raw = list(scenario_file.read_scenarios(path))
    if len(raw) != 1:
        raise _several(path, len(raw))
    return raw[0].decode()


def _only_document(paths: Sequence[str], documents: Sequence[YamlDocument]) -> Scenario:
    (document, *others) = documents
    if others:
        raise _several(", ".join(paths), len(documents))
    if document.duplicates:
        raise BadInput(document.duplicates)
    return scenario_document.decode(document.value, Place(paths[0], "$", document.line_of))


def _several(path: str, count: int) -> BadInput:
    return input_error.NotSupported(
        f"{count} documents, some of them scenarios; simulate runs one scenario, replay runs "
        "several",
        where=Location(path),
    ).bad_input()


def _from_scenario(scenario: Scenario, pieces: SimulateInputs) -> Prepared:
    options = pieces.beside_the_pods()
    if options:
        raise input_error.Conflict(
            f"{', '.join(options)} cannot be combined with the scenario file {pieces.pods[0]!r}, "
            "which has its own machine, configuration and pods"
        ).bad_input()
    if pieces.config.release is not None:
        release = kubelet_version.of_name(pieces.config.release)
        scenario = scenario_document.followed_as(scenario, release, Location(pieces.pods[0]))
    return Prepared(scenario, _started(scenario))


def _from_pieces(
    pieces: SimulateInputs,
    inputs: Inputs,
    findings: Findings,
    about: int | None = None,
    finished: frozenset[str] = frozenset(),
) -> Prepared:
    options = PodOptions(node_name=pieces.node_name, about=about, source=pieces.pod_source)
    kubelet = findings.collect(partial(used_kubelet, pieces))
    machine = findings.collect(pieces.machine.open)
    pods = findings.collect(partial(pod_manifest.pods_of, inputs, options))
    devices = identity = None
    if machine is not None:
        named_devices = pieces.device_file, pieces.devices
        on_it = partial(kubelet_at_hand.devices_on, machine, *named_devices, kubelet)
        devices = findings.collect(on_it)
    if pods is not None:
        named = partial(node_identities.of_pods, pieces.node_name, pieces.node_labels, pods.pods)
        identity = findings.collect(named)
    sources = with_kubelets(
        pieces.config if kubelet is None else kubelet.sources,
        is_live=pieces.machine.text is None,
        shown=() if pods is None else pods.kubelets,
        node_name=node_identities.name_of(pieces.node_name, () if pods is None else pods.pods),
        root=pieces.state_dir,
    )
    config = findings.collect(partial(_config, sources))
    state_dir = findings.collect(partial(_state_dir, pieces.state_dir))
    findings.raise_errors()
    assert machine is not None
    assert identity is not None
    assert config is not None
    assert pods is not None
    assert devices is not None
    assert kubelet is not None
    scenario = Scenario(
        name="simulation",
        machine=machine.info,
        config=config.config,
        numalet=config.numalet,
        steps=tuple(map(counting.at_first, pods.pods)),
        devices=devices,
        state_files=kubelet.files if state_dir is None else state_dir.files,
    )
    session = _started(scenario, identity)
    prepared = Prepared(
        scenario,
        session,
        notes=(
            *(*kubelet.notes, *machine.reading_notes, *config.warnings),
            *(*pods.notes, *pods.on_claims),
            *amounts_derived(pods.pods, _rules_of(session)),
        ),
        ignored=pods.ignored,
        rejected=pods.rejected,
        contradictions=input_findings.contradictions(session, pods),
        waiting=pods.waiting,
        running=frozenset(pod.uid for pod in pods.pods if pod.phase == _RUNNING),
        state_dir=state_dir,
    )
    given, over = {pod.uid for pod in pods.pods}, finished | pods.finished
    is_over = partial(_is_over, over, kubelet)
    return _assume_running(prepared, pieces.forget, given, is_over)


def _rules_of(session: Session | StartRefused) -> tuple[ReleaseRules, ...]:
    return () if isinstance(session, StartRefused) else (session.node.rules.release_rules,)


def _is_over(finished: Container[str], kubelet: UsedKubelet, uid: str) -> bool:
    return uid in finished or kubelet.is_gone(uid)


def used_kubelet(pieces: SimulateInputs) -> UsedKubelet:
    """Return this machine's kubelet, unused if the question is about another machine.

    Raises:
        BadInput: Its configuration cannot be read.
    """
    is_meant = pieces.uses_kubelet and pieces.machine.text is None
    return kubelet_at_hand.used(pieces.config, is_live=is_meant, root=pieces.state_dir)


def _config(sources: ConfigSources) -> LoadedConfig:
    for option, value in (
        ("--config", sources.config_file),
        ("--config-dir", sources.config_dir),
    ):
        if sources.base is Base.FLAGS_ONLY and value is not None:
            raise input_error.Conflict(
                f"{option} {str(value)!r} cannot be combined with --no-config-file"
            ).bad_input()
    return kubelet_config.load(sources)


def _state_dir(path: Path | None) -> StateDirectory | None:
    return None if path is None else state_directory.read(path)


def _started(scenario: Scenario, identity: NodeIdentity = UNKNOWN_NODE) -> Session | StartRefused:
    node = nodes.start(
        scenario.config,
        scenario.machine,
        scenario.state_files,
        scenario.devices,
        behaviour=scenario.behaviour,
        identity=identity,
    )
    if isinstance(node, StartRefused):
        return node
    return Session(scenario.config, scenario.machine, node, scenario.devices)


def _assume_running(
    prepared: Prepared,
    forget: Sequence[str],
    given: Container[str],
    is_over: Callable[[str], bool],
) -> Prepared:
    """Treat the pods of the state files as running, except forgotten ones.

    ``given`` are uids of pods with a manifest: they run until their turn in the queue, and are no
    assumptions.
    """
    session = prepared.session
    if isinstance(session, StartRefused):
        return prepared
    held: dict[str, list[ContainerKey]] = {}
    for key in session.node.leftovers():
        held.setdefault(key.pod_uid, []).append(key)
    named = _forgotten(forget, held)
    # Ended pods are forgotten: the kubelet releases them before it admits the next pod.
    forgotten = tuple(uid for uid in held if uid in named or is_over(uid))
    kept = [key for uid, keys in held.items() if uid not in forgotten for key in keys]
    node = session.node.assume_running(kept)
    return replace(
        prepared,
        session=replace(session, node=node.release_stale() if forgotten else node),
        held=tuple(held),
        assumed=tuple(uid for uid in held if uid not in forgotten and uid not in given),
        forgotten=forgotten,
    )


def _forgotten(forget: Sequence[str], held: Collection[str]) -> tuple[str, ...]:
    """Return the uids to forget, sorted; an error for each that is not held."""
    unknown = [uid for uid in dict.fromkeys(forget) if uid != FORGET_ALL and uid not in held]
    if unknown:
        known = ", ".join(held) or "none"
        raise BadInput(
            input_error.NotFound(
                f"--forget {uid!r}: the state files contain no pod with this uid, only {known}"
            )
            for uid in unknown
        )
    return tuple(held) if FORGET_ALL in forget else tuple(sorted(set(forget)))
