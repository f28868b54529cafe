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
        "the root folder {root} belongs to user {owner}, and no other user may allocate from it or"
        " ask its agent: run the command as that user (sudo), or use another --root, for CPUs and"
        " memory that this one does not manage"
    ),
    "run/other-users-agent": (
        "the agent in {root} belongs to user {owner}; it can not end programs of user {user}, so"
        " the command has to be run as that user"
    ),
    "run/agent-decides": (
        "the agent in {root} decides by its own configuration; leave this option out"
    ),
    "run/agent-silent": (
        "the agent in {root} is running but does not answer: {problem}. See its log; once it has"
        " ended, commands run without it"
    ),
    "run/waits": "{ahead} commands wait before {command!r}",
    "run/not-its-turn": "timed out while {ahead} commands still wait before {command!r}",
    "run/kubelet-pins": (
        "{owner} pins CPUs or memory and does not know about this command, so its pods could get"
        " the same CPUs; run the command as a pod of the cluster, or set the kubelet's"
        " cpuManagerPolicy and memoryManagerPolicy to none"
    ),
    "run/out-of-sight": (
        "process {pid} ({command}) uses shared CPUs in another PID namespace and can not be moved"
        " off those that this command would get; run this command in that namespace or in the"
        " host's, or wait until the other one has ended"
    ),
    "run/other-books": (
        "process {pid} of user {user} allocates CPUs and memory from {other}, without knowing about"
        " {root}, so both could get the same ones; use the same root folder (--root), wait until it"
        " has ended (--wait), or run one agent for all users"
    ),
    "run/other-owner": (
        "{owner} is active on this machine and does not know about this command: it may use or"
        " change the same CPUs and memory"
    ),
    "run/agents-programs": (
        "{count} programs of an agent that has stopped still run, and {root} still allocates CPUs"
        " and memory to them; start the agent again, or end them"
    ),
    "run/waits-for-agent": (
        "the agent in {root} has stopped, and its programs still run: waiting for the agent to come"
        " back, or for them to end"
    ),
    "run/agent-says-no": "the agent in {root}: {message}",
    "run/withdrawn": "the agent in {root} did not start the command: {message}",
    "run/withdrawn-in-silence": "it gave no reason; its log may have one",
    "run/no-place-beside-agent": (
        "{command!r} does not fit on the node of the agent in {root}; 'numalet ps' shows what is"
        " allocated"
    ),
    "run/refused": "{reason}: {message}",
    "run/agent-has-no-tree": "the agent has no cgroups here",
    "run/books-damaged": "the list of runs can not be read: {error}; remove it when none runs",
    "run/unpromised": (
        "the machine has changed, and {command!r} (process {pid}) keeps running although its"
        " allocation no longer fits: {why}"
    ),
    "run/other-configuration": (
        "other commands run under a configuration that conflicts with this one; use theirs, or"
        " wait until they have ended: {text}"
    ),
    "run/no-devices": (
        "there are no devices {resource!r}; known are {known}: name their file with --devices"
    ),
    "run/no-place": (
        "{command!r} does not fit on the node; other commands running ({running}): {holders}"
    ),
    "run/other-policy": "with --policy {policy} it would fit now",
    "run/holder": "process {pid} ({command}) has {what}",
    "run/duration": "{value!r} is no time, such as 30 (seconds), 90s or 1h30m: {problem}",
    "run/wait-apart": (
        "a time must be joined to --wait with '=', because --wait is also valid without one: did"
        " you mean --wait={time}?"
    ),
    "run/other-programs-flag": (
        "{flag} is an option of {whose}; did you mean {ours}? Request amounts here; numalet chooses"
        " the CPUs and NUMA nodes (--dry-run shows them)"
    ),
    "run/cpus-as-config": (
        "-c names a configuration file, and there is no file {value!r}; did you mean"
        " --cpus {value} (srun's -c)?"
    ),
    "run/rootless": (
        "programs of other users that run without numalet may use the same CPUs and memory"
    ),
    "run/over-its-memory": (
        "killed by the kernel: it used more than its memory ({limit_bytes} bytes)"
    ),
    "run/nodes-exhausted": (
        "killed by the kernel below its own limit: NUMA nodes {nodes} had no memory left"
    ),
    "run/held-by-kernel": "{what}; the kernel holds it there (cgroup v2)",
    "run/held-by-process": (
        "{what}; set before it starts and inherited, but the program can undo it, and sizes are"
        " accounted for but not enforced ({reason})"
    ),
}
