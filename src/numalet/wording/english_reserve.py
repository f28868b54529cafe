"""Sentences about computing reserved memory, and about writing it into a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "reserve/strategy": (
        "{value!r} is no strategy; allowed are even, proportional, node0 and spare=N, where N is"
        " the NUMA node that keeps all its memory"
    ),
    "reserve/nothing-to-reserve": (
        "kubeReserved, systemReserved and the hard eviction threshold come to 0 bytes of memory;"
        " the memory policy Static needs more than 0, so give one of them an amount"
    ),
    "reserve/not-whole-bytes": (
        "kubeReserved, systemReserved and the hard eviction threshold come to {total} of memory,"
        " which is no whole number of bytes; reservedMemory accepts whole bytes only"
    ),
    "reserve/too-little-memory": (
        "{total} of memory are to be kept back, and the NUMA nodes have {usable} in all that is"
        " not in huge pages"
    ),
    "reserve/unknown-node": (
        "NUMA node {numa_node} is to keep all its memory, and the machine has the nodes {known}"
    ),
    "reserve/spare-needed": (
        "NUMA node {numa_node} can not keep all its memory: the other nodes have {missing} too"
        " little for the {total} that must be kept back"
    ),
    "reserve/other-file": (
        "--write {written!r} is another file than --config {config!r}; write into the file that"
        " the amounts are computed from"
    ),
    "reserve/overridden": (
        "reservedMemory of {path!r} does not count, because {other!r} replaces it; write it there"
    ),
    "reserve/not-editable": (
        "this file can not be edited: {problem}; add the printed lines by hand"
    ),
    "reserve/policy-is-none": (
        "memoryManagerPolicy is {policy!r}: reservedMemory counts only once it is {needed!r}"
    ),
    "reserve/hugepages-dropped": (
        "reservedMemory names {types}; huge pages can not be reserved, so they are left out"
    ),
    "reserve/flags-must-stay": (
        "the amounts fit only a kubelet that also gets {flags}; they are not written into the file"
    ),
    "reserve/on-nodes-without-cpus": (
        "NUMA nodes {numa_nodes} have no CPUs and still keep something back: the others are full"
    ),
}
