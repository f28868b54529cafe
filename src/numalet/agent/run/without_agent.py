"""``numalet run`` without an agent: decides on the shared state, makes its own cgroups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from numalet.agent.controller import owners, settings
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.settings import AgentOptions
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.findings.run import RunNoPlace, RunWithinCpus
from numalet.agent.host.cgroup_v2.interface_files import SettingRefusal
from numalet.agent.host.runtime import enforcement
from numalet.agent.run import foreground, inherited_cpus, other_runs, placement_notes, request
from numalet.agent.run.foreground import ReadyPlace
from numalet.agent.run.placing import Decided, NoPlace, Placed, Placer
from numalet.agent.run.request import RunOptions
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.insight.explain import cases as cases
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import run_document
from numalet.insight.output.run_document import RunDocument
from numalet.insight.simulate.session import Session
from numalet.io import os_problem
from numalet.shared.findings.runtime import RuntimeStorage
from numalet.wording import kubelet, numbers


def opened(
    pod: Pod,
    state: SharedState,
    root: Path,
    options: RunOptions,
    explained: Callable[[Case, int], Explanation],
) -> SharedAllocator:
    """Raises ``BadInput``."""
    premises = _premises(options, root)
    # Before the decision: the Device Manager would admit the pod without devices.
    request.check_devices(options.request, premises.devices)
    ground = enforcement.ground()
    within = inherited_cpus.allowed(
        premises.machine, any_cpu=options.any_cpu, per_rank=options.per_rank
    )
    places = owners.beside(options.kubelet_root)
    placer = Placer(state, root, premises, ground, places, within)
    return SharedAllocator(placer, pod, options.request.command, explained)


class SharedAllocator:
    """An ``Allocator`` over the shared state; methods raise ``AgentHolds``."""

    def __init__(
        self,
        placer: Placer,
        pod: Pod,
        command: tuple[str, ...],
        explained: Callable[[Case, int], Explanation],
    ) -> None:
        self._placer = placer
        self._pod = pod
        self._command = command
        self._explained = explained
        self._decided: Decided | None = None
        self.remarks = placer.remarks

    def preview(self) -> RunDocument:
        """Raises ``BadInput``."""
        return self._answer(self._placer.preview(self._pod))

    def place(self) -> RunDocument:
        """Raises ``BadInput``."""
        return self._answer(self._placer.place(self._pod, self._command))

    def place_or_wait(self, seconds: float) -> RunDocument:
        """As ``place``; without room, then wait for a command to end."""
        place = self.place()
        if place.fits_when_empty and not place.admitted and seconds > 0:
            self._placer.wait(seconds)
        return place

    def explanation(self) -> Explanation:
        no, premises = self._refused(), self._placer.premises
        session = Session(premises.config, premises.machine, no.node, premises.devices)
        case = cases.build(session, (), no.pod, files=no.node.state_files())
        names = {each.uid: f"{each.command} (process {each.pid})" for each in no.holders}
        if self._placer.within is not None:
            names[inherited_cpus.WITHHELD.pod_uid] = self._placer.within.others
        return self._explained(replace(case, names=names), no.running)

    def on_refusal(self) -> Iterator[Finding]:
        no, within = self._refused(), self._placer.within
        if inherited_cpus.WITHHELD in no.node.snapshot.assumed and within is not None:
            yield RunWithinCpus(cpus=numbers.cpus(within.cpus), others=within.others)
        if no.holders:
            holders = placement_notes.holders(no)
            yield RunNoPlace(command=self._command[0], holders=holders)

    def prepare(self, place: RunDocument) -> ReadyPlace | Finding:
        """Make the cgroups of pod and container with all settings."""
        placed, accepted = self._decided, self._placer.accepted
        assert isinstance(placed, Placed)
        assert accepted is not None
        tree, path = self._placer.ground.tree, placed.settings.path
        levels = {path.rpartition("/")[0]: placed.above, path: placed.settings.cgroup}
        if tree is not None:
            for each, wanted in levels.items():
                made = enforcement.make(tree, each, wanted)
                if isinstance(made, SettingRefusal):
                    return made.why
        try:
            return foreground.ready_place(accepted, run_document.variables(place), self._command)
        except OSError as error:
            return RuntimeStorage(error=os_problem.text(error))

    def release(self) -> None:
        """Remove the cgroups and free the place. Raises ``BadInput``."""
        placed, tree = self._decided, self._placer.ground.tree
        if isinstance(placed, Placed) and tree is not None:
            # The cgroups go first: once the place is free, another command may use its CPUs.
            other_runs.remove(tree, placed.settings.path.rpartition("/")[0])
        self._placer.release(self._pod.uid)

    def _refused(self) -> NoPlace:
        assert isinstance(self._decided, NoPlace)
        return self._decided

    def _answer(self, decided: Decided) -> RunDocument:
        self._decided = decided
        release = self._placer.premises.behaviour.release.name
        if isinstance(decided, NoPlace):
            why = decided.decision.rejection
            verdict = kubelet.reason(why), kubelet.message(why)
            fits = decided.fits_when_empty
            return run_document.refused(decided.pod, *verdict, fits, "node-state", release=release)
        held = self._placer.ground.capabilities
        nodes = decided.settings.cgroup.memory_nodes
        return run_document.placed(
            decided.pod,
            decided.snapshot,
            held.level,
            held.shortfalls,
            "node-state",
            nodes,
            release=release,
        )


def _premises(options: RunOptions, root: Path) -> Premises:
    given = AgentOptions(
        root=root,
        config_file=options.config_file,
        release=options.release,
        devices_file=options.devices_file,
    )
    premises = settings.resolve(given).premises
    if options.policy is None:
        return premises
    config = replace(premises.config, topology_manager_policy=options.policy)
    return replace(premises, config=config)
