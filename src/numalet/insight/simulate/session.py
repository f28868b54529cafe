"""A node that executes steps one after the other, with a record of each step.

The containers of an admitted pod start at once. A restart keeps containers running, reads the state
files, and shows the pods to the new kubelet one after the other before all sources are ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node import restarting
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.insight.simulate.scenario import AdmitStep, RemoveStep, RestartStep, StateFiles, Step


class Asked(Value):
    decision: Decision


class Removed(Value):
    pod_uid: str


class Restarted(Value):
    decisions: tuple[Decision, ...]


class NotRestarted(Value):
    """The kubelet did not start again, which ends the session."""

    refused: StartRefused


Record: TypeAlias = Asked | Removed | Restarted | NotRestarted


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

    def after(self, step: Step) -> tuple[Session, Record]:
        match step:
            case AdmitStep(pod):
                node, decision = self.node.admit(pod)
                if decision.admitted:
                    node = node.pod_started(pod.uid)
                # Rejected pods are kept too: a restart may show them again.
                return replace(self, node=node, pods={**self.pods, pod.uid: pod}), Asked(decision)
            case RemoveStep(pod_uid):
                return replace(self, node=self.node.remove(pod_uid)), Removed(pod_uid)
            case RestartStep():
                return self._restarted(step)
            case _:
                assert_never(step)

    def _restarted(self, step: RestartStep) -> tuple[Session, Record]:
        config, machine = step.config or self.config, step.machine or self.machine
        files = _replaced(self.node.state_files(), step.state_files)
        node = self.node.restart(config, machine, files, self.devices)
        if isinstance(node, StartRefused):
            return self, NotRestarted(node)
        seen_again = (self.pods[pod_uid] for pod_uid in step.order)
        node, decisions = restarting.readmit(node.asking(self.plugins), seen_again)
        after = replace(self, config=config, machine=machine, node=node.sources_ready())
        return after, Restarted(decisions)


def _replaced(files: StateFiles, given: StateFiles | None) -> StateFiles:
    return not_deleted({**files, **(given or {})})


def not_deleted(files: StateFiles) -> StateFiles:
    """Drop the files with an empty text, which stands for a deleted file."""
    return {name: text for name, text in files.items() if text}
