"""Kinds of hollow nodes: machine, configuration, devices and release, and an empty node of each.

A kind is started once; its nodes share its managers and differ in identity and ledgers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from numalet.core.cluster import classes
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.devices import devices_on
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.machines import MachineChoice

_NOT_IN_LABELS: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_LABEL: Final = 63


class NodeKind(Value, kw_only=True):
    """The common part of all nodes of a kind; ``name`` is short and a valid label."""

    name: str
    machine: MachineInfo
    config: KubeletConfig
    devices: Mapping[str, Sequence[Device]]
    empty: Node

    def node(self, identity: NodeIdentity) -> Node:
        """Return an empty node with this identity; it shares the managers of its kind."""
        return classes.member(self.empty, identity)

    def restarted(self, node: Node) -> Node | StartRefused:
        return self.started_on(node.state_files(), node)

    def started_on(self, files: Mapping[str, str], node: Node) -> Node | StartRefused:
        return node.restart(self.config, self.machine, files, self.devices)


class KindInputs(Value, kw_only=True):
    """The arguments of the user: a kind for every machine and configuration."""

    machines: Sequence[MachineChoice]
    configs: Sequence[ConfigSources] = (ConfigSources(),)
    device_file: str | None = None
    devices: Sequence[str] = ()


def kinds_of(inputs: KindInputs) -> tuple[tuple[NodeKind, ...], tuple[Finding, ...]]:
    """Return the kinds, and notes on the machines and configurations.

    Raises ``BadInput`` with everything that is wrong in them, or if a kubelet would not start.
    """
    findings = Findings()
    loaded = [findings.collect(each.open) for each in inputs.machines]
    configs = [findings.collect(partial(kubelet_config.load, each)) for each in inputs.configs]
    devices = [
        None
        if machine is None
        else findings.collect(partial(devices_on, machine, inputs.device_file, inputs.devices))
        for machine in loaded
    ]
    findings.raise_errors()
    kinds: list[NodeKind] = []
    names = _names(inputs)
    for choice, machine, offered in zip(inputs.machines, loaded, devices, strict=True):
        for config in configs:
            name = next(names)
            if machine is None or config is None or offered is None:
                continue
            findings.extend((*machine.reading_notes, *config.warnings))
            empty = nodes.start(
                config.config, machine.info, devices=offered, behaviour=config.behaviour
            )
            if isinstance(empty, StartRefused):
                findings.add(
                    input_error.Invalid(
                        f"a kubelet of release {config.behaviour.release.name} does not start on "
                        f"{choice.text or 'this machine'}: {'; '.join(map(str, empty.findings))}; "
                        "'numalet check' with the same options explains it"
                    )
                )
                continue
            kinds.append(
                NodeKind(
                    name=name,
                    machine=machine.info,
                    config=config.config,
                    devices={key: tuple(each) for key, each in offered.items()},
                    empty=empty,
                )
            )
    findings.raise_errors()
    return tuple(kinds), findings.distinct


def _names(inputs: KindInputs) -> Iterator[str]:
    """Yield a name for every kind: that of its machine, with a number if there are several."""
    several = len(inputs.configs) > 1
    used: dict[str, int] = {}
    for machine in inputs.machines:
        text = (machine.text or "this-machine").removeprefix("profile:").rstrip("/")
        plain = _NOT_IN_LABELS.sub("-", text.rpartition("/")[2]).strip("-_.")
        plain = plain[: _LONGEST_LABEL - 8].strip("-_.") or "machine"
        for number in range(1, len(inputs.configs) + 1):
            name = f"{plain}-c{number}" if several else plain
            used[name] = used.get(name, 0) + 1
            yield name if used[name] == 1 else f"{name}-{used[name]}"
