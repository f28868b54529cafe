"""CPUs of a node in a machine file: a list with threads per core, or core by core.

``cpus: 0-3,8-11`` with ``threads_per_core: 2``: the sorted list is cut into two equal parts, and a
core has the CPUs at the same position in both (0 and 8, 1 and 9, ...), as x86 kernels number
siblings. ``cores`` describes any other numbering.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from numalet.core.model import cpu_set, input_error
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Findings, Location
from numalet.core.model.machine_info import CoreInfo
from numalet.io.documents.machine import machine_sizes
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

FIELDS: Final = ("cpus", "cores", "socket", "threads_per_core")

HIGHEST_CPU: Final = 65535
"""The kubelet's parser of /sys has 16 bits for CPU numbers."""

_HIGHEST_ID: Final = (1 << 31) - 1
_CORE_FIELDS: Final = ("id", "socket", "threads", "uncore_cache")


def no_threads(where: Location) -> Finding:
    return input_error.Required("the core has no 'threads'; list at least one CPU", where=where)


def listed_twice(cpus: str, where: Location) -> Finding:
    return input_error.Duplicate(
        f"CPU {cpus} is listed twice; a CPU belongs to one core", where=where
    )


class Numbering:
    """Reads one node after the other; a core without a number gets the next of its socket."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._owner: dict[int, int] = {}
        self._next_core: dict[int, int] = {}

    def cores(self, node: Mapping[Any, Any], index: int, place: Place) -> tuple[CoreInfo, ...]:
        if "cpus" in node and "cores" in node:
            self._findings.add(
                input_error.Conflict(
                    "'cpus' and 'cores' cannot be combined; remove one of them",
                    where=place.location,
                )
            )
            return ()
        # By default each node is one socket.
        socket = self._id(node.get("socket", index), place.member("socket"))
        if "cores" in node:
            cores = self._listed(node["cores"], socket, place.member("cores"))
        else:
            cores = self._cut(node, socket, place)
        self._claim([thread for core in cores for thread in core.threads], index, place)
        return cores

    def _id(self, value: object, place: Place) -> int:
        return machine_sizes.whole_number(value, 0, _HIGHEST_ID, place, self._findings) or 0

    def _cut(self, node: Mapping[Any, Any], socket: int, place: Place) -> tuple[CoreInfo, ...]:
        cpus = sorted(self._cpu_list(node.get("cpus"), place.member("cpus")))
        threads = machine_sizes.whole_number(
            node.get("threads_per_core", 1),
            1,
            1024,
            place.member("threads_per_core"),
            self._findings,
        )
        if threads is None:
            return ()
        count, rest = divmod(len(cpus), threads)
        if rest:
            self._findings.add(
                input_error.Invalid(
                    f"{len(cpus)} CPUs cannot be split into cores of {threads} threads; set "
                    "threads_per_core to a divisor of the number of CPUs",
                    where=place.member("threads_per_core").location,
                )
            )
            return ()
        return tuple(
            # x86 kernels number the first threads of all cores before the second threads.
            CoreInfo(socket, self._new_core(socket), tuple(cpus[first::count]))
            for first in range(count)
        )

    def _new_core(self, socket: int) -> int:
        number = self._next_core.get(socket, 0)
        self._next_core[socket] = number + 1
        return number

    def _listed(self, value: object, socket: int, place: Place) -> tuple[CoreInfo, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            typed.wrong_type(value, "a list of cores", place, self._findings)
            return ()
        cores = (self._core(entry, socket, place.item(at)) for at, entry in enumerate(value))
        return tuple(core for core in cores if core is not None)

    def _core(self, entry: object, socket: int, place: Place) -> CoreInfo | None:
        if not isinstance(entry, Mapping):
            typed.wrong_type(entry, "an object that describes a core", place, self._findings)
            return None
        typed.check_members(entry, _CORE_FIELDS, place, self._findings)
        its_socket = self._id(entry.get("socket", socket), place.member("socket"))
        core_id = entry.get("id")
        uncore = entry.get("uncore_cache")
        threads = self._cpu_list(entry.get("threads"), place.member("threads"))
        if not threads:
            self._findings.add(no_threads(place.location))
            return None
        return CoreInfo(
            socket_id=its_socket,
            core_id=(
                self._new_core(its_socket)
                if core_id is None
                else self._id(core_id, place.member("id"))
            ),
            threads=tuple(sorted(threads)),
            uncore_cache_id=(
                None if uncore is None else self._id(uncore, place.member("uncore_cache"))
            ),
        )

    def _cpu_list(self, value: object, place: Place) -> CpuSet:
        """CPUs from a text (``0-3,8``), one number, or a list of numbers."""
        match value:
            case None:
                return cpu_set.EMPTY
            case str():
                return self._cpu_text(value, place)
            case list():
                return self._cpu_numbers(value, place)
            case int() if not isinstance(value, bool):
                return self._cpu_numbers([value], place)
            case _:
                typed.wrong_type(value, "CPUs such as 0-3,8 or [0, 1]", place, self._findings)
                return cpu_set.EMPTY

    def _cpu_text(self, text: str, place: Place) -> CpuSet:
        try:
            cpus = cpu_set.parse(text.strip())
        except cpu_set.CpuListError as error:
            self._findings.add(
                input_error.Invalid(
                    f"invalid CPU list {text[:80]!r} ({error.go_text[:200]})",
                    expected="a list such as 0-3,8",
                    where=place.location,
                )
            )
            return cpu_set.EMPTY
        if cpus and max(cpus) > HIGHEST_CPU:
            # One finding about the highest CPU, for a range may have thousands.
            return self._cpu_numbers([max(cpus)], place)
        return cpus

    def _cpu_numbers(self, values: list[Any], place: Place) -> CpuSet:
        numbers = [
            machine_sizes.whole_number(value, 0, HIGHEST_CPU, place, self._findings)
            for value in values
        ]
        known = Counter(number for number in numbers if number is not None)
        if known.total() > len(known):
            twice = cpu_set.text(number for number, times in known.items() if times > 1)
            self._findings.add(listed_twice(twice, place.location))
        return frozenset(known)

    def _claim(self, threads: list[int], index: int, place: Place) -> None:
        conflicts: dict[int, list[int]] = {}
        for thread in threads:
            if thread in self._owner:
                conflicts.setdefault(self._owner[thread], []).append(thread)
            self._owner[thread] = index
        for owner, cpus in conflicts.items():
            other = f"{place.path.rpartition('[')[0]}[{owner}]"
            value = cpu_set.text(cpus)
            self._findings.add(
                input_error.Duplicate(
                    f"CPU {value} is also in {other}; a CPU belongs to one core of one NUMA node",
                    where=place.location,
                )
            )
