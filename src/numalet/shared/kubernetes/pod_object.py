"""The Pod object of a record: the accepted manifest, and a status.

A rejected pod is as the kubelet leaves it: failed, with reason and message, without conditions.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from numalet.core.model import moments
from numalet.core.workload.lifecycle import phase
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import PodRun
from numalet.shared.kubernetes import container_statuses, pod_conditions
from numalet.wording import kubelet


def pod_object(record: PodRecord) -> dict[str, Any]:
    manifest = record.workload.manifest
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(record),
        "spec": manifest.get("spec", {}),
        "status": status(record),
    }


def status(record: PodRecord) -> dict[str, Any]:
    """``status`` alone."""
    run, now = record.run, phase(record.workload, record.run)
    result: dict[str, Any] = {"phase": now.value}
    if conditions := pod_conditions.conditions(record, now):
        result["conditions"] = conditions
    if run.verdict is not None and not run.verdict.admitted:
        result["message"] = kubelet.ended(run.verdict.reason, run.verdict.message)
        result["reason"] = run.verdict.reason
    if run.verdict is not None:
        result["startTime"] = moments.seconds(run.decided_at or run.accepted_at)
        if run.verdict.admitted:
            if statuses := container_statuses.init_containers(record):
                result["initContainerStatuses"] = statuses
            result["containerStatuses"] = container_statuses.app_containers(record)
    result["qosClass"] = record.workload.pod.qos_class.value
    return result


def _metadata(record: PodRecord) -> dict[str, Any]:
    pod = record.workload.pod
    return {
        **record.workload.manifest.get("metadata", {}),
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": str(record.resource_version),
        "creationTimestamp": moments.seconds(record.run.accepted_at),
        **_deletion(record.run),
    }


def _deletion(run: PodRun) -> dict[str, Any]:
    """As in Kubernetes, the timestamp is the end of the grace period."""
    if run.deletion is None:
        return {}
    grace = timedelta(seconds=run.deletion.grace_seconds)
    return {
        "deletionTimestamp": moments.seconds(run.deletion.requested_at + grace),
        "deletionGracePeriodSeconds": int(run.deletion.grace_seconds),
    }
