"""The fields of workloads: objects that make pods of a template.

The template itself is checked as the pod that it makes. What an API server demands beside it, a
selector say, is not asked for here: pods are made of the template alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.io.documents.pod_table.kinds import (
    COUNT,
    FLAG,
    INT_OR_TEXT,
    LONG,
    TEXT,
    TEXT_MAP,
    Field,
    Kind,
    ListOf,
    ObjectType,
    PlainKind,
    object_type,
    one_of,
    written_by_servers,
)
from numalet.io.documents.pod_table.metadata import LABEL_SELECTOR, OBJECT_META
from numalet.io.documents.pod_table.volumes import PERSISTENT_VOLUME_CLAIM_SPEC

POD_TEMPLATE_SPEC: Final = object_type(
    "PodTemplateSpec",
    metadata=PlainKind.OBJECT,
    spec=PlainKind.OBJECT,
)

ROLLING_UPDATE_DEPLOYMENT: Final = object_type(
    "RollingUpdateDeployment",
    maxSurge=INT_OR_TEXT,
    maxUnavailable=INT_OR_TEXT,
)

DEPLOYMENT_STRATEGY: Final = object_type(
    "DeploymentStrategy",
    rollingUpdate=ROLLING_UPDATE_DEPLOYMENT,
    type=one_of("Recreate", "RollingUpdate"),
)

ROLLING_UPDATE_DAEMON_SET: Final = object_type(
    "RollingUpdateDaemonSet",
    maxSurge=INT_OR_TEXT,
    maxUnavailable=INT_OR_TEXT,
)

DAEMON_SET_UPDATE_STRATEGY: Final = object_type(
    "DaemonSetUpdateStrategy",
    rollingUpdate=ROLLING_UPDATE_DAEMON_SET,
    type=one_of("OnDelete", "RollingUpdate"),
)

ROLLING_UPDATE_STATEFUL_SET: Final = object_type(
    "RollingUpdateStatefulSetStrategy",
    maxUnavailable=INT_OR_TEXT,
    partition=COUNT,
)

STATEFUL_SET_UPDATE_STRATEGY: Final = object_type(
    "StatefulSetUpdateStrategy",
    rollingUpdate=ROLLING_UPDATE_STATEFUL_SET,
    type=one_of("OnDelete", "RollingUpdate"),
)

CLAIM_RETENTION_POLICY: Final = object_type(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    whenDeleted=one_of("Delete", "Retain"),
    whenScaled=one_of("Delete", "Retain"),
)

STATEFUL_SET_ORDINALS: Final = object_type("StatefulSetOrdinals", start=COUNT)

PERSISTENT_VOLUME_CLAIM: Final = object_type(
    "PersistentVolumeClaim",
    apiVersion=TEXT,
    kind=TEXT,
    metadata=OBJECT_META,
    spec=PERSISTENT_VOLUME_CLAIM_SPEC,
    status=PlainKind.OBJECT,
)

POD_FAILURE_EXIT_CODES: Final = object_type(
    "PodFailurePolicyOnExitCodesRequirement",
    containerName=TEXT,
    operator=one_of("In", "NotIn"),
    values=ListOf(COUNT),
)

POD_FAILURE_CONDITION: Final = object_type(
    "PodFailurePolicyOnPodConditionsPattern",
    status=TEXT,
    type=TEXT,
)

POD_FAILURE_RULE: Final = object_type(
    "PodFailurePolicyRule",
    action=one_of("Count", "FailIndex", "FailJob", "Ignore"),
    onExitCodes=POD_FAILURE_EXIT_CODES,
    onPodConditions=ListOf(POD_FAILURE_CONDITION),
)

SUCCESS_POLICY_RULE: Final = object_type(
    "SuccessPolicyRule",
    succeededCount=COUNT,
    succeededIndexes=TEXT,
)

JOB_SPEC: Final = object_type(
    "JobSpec",
    activeDeadlineSeconds=LONG,
    backoffLimit=COUNT,
    backoffLimitPerIndex=COUNT,
    completionMode=one_of("Indexed", "NonIndexed"),
    completions=COUNT,
    managedBy=TEXT,
    manualSelector=FLAG,
    maxFailedIndexes=COUNT,
    parallelism=COUNT,
    podFailurePolicy=object_type("PodFailurePolicy", rules=ListOf(POD_FAILURE_RULE)),
    podReplacementPolicy=one_of("Failed", "TerminatingOrFailed"),
    selector=LABEL_SELECTOR,
    successPolicy=object_type("SuccessPolicy", rules=ListOf(SUCCESS_POLICY_RULE)),
    suspend=FLAG,
    template=POD_TEMPLATE_SPEC,
    ttlSecondsAfterFinished=COUNT,
)


def _workload(name: str, version: str, **spec: Field | Kind) -> ObjectType:
    """A workload of this kind; nothing is asked for, and its status is a server's."""
    whole = object_type(
        name,
        apiVersion=one_of(version),
        kind=TEXT,
        metadata=OBJECT_META,
        spec=object_type(f"{name}Spec", **spec),
        status=PlainKind.OBJECT,
    )
    return written_by_servers(whole)


WORKLOADS: Final[Mapping[str, ObjectType]] = {
    each.name: each
    for each in (
        _workload(
            "CronJob",
            "batch/v1",
            concurrencyPolicy=one_of("Allow", "Forbid", "Replace"),
            failedJobsHistoryLimit=COUNT,
            jobTemplate=object_type("JobTemplateSpec", metadata=OBJECT_META, spec=JOB_SPEC),
            schedule=TEXT,
            startingDeadlineSeconds=LONG,
            successfulJobsHistoryLimit=COUNT,
            suspend=FLAG,
            timeZone=TEXT,
        ),
        _workload(
            "DaemonSet",
            "apps/v1",
            minReadySeconds=COUNT,
            revisionHistoryLimit=COUNT,
            selector=LABEL_SELECTOR,
            template=POD_TEMPLATE_SPEC,
            updateStrategy=DAEMON_SET_UPDATE_STRATEGY,
        ),
        _workload(
            "Deployment",
            "apps/v1",
            minReadySeconds=COUNT,
            paused=FLAG,
            progressDeadlineSeconds=COUNT,
            replicas=COUNT,
            revisionHistoryLimit=COUNT,
            selector=LABEL_SELECTOR,
            strategy=DEPLOYMENT_STRATEGY,
            template=POD_TEMPLATE_SPEC,
        ),
        _workload("Job", "batch/v1", **JOB_SPEC.fields),
        _workload(
            "ReplicaSet",
            "apps/v1",
            minReadySeconds=COUNT,
            replicas=COUNT,
            selector=LABEL_SELECTOR,
            template=POD_TEMPLATE_SPEC,
        ),
        _workload(
            "ReplicationController",
            "v1",
            minReadySeconds=COUNT,
            replicas=COUNT,
            selector=TEXT_MAP,
            template=POD_TEMPLATE_SPEC,
        ),
        _workload(
            "StatefulSet",
            "apps/v1",
            minReadySeconds=COUNT,
            ordinals=STATEFUL_SET_ORDINALS,
            persistentVolumeClaimRetentionPolicy=CLAIM_RETENTION_POLICY,
            podManagementPolicy=one_of("OrderedReady", "Parallel"),
            replicas=COUNT,
            revisionHistoryLimit=COUNT,
            selector=LABEL_SELECTOR,
            serviceName=TEXT,
            template=POD_TEMPLATE_SPEC,
            updateStrategy=STATEFUL_SET_UPDATE_STRATEGY,
            volumeClaimTemplates=ListOf(PERSISTENT_VOLUME_CLAIM),
        ),
    )
}
"""The kinds of workloads by name, as of Kubernetes v1.32."""
