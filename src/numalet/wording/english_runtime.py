"""Sentences about cgroups, programs that do not start, and what can not be enforced."""

from __future__ import annotations

from collections.abc import Mapping

SHORTFALLS: Mapping[str, str] = {
    "cgroup/no-cpuset-or-memory": "cgroup v2 has no controllers cpuset and memory to use here",
    "cgroup/not-writable": "cgroups can not be made here",
}
"""What is not enforced, where the values of the sentence of the same code are not at hand."""

SENTENCES: Mapping[str, str] = {
    "runtime/plugin-refused": "the device plugin did not agree to the start: {error}",
    "runtime/plugin-mount": (
        "the device plugin wants {host_path!r} of the host mounted at {path!r} in the container; a"
        " program of the host sees the host's paths, so this is not possible"
    ),
    "cgroup/no-cgroup-v2": "no cgroup v2 file system is mounted here",
    "cgroup/no-cpuset-or-memory": (
        "cgroup v2 has no controllers {missing} in {path}; they may be in use by cgroup v1, or not"
        " delegated"
    ),
    "cgroup/held": (
        "another numalet agent, or commands of 'numalet run', use the cgroups of {path!r}; a second"
        " root folder does not know their programs and would end them. Use their root folder, or"
        " end them first"
    ),
    "cgroup/not-writable": "cgroups can not be made at {path}: {error}",
    "cgroup/refused": "the kernel refused {value!r} for {file} of cgroup {cgroup!r}: {error}",
    "cgroup/not-in-force": (
        "the kernel accepted {value!r} for {file} of cgroup {cgroup!r}, but {found!r} is in force;"
        " the cause is a NUMA node without memory, an offline CPU or a narrower parent cgroup"
    ),
    "cgroup/no-cpu-controller": "CPU weights and quotas are not enforced: no cpu controller",
    "cgroup/no-hugetlb-controller": "limits of huge pages are not enforced: no hugetlb controller",
    "cgroup/no-pids-controller": "limits of processes are not enforced: no pids controller",
    "runtime/no-command": (
        "container {container!r} has no command; the image's own is not known here, so name one"
    ),
    "runtime/program-not-found": "{program!r} was not found; name its path, or set PATH",
    "runtime/not-executable": "{program!r} can not be executed: {error}",
    "runtime/program-refused": "{program!r} did not start: {error}",
    "runtime/cgroup-not-joined": "cgroup {cgroup!r} can not be joined: {error}",
    "runtime/cpus-refused": "the kernel refused the CPUs {cpus}: {error}",
    "runtime/memory-nodes-refused": "the kernel refused memory from NUMA nodes {nodes}: {error}",
    "runtime/user-refused": "the program can not run as user {user}: {error}",
    "runtime/no-working-dir": "the working directory {folder!r} can not be used: {error}",
    "runtime/fork-failed": "no process could be started: {error}",
    "runtime/storage": "what is needed to watch the program can not be written: {error}",
    "runtime/watcher-silent": "the process that watches the program did not answer; see {folder}",
    "runtime/watcher-gone": (
        "the process that watched the program was killed, and the kernel killed the program with it"
    ),
    "runtime/runner-gone": "the 'numalet run' that was to start the program has ended",
    "runtime/offer-not-taken": "the 'numalet run' that was to start the program did not do so",
    "runtime/no-foreground": "the machine is only described: there is nothing to run a command on",
    "runtime/not-json": "what is known of a described machine is no JSON: {problem}",
    "runtime/nodes-exhausted": (
        "killed for memory although its own limit was not reached: the NUMA nodes that it is bound"
        " to, or a cgroup above, had none left"
    ),
    "runtime/sizes-not-limited": "sizes of memory and huge pages are accounted for, not enforced",
    "runtime/can-be-undone": "a program can undo its CPU affinity and its memory policy",
    "runtime/no-memory-policy": "the kernel does not allow setting a memory policy here",
    "runtime/oom-score-not-set": "oom_score_adj could not be set",
}
