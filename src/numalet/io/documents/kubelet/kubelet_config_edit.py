"""Writes ``reservedMemory`` into a user's KubeletConfiguration.

Only the lines of that field change. Entries of the same NUMA node keep their place, comments and
quotes. The result is parsed again; if another field differs, the edit is refused.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.scalarstring import ScalarString

from numalet.core.config.kubelet_config import ReservedMemory
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.io.documents.kubelet import enclosed_config, kubelet_config
from numalet.io.documents.text import yaml_source

FIELD: Final = "reservedMemory"
_NEIGHBOUR: Final = "memoryManagerPolicy"
"""A new field is inserted below this one, because they belong together."""
_NEVER_WRAP: Final = 1 << 20


class _Layout(Value):
    """Columns that a nested level adds: for mappings, list items, and dashes before items."""

    mapping: int = 2
    sequence: int = 2
    dash: int = 0


def edited(text: str, document: str, reserved: Sequence[ReservedMemory]) -> str:
    """Raises ``BadInput`` if an edit would change something else."""
    if text.lstrip()[:1] == "{":
        result = _edited_json(text, document, reserved)
    else:
        result = _edited_yaml(text, document, reserved)
    _verify(text, result, document, reserved)
    return result


def _edited_json(text: str, document: str, reserved: Sequence[ReservedMemory]) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        raise _refused(document, "it is a mapping in braces, and no JSON") from None
    value[FIELD] = [_plain(entry) for entry in reserved]
    # The second line of pretty-printed JSON shows its indentation.
    second_line = text.partition("\n")[2]
    indent = len(second_line) - len(second_line.lstrip(" "))
    made = json.dumps(value, indent=indent or None, ensure_ascii=False)
    return made + text[len(text.rstrip()) :]


def _plain(entry: ReservedMemory) -> dict[str, Any]:
    return {"numaNode": entry.numa_node, "limits": _amounts(entry)}


def _amounts(entry: ReservedMemory) -> dict[str, str]:
    return {name: str(amount) for name, amount in entry.limits.items()}


def _edited_yaml(text: str, document: str, reserved: Sequence[ReservedMemory]) -> str:
    root = _compose(text, document)
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    column = int(root.start_mark.column)
    former = _value_of(root, FIELD)
    if former is None:
        place = _line_end(text, _end(_value_of(root, _NEIGHBOUR) or root))
        added = _dumped(_fresh(reserved), _layout_of_lists(root), column)
        before = "" if text[:place].endswith("\n") else newline
        return text[:place] + before + " " * column + added.replace("\n", newline) + text[place:]
    start = int(_key_of(root, FIELD).start_mark.index)
    end = _line_end(text, _end(former))
    # The value of an alias is its anchor, which stands further up in the text.
    if end <= start:
        raise _refused(document, f"{FIELD} ends with an alias")
    # Edit the present lines if possible; otherwise write the field again.
    block = _renewed(root, former, text[start:end].replace("\r\n", "\n"), reserved)
    if block is None:
        fresh = _dumped(_fresh(reserved), _layout_of_lists(root), column)
        block = fresh.replace("\n", _comment_after(text, _end(former)) + "\n", 1)
    if not text[start:end].endswith("\n"):
        block = block.removesuffix("\n")
    return text[:start] + block.replace("\n", newline) + text[end:]


def _comment_after(text: str, position: int) -> str:
    rest = text[position : _line_end(text, position)].strip()
    return f"  {rest}" if rest.startswith("#") else ""


def _compose(text: str, document: str) -> MappingNode:
    try:
        root: Node | None = _yaml(_Layout()).compose(text)
    except YAMLError as error:
        raise _refused(document, f"it cannot be read: {str(error).splitlines()[0]}") from None
    if not isinstance(root, MappingNode) or root.flow_style:
        raise _refused(document, "it is not a mapping with a line for each field")
    return root


def _renewed(
    root: MappingNode, former: Node, region: str, reserved: Sequence[ReservedMemory]
) -> str | None:
    """The field's lines with the new reservations, if they are a plain block."""
    column = int(root.start_mark.column)
    layout = _layout(former, column)
    # Anchors and aliases connect these lines with the rest of the file.
    if layout is None or "*" in region or "&" in region:
        return None
    data = _yaml(layout).load(" " * column + region)
    _update(data[FIELD], reserved)
    return _dumped(data, layout, column)


def _update(entries: CommentedSeq, reserved: Sequence[ReservedMemory]) -> None:
    missing = {entry.numa_node: entry for entry in reserved}
    surplus = []
    for index, item in enumerate(entries):
        entry = missing.pop(item.get("numaNode", 0), None)
        if entry is None:
            surplus.append(index)
        else:
            _set_amounts(item, entry)
    for index in reversed(surplus):
        del entries[index]
    entries.extend(_item(entry) for entry in missing.values())


def _set_amounts(item: CommentedMap, entry: ReservedMemory) -> None:
    limits = item.get("limits")
    if not isinstance(limits, CommentedMap):
        item["limits"] = CommentedMap(_amounts(entry))
        return
    amounts = _amounts(entry)
    for name in [name for name in limits if name not in amounts]:
        del limits[name]
    for name, amount in amounts.items():
        before = limits.get(name)
        # Keeps the quotes of the old value.
        limits[name] = type(before)(amount) if isinstance(before, ScalarString) else amount


def _fresh(reserved: Sequence[ReservedMemory]) -> CommentedMap:
    return CommentedMap({FIELD: CommentedSeq(_item(entry) for entry in reserved)})


def _item(entry: ReservedMemory) -> CommentedMap:
    return CommentedMap({"numaNode": entry.numa_node, "limits": CommentedMap(_amounts(entry))})


def _dumped(data: CommentedMap, layout: _Layout, column: int) -> str:
    """The text of a mapping, with all lines but the first indented to a column."""
    stream = io.StringIO()
    _yaml(layout).dump(data, stream)
    first, *others = stream.getvalue().splitlines(keepends=True)
    return first + "".join(" " * column + line if line.strip() else line for line in others)


def _yaml(layout: _Layout) -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = _NEVER_WRAP
    yaml.indent(mapping=layout.mapping, sequence=layout.sequence, offset=layout.dash)
    return yaml


def _layout(sequence: Node, column: int) -> _Layout | None:
    """The layout of a list below a key at this column, if it is a block list."""
    if not isinstance(sequence, SequenceNode) or sequence.flow_style:
        return None
    dash = sequence.start_mark.column - column
    item: MappingNode = sequence.value[0]
    within = item.start_mark.column - column
    limits = _value_of(item, "limits")
    is_block = isinstance(limits, MappingNode) and not limits.flow_style
    mapping = limits.start_mark.column - item.start_mark.column if limits and is_block else 2
    return _Layout(mapping, max(within, dash + 2), dash)


def _layout_of_lists(root: MappingNode) -> _Layout:
    """The layout of the first block list in the document."""
    for _, value in root.value:
        if isinstance(value, SequenceNode) and not value.flow_style:
            dash = value.start_mark.column - root.start_mark.column
            return _Layout(2, dash + 2, dash)
    return _Layout()


def _key_of(root: MappingNode, name: str) -> Node:
    keys: list[Node] = [key for key, _ in root.value if key.value == name]
    # The last one wins in lenient decoding.
    return keys[-1]


def _value_of(root: MappingNode, name: str) -> Node | None:
    values: list[Node] = [value for key, value in root.value if key.value == name]
    return values[-1] if values else None


def _end(node: Node) -> int:
    """The index after a value; comments after it are not part of it."""
    if isinstance(node, MappingNode) and not node.flow_style:
        return _end(node.value[-1][1])
    if isinstance(node, SequenceNode) and not node.flow_style:
        return _end(node.value[-1])
    return int(node.end_mark.index)


def _line_end(text: str, position: int) -> int:
    """The index after the line break of the line at a position."""
    if position and text[position - 1] == "\n":
        return position
    newline = text.find("\n", position)
    return len(text) if newline < 0 else newline + 1


def _verify(before: str, after: str, document: str, reserved: Sequence[ReservedMemory]) -> None:
    try:
        old, new = (yaml_source.load_documents(text, document) for text in (before, after))
        (was,), (now,) = old, new
        parts = enclosed_config.of_document(was, before)
        holds_others = any(part.note or part.vendor for part in parts)
        read = kubelet_config.decode({FIELD: now.value[FIELD]}, document).reserved_memory
    except (BadInput, ValueError, KeyError):
        raise _refused(document, "the result could not be read again") from None
    if holds_others:
        raise _refused(document, "it is not a plain KubeletConfiguration, but contains one")
    rest = [{k: v for k, v in each.value.items() if k != FIELD} for each in (was, now)]
    if rest[0] != rest[1] or _by_node(read) != _by_node(reserved):
        raise _refused(document, "another field would change with it")


def _by_node(reserved: Iterable[ReservedMemory]) -> list[tuple[int, dict[str, Quantity]]]:
    return sorted((entry.numa_node, dict(entry.limits)) for entry in reserved)


def _refused(document: str, problem: str) -> BadInput:
    return input_error.NotSupported(
        f"cannot edit this file: {problem}; add the printed lines yourself",
        where=Location(document),
    ).bad_input()
