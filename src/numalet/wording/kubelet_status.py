"""The kubelet's own words in the status of pods: states of containers, conditions.

Clients and dashboards match these reasons and texts. Kubelet v1.32: ``kuberuntime`` and ``status``;
the texts about the node are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from numalet.core.model import go_duration

CRASH_LOOP: Final = "CrashLoopBackOff"
CONTAINER_CREATING: Final = "ContainerCreating"
POD_INITIALIZING: Final = "PodInitializing"

JUDGED: Final = "{kubelet} is checked by the rules of release {release}"
"""About the kubelet that an agent observes."""

NODE_MESSAGES: Final[Mapping[str, str]] = {
    "": "the agent is running and admits pods",
    "AgentObserves": "the agent only observes this node: another program manages its CPUs",
    "SourcesNotReady": "not all sources of pods are ready since the agent started",
    "NodeStateNotWritable": "cannot write the node state, so no pods are admitted",
    "AgentStops": "the agent is stopping; running containers continue",
}
"""By the reason why the node is not ready."""


def waiting_to_restart(
    pause_seconds: float, container: str, pod: str, namespace: str, uid: str
) -> str:
    pause = go_duration.text(round(pause_seconds * 1_000_000_000))
    return f"back-off {pause} restarting failed container={container} pod={pod}_{namespace}({uid})"


def waiting_for(pods: Iterable[str]) -> str:
    """A container waits for evicted pods to end; the text is numalet's."""
    return f"waits for evicted pods to end: {', '.join(pods)}"


def lost() -> str:
    """A container ended while its shim was not running."""
    return "The container could not be located when the pod was terminated"


def incomplete(containers: Iterable[str]) -> str:
    return f"containers with incomplete status: [{' '.join(containers)}]"


def unready(containers: Iterable[str]) -> str:
    return f"containers with unready status: [{' '.join(containers)}]"
