"""Volumes that are put together from objects of the cluster."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    COUNT,
    FLAG,
    LONG,
    PERMISSIONS,
    TEXT,
    TEXT_MAP,
    ListOf,
    needed,
    object_type,
    since,
)
from numalet.io.documents.pod_table.metadata import LABEL_SELECTOR
from numalet.io.documents.pod_table.references import (
    KEY_TO_PATH,
    OBJECT_FIELD_SELECTOR,
    RESOURCE_FIELD_SELECTOR,
)

CONFIG_MAP_VOLUME_SOURCE: Final = object_type(
    "ConfigMapVolumeSource",
    defaultMode=PERMISSIONS,
    defaultUser=since("1.37", LONG),
    items=ListOf(KEY_TO_PATH),
    name=TEXT,
    optional=FLAG,
)

SECRET_VOLUME_SOURCE: Final = object_type(
    "SecretVolumeSource",
    defaultMode=PERMISSIONS,
    defaultUser=since("1.37", LONG),
    items=ListOf(KEY_TO_PATH),
    optional=FLAG,
    secretName=TEXT,
)

DOWNWARD_API_VOLUME_FILE: Final = object_type(
    "DownwardAPIVolumeFile",
    fieldRef=OBJECT_FIELD_SELECTOR,
    mode=PERMISSIONS,
    path=needed(TEXT),
    resourceFieldRef=RESOURCE_FIELD_SELECTOR,
    user=since("1.37", LONG),
)

DOWNWARD_API_VOLUME_SOURCE: Final = object_type(
    "DownwardAPIVolumeSource",
    defaultMode=PERMISSIONS,
    defaultUser=since("1.37", LONG),
    items=ListOf(DOWNWARD_API_VOLUME_FILE),
)

CLUSTER_TRUST_BUNDLE_PROJECTION: Final = object_type(
    "ClusterTrustBundleProjection",
    labelSelector=LABEL_SELECTOR,
    name=TEXT,
    optional=FLAG,
    path=needed(TEXT),
    signerName=TEXT,
    user=since("1.37", LONG),
)

CONFIG_MAP_PROJECTION: Final = object_type(
    "ConfigMapProjection",
    items=ListOf(KEY_TO_PATH),
    name=TEXT,
    optional=FLAG,
)

DOWNWARD_API_PROJECTION: Final = object_type(
    "DownwardAPIProjection",
    items=ListOf(DOWNWARD_API_VOLUME_FILE),
)

SECRET_PROJECTION: Final = object_type(
    "SecretProjection",
    items=ListOf(KEY_TO_PATH),
    name=TEXT,
    optional=FLAG,
)

SERVICE_ACCOUNT_TOKEN_PROJECTION: Final = object_type(
    "ServiceAccountTokenProjection",
    audience=TEXT,
    expirationSeconds=LONG,
    path=needed(TEXT),
    user=since("1.37", LONG),
)

POD_CERTIFICATE_PROJECTION: Final = object_type(
    "PodCertificateProjection",
    certificateChainPath=since("1.34", TEXT),
    credentialBundlePath=since("1.34", TEXT),
    keyPath=since("1.34", TEXT),
    keyType=since("1.34", needed(TEXT)),
    maxExpirationSeconds=since("1.34", COUNT),
    signerName=since("1.34", needed(TEXT)),
    user=since("1.37", LONG),
    userAnnotations=since("1.35", TEXT_MAP),
)

VOLUME_PROJECTION: Final = object_type(
    "VolumeProjection",
    clusterTrustBundle=CLUSTER_TRUST_BUNDLE_PROJECTION,
    configMap=CONFIG_MAP_PROJECTION,
    downwardAPI=DOWNWARD_API_PROJECTION,
    podCertificate=since("1.34", POD_CERTIFICATE_PROJECTION),
    secret=SECRET_PROJECTION,
    serviceAccountToken=SERVICE_ACCOUNT_TOKEN_PROJECTION,
)

PROJECTED_VOLUME_SOURCE: Final = object_type(
    "ProjectedVolumeSource",
    defaultMode=PERMISSIONS,
    defaultUser=since("1.37", LONG),
    sources=ListOf(VOLUME_PROJECTION),
)
