"""The columns of ``kubectl get pods``, computed by the server.

STATUS is the reason for the pod's state rather than its phase. Kubernetes: printer of pods, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from numalet.core.model.value import Value

_Object: TypeAlias = Mapping[str, Any]


class PodColumns(Value, kw_only=True):
    """``restarted_at`` is the end of the attempt before the last restart; empty without one."""

    ready: str
    status: str
    restarts: int
    restarted_at: str = ""


def columns(pod: _Object) -> PodColumns:
    spec, status = pod.get("spec", {}), pod.get("status", {})
    sidecars = {
        each["name"]
        for each in spec.get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    }
    init = status.get("initContainerStatuses") or ()
    apps = status.get("containerStatuses") or ()
    holding_up = _initializing(init, sidecars, len(spec.get("initContainers") or ()))
    initialized = not holding_up or _condition(status, "Initialized")
    text = status.get("reason") or status.get("phase", "")
    if holding_up:
        text = holding_up
    if initialized:
        text = _of_apps(apps, status, text)
    # Deletion overrides every other status, except for a pod that has ended.
    if pod["metadata"].get("deletionTimestamp") and status.get("phase") not in (
        "Succeeded",
        "Failed",
    ):
        text = "Terminating"
    counted = [each for each in init if each["name"] in sidecars or not initialized]
    counted += [*apps] if initialized else []
    ready = sum(
        1
        for each in (*(each for each in init if each["name"] in sidecars), *apps)
        if each["ready"] and "running" in each["state"]
    )
    total = len(spec.get("containers") or ()) + len(sidecars)
    return PodColumns(
        ready=f"{ready}/{total}",
        status=text,
        restarts=sum(each["restartCount"] for each in counted),
        restarted_at=max(map(_last_end, counted), default=""),
    )


def _initializing(statuses: Sequence[_Object], sidecars: set[str], total: int) -> str:
    """Status of the first unfinished init container; empty if all have finished."""
    for index, each in enumerate(statuses):
        state = each["state"]
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated is not None and terminated["exitCode"] == 0:
            continue
        if each["name"] in sidecars and each.get("started"):
            continue
        if terminated is not None:
            return f"Init:{_end(terminated)}"
        if waiting.get("reason", "PodInitializing") != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _of_apps(statuses: Sequence[_Object], status: _Object, text: str) -> str:
    """The reason of the first container with one, else ``text``."""
    for each in statuses:
        state = each["state"]
        reason = (state.get("waiting") or {}).get("reason")
        if reason or "terminated" in state:
            text = reason or _end(state["terminated"])
            break
    # A completed container next to a ready one does not complete the pod.
    if text == "Completed" and any(each["ready"] for each in statuses):
        return "Running" if _condition(status, "Ready") else "NotReady"
    return text


def _end(terminated: _Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated['exitCode']}"


def _condition(status: _Object, name: str) -> bool:
    return any(
        each["type"] == name and each["status"] == "True" for each in status.get("conditions") or ()
    )


def _last_end(status: _Object) -> str:
    ended = (status.get("lastState") or {}).get("terminated") or {}
    return str(ended.get("finishedAt", ""))
