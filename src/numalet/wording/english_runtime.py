"""Sentences about cgroups, programs that do not start, and what can not be enforced."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "cgroup/no-cgroup-v2": "no cgroup v2 file system is mounted here",
    "cgroup/no-cpuset-or-memory": (
        "cgroup v2 has no controllers {missing} in {path}; they may be in use by cgroup v1, or not"
        " delegated"
    ),
    "cgroup/not-writable": "cgroups can not be made at {path}: {error}",
    "cgroup/refused": "the kernel refused {value!r} for {file} of cgroup {cgroup!r}: {error}",
    "cgroup/not-in-force": (
        "the kernel took {value!r} for {file} of cgroup {cgroup!r}, but {found!r} is in force; a"
        " NUMA node without memory, a CPU that is offline or a narrower cgroup above does that"
    ),
    "cgroup/no-cpu-controller": "CPU weights and quotas are not enforced: no cpu controller",
    "cgroup/no-hugetlb-controller": "limits of huge pages are not enforced: no hugetlb controller",
    "cgroup/no-pids-controller": "limits of processes are not enforced: no pids controller",
}
