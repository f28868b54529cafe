"""A scenario, and a node that executes its steps one after the other, with a record of each step.

The written form of a scenario is a line of JSON (see the reference of the scenario file), which
``insight.usecases.scenario_file`` reads. The containers of an admitted pod start at once. A restart
keeps containers running, reads the state files, and shows the pods to the new kubelet one after the
other before all sources are ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.config.behaviour import Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.numalet_config import AS_THE_KUBELET, NumaletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node import restarting
from numalet.core.node.node import NO_DEVICES, Devices, Node

StateFiles: TypeAlias = Mapping[str, str]
"""Contents of state files by file name. At a restart an empty text means a deleted file."""

Outcome: TypeAlias = Mapping[str, Any]
"""A computed or expected outcome as plain nested data."""

CPU_STATE_FILE = cpu_file.FILE_NAME
MEMORY_STATE_FILE = memory_file.FILE_NAME
STATE_FILES = (CPU_STATE_FILE, MEMORY_STATE_FILE, device_file.FILE_NAME)
NO_FILES: StateFiles = MappingProxyType({})


class RemoveStep(Value):
    pod_uid: str


class RestartStep(Value):
    """The kubelet restarts and sees the pods again in this order; others are deleted.

    Fields that are set replace the kubelet's former values.
    """

    order: tuple[str, ...]
    config: KubeletConfig | None = None
    machine: MachineInfo | None = None
    state_files: StateFiles | None = None


Step: TypeAlias = Pod | RemoveStep | RestartStep
"""A pod is a step too: it arrives, and if it is admitted, all its containers start."""


class Scenario(Value, kw_only=True):
    """The input of a run, and ``expect``, the expected outcome if there is one.

    ``numalet`` are numalet's own settings; the defaults are the kubelet's. ``state_files`` exist
    before the first start. With ``record_raw`` the outcome includes the exact texts of the state
    files.
    """

    name: str
    machine: MachineInfo
    config: KubeletConfig
    numalet: NumaletConfig = AS_THE_KUBELET
    steps: tuple[Step, ...] = ()
    tags: tuple[str, ...] = ()
    devices: Devices = NO_DEVICES
    state_files: StateFiles = NO_FILES
    record_raw: bool = False
    expect: Outcome | None = None

    @property
    def behaviour(self) -> Behaviour:
        return self.numalet.behaviour


Result: TypeAlias = tuple[Decision, ...] | StartRefused
"""The decisions of a step; or why the kubelet did not start again, which ends the session."""

Record: TypeAlias = tuple[Step, Result]


def decisions(records: Iterable[Record]) -> list[Decision]:
    made = (result for _, result in records if not isinstance(result, StartRefused))
    return [decision for each in made for decision in each]


class Session(Value):
    """The current node, the input of a restart, and every pod that was seen, by uid.

    ``plugins`` are called for preferred devices after a restart too.
    """

    config: KubeletConfig
    machine: MachineInfo
    node: Node
    devices: Devices = NO_DEVICES
    plugins: PreferredDevices = NO_SAY
    pods: Mapping[str, Pod] = MappingProxyType({})

    def through(self, steps: Iterable[Step]) -> tuple[Session, list[Record]]:
        """Return the session after these steps, and their results up to a failed restart."""
        at, records = self, list[Record]()
        for step in steps:
            at, result = at.after(step)
            records.append((step, result))
            if isinstance(result, StartRefused):
                break
        return at, records

    def after(self, step: Step) -> tuple[Session, Result]:
        match step:
            case Pod():
                node, decision = self.node.admit(step)
                if decision.admitted:
                    node = node.pod_started(step.uid)
                # Rejected pods are kept too: a restart may show them again.
                return replace(self, node=node, pods={**self.pods, step.uid: step}), (decision,)
            case RemoveStep(pod_uid):
                return replace(self, node=self.node.remove(pod_uid)), ()
            case RestartStep():
                return self._restarted(step)
            case _:
                assert_never(step)

    def _restarted(self, step: RestartStep) -> tuple[Session, Result]:
        config, machine = step.config or self.config, step.machine or self.machine
        files = _replaced(self.node.state_files(), step.state_files)
        node = self.node.restart(config, machine, files, self.devices)
        if isinstance(node, StartRefused):
            return self, node
        seen_again = (self.pods[pod_uid] for pod_uid in step.order)
        node, decisions = restarting.readmit(node.asking(self.plugins), seen_again)
        after = replace(self, config=config, machine=machine, node=node.sources_ready())
        return after, decisions


def _replaced(files: StateFiles, given: StateFiles | None) -> StateFiles:
    return not_deleted({**files, **(given or {})})


def not_deleted(files: StateFiles) -> StateFiles:
    """Drop the files with an empty text, which stands for a deleted file."""
    return {name: text for name, text in files.items() if text}
