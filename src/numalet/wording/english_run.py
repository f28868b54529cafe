"""Sentences about commands in the foreground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "run/quantity": "{value!r} is no amount: {problem}",
    "run/not-positive": "{value!r} is not more than nothing",
    "run/size-without-unit": (
        "{value} without a unit is {value} bytes; write the unit, such as {value}Gi or {value}Mi"
    ),
    "run/page-size": "{value!r} is no huge page size of a kernel; such are hugepages-2Mi and -1Gi",
    "run/part-of-a-page": (
        "{value!r} is not a whole number of pages of {page}; a plain number counts pages"
    ),
    "run/pair": "{value!r} is not NAME=AMOUNT, or names something twice",
    "run/output-without-dry-run": "only --dry-run prints a document; the output is the command's",
    "run/no-command": "no command was given; put it behind the options, best after '--'",
    "run/not-allowed": (
        "the books in {root} belong to user {owner}, and nobody else may take CPUs or memory from"
        " them or ask their agent: run the command as that user (sudo), or take another --root for"
        " CPUs and memory that are not in them"
    ),
    "run/other-users-agent": (
        "the agent in {root} belongs to user {owner}; it can not end programs of user {user}, so"
        " the command has to be run as that user"
    ),
    "run/agent-decides": (
        "the agent that keeps the books in {root} decides by its own configuration; leave this out"
    ),
    "run/agent-silent": (
        "an agent holds the books in {root}, but does not answer: {problem}. See its log; once it"
        " has ended, commands run without it"
    ),
    "run/waits": "{ahead} commands wait before {command!r}",
    "run/not-its-turn": "the time is over, and {ahead} commands still wait before {command!r}",
    "run/kubelet-pins": (
        "{owner} pins CPUs or memory and does not know of commands, so the same CPUs would be given"
        " to its pods and to this command; run it as a pod of the cluster, or set the kubelet's"
        " cpuManagerPolicy and memoryManagerPolicy to none"
    ),
    "run/out-of-sight": (
        "process {pid} ({command}) uses shared CPUs in another PID namespace and can not be moved"
        " off those that this command would get; run this command in that namespace or in the"
        " host's, or wait until the other one has ended"
    ),
    "run/other-books": (
        "process {pid} of user {user} pins under the books in {other}, which do not know those in"
        " {root}, so both would get the same CPUs and memory; take the same root folder (--root),"
        " wait until it has ended (--wait), or let one agent keep the machine for all"
    ),
    "run/other-owner": (
        "{owner} is at work on this machine and does not know of this command: it may use or change"
        " the same CPUs and memory"
    ),
    "run/agents-programs": (
        "{count} programs of an agent that is gone still run, and their CPUs and memory are in its"
        " books in {root}; start the agent again, or end them"
    ),
    "run/waits-for-agent": (
        "the agent in {root} is gone, and what it started still runs: waiting for the agent to come"
        " back, or for its programs to end"
    ),
    "run/agent-says-no": "the agent in {root}: {message}",
    "run/withdrawn": "the agent in {root} did not prepare the place: {message}",
    "run/withdrawn-in-silence": "it does not say why; its log may",
    "run/no-place-beside-agent": (
        "there is no place for {command!r} on the node that the agent in {root} keeps; 'numalet ps'"
        " shows who has it"
    ),
    "run/refused": "{reason}: {message}",
    "run/agent-has-no-tree": "the agent has no cgroups here",
    "run/books-damaged": "the list of runs can not be read: {error}; remove it when none runs",
    "run/unpromised": (
        "the machine has changed, and {command!r} (process {pid}) goes on running although what it"
        " was promised does not fit any more: {why}"
    ),
    "run/other-configuration": (
        "other commands run under a configuration that this one does not agree with; take theirs,"
        " or wait until they have ended: {text}"
    ),
    "run/no-devices": (
        "there are no devices {resource!r}; known are {known}: name their file with --devices"
    ),
    "run/no-place": ("there is no place for {command!r}; {running} other commands run: {holders}"),
    "run/other-policy": "with --policy {policy} it would have a place now",
    "run/holder": "process {pid} ({command}) has {what}",
    "run/duration": "{value!r} is no time, such as 30 (seconds), 90s or 1h30m: {problem}",
    "run/wait-apart": (
        "a time is joined to --wait, because --wait may stand without one: did you mean"
        " --wait={time}?"
    ),
    "run/other-programs-flag": (
        "{flag} is an option of {whose}; did you mean {ours}? Amounts are asked for here, and which"
        " CPUs and NUMA nodes they are of is decided (--dry-run shows it)"
    ),
    "run/cpus-as-config": (
        "-c names a configuration file, and there is no file {value!r}; did you mean"
        " --cpus {value} (srun's -c)?"
    ),
    "run/rootless": (
        "what other users run without numalet is not kept from these CPUs and this memory"
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
