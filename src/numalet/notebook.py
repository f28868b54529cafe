"""Notebook output: pictures of machines, nodes, decisions and changes, and their rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

Rows = list[dict[str, Any]]


# The core does not know of pictures, so ``import numalet`` calls this after it has imported
# something. The modules that draw are imported with the first picture.
def attach() -> None:
    """Give pictures and rows to every class that is imported by now."""
    for (module, name), (as_html, as_rows) in _CLASSES.items():
        if module in sys.modules:
            shown = getattr(sys.modules[module], name)
            shown._repr_html_ = as_html
            shown.to_rows = as_rows


def _machine_html(machine: Any) -> str:
    from numalet.insight.maps import node_map
    from numalet.insight.python_api.nodes import machine_info
    from numalet.pages import notebook_parts

    title = getattr(machine, "source", "") or "Machine"
    return _framed(notebook_parts.drawn(node_map.of_machine(machine_info(machine), title)))


def _machine_rows(machine: Any) -> Rows:
    from numalet.insight.python_api import tables
    from numalet.insight.python_api.nodes import machine_info

    return tables.numa_node_rows(machine_info(machine))


def _node_html(node: Any) -> str:
    from numalet.insight.maps import node_map
    from numalet.pages import notebook_parts

    chart = node_map.of_node(node, "Node")
    return _framed(notebook_parts.drawn(chart) + notebook_parts.pods(chart))


def _node_rows(node: Any) -> Rows:
    from numalet.insight.python_api import tables

    return tables.placement_rows(node.snapshot)


def _decision_html(decision: Any) -> str:
    from numalet.pages import notebook_parts

    return _framed(notebook_parts.decision(decision))


def _decision_rows(decision: Any) -> Rows:
    from numalet.insight.python_api import tables

    return tables.decision_rows([decision])


def _changes_html(changes: Any) -> str:
    from numalet.pages import notebook_parts

    return _framed(notebook_parts.rows("Changes", _changes_rows(changes)))


def _changes_rows(changes: Any) -> Rows:
    from numalet.insight.python_api import tables

    return tables.change_rows(changes)


def _matrix_html(matrix: Any) -> str:
    from numalet.pages import notebook_parts

    return _framed(notebook_parts.figures([*matrix]))


def _matrix_rows(matrix: Any) -> Rows:
    return [*matrix]


def _answer_html(answer: Any) -> str:
    from numalet.core.node.node import Node
    from numalet.insight.maps import node_map
    from numalet.pages import notebook_parts

    picture = ""
    if isinstance(answer.picture, Node):
        name = answer.picture.rules.identity.name or "Node"
        picture = notebook_parts.drawn(node_map.of_node(answer.picture, name))
    elif answer.picture is not None:
        picture = notebook_parts.fleet(answer.picture.map())
    return _framed(picture + notebook_parts.rows(answer.title, answer.rows))


def _fleet_html(fleet: Any) -> str:
    from numalet.insight.python_api.pictures import FleetPicture
    from numalet.pages import notebook_parts

    return _framed(notebook_parts.fleet(FleetPicture(fleet).map()))


def _fleet_rows(fleet: Any) -> Rows:
    decided: Rows = [
        {"node": each.name, "pool": each.pool, "state": each.state, "origin": each.origin.value}
        for each in fleet.nodes.values()
    ]
    unknown: Rows = [
        {"node": name, "pool": each.pool, "state": "undecided", "origin": None}
        for name, each in fleet.undecided.items()
    ]
    return sorted(decided + unknown, key=lambda row: row["node"])


def _answer_rows(answer: Any) -> Rows:
    return [*answer.rows]


def _framed(markup: str) -> str:
    from numalet.pages import notebook_parts

    return notebook_parts.framed(markup)


_Pair = tuple[Callable[[Any], str], Callable[[Any], Rows]]

_CLASSES: Final[dict[tuple[str, str], _Pair]] = {
    ("numalet.core.model.machine", "Machine"): (_machine_html, _machine_rows),
    ("numalet.core.model.machine_info", "MachineInfo"): (_machine_html, _machine_rows),
    ("numalet.io.machines", "LoadedMachine"): (_machine_html, _machine_rows),
    ("numalet.core.node.node", "Node"): (_node_html, _node_rows),
    ("numalet.core.admission.decision", "Decision"): (_decision_html, _decision_rows),
    ("numalet.core.snapshot.placement", "Changes"): (_changes_html, _changes_rows),
    ("numalet.insight.python_api.tables", "Answer"): (_answer_html, _answer_rows),
    ("numalet.insight.python_api.fleet", "Fleet"): (_fleet_html, _fleet_rows),
    ("numalet.insight.python_api.tables", "MatrixRows"): (_matrix_html, _matrix_rows),
}
"""By module and name: the functions for the picture and for the rows of a data frame."""
