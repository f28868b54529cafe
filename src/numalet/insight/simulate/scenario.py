"""A scenario: a machine, a configuration, what happens in which order, and what should come out.

A scenario is a plain value. Its written form is a line of JSON (see the reference of the
scenario file); reading it is the business of ``insight.usecases.scenario_file``. Names and
tags are for people: nothing decides by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.config.behaviour import Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.numalet_config import AS_THE_KUBELET, NumaletConfig
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.node.node import NO_DEVICES, Devices

StateFiles: TypeAlias = Mapping[str, str]
"""Contents of state files by file name. At a restart an empty text stands for a deleted file."""

Outcome: TypeAlias = Mapping[str, Any]
"""What came out, or should come out, as plain nested data."""

CPU_STATE_FILE = cpu_file.FILE_NAME
MEMORY_STATE_FILE = memory_file.FILE_NAME
STATE_FILES = (CPU_STATE_FILE, MEMORY_STATE_FILE, device_file.FILE_NAME)
NO_FILES: StateFiles = MappingProxyType({})


class AdmitStep(Value):
    """A pod arrives; if it is admitted, all its containers start."""

    pod: Pod


class RemoveStep(Value):
    """A pod is deleted and its containers stop."""

    pod_uid: str


class RestartStep(Value):
    """The kubelet restarts and sees the pods again in this order; others are gone.

    What is not None replaces what the kubelet had before.
    """

    order: tuple[str, ...]
    config: KubeletConfig | None = None
    machine: MachineInfo | None = None
    state_files: StateFiles | None = None


Step: TypeAlias = AdmitStep | RemoveStep | RestartStep


class Scenario(Value, kw_only=True):
    """Everything that goes in, and ``expect``, the expected outcome, if there is one.

    ``numalet`` are our own settings; without them everything is as in the kubelet.
    ``state_files`` are there before the first start. With ``record_raw`` the outcome has the
    exact texts of the state files too.
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
        """The rules of the mode that the scenario names."""
        return self.numalet.behaviour
