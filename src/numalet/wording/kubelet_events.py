"""The kubelet's events about containers: exact reasons and messages.

Kubelet v1.32: ``pkg/kubelet/events`` and the places where they are recorded. ``DeviceWithoutId``,
``DriftCorrected``, ``DriftNotCorrected``, ``InvalidManifest``, ``KubeletKeepsRestarting``,
``KubeletNotRunning``, ``KubeletStarted``, ``ManifestRemarks``, ``NotAsPromised``, ``PromiseLost``,
``PromisedAnew``, ``StartDelayed``, ``StateInDoubt`` and ``Unpromised`` are our own, and worded by
``agent/findings/events.py``.
"""

from __future__ import annotations

from typing import Final

CREATED: Final = "Created"
STARTED: Final = "Started"
KILLING: Final = "Killing"
FAILED: Final = "Failed"
BACK_OFF: Final = "BackOff"
EXCEEDED_GRACE_PERIOD: Final = "ExceededGracePeriod"
NOT_KILLED: Final = "Container runtime did not kill the pod within specified grace period."
DRIFT_CORRECTED: Final = "DriftCorrected"
NOT_HELD: Final = "DriftNotCorrected"
NOT_AS_PROMISED: Final = "NotAsPromised"
STATE_IN_DOUBT: Final = "StateInDoubt"
START_DELAYED: Final = "StartDelayed"
PROMISE_LOST: Final = "PromiseLost"
PROMISED_ANEW: Final = "PromisedAnew"
UNPROMISED: Final = "Unpromised"
KUBELET_STARTED: Final = "KubeletStarted"
KUBELET_NOT_RUNNING: Final = "KubeletNotRunning"
KUBELET_KEEPS_RESTARTING: Final = "KubeletKeepsRestarting"
INVALID_MANIFEST: Final = "InvalidManifest"
MANIFEST_REMARKS: Final = "ManifestRemarks"
DEVICE_WITHOUT_ID: Final = "DeviceWithoutId"


def created(container: str) -> str:
    return f"Created container: {container}"


def killing(container: str) -> str:
    return f"Stopping container {container}"


def started(container: str) -> str:
    return f"Started container {container}"


def back_off(container: str, pod: str, namespace: str, uid: str) -> str:
    return f"Back-off restarting failed container {container} in pod {pod}_{namespace}({uid})"


def invalid_manifest(path: str, text: str) -> str:
    """A file of the manifest folder is not a pod; ``text`` quotes nothing of the file."""
    return (
        f"{path}: couldn't parse as pod({text}), please check config file"
        f" ('numalet simulate {path}' shows the error)"
    )
