"""A scenario: a machine, a configuration, steps in their order, and the expected outcome.

Its written form is a line of JSON (see the reference of the scenario file), which
``insight.usecases.scenario_file`` reads. Names and tags are only for readers.
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
"""Contents of state files by file name. At a restart an empty text means a deleted file."""

Outcome: TypeAlias = Mapping[str, Any]
"""A computed or expected outcome as plain nested data."""

CPU_STATE_FILE = cpu_file.FILE_NAME
MEMORY_STATE_FILE = memory_file.FILE_NAME
STATE_FILES = (CPU_STATE_FILE, MEMORY_STATE_FILE, device_file.FILE_NAME)
NO_FILES: StateFiles = MappingProxyType({})


class AdmitStep(Value):
    """A pod arrives; if it is admitted, all its containers start."""

    pod: Pod


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


Step: TypeAlias = AdmitStep | RemoveStep | RestartStep


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
