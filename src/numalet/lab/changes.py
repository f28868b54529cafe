"""Changes of a topology by the user: a node's memory, a missing node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.quantity import Quantity
from numalet.core.model.quantity_error import QuantityError
from numalet.lab.topology import LEAST_MEMORY_MIB, Topology, with_memory, without_node

_MEMORY_FLAG: Final = "--node-memory"
_WITHOUT_FLAG: Final = "--without-node"
_MIB: Final = 1 << 20


def changed(topology: Topology, memories: Sequence[str], gone: Sequence[int]) -> Topology:
    """Apply ``NODE=SIZE`` to the topology, then remove the nodes in ``gone``.

    Node numbers are those of the original topology. Raises ``BadInput``.
    """
    for text in memories:
        node, size_bytes = _memory(text)
        _refuse_unknown(topology, node, _MEMORY_FLAG)
        mib = size_bytes // _MIB
        if 0 < mib < LEAST_MEMORY_MIB or (size_bytes and not mib):
            raise input_error.Invalid(
                f"node {node} has only {mib} MiB of memory",
                expected=f"0, or {LEAST_MEMORY_MIB} MiB or more",
                where=Location(_MEMORY_FLAG),
            ).bad_input()
        topology = with_memory(topology, node, mib)
    for node in gone:
        _refuse_unknown(topology, node, _WITHOUT_FLAG)
    for node in sorted(set(gone), reverse=True):
        topology = without_node(topology, node)
    if not any(node.cpus and node.memory_mib for node in topology.nodes):
        raise input_error.Invalid(
            "the guest cannot start: no node has both CPUs and memory",
            where=Location(topology.name),
        ).bad_input()
    return topology


def _memory(text: str) -> tuple[int, int]:
    node, equals, size = text.partition("=")
    try:
        if equals and node.isascii() and node.isdigit():
            return int(node), Quantity.parse(size).value
    except QuantityError:
        pass
    raise input_error.Invalid(
        f"invalid node memory {text!r}",
        expected="NODE=SIZE, such as 1=256Mi",
        where=Location(_MEMORY_FLAG),
    ).bad_input()


def _refuse_unknown(topology: Topology, node: int, flag: str) -> None:
    if not 0 <= node < len(topology.nodes):
        last = len(topology.nodes) - 1
        raise input_error.NotFound(
            f"topology {topology.name} has no node {node}",
            expected=f"0 to {last}",
            where=Location(flag),
        ).bad_input()
