"""Findings about programs that cannot start, and limits that a host cannot enforce."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.model.findings import Finding
from numalet.io.findings.files import RecordTextOnly
from numalet.shared.findings import recorded


class CgroupHeld(Finding):
    code = "cgroup/held"
    sentence = (
        "another numalet agent, or commands of 'numalet run', use the cgroups of {path!r}; a "
        "second root folder does not know their programs and would end them. Use their root "
        "folder, or end them first"
    )
    path: str


class RuntimeStorage(Finding):
    code = "runtime/storage"
    sentence = (
        "the files of the shim, which starts and watches the program, cannot be written: {error}"
    )
    error: str


class RuntimeShimGone(Finding):
    code = "runtime/shim-gone"
    sentence = (
        "the process that watched the program was killed, and the kernel killed the program with it"
    )


class RuntimeNodesExhausted(Finding):
    code = "runtime/nodes-exhausted"
    sentence = (
        "killed for memory although its own limit was not reached: the NUMA nodes that it is "
        "bound to, or a cgroup above, had none left"
    )


class RuntimePluginRefused(Finding):
    code = "runtime/plugin-refused"
    sentence = "the device plugin did not agree to the start: {error}"
    error: str


class RuntimePluginMount(Finding):
    code = "runtime/plugin-mount"
    sentence = (
        "the device plugin wants {host_path!r} of the host mounted at {path!r} in the container; "
        "a program of the host sees the host's paths, so this is not possible"
    )
    host_path: str
    path: str


class CgroupNoCgroupV2(Finding):
    code = "cgroup/no-cgroup-v2"
    sentence = "no cgroup v2 file system is mounted here"


class CgroupNoCpusetOrMemory(Finding):
    code = "cgroup/no-cpuset-or-memory"
    sentence = (
        "cgroup v2 has no controllers {missing} in {path}; they may be in use by cgroup v1, or "
        "not delegated"
    )
    missing: str
    path: str


class CgroupNotWritable(Finding):
    code = "cgroup/not-writable"
    sentence = "cgroups cannot be made at {path}: {error}"
    path: str
    error: str


class CgroupRefused(Finding):
    code = "cgroup/refused"
    sentence = "the kernel refused {value!r} for {file} of cgroup {cgroup!r}: {error}"
    value: str
    file: str
    cgroup: str
    error: str


class CgroupNotInForce(Finding):
    code = "cgroup/not-in-force"
    sentence = (
        "the kernel accepted {value!r} for {file} of cgroup {cgroup!r}, but {found!r} is in "
        "force; the cause is a NUMA node without memory, an offline CPU or a narrower parent "
        "cgroup"
    )
    value: str
    file: str
    cgroup: str
    found: str


class CgroupNoCpuController(Finding):
    code = "cgroup/no-cpu-controller"
    sentence = "CPU weights and quotas are not enforced: no cpu controller"


class CgroupNoHugetlbController(Finding):
    code = "cgroup/no-hugetlb-controller"
    sentence = "limits of huge pages are not enforced: no hugetlb controller"


class CgroupNoPidsController(Finding):
    code = "cgroup/no-pids-controller"
    sentence = "limits of processes are not enforced: no pids controller"


class RuntimeNoCommand(Finding):
    code = "runtime/no-command"
    sentence = (
        "container {container!r} has no command; the image's own is not known here, so name one"
    )
    container: str


class RuntimeProgramNotFound(Finding):
    code = "runtime/program-not-found"
    sentence = "{program!r} was not found; name its path, or set PATH"
    program: str


class RuntimeNotExecutable(Finding):
    code = "runtime/not-executable"
    sentence = "{program!r} cannot be executed: {error}"
    program: str
    error: str


class RuntimeProgramRefused(Finding):
    code = "runtime/program-refused"
    sentence = "{program!r} did not start: {error}"
    program: str
    error: str


class RuntimeCgroupNotJoined(Finding):
    code = "runtime/cgroup-not-joined"
    sentence = "cgroup {cgroup!r} cannot be joined: {error}"
    cgroup: str
    error: str


class RuntimeCpusRefused(Finding):
    code = "runtime/cpus-refused"
    sentence = "the kernel refused the CPUs {cpus}: {error}"
    cpus: str
    error: str


class RuntimeMemoryNodesRefused(Finding):
    code = "runtime/memory-nodes-refused"
    sentence = "the kernel refused memory from NUMA nodes {nodes}: {error}"
    nodes: str
    error: str


class RuntimeUserRefused(Finding):
    code = "runtime/user-refused"
    sentence = "the program cannot run as user {user}: {error}"
    user: str
    error: str


class RuntimeNoWorkingDir(Finding):
    code = "runtime/no-working-dir"
    sentence = "the working directory {folder!r} cannot be used: {error}"
    folder: str
    error: str


class RuntimeForkFailed(Finding):
    code = "runtime/fork-failed"
    sentence = "no process could be started: {error}"
    error: str


class RuntimeShimSilent(Finding):
    code = "runtime/shim-silent"
    sentence = "the process that watches the program did not answer; see {folder}"
    folder: str


class RuntimeRunnerGone(Finding):
    code = "runtime/runner-gone"
    sentence = "the 'numalet run' of this program ended before it started the program"


class RuntimeOfferNotTaken(Finding):
    code = "runtime/offer-not-taken"
    sentence = "the 'numalet run' of this program did not start the program in time"


class RuntimeNoForeground(Finding):
    code = "runtime/no-foreground"
    sentence = "the machine is only described: there is nothing to run a command on"


class RuntimeSizesNotLimited(Finding):
    code = "runtime/sizes-not-limited"
    sentence = "sizes of memory and huge pages are accounted for, not enforced"


class RuntimeCanBeUndone(Finding):
    code = "runtime/can-be-undone"
    sentence = "a program can undo its CPU affinity and its memory policy"


class RuntimeNoMemoryPolicy(Finding):
    code = "runtime/no-memory-policy"
    sentence = "the kernel does not allow setting a memory policy here"


class RuntimeOomScoreNotSet(Finding):
    code = "runtime/oom-score-not-set"
    sentence = "oom_score_adj could not be set"


class RuntimeFailed(Finding):
    code = "runtime/failed"
    sentence = "the runtime failed: {error}"
    error: str


_CLASSES: Final = recorded.by_code((RecordTextOnly, *vars().values()))
"""Causes that may be recorded with the end of a program."""


def sentence(code: str, fields: Mapping[str, str]) -> str:
    """The sentence of a cause that was recorded; see ``recorded.sentence``."""
    return recorded.sentence(_CLASSES, code, fields)
