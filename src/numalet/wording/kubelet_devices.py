"""The Device Manager's own error texts, to the letter, by code of the reason.

Templates over the fields of the reason. Kubelet: ``pkg/kubelet/cm/devicemanager``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping

ALLOCATION: Mapping[str, str] = {
    "device/changed-request": (
        'pod "{pod_uid}" container "{container}" changed request for resource "{resource}"'
        " from {recorded} to {requested}"
    ),
    "device/not-registered": "cannot allocate unregistered device {resource}",
    "device/none-healthy": (
        "no healthy devices present; cannot allocate unhealthy devices {resource}"
    ),
    "device/held-not-healthy": (
        "previously allocated devices are no longer healthy;"
        " cannot allocate unhealthy devices {resource}"
    ),
    "device/too-few-free": (
        "requested number of devices unavailable for {resource}."
        " Requested: {needed}, Available: {free}"
    ),
    "device/preference-failed": (
        "device plugin GetPreferredAllocation rpc failed with err: {error}"
    ),
    "device/vetoed": "{error}",
    "device/empty-response": "no containers return in allocation response {answer}",
}
