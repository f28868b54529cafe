"""Decides on one command among all that share the node state."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from numalet.agent.controller import owners, recovery
from numalet.agent.controller.owners import Places
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.run_holders import CONTAINER, RunHolder
from numalet.agent.controller.shared_state import AgentHolds, Content, SharedState
from numalet.agent.findings.run import RunUnpromised
from numalet.agent.host.cgroup_v2.tree import locked_with_others
from numalet.agent.host.procfs import read_kernel_limits
from numalet.agent.host.runtime import starting
from numalet.agent.host.runtime.attempts import RUNS, Attempts
from numalet.agent.host.runtime.enforcement import HostCapabilities
from numalet.agent.host.runtime.port import Launch
from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.run import direct, foreground, inherited_cpus, other_runs, program, request
from numalet.agent.run.foreground import AcceptedOrder
from numalet.agent.run.inherited_cpus import AllowedCpus
from numalet.agent.run.other_runs import OtherRuns
from numalet.core.admission.decision import Decision
from numalet.core.enforcement import desired, limits
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.core.workload.spec import ContainerSpec, Runner
from numalet.io import os_problem
from numalet.shared.findings.agent import AgentRootUnusable


class Placed(Value):
    """Admitted. ``place`` has stored it, ``preview`` has not."""

    pod: Pod
    snapshot: Snapshot
    placement: Placement
    settings: ContainerSettings
    """For the container's cgroup; without cgroups, for its processes."""
    above: CgroupSettings
    """For the pod's cgroup, the parent."""


class NoPlace(Value):
    """Rejected. ``node`` is the state before the decision, for explanations.

    ``fits_when_empty``: an empty node would admit the pod.
    """

    node: Node
    pod: Pod
    holders: tuple[RunHolder, ...]
    decision: Decision
    fits_when_empty: bool

    @property
    def running(self) -> int:
        return len(self.holders)


Decided: TypeAlias = Placed | NoPlace


class Placer:
    """Decides on commands over the shared state and writes their allocations.

    Every decision reads the state under its lock. Methods raise ``AgentHolds``.
    """

    def __init__(
        self,
        state: SharedState,
        root: Path,
        premises: Premises,
        ground: HostCapabilities,
        places: Places,
        within: AllowedCpus | None = None,
    ) -> None:
        self._state = state
        self._root = root
        self.premises = premises
        self._places = places
        self.within = within
        self._others = OtherRuns(state.holders, ground.tree)
        self._lock: int | None = None
        """Descriptor of this run's lock, while the run is in the state."""
        self.accepted: AcceptedOrder | None = None
        self.ground = ground
        self.remarks: list[Finding] = []
        """Notes about the state, each once."""
        self._limits = limits.resolve(
            premises.config, premises.machine, premises.behaviour, read_kernel_limits()
        )

    def preview(self, pod: Pod) -> Decided:
        """Decide without a change. Raises ``BadInput``."""
        with self._held() as content:
            node, live = self._node(content)
            return self._decided(node, pod, live)[0]

    def place(self, pod: Pod, command: tuple[str, ...]) -> Decided:
        """Admit the pod and store its allocation. Raises ``BadInput``."""
        with self._held() as content:
            # Dead runs must be killed first: their CPUs may be allocated again now.
            self._clear(content)
            before, live = self._node(content)
            answer, after = self._decided(before, pod, live)
            if isinstance(answer, Placed):
                self._others.refuse_unless_movable(before, after, live)
                self._write(after, live, answer, command)
                # Shrink the pool of the others before this command starts on its exclusive CPUs.
                self._others.share(after, live)
            return answer

    @contextmanager
    def _held(self) -> Iterator[Content]:
        tree = self.ground.tree
        with self._state.held() as content, locked_with_others(None if tree is None else tree.root):
            yield content

    def _write(
        self, after: Node, live: Sequence[RunHolder], placed: Placed, command: tuple[str, ...]
    ) -> None:
        """Store the state with this run. Raises ``BadInput``."""
        pod = placed.pod
        attempt = Attempts(self._root / RUNS).of(ContainerKey(pod.uid, CONTAINER), 1)
        own_run = self._holder(placed, command, attempt.mark)
        launch = Launch(
            key=attempt.key,
            attempt=attempt.number,
            spec=ContainerSpec(name=CONTAINER, command=command),
            settings=placed.settings,
            runner=Runner(own_run.pid, own_run.ticks, own_run.boot),
        )
        try:
            # Lock and order exist before the state names the run, so an agent that reads the state
            # always finds a live holder.
            self._lock = self._state.holders.lock(pod.uid)
            self.accepted = program.write_order(
                attempt, starting.order(launch, self.ground, attempt)
            )
            self._state.write(after.state_files(), (*live, own_run))
        except OSError as error:
            self._let_go(pod.uid)
            raise BadInput(
                [AgentRootUnusable(path=str(self._root), error=os_problem.text(error))]
            ) from None
        except BadInput:
            self._let_go(pod.uid)
            raise

    def _let_go(self, uid: str) -> None:
        """Undo ``_write`` before the state contains the run."""
        if self.accepted is not None:
            os.close(self.accepted.lock)
            other_runs.forget(uid, self._root)
            self.accepted = None
        if self._lock is not None:
            self._state.holders.unlock(uid, self._lock)
            self._lock = None

    def wait(self, seconds: float) -> None:
        """Wait until a command ends. Raises ``BadInput`` if a kubelet that pins appears."""
        with self._held() as content:
            live = content.live
        # Not under the lock, which would block other commands.
        self._others.wait(live, seconds)
        owners.refuse_to_pin(owners.find(self._places))

    def release(self, uid: str) -> None:
        """Free this run's place, also if an agent has taken over meanwhile. Raises ``BadInput``."""
        with suppress(AgentHolds), self._held() as content:
            kept = tuple(each for each in content.live if each.uid != uid)
            if len(kept) < len(content.live):
                others = replace(content, live=kept)
                self._clear(others)
                node, live = self._node(others)
                # Keep the lock while the state names this run: without it, others would treat the
                # run as dead.
                self._state.write(node.state_files(), live)
                self._let_go(uid)
                self._others.share(node, live)
        # An agent holds the state now and frees the place itself.
        if self.accepted is not None:
            foreground.hand_back(self.accepted)
            self.accepted = None
            self._let_go(uid)

    def _clear(self, content: Content) -> None:
        for each in content.dead:
            other_runs.clear(each, self.ground.tree, self._root)

    def _node(self, content: Content) -> tuple[Node, tuple[RunHolder, ...]]:
        """The node with these runs, and the runs with losses marked. Raises ``BadInput``."""
        try:
            node, live = with_runs(self.premises, content)
        except BadInput as bad:
            if not content.live:
                raise
            raise input_error.Conflict(
                "this configuration conflicts with the one of running commands "
                f"({bad.findings[0].fields['text']}); use theirs (-c, --policy), or wait until "
                "they end"
            ).bad_input() from None
        for before, after in zip(content.live, live, strict=True):
            if before is not after:
                finding = RunUnpromised(
                    command=after.command, pid=after.pid, cause=other_runs.lost_allocation(after)
                )
                if finding not in self.remarks:
                    self.remarks.append(finding)
        return node, live

    def _decided(self, node: Node, pod: Pod, live: tuple[RunHolder, ...]) -> tuple[Decided, Node]:
        before = inherited_cpus.withheld(node, self.within)
        after, decision = before.admit(pod)
        if not decision.admitted:
            # Ask again on an empty node: it separates "wait" from "never fits".
            empty, _ = self._node(Content({}))
            _, alone = inherited_cpus.withheld(empty, self.within).admit(pod)
            return NoPlace(before, pod, live, decision, alone.admitted), node
        after = inherited_cpus.returned(after)
        settings = desired.container(self._limits, after.snapshot, pod, CONTAINER)
        held = placement.of_container(after.snapshot, pod.uid, CONTAINER)
        parent = settings.path.rpartition("/")[0]
        above = desired.tree(self._limits, after.snapshot, [pod])[parent]
        placed = Placed(pod, after.snapshot, held, settings, above)
        return placed, after.pod_started(pod.uid)

    def _holder(self, placed: Placed, command: tuple[str, ...], mark: str) -> RunHolder:
        own = process_tree.process(os.getpid())
        return RunHolder(
            uid=placed.pod.uid,
            pid=os.getpid(),
            ticks=0 if own is None else own.started,
            boot=process_tree.boot_id(),
            command=" ".join(command),
            is_shared=not placed.placement.cpus,
            path="" if self.ground.tree is None else placed.settings.path,
            manifest=request.manifest(
                replace(placed.pod, name=direct.object_name(placed.pod.name, placed.pod.uid)),
                command,
            ),
            process_mark=mark,
        )


def with_runs(premises: Premises, content: Content) -> tuple[Node, tuple[RunHolder, ...]]:
    """Start a node on the state files; also return the runs with losses marked.

    Raises ``BadInput`` if the files contradict the configuration.
    """
    keys = [each.key for each in content.live]
    started = recovery.start_node(premises, content.files if keys else {}, keys)
    live = tuple(other_runs.marked(each, started.lost) for each in content.live)
    return started.node.assume_running(keys).release_stale(), live
