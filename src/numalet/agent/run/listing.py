"""What runs under a shared state, as an agent would show its pods and its node."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from numalet.agent.controller import settings
from numalet.agent.controller.holders import CONTAINER, RunHolder
from numalet.agent.controller.settings import AgentOptions
from numalet.agent.controller.shared_state import AgentHolds, Content, SharedState
from numalet.agent.findings.run import RunAgentsPrograms
from numalet.agent.host.runtime import host_capabilities
from numalet.agent.run import leftovers, lost_promises, placing
from numalet.agent.run.request import NAMESPACE
from numalet.agent.servers.api import node_state
from numalet.agent.servers.api.served import OWN_GROUP
from numalet.core.model.findings import BadInput, Finding, Location, Severity
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.shared.kubernetes import pod_placement


class Listing(Value):
    """The commands that run, as PodPlacement objects, and the node, None if it is not known.

    A configuration other than the fitted one, which ``numalet run -c`` may have named, is not in
    the state: where the state files do not agree with the fitted one, only the commands are known.
    """

    placements: Sequence[Mapping[str, Any]]
    node: Mapping[str, Any] | None
    notes: tuple[Finding, ...] = ()
    """What else runs under the root folder, started by an agent that is gone."""


def listing(root: Path) -> Listing | None:
    """What runs under the shared state of this root folder; None without one, or with an agent.

    Raises:
        BadInput: it can not be read, or belongs to another user.
    """
    state = SharedState(root)
    try:
        if not state.folder.is_dir():
            return None
    except PermissionError:
        # This says whose it is.
        state.prepare()
    try:
        with state.held() as content:
            return _listed(root, state, content)
    except AgentHolds:
        return None


def _listed(root: Path, state: SharedState, content: Content) -> Listing:
    node, live = _node(root, content)
    items = [_placement(each, state.holders.since(each), node) for each in live]
    programs = leftovers.agents_programs(root, content)
    note = RunAgentsPrograms(
        root=str(root), count=programs, where=Location(str(root)), severity=Severity.WARNING
    )
    return Listing(items, None if node is None else _state(node), (note,) if programs else ())


def _node(root: Path, content: Content) -> tuple[Node | None, tuple[RunHolder, ...]]:
    """The node, None if it is not known, and the runs as they are on the machine of now."""
    try:
        return placing.with_runs(settings.resolve(AgentOptions(root=root)).premises, content)
    except BadInput:
        return None, content.live


def _placement(holder: RunHolder, since: datetime | None, node: Node | None) -> dict[str, Any]:
    held = (
        {}
        if node is None
        else {CONTAINER: placement.of_container(node.snapshot, holder.uid, CONTAINER)}
    )
    return {
        "kind": "PodPlacement",
        "apiVersion": OWN_GROUP,
        "metadata": {
            "name": _name(holder),
            "namespace": NAMESPACE,
            "uid": holder.uid,
            "creationTimestamp": None if since is None else since.isoformat(timespec="seconds"),
        },
        "ready": "1/1",
        "status": "Running",
        "restarts": 0,
        "pid": holder.pid,
        "command": holder.command,
        **pod_placement.whole(held, ()),
        "unpromised": lost_promises.why(holder) or None,
        "containers": [pod_placement.container(name, each, None) for name, each in held.items()],
    }


def _name(holder: RunHolder) -> str:
    """Its name, which is that of its pod if it has one."""
    if holder.manifest:
        return str(holder.manifest["metadata"]["name"])
    words = holder.command.split()
    return f"{words[0].rpartition('/')[2] if words else 'command'}-{holder.uid[:8]}"


def _state(node: Node) -> dict[str, Any]:
    return {
        "kind": "NodeState",
        "apiVersion": OWN_GROUP,
        "metadata": {"name": socket.gethostname().lower()},
        "standing": "no agent",
        "guarantee": host_capabilities.ground().capabilities.level.value,
        **node_state.of_node(node, {}),
    }
