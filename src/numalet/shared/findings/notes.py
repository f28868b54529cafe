"""Sentences of findings that are stored and sent as codes without values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.shared.findings import agent, runtime

_SENTENCES: Final[Mapping[str, str]] = {
    runtime.CgroupNoCpusetOrMemory.code: (
        "cgroup v2 has no controllers cpuset and memory to use here"
    ),
    runtime.CgroupNotWritable.code: "cgroups cannot be made here",
    **{
        each.code: each.sentence
        for each in (
            agent.AgentNodeStateUnwritable,
            agent.AgentDriftNotCorrected,
            agent.AgentJournalUnwritable,
            agent.AgentPodsUnpromised,
            agent.AgentRuntimeFailed,
            runtime.CgroupNoCgroupV2,
            runtime.CgroupNoCpuController,
            runtime.CgroupNoHugetlbController,
            runtime.CgroupNoPidsController,
            runtime.RuntimeCanBeUndone,
            runtime.RuntimeNoMemoryPolicy,
            runtime.RuntimeOomScoreNotSet,
            runtime.RuntimeSizesNotLimited,
        )
    },
}


def sentence(code: str) -> str:
    """The sentence of a code, or the code itself if it is unknown."""
    return _SENTENCES.get(code, code)
