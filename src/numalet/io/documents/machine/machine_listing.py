"""Reads the output of ``numactl --hardware`` and ``lscpu`` as a machine file.

One file may have both, ``(lscpu -e; numactl --hardware)``; other lines are skipped.
``machine_file`` checks the result. Each fact that is missing is a warning that names the
assumption.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.core.model import cpu_set, input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Mutable, field

_NUMACTL: Final = re.compile(r"^node (\d+) (cpus|size):(?: (.*))?$", re.MULTILINE)
_NO_NUMA: Final = re.compile(r"^No NUMA (?:support )?available", re.MULTILINE)
_DISTANCES: Final = re.compile(r"^ *(\d+): +(\d[\d ]*)$", re.MULTILINE)
_LSCPU: Final = re.compile(r"^[ \t]*([A-Z][^:\n]*?):[ \t]*(.*)$", re.MULTILINE)
_SUMMARY: Final = re.compile(r"^[ \t]*Thread\(s\) per core:", re.MULTILINE)
_NODE_CPUS: Final = re.compile(r"NUMA node(\d+) CPU\(s\)")
_TABLE: Final = re.compile(
    r"^ *((?:[A-Z][A-Z0-9]* +)*CPU(?: +[A-Z][\w:]*)+) *$(?=\n *[\d-])", re.MULTILINE
)
_PARSEABLE: Final = re.compile(r"^# ?(CPU(?:,[^\n]*)?)$", re.MULTILINE | re.IGNORECASE)
_UNKNOWN: Final = ("", "-")
_PER_NODE: Final = "--memory-per-node"


class _Listing(Mutable):
    """The printed facts; ``machine_file`` checks the numbers later."""

    cpus: dict[str, list[Any]] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    distances: dict[str, list[Any]] = field(default_factory=dict)
    table: list[dict[str, str]] = field(default_factory=list)
    summary: dict[str, str] = field(default_factory=dict)
    lacks: list[Finding] = field(default_factory=list)


def resembles(text: str) -> bool:
    """Whether a text is one of these outputs; for lscpu's JSON see ``of_json``."""
    return bool(
        _NUMACTL.search(text) or _NO_NUMA.search(text) or _header(text) or _SUMMARY.search(text)
    )


def of_json(value: object) -> str | None:
    """Convert lscpu's JSON to its text output."""
    match value:
        case {"lscpu": list(fields)}:
            return "\n".join(f"{name} {data}" for name, data in _fields(fields))
        case {"cpus": [dict(first), *_] as rows, **others} if "cpu" in first and not others:
            names = [str(name) for name in first]
            lines = [
                [str(row.get(name)) for name in names] for row in rows if isinstance(row, dict)
            ]
            table = [[each.upper() for each in names], *lines]
            return "\n".join(" ".join(row).replace("None", "-") for row in table)
        case _:
            return None


def _fields(entries: Iterable[object]) -> Iterable[tuple[str, str]]:
    for each in entries:
        if isinstance(each, Mapping):
            yield str(each.get("field", "")), str(each.get("data") or "")
            children = each.get("children")
            yield from _fields(children if isinstance(children, list) else ())


def read(
    text: str, where: Location, memory_per_node: str | None
) -> tuple[dict[str, Any], list[Finding]]:
    """A machine file, and a warning for each fact that the outputs lack.

    ``memory_per_node`` is for outputs without memory. Raises ``BadInput`` without memory or NUMA
    nodes.
    """
    listing = _parsed(text, where)
    if not (listing.cpus or listing.table or listing.summary):
        raise input_error.NotSupported(
            "numactl found no NUMA support, so its output has no CPUs and no memory; pass the "
            "output of 'lscpu -e' with --memory-per-node SIZE",
            where=where,
        ).bad_input()
    nodes = _nodes(listing, where)
    if not listing.sizes and memory_per_node is None:
        raise input_error.Required(
            "lscpu does not print memory sizes; set --memory-per-node SIZE, or put the output of "
            "'numactl --hardware' into the same file",
            where=where,
        ).bad_input()
    if listing.sizes and memory_per_node is not None:
        given = input_error.Conflict(
            f"{memory_per_node!r} applies only to shapes such as 2n16c2t; {where.document!r} "
            "states the memory of its nodes",
            where=Location(_PER_NODE),
        )
        raise BadInput([given])
    described = [
        {
            "id": _number(name),
            "memory": f"{listing.sizes[name]}Mi" if name in listing.sizes else memory_per_node or 0,
            "cores": cores,
        }
        | ({"distances": listing.distances[name]} if name in listing.distances else {})
        for name, cores in nodes.items()
    ]
    if listing.sizes:
        # numactl prints MB, which are MiB rounded down.
        _lack(listing, where, "sizes of memory to the byte", "they are rounded down to 1 MiB")
    else:
        _lack(listing, where, "sizes of memory", f"every node has that of {_PER_NODE}")
    if not listing.distances:
        _lack(listing, where, "distances", "without distances")
    _lack(listing, where, "huge pages", "none, without --hugepages-per-node")
    return {"nodes": described}, listing.lacks


def _lack(listing: _Listing, where: Location, what: str, assumed: str) -> None:
    listing.lacks.append(
        input_error.Ignored(
            f"the output does not contain {what}; assumed: {assumed}. Put the output of 'lscpu "
            "-e' and 'numactl --hardware' into one file, or read everything with 'numalet machine "
            "--capture FILE'",
            where=where,
        )
    )


def _parsed(text: str, where: Location) -> _Listing:
    listing = _Listing()
    for number, what, said in _NUMACTL.findall(text):
        if what == "cpus":
            listing.cpus[number] = [_number(each) for each in said.split()]
        elif match := re.match(r"(\d+) MB", said):
            listing.sizes[number] = match[1]
    if listing.cpus:
        behind = text.partition("node distances:")[2]
        for number, row in _DISTANCES.findall(behind):
            if number in listing.cpus:
                listing.distances[number] = [_number(each) for each in row.split()]
    if header := _header(text):
        names, separator, begin = header
        rows = (line.split(separator) for line in text[begin:].splitlines())
        listing.table = [
            dict(zip(names, (cell.strip() for cell in row), strict=False))
            for row in rows
            if len(row) > 1 and row[names.index("CPU")].strip().isdigit()
        ]
    else:
        listing.summary = dict(_LSCPU.findall(text)) if _SUMMARY.search(text) else {}
    return listing


def _header(text: str) -> tuple[list[str], str | None, int] | None:
    """The columns of ``lscpu -e`` or ``-p``, the separator, and the offset of the rows."""
    for pattern, separator in ((_PARSEABLE, ","), (_TABLE, None)):
        match = pattern.search(text)
        if match is not None:
            names = match[1].upper().split(separator)
            return names, separator, match.end()
    return None


def _nodes(listing: _Listing, where: Location) -> dict[str, list[dict[str, Any]]]:
    if listing.table:
        cores = _of_table(listing, where)
        return {name: cores.get(name, []) for name in dict.fromkeys((*cores, *listing.cpus))}
    if listing.summary:
        return _of_summary(listing, where)
    _lack(listing, where, "which CPUs share a core", "every CPU is a core")
    _lack(listing, where, "sockets", "every NUMA node is a socket")
    return {
        name: [{"threads": [cpu], "socket": index} for cpu in cpus]
        for index, (name, cpus) in enumerate(listing.cpus.items())
    }


def _of_table(listing: _Listing, where: Location) -> dict[str, list[dict[str, Any]]]:
    """Nodes from a table with one row per CPU, without offline CPUs."""
    columns = listing.table[0].keys()
    owner = {str(cpu): name for name, cpus in listing.cpus.items() for cpu in cpus}
    caches = next((name for name in columns if name.startswith("L1D")), "")
    # The column "L1D:L1I:L2:L3" has one id per cache; some versions print a column L3 instead.
    third = caches.split(":").index("L3") if "L3" in caches.split(":") else None
    if "CORE" not in columns:
        _lack(listing, where, "which CPUs share a core", "every CPU is a core")
    if "SOCKET" not in columns:
        _lack(listing, where, "sockets", "every NUMA node is a socket")
    if "NODE" not in columns and not owner:
        _lack(listing, where, "NUMA nodes", "all CPUs are on node 0")
    if third is None and "L3" not in columns:
        _lack(listing, where, "last-level caches", "without caches")
    nodes: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for row in listing.table:
        cpu, core, socket = row["CPU"], row.get("CORE", ""), row.get("SOCKET", "")
        if row.get("ONLINE", "yes").lower() in ("no", "n", "false"):
            continue
        node = row.get("NODE", "")
        node = owner.get(cpu, "0") if node in _UNKNOWN else node
        # Without a core number, the CPU shares its core with no other CPU.
        key = (socket, f"cpu {cpu}" if core in _UNKNOWN else core)
        of_core = nodes.setdefault(node, {}).setdefault(key, {"threads": []})
        of_core["threads"].append(_number(cpu))
        if socket not in _UNKNOWN:
            of_core["socket"] = _number(socket)
        if core not in _UNKNOWN:
            of_core["id"] = _number(core)
        cells = row.get(caches, "").split(":")
        cache = row.get("L3", cells[third] if third is not None and third < len(cells) else "")
        if cache not in _UNKNOWN:
            of_core["uncore_cache"] = _number(cache)
    return {name: list(cores.values()) for name, cores in sorted(nodes.items(), key=_by_number)}


def _by_number(item: tuple[str, object]) -> tuple[int, str]:
    return len(item[0]), item[0]


def _of_summary(listing: _Listing, where: Location) -> dict[str, list[dict[str, Any]]]:
    """Nodes from the summary of lscpu, which has the number of threads and sockets only."""
    said = listing.summary
    per_core = int(_small(said.get("Thread(s) per core", "1")))
    sockets = int(_small(said.get("Socket(s)", "1")))
    online = _cpus(said.get("On-line CPU(s) list", ""), where)
    lists = {
        match[1]: _cpus(value, where) & online
        for name, value in said.items()
        if (match := _NODE_CPUS.fullmatch(name))
    }
    if not lists:
        _lack(listing, where, "NUMA nodes", "all CPUs are on node 0")
        lists = {"0": online}
    if per_core > 1:
        numbered = "they are numbered as x86 kernels do"
        _lack(listing, where, "which CPUs share a core", numbered)
    if sockets > 1:
        _lack(listing, where, "the sockets of CPUs", "sockets follow NUMA nodes")
    _lack(listing, where, "last-level caches", "without caches")
    nodes: dict[str, list[dict[str, Any]]] = {}
    for index, (name, cpus) in enumerate(lists.items()):
        count, rest = divmod(len(cpus), per_core)
        ordered = sorted(cpus)
        # An uneven number of CPUs, for example with some offline, has no known pairing.
        threads = [[cpu] for cpu in ordered] if rest else [ordered[i::count] for i in range(count)]
        nodes[name] = [
            {"threads": each, "socket": _socket(index, len(lists), place, len(threads), sockets)}
            for place, each in enumerate(threads)
        ]
    return nodes


def _socket(node: int, nodes: int, core: int, cores: int, sockets: int) -> int:
    """The socket of a core, with sockets in the order of nodes, or of cores within a node."""
    if nodes >= sockets:
        return node * sockets // nodes
    within = max(sockets // nodes, 1)
    return node * within + core * within // cores


def _small(text: str) -> str:
    return text if re.fullmatch(r"[1-9]\d{0,3}", text) else "1"


def _cpus(text: str, where: Location) -> cpu_set.CpuSet:
    try:
        return cpu_set.parse(text.strip())
    except cpu_set.CpuListError as error:
        problem = error.go_text[:200]
        finding = input_error.Invalid(
            f"invalid CPU list {text[:80]!r} ({problem})",
            expected="a list such as 0-3,8",
            where=where,
        )
        raise BadInput([finding]) from None


def _number(text: str) -> Any:
    """A number of reasonable length; other text stays, for the finding."""
    return int(text) if re.fullmatch(r"\d{1,9}", text) else text[:80]
