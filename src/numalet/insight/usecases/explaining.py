"""What an explanation or a comparison is made of, gathered: the pod, its queue, other machines.

Machine, configuration and state files come as for a simulation. The pod that is explained is
the last one of its file unless it is named; pods before it, and those of ``--after``, asked for
admission before it, in this order.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import Scope, StartRefused, TopologyPolicy
from numalet.core.model import machine_shape
from numalet.core.model.findings import BadInput, Finding, Findings, Location, NoteFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Devices
from numalet.insight.explain import case as cases
from numalet.insight.explain import matrix
from numalet.insight.explain.case import Case, OtherNode
from numalet.insight.explain.matrix import NamedConfig, NamedMachine, Options, Order, Variant
from numalet.insight.simulate.scenario import AdmitStep
from numalet.insight.state import holder_map, pod_names, reading
from numalet.insight.usecases import simulating
from numalet.insight.usecases.findings import FilesNoPods
from numalet.insight.usecases.kubelet_at_hand import with_kubelets
from numalet.insight.usecases.simulating import Prepared, SimulateInputs
from numalet.io import machines
from numalet.io.devices import devices_on
from numalet.io.documents import (
    kubelet_config,
    kubelet_flags,
    kubelet_version,
    listed_pods,
    pod_manifest,
    yaml_source,
)
from numalet.io.documents import node_labels as node_identities
from numalet.io.documents.kubelet_config import ConfigSources
from numalet.io.documents.pod_manifest import PodOptions
from numalet.io.machines import LoadedMachine


class ExplainNoPod(Finding):
    code = "explain/no-pod"
    sentence = (
        "{path!r} has no pod that could be explained (ignored: {ignored}); give a manifest of a "
        "pod, or of a workload that has pods"
    )
    path: str
    ignored: str


class ExplainUnknownPod(Finding):
    code = "explain/unknown-pod"
    sentence = "--pod {value!r}: there is no such pod; the pods are {known}"
    value: str
    known: str


class ExplainSeveralPods(Finding):
    code = "explain/several-pods"
    sentence = "--pod {value!r} names several pods; write one of {known}, or a pod's uid"
    value: str
    known: str


class ExplainAskedAnew(NoteFinding):
    code = "explain/asked-anew"
    sentence = "a kubelet rejected {pod} ({reason}); it is asked about as if it came now"
    pod: str
    reason: str


class ExplainBudget(Finding):
    code = "explain/budget"
    sentence = (
        "--budget {value!r} is no time to search for; write seconds such as 5s or 0.5s, or 0 for "
        "no search"
    )
    value: str


class ExplainUnknownChoice(Finding):
    code = "explain/unknown-choice"
    sentence = "{option} {value!r} is unknown; it must be one of {known}"
    option: str
    value: str
    known: str


LIVE: Final = "this machine"
NO_FILE: Final = "no file"


class ExplainInputs(Value, kw_only=True):
    """What the user asks to have explained.

    ``pieces`` has everything but the pods and the machine. ``machines`` are the machine of the
    node, and others on which the pod might run. ``name`` says which pod of the file ``pod``,
    ``names`` are files that name the pods of the state files.
    """

    pieces: SimulateInputs
    pod: str
    after: Sequence[str] = ()
    name: str | None = None
    machines: Sequence[str] = ()
    names: Sequence[Path] = ()


class PreparedCase(Value):
    """The case, or why the kubelet does not start; and the findings of reading it.

    ``fleet_notes`` grows as the other machines are read, each when it is tried.
    """

    case: Case | StartRefused
    prepared: Prepared
    notes: tuple[Finding, ...]
    fleet_notes: list[Finding]


def prepare(question: ExplainInputs) -> PreparedCase:
    """The case that the question is about; other machines are not read yet.

    Raises:
        BadInput: with everything that is wrong in any of its parts; later, when one of the other
            machines is tried, with everything that is wrong in these.
    """
    config = question.pieces.config.config_file
    yaml_source.refuse_second_reader((*question.after, question.pod, config))
    inputs = [(path, simulating.documents_of(path)) for path in (*question.after, question.pod)]
    options = PodOptions(
        node_name=question.pieces.node_name, about=0, source=question.pieces.pod_source
    )
    explained = pod_manifest.pods_of(inputs[-1:], options)
    if not explained.pods:
        ignored = ", ".join(f"{n} {cause.value}" for cause, n in explained.ignored.items())
        raise BadInput(
            [
                ExplainNoPod(
                    path=question.pod, ignored=ignored or "nothing", where=Location(question.pod)
                )
            ]
        )
    sizes = question.pieces.machine
    pieces = replace(
        question.pieces, machine=replace(sizes, text=next(iter(question.machines), None))
    )
    prepared = simulating.prepare_inputs(pieces, inputs, about=len(inputs) - 1)
    session = prepared.session
    if isinstance(session, StartRefused):
        return PreparedCase(session, prepared, prepared.notes, [])
    asking = [step.pod for step in prepared.scenario.steps if isinstance(step, AdmitStep)]
    pod = _chosen(asking, question.name, prepared.rejected)
    notes = (*prepared.notes, *_asked_anew(pod, prepared.rejected))
    fleet = _Fleet(pieces, question.machines[1:])
    case = cases.build(
        session,
        # A pod that was rejected holds nothing, so it is in no pod's way.
        [each for each in asking[: asking.index(pod)] if each.uid not in prepared.rejected],
        pod,
        files=prepared.scenario.state_files,
        fleet=[OtherNode(name, partial(fleet.read, name)) for name in fleet.names],
    )
    case = replace(case, names=_names(question.names, prepared))
    return PreparedCase(case, prepared, notes, fleet.notes)


def _names(paths: Sequence[Path], prepared: Prepared) -> Mapping[str, str]:
    """Names, by uid, of the pods of the state files, as far as these files have them.

    Raises:
        BadInput: with everything that is wrong in any of them.
    """
    if not paths:
        return {}
    known = listed_pods.load(paths)
    states = reading.read(prepared.scenario.state_files)
    holders = holder_map.state_map(states, known.by_uid).holders
    return {**pod_names.names(states, holders, known.listed), **known.by_uid}


def _chosen(pods: Sequence[Pod], name: str | None, rejected: Mapping[str, str]) -> Pod:
    """The pod that the name, ``namespace/name`` or uid means.

    Without a name it is the last one that a kubelet rejected, else the last one.
    """
    if name is None:
        return next((pod for pod in reversed(pods) if pod.uid in rejected), pods[-1])
    matching = [pod for pod in pods if name in (pod.uid, pod.name, str(pod))]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(f"{pod} ({pod.uid})" for pod in matching) or ", ".join(map(str, pods))
    if matching:
        raise BadInput([ExplainSeveralPods(value=name, known=known)])
    raise BadInput([ExplainUnknownPod(value=name, known=known)])


def _asked_anew(pod: Pod, rejected: Mapping[str, str]) -> list[Finding]:
    """A note if a kubelet rejected the pod before."""
    if pod.uid not in rejected:
        return []
    return [ExplainAskedAnew(pod=str(pod), reason=rejected[pod.uid])]


@dataclass
class _Fleet:
    """The other machines, each read when it is tried; ``notes`` are those of the reading."""

    pieces: SimulateInputs
    names: Sequence[str]
    notes: list[Finding] = field(default_factory=list)

    def read(self, name: str) -> MachineInfo:
        """The machine of this name.

        Raises:
            BadInput: with everything that is wrong in any of the machines.
        """
        try:
            loaded = _machine(self.pieces, name)
        except BadInput:
            findings = Findings()
            for each in self.names:
                findings.collect(partial(_machine, self.pieces, each))
            raise BadInput(findings.all) from None
        self.notes += loaded.reading_notes
        return loaded.info


def _machine(pieces: SimulateInputs, name: str) -> LoadedMachine:
    """The machine of this name; memory per node is for shapes alone."""
    choice = replace(pieces.machine, text=name)
    if not machine_shape.resembles_shape(name):
        choice = replace(choice, memory_per_node=None)
    return choice.open()


_SECONDS: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)s?", re.ASCII)


def seconds(text: str) -> float:
    """The seconds that a budget such as ``5s`` or ``0.5`` means; raises ``BadInput``."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise BadInput([ExplainBudget(value=text)])
    return float(match[1])


def budgeted(seconds: float) -> Callable[[], bool]:
    """Whether there is still time, of so many seconds from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


class Comparison(Value, kw_only=True):
    """What the user wants to have compared; an empty list leaves the value of the configuration.

    ``options`` are texts as the kubelet's flag has them, an empty one for no options; ``releases``
    are names, or several in one text with commas.
    """

    pieces: SimulateInputs
    pods: Sequence[str]
    machines: Sequence[str] = ()
    configs: Sequence[ConfigSources] = ()
    policies: Sequence[str] = ()
    scopes: Sequence[str] = ()
    options: Sequence[str] = ()
    releases: Sequence[str] = ()


class PreparedMatrix(Value):
    """The variants, the pods, and the findings of reading them."""

    variants: tuple[Variant, ...]
    pods: tuple[Pod, ...]
    notes: tuple[Finding, ...]


def compare(comparison: Comparison) -> PreparedMatrix:
    """The variants that are to be compared.

    Raises:
        BadInput: with everything that is wrong in a part of it.
    """
    pieces = comparison.pieces
    configs_named = [each.config_file for each in comparison.configs or (pieces.config,)]
    yaml_source.refuse_second_reader((*comparison.pods, *configs_named))
    inputs = [(path, simulating.documents_of(path)) for path in comparison.pods]
    loaded = pod_manifest.pods_of(
        inputs, PodOptions(node_name=pieces.node_name, source=pieces.pod_source)
    )
    if not loaded.pods:
        raise BadInput([FilesNoPods()])
    names = comparison.machines or (None,)
    opened = [
        machines.open_machine(None) if name is None else _machine(pieces, name) for name in names
    ]
    releases = _releases(comparison.releases)
    sources = [
        each
        if releases
        else with_kubelets(
            each,
            is_live=names == (None,),
            shown=loaded.kubelets,
            node_name=node_identities.name_of(pieces.node_name, loaded.pods),
        )
        for each in comparison.configs or (pieces.config,)
    ]
    configs = [kubelet_config.load(each) for each in sources]
    identity = node_identities.of_pods(pieces.node_name, pieces.node_labels, loaded.pods)
    variants = matrix.variants(
        [
            NamedMachine(name or LIVE, each.info, _devices_on(each, pieces), identity)
            for name, each in zip(names, opened, strict=True)
        ],
        [
            NamedConfig(_name_of(given), each.config, replace(each.behaviour, release=release))
            for given, each in zip(sources, configs, strict=True)
            for release in releases or (each.behaviour.release,)
        ],
        _choices("--policies", comparison.policies, [each.value for each in TopologyPolicy]),
        _choices("--scopes", comparison.scopes, [each.value for each in Scope]),
        [_options(text) for text in comparison.options] or [None],
    )
    notes = [note for each in opened for note in each.reading_notes]
    warnings = [warning for each in configs for warning in each.warnings]
    return PreparedMatrix(
        variants, loaded.pods, (*notes, *warnings, *loaded.notes, *loaded.on_claims)
    )


def _devices_on(machine: LoadedMachine, pieces: SimulateInputs) -> Devices:
    return devices_on(machine, pieces.device_file, pieces.devices)


def _name_of(sources: ConfigSources) -> str:
    return NO_FILE if sources.config_file is None else str(sources.config_file)


def _choices(option: str, given: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """The values that were given, each once; all of them where none was given."""
    values = [value.strip() for text in given for value in text.split(",")]
    unknown = [value for value in values if value not in known]
    if unknown:
        raise BadInput(
            ExplainUnknownChoice(option=option, value=value, known=", ".join(known))
            for value in unknown
        )
    return list(dict.fromkeys(values)) or known


def _releases(texts: Sequence[str]) -> tuple[Release, ...]:
    """The releases of these names, each once. Raises ``BadInput``."""
    findings = Findings()
    where = Location(kubelet_version.RELEASE_FLAG)
    names = [name for text in texts for name in text.split(",")]
    read = [kubelet_version.read(name, where, findings) for name in names]
    findings.raise_errors()
    return tuple(dict.fromkeys(release for release in read if release is not None))


def _options(text: str) -> Options:
    """Options of the topology policy, from a text as the kubelet's flag has it."""
    if not text:
        return ()
    flags = kubelet_flags.parse([("--topology-manager-policy-options", text)])
    options = kubelet_flags.applied(KubeletConfig(), flags).topology_manager_policy_options
    return tuple((options or {}).items())


def orders(count: int, pods: int, seed: int) -> list[Order]:
    """So many orders of so many pods: the given one first, then shuffled ones by the seed."""
    arrivals: list[Order] = [range(pods)]
    chance = random.Random(seed)  # noqa: S311 - it is to be repeatable, not secret
    for _ in range(count - 1):
        shuffled = list(range(pods))
        chance.shuffle(shuffled)
        arrivals.append(shuffled)
    return arrivals
