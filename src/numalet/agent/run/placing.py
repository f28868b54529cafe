"""Deciding about one command, among all that run: admitted, refused, or to be waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from numalet.agent.controller import owners, recovery
from numalet.agent.controller.holders import CONTAINER, RunHolder
from numalet.agent.controller.owners import Places
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.shared_state import AgentHolds, Content, SharedState
from numalet.agent.findings.run import RunOtherConfiguration, RunUnpromised
from numalet.agent.host.cgroup_v2 import hold
from numalet.agent.host.procfs import kernel
from numalet.agent.host.runtime import starting
from numalet.agent.host.runtime.attempts import RUNS, Attempts
from numalet.agent.host.runtime.host_capabilities import HostCapabilities
from numalet.agent.host.runtime.port import Launch
from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.run import joining, leftovers, lost_promises, request
from numalet.agent.run.joining import AcceptedOrder
from numalet.agent.run.other_runs import OtherRuns
from numalet.core.admission.decision import Decision
from numalet.core.enforcement import desired, limits
from numalet.core.enforcement.settings import CgroupSettings, ContainerSettings
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
    """The command is admitted; on the disk after ``place``, not after ``preview``."""

    pod: Pod
    snapshot: Snapshot
    placement: Placement
    settings: ContainerSettings
    """Of its cgroup, or without one of its processes."""
    above: CgroupSettings
    """Of the pod's cgroup, which has the container's in it."""


class NoPlace(Value):
    """The node before the decision, for explaining it, and the others that run.

    ``fits_when_empty`` says whether it would fit a node on which nothing runs.
    """

    node: Node
    pod: Pod
    holders: tuple[RunHolder, ...]
    decision: Decision
    fits_when_empty: bool

    @property
    def running(self) -> int:
        """How many others run."""
        return len(self.holders)


Decided: TypeAlias = Placed | NoPlace


class Placer:
    """Decides on commands over the shared state, and has what they hold written there.

    Nothing is remembered from one decision to the next but what the one run that is ours holds:
    every decision reads the state under its lock. All may raise ``AgentHolds``, too.
    """

    def __init__(
        self,
        state: SharedState,
        root: Path,
        premises: Premises,
        ground: HostCapabilities,
        places: Places,
    ) -> None:
        self._state = state
        """Of this root folder, used by all its commands."""
        self._root = root
        """Where an agent would find what runs."""
        self.premises = premises
        """What decisions are made from, the same for all runs of a root folder that agree."""
        self._places = places
        """Where kubelets and others that pin are searched for."""
        self._others = OtherRuns(state.holders, ground.tree)
        self._lock: int | None = None
        """The descriptor of our run's lock, from when it is in the state until it is out of it."""
        self.accepted: AcceptedOrder | None = None
        """Our run's order, as long."""
        self.ground = ground
        """What the kernel can enforce here."""
        self.remarks: list[Finding] = []
        """What a user should know of the state as it was read, each once."""
        self._limits = limits.resolve(
            premises.config, premises.machine, premises.behaviour, kernel.here()
        )

    def preview(self, pod: Pod) -> Decided:
        """The decision, without a change of the state. Raises ``BadInput``."""
        with self._held() as content:
            node, live = self._node(content)
            return self._decided(node, pod, live)[0]

    def place(self, pod: Pod, command: tuple[str, ...]) -> Decided:
        """Admit the pod and write it down. Raises ``BadInput``."""
        with self._held() as content:
            self._clear(content)
            before, live = self._node(content)
            answer, after = self._decided(before, pod, live)
            if isinstance(answer, Placed):
                self._others.refuse_unless_movable(before, after, live)
                self._write(after, live, answer, command)
                self._others.share(after, live)
            return answer

    @contextmanager
    def _held(self) -> Iterator[Content]:
        tree = self.ground.tree
        with self._state.held() as content, hold.with_others(None if tree is None else tree.root):
            yield content

    def _write(
        self, after: Node, live: Sequence[RunHolder], placed: Placed, command: tuple[str, ...]
    ) -> None:
        """Write the state with this run in it, which exists from now on. Raises ``BadInput``.

        All by which an agent finds the run is there before the run is in the state.
        """
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
            self._lock = self._state.holders.lock(pod.uid)
            self.accepted = joining.begin(attempt, starting.order(launch, self.ground, attempt))
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
        """Remove what holds a place for our run, which is not in the state."""
        if self.accepted is not None:
            os.close(self.accepted.lock)
            leftovers.forget(uid, self._root)
            self.accepted = None
        if self._lock is not None:
            self._state.holders.unlock(uid, self._lock)
            self._lock = None

    def wait(self, seconds: float) -> None:
        """Wait until a command ends, at most so long.

        Raises:
            BadInput: a kubelet that pins came to this machine meanwhile.
        """
        with self._held() as content:
            live = content.live
        self._others.wait(live, seconds)
        owners.refuse_to_pin(owners.find(self._places))

    def release(self, uid: str) -> None:
        """Give back what our run held: to the agent that has it by now, if there is one.

        Raises ``BadInput``.
        """
        with suppress(AgentHolds), self._held() as content:
            kept = tuple(each for each in content.live if each.uid != uid)
            if len(kept) < len(content.live):
                others = replace(content, live=kept)
                self._clear(others)
                node, live = self._node(others)
                self._state.write(node.state_files(), live)
                self._let_go(uid)
                self._others.share(node, live)
        if self.accepted is not None:
            joining.hand_back(self.accepted)
            self.accepted = None
            self._let_go(uid)

    def _clear(self, content: Content) -> None:
        """Kill and remove the remains of dead runs."""
        for each in content.dead:
            leftovers.clear(each, self.ground.tree, self._root)

    def _node(self, content: Content) -> tuple[Node, tuple[RunHolder, ...]]:
        """The node on which these runs hold what the state says, and the runs as they are now."""
        try:
            node, live = with_runs(self.premises, content)
        except BadInput as bad:
            if not content.live:
                raise
            raise BadInput([RunOtherConfiguration(text=bad.findings[0].fields["text"])]) from None
        for before, after in zip(content.live, live, strict=True):
            if before is not after:
                finding = RunUnpromised(
                    command=after.command, pid=after.pid, cause=lost_promises.why(after)
                )
                if finding not in self.remarks:
                    self.remarks.append(finding)
        return node, live

    def _decided(self, node: Node, pod: Pod, live: tuple[RunHolder, ...]) -> tuple[Decided, Node]:
        after, decision = node.admit(pod)
        if not decision.admitted:
            empty, _ = self._node(Content({}))
            _, alone = empty.admit(pod)
            return NoPlace(node, pod, live, decision, alone.admitted), node
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
                replace(placed.pod, name=request.object_name(placed.pod)), command
            ),
            process_mark=mark,
        )


def with_runs(premises: Premises, content: Content) -> tuple[Node, tuple[RunHolder, ...]]:
    """The node on which the runs hold what the state says, and the runs on the machine of now.

    Raises ``BadInput`` if the state does not agree with the configuration.
    """
    keys = [each.key for each in content.live]
    started = recovery.start_node(premises, content.files if keys else {}, keys)
    live = tuple(lost_promises.marked(each, started.lost) for each in content.live)
    return started.node.assume_running(keys).release_stale(), live
