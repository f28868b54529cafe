"""Creates and deletes the Node objects of hollow nodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from numalet.cluster.hollow import node_document
from numalet.cluster.hollow.node_document import NodeNaming
from numalet.core.model import input_error
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.io.kube_api import paths
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    name: str = ""


class _Spec(msgspec.Struct, frozen=True):
    taints: list[dict[str, Any]] = []


class RegisteredNode(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


class Registrar(Value):
    """Registers nodes; ``untaints``: removes the not-ready taint from new nodes."""

    api: ApiClient
    untaints: bool = False

    async def register(self, node: Node, naming: NodeNaming, boots: int = 1) -> str:
        """Create a ready Node, and return its uid.

        Raises ``BadInput`` if a node of this name exists and is not hollow, and the client's
        errors.
        """
        now = datetime.now(UTC)
        body = node_document.whole(node, naming, boots, now)
        try:
            answer = await self.api.create(paths.NODES, body)
        except ApiRefused as refused:
            if not refused.status.is_conflict:
                raise
            answer = await self._again(body, naming)
        registered = decoded(answer)
        kept = [each for each in registered.spec.taints if each["key"] != node_document.NOT_READY]
        if self.untaints and len(kept) < len(registered.spec.taints):
            await self.api.patch(paths.node(naming.name), {"spec": {"taints": kept or None}})
        return registered.metadata.uid

    async def report(self, node: Node, naming: NodeNaming, boots: int) -> None:
        """Write the status of an existing node, as a kubelet does regularly."""
        body = {"status": node_document.status(node, naming, boots, datetime.now(UTC))}
        await self.api.patch(f"{paths.node(naming.name)}/status", body)

    async def remove(self, name: str) -> None:
        """Delete a Node; its lease and other dependents are deleted with it."""
        try:
            await self.api.delete(paths.node(name))
        except ApiRefused as refused:
            if not refused.status.is_absent:
                raise

    async def _again(self, body: dict[str, Any], naming: NodeNaming) -> bytes:
        path = paths.node(naming.name)
        there = decoded(await self.api.get(path))
        if there.metadata.labels.get(node_document.HOLLOW) is None:
            raise input_error.Duplicate(
                f"node {naming.name!r} exists and is not a hollow node; choose another "
                "--name-prefix"
            ).bad_input()
        await self.api.patch(f"{path}/status", {"status": body["status"]})
        labels = body["metadata"]["labels"]
        notes = {node_document.FAULT: None}
        return await self.api.patch(path, {"metadata": {"labels": labels, "annotations": notes}})


def decoded(answer: bytes) -> RegisteredNode:
    """Decode a Node. Raises ``msgspec.DecodeError``."""
    return msgspec.json.decode(answer, type=RegisteredNode)
