"""A drafted class file as YAML, with the reasons as comments above the fields."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from numalet.insight.fleet.class_draft import ClassDraft, DraftPool
from numalet.wording import numbers

_WIDTH: Final = 98
_PLAIN: Final = re.compile(r"[A-Za-z][-A-Za-z0-9_./]*", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""YAML reads these words as something else than text."""


def text(draft: ClassDraft, source: str) -> str:
    """Return the text of the file; ``source`` names the cluster."""
    return "\n".join(_lines(draft, source)) + "\n"


def _lines(draft: ClassDraft, source: str) -> Iterator[str]:
    nodes = sum(len(each.nodes) for each in draft.pools)
    pools = numbers.counted(len(draft.pools), "pool")
    yield from _comment(
        f"Drafted by 'numalet fleet classes' from {source}: {numbers.counted(nodes, 'node')} in "
        f"{pools}.",
        "",
    )
    if draft.published:
        count = numbers.counted(len(draft.published), "node")
        yield from _comment(f"{count} publish their machine and configuration themselves.", "")
    blank = [each.name for each in draft.pools if each.blank]
    if blank:
        yield from _comment(
            "A field without a value is not known: nodes of its pool stay undecided until you fill "
            "it in. The configuration of kubelets is in no object of the API server: ask a "
            "kubelet, or draft with --configuration or --policy. Pools with blanks: "
            f"{', '.join(blank)}.",
            "",
        )
    yield from _comment("The first pool that matches a node is that of the node.", "")
    yield "pools:" if draft.pools else "pools: []"
    for pool in draft.pools:
        yield from _pool(pool)


def _pool(pool: DraftPool) -> Iterator[str]:
    yield from _notes(pool, "name", "")
    yield f"- name: {_scalar(pool.name)}"
    match = {"names": list(pool.match.names)} if pool.match.names else {"labels": pool.match.labels}
    yield from _wrapped(f"match: {_flow(match)}")
    yield from _notes(pool, "machine")
    yield _field("machine", pool.machine)
    if pool.memory_per_node is not None:
        yield _field("memory_per_node", pool.memory_per_node)
    yield from _notes(pool, "hugepages_per_node")
    if pool.hugepages_per_node:
        yield f"  hugepages_per_node: {_flow(pool.hugepages_per_node)}"
    yield from _notes(pool, "devices")
    if pool.devices:
        yield "  devices:"
        for line in pool.devices:
            yield f"  - {_scalar(line)}"
    elif pool.devices is not None:
        yield "  devices: []"
    elif "devices" in pool.blank:
        yield "  devices:"
    yield from _notes(pool, "configuration")
    if isinstance(pool.configuration, Mapping):
        yield "  configuration:"
        for key, value in pool.configuration.items():
            yield from _wrapped(f"{_scalar(key)}: {_flow(value)}", "    ")
    else:
        yield _field("configuration", pool.configuration)


def _field(name: str, value: str | None) -> str:
    return f"  {name}:" if value is None else f"  {name}: {_scalar(value)}"


def _notes(pool: DraftPool, field: str, indent: str = "  ") -> Iterator[str]:
    for each in pool.notes:
        if each.field == field:
            yield from _comment(each.text, indent)


def _comment(said: str, indent: str) -> Iterable[str]:
    # Names of a dump may have any characters; one that ends a line would end the comment.
    clean = "".join(each if each.isprintable() else "?" for each in said)
    return _wrapped(clean, f"{indent}# ")


def _wrapped(line: str, indent: str = "  ") -> Iterable[str]:
    return textwrap.wrap(
        line,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(each)}" for k, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)
