"""Sentences about commands in the foreground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "run/quantity": "{value!r} is no amount: {problem}",
    "run/not-positive": "{value!r} is not more than nothing",
    "run/page-size": "{value!r} is no huge page size of a kernel; such are hugepages-2Mi and -1Gi",
    "run/part-of-a-page": (
        "{value!r} is not a whole number of pages of {page}; a plain number counts pages"
    ),
    "run/pair": "{value!r} is not NAME=AMOUNT, or names something twice",
    "run/no-command": "no command was given; put it behind the options, best after '--'",
    "run/agent-at-work": (
        "a 'numalet agent' keeps the books in {root}; give it the command as a pod with"
        " 'numalet apply', or take another --root for CPUs and memory that it does not have"
    ),
    "run/books-damaged": "the list of runs can not be read: {error}; remove it when none runs",
    "run/other-configuration": (
        "other commands run under a configuration that this one does not agree with; take theirs,"
        " or wait until they have ended: {text}"
    ),
    "run/no-devices": (
        "there are no devices {resource!r}; known are {known}: name their file with --devices"
    ),
    "run/no-place": "there is no place for {command!r}; {running} other commands run",
    "run/duration": "{value!r} is no time, such as 90s or 1h30m: {problem}",
    "run/rootless": (
        "the books of other users are not seen, nor are they kept from these CPUs and this memory"
    ),
    "run/over-its-memory": (
        "killed by the kernel: it used more than its memory ({limit_bytes} bytes)"
    ),
    "run/nodes-exhausted": (
        "killed by the kernel below its own limit: NUMA nodes {nodes} had no memory left"
    ),
    "run/held-by-kernel": "{what}; the kernel holds it there (cgroup v2)",
    "run/held-by-process": (
        "{what}; set before it starts and inherited, but it can undo it, and sizes are only kept"
        " in the books ({reason})"
    ),
}
