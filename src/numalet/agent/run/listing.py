"""Lists commands of a shared state, in the form of an agent's pods and node."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from numalet.agent.controller import settings
from numalet.agent.controller.run_holders import CONTAINER, RunHolder
from numalet.agent.controller.settings import AgentOptions
from numalet.agent.controller.shared_state import AgentHolds, Content, SharedState
from numalet.agent.host.runtime import enforcement
from numalet.agent.run import other_runs, placing
from numalet.agent.run.direct import NAMESPACE
from numalet.agent.servers.api import projections
from numalet.agent.servers.api.served import OWN_GROUP
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.shared.kubernetes import pod_placement


class Listing(Value):
    """PodPlacement objects and the node, if it is known.

    The state does not contain a configuration named with ``-c``. If its files contradict the
    default one, only the commands are known.
    """

    placements: Sequence[Mapping[str, Any]]
    node: Mapping[str, Any] | None
    notes: tuple[Finding, ...] = ()


def listing(root: Path) -> Listing | None:
    """List the commands of this root folder, unless an agent holds it.

    Raises ``BadInput`` if the state is unreadable or belongs to another user.
    """
    state = SharedState(root)
    try:
        if not state.folder.is_dir():
            return None
    except PermissionError:
        # ``prepare`` raises the error that names the owner.
        state.prepare()
    try:
        with state.held() as content:
            return _listed(root, state, content)
    except AgentHolds:
        return None


def _listed(root: Path, state: SharedState, content: Content) -> Listing:
    node, live = _node(root, content)
    items = [_placement(each, state.holders.since(each), node) for each in live]
    programs = other_runs.agents_programs(root, content)
    note = other_runs.still_running(root, programs, Severity.WARNING)
    return Listing(items, None if node is None else _state(node), (note,) if programs else ())


def _node(root: Path, content: Content) -> tuple[Node | None, tuple[RunHolder, ...]]:
    """The runs, and their node if the state files match the configuration."""
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
        "unpromised": other_runs.lost_allocation(holder) or None,
        "containers": [pod_placement.container(name, each, None) for name, each in held.items()],
    }


def _name(holder: RunHolder) -> str:
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
        "guarantee": enforcement.ground().capabilities.level.value,
        **projections.node_allocations(node, {}),
    }
