"""Gather the input of an explanation: the pod, its queue, other machines.

The explained pod is the last one of its file unless the user names one; the pods before it, and
those of ``--after``, come first, in this order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from numalet.core.config.rules import StartRefused
from numalet.core.model import input_error, machine_shape
from numalet.core.model.findings import BadInput, Finding, Findings, Location, NoteFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.insight.explain import cases as cases
from numalet.insight.explain.cases import Case, OtherNode
from numalet.insight.state import reading
from numalet.insight.usecases import simulating, state_doctor
from numalet.insight.usecases.input_findings import pods_ignored
from numalet.insight.usecases.simulating import Prepared, SimulateInputs
from numalet.io.documents.pods import listed_pods, pod_manifest
from numalet.io.documents.pods.listed_pods import PodNames
from numalet.io.documents.pods.pod_history import RecordedRejection
from numalet.io.documents.pods.pod_manifest import PodOptions
from numalet.io.documents.text import yaml_source
from numalet.io.machines import LoadedMachine


class ExplainAskedAnew(NoteFinding):
    sentence = "a kubelet rejected {pod} ({reason}); the explanation treats it as a new pod"
    pod: str
    reason: str


class ExplainInputs(Value, kw_only=True):
    """The arguments of the user.

    ``pieces`` has all but the pods and the machine. ``machines`` are the machine of the node and
    others on which the pod might run. ``name`` selects a pod of the file ``pod``; ``names`` are
    files with the names of the pods in the state files.
    """

    pieces: SimulateInputs
    pod: str
    after: Sequence[str] = ()
    name: str | None = None
    machines: Sequence[str] = ()
    names: Sequence[Path] = ()


class PreparedCase(Value):
    """The case, or why the kubelet does not start; and the findings of the readers.

    ``fleet_notes`` grows while the other machines are read, each on its first use.
    """

    case: Case | StartRefused
    prepared: Prepared
    notes: tuple[Finding, ...]
    fleet_notes: list[Finding]


def prepare(question: ExplainInputs) -> PreparedCase:
    """Build the case of this question; other machines are not read yet.

    Raises:
        BadInput: With everything that is wrong in its parts; later, when another machine is tried,
        with everything that is wrong in the machines.
    """
    config = question.pieces.config.config_file
    yaml_source.refuse_second_reader((*question.after, question.pod, config))
    inputs = [(path, simulating.documents_of(path)) for path in (*question.after, question.pod)]
    node_name = question.pieces.node_name
    # The pod's node is the node of the question, so that pods bound elsewhere are ignored.
    if node_name is None and question.name is not None:
        node_name = pod_manifest.node_of(question.name, inputs[-1:])
    options = PodOptions(node_name=node_name, about=0, source=question.pieces.pod_source)
    explained = pod_manifest.pods_of(inputs[-1:], options)
    if not explained.pods:
        ignored = ", ".join(f"{n} {cause.value}" for cause, n in explained.ignored.items())
        raise input_error.NotFound(
            f"no pod to explain in {question.pod!r} (ignored: {ignored or 'nothing'}); name a "
            "manifest of a pod, or of a workload with pods",
            where=Location(question.pod),
        ).bad_input()
    sizes = question.pieces.machine
    pieces = replace(
        question.pieces,
        machine=replace(sizes, text=next(iter(question.machines), None)),
        node_name=node_name,
    )
    known = listed_pods.load(question.names)
    prepared = simulating.prepare_inputs(pieces, inputs, len(inputs) - 1, known.finished)
    session = prepared.session
    if isinstance(session, StartRefused):
        return PreparedCase(session, prepared, prepared.notes, [])
    asking = [step for step in prepared.scenario.steps if isinstance(step, Pod)]
    pod = _chosen(asking, question.name, prepared.rejected)
    other = prepared.contradictions.get(pod.uid)
    notes = (
        *prepared.notes,
        *pods_ignored(prepared.ignored),
        # A contradiction, which precedes this, says that the pod was rejected.
        *(_asked_anew(pod, prepared.rejected) if other is None else ()),
    )
    fleet = _Fleet(pieces, question.machines[1:])
    case = cases.build(
        session,
        # Pods that were rejected or wait for a node have no allocations.
        [
            each
            for each in asking[: asking.index(pod)]
            if each.uid not in prepared.rejected and each.uid not in prepared.waiting
        ],
        pod,
        files=prepared.scenario.state_files,
        fleet=[OtherNode(name, partial(fleet.read, name)) for name in fleet.names],
    )
    case = replace(
        case, names=_names(known, prepared), contradiction="" if other is None else str(other)
    )
    return PreparedCase(case, prepared, notes, fleet.notes)


def _names(known: PodNames, prepared: Prepared) -> Mapping[str, str]:
    if not known.by_uid and not known.listed:
        return {}
    return state_doctor.names(reading.read(prepared.scenario.state_files), known)


def _chosen(pods: Sequence[Pod], name: str | None, rejected: Container[str]) -> Pod:
    """Return the pod with this name, ``namespace/name`` or uid.

    Without a name it is the last rejected pod, else the last one.
    """
    if name is None:
        return next((pod for pod in reversed(pods) if pod.uid in rejected), pods[-1])
    matching = [pod for pod in pods if name in (pod.uid, pod.name, str(pod))]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(f"{pod} ({pod.uid})" for pod in matching) or ", ".join(map(str, pods))
    if matching:
        raise input_error.Invalid(
            f"--pod {name!r} matches several pods", expected=f"one of {known}, or a uid"
        ).bad_input()
    raise input_error.NotFound(f"no pod matches --pod {name!r}; the pods are {known}").bad_input()


def _asked_anew(pod: Pod, rejected: Mapping[str, RecordedRejection]) -> list[Finding]:
    if pod.uid not in rejected:
        return []
    return [ExplainAskedAnew(pod=str(pod), reason=rejected[pod.uid].reason)]


@dataclass
class _Fleet:
    """The other machines, each read on its first use; ``notes`` are those of the readers."""

    pieces: SimulateInputs
    names: Sequence[str]
    notes: list[Finding] = field(default_factory=list)

    def read(self, name: str) -> MachineInfo:
        """Read the machine of this name.

        Raises:
            BadInput: With everything that is wrong in any of the machines.
        """
        try:
            loaded = machine_named(self.pieces, name)
        except BadInput:
            # All errors at once, so that the user need not run the command once for each machine.
            findings = Findings()
            for each in self.names:
                findings.collect(partial(machine_named, self.pieces, each))
            raise BadInput(findings.all) from None
        self.notes += loaded.reading_notes
        return loaded.info


def machine_named(pieces: SimulateInputs, name: str) -> LoadedMachine:
    """Only shapes take the memory per node."""
    choice = replace(pieces.machine, text=name)
    if not machine_shape.resembles_shape(name):
        choice = replace(choice, memory_per_node=None)
    return choice.open()


_SECONDS: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)s?", re.ASCII)


def seconds(text: str) -> float:
    """Parse a budget such as ``5s`` or ``0.5`` into seconds. Raises ``BadInput``."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise input_error.Invalid(
            f"invalid --budget {text!r}", expected="seconds such as 5s or 0.5s, or 0 for no search"
        ).bad_input()
    return float(match[1])


def budgeted(seconds: float) -> Callable[[], bool]:
    """Return a function that is true for this many seconds from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end
