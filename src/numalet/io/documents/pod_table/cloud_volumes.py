"""Volumes of storage systems that Kubernetes knows by name."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    COUNT,
    FLAG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    needed,
    object_type,
    one_of,
)
from numalet.io.documents.pod_table.references import LOCAL_OBJECT_REFERENCE

AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: Final = object_type(
    "AWSElasticBlockStoreVolumeSource",
    fsType=TEXT,
    partition=COUNT,
    readOnly=FLAG,
    volumeID=needed(TEXT),
)

AZURE_DISK_VOLUME_SOURCE: Final = object_type(
    "AzureDiskVolumeSource",
    cachingMode=one_of("None", "ReadOnly", "ReadWrite"),
    diskName=needed(TEXT),
    diskURI=needed(TEXT),
    fsType=TEXT,
    kind=one_of("Dedicated", "Managed", "Shared"),
    readOnly=FLAG,
)

AZURE_FILE_VOLUME_SOURCE: Final = object_type(
    "AzureFileVolumeSource",
    readOnly=FLAG,
    secretName=needed(TEXT),
    shareName=needed(TEXT),
)

CEPH_FS_VOLUME_SOURCE: Final = object_type(
    "CephFSVolumeSource",
    monitors=needed(TEXTS),
    path=TEXT,
    readOnly=FLAG,
    secretFile=TEXT,
    secretRef=LOCAL_OBJECT_REFERENCE,
    user=TEXT,
)

CINDER_VOLUME_SOURCE: Final = object_type(
    "CinderVolumeSource",
    fsType=TEXT,
    readOnly=FLAG,
    secretRef=LOCAL_OBJECT_REFERENCE,
    volumeID=needed(TEXT),
)

FC_VOLUME_SOURCE: Final = object_type(
    "FCVolumeSource",
    fsType=TEXT,
    lun=COUNT,
    readOnly=FLAG,
    targetWWNs=TEXTS,
    wwids=TEXTS,
)

FLEX_VOLUME_SOURCE: Final = object_type(
    "FlexVolumeSource",
    driver=needed(TEXT),
    fsType=TEXT,
    options=TEXT_MAP,
    readOnly=FLAG,
    secretRef=LOCAL_OBJECT_REFERENCE,
)

FLOCKER_VOLUME_SOURCE: Final = object_type(
    "FlockerVolumeSource",
    datasetName=TEXT,
    datasetUUID=TEXT,
)

GCE_PERSISTENT_DISK_VOLUME_SOURCE: Final = object_type(
    "GCEPersistentDiskVolumeSource",
    fsType=TEXT,
    partition=COUNT,
    pdName=needed(TEXT),
    readOnly=FLAG,
)

GLUSTERFS_VOLUME_SOURCE: Final = object_type(
    "GlusterfsVolumeSource",
    endpoints=needed(TEXT),
    path=needed(TEXT),
    readOnly=FLAG,
)

ISCSI_VOLUME_SOURCE: Final = object_type(
    "ISCSIVolumeSource",
    chapAuthDiscovery=FLAG,
    chapAuthSession=FLAG,
    fsType=TEXT,
    initiatorName=TEXT,
    iqn=needed(TEXT),
    iscsiInterface=TEXT,
    lun=needed(COUNT),
    portals=TEXTS,
    readOnly=FLAG,
    secretRef=LOCAL_OBJECT_REFERENCE,
    targetPortal=needed(TEXT),
)

NFS_VOLUME_SOURCE: Final = object_type(
    "NFSVolumeSource",
    path=needed(TEXT),
    readOnly=FLAG,
    server=needed(TEXT),
)

PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: Final = object_type(
    "PhotonPersistentDiskVolumeSource",
    fsType=TEXT,
    pdID=needed(TEXT),
)

PORTWORX_VOLUME_SOURCE: Final = object_type(
    "PortworxVolumeSource",
    fsType=TEXT,
    readOnly=FLAG,
    volumeID=needed(TEXT),
)

QUOBYTE_VOLUME_SOURCE: Final = object_type(
    "QuobyteVolumeSource",
    group=TEXT,
    readOnly=FLAG,
    registry=needed(TEXT),
    tenant=TEXT,
    user=TEXT,
    volume=needed(TEXT),
)

RBD_VOLUME_SOURCE: Final = object_type(
    "RBDVolumeSource",
    fsType=TEXT,
    image=needed(TEXT),
    keyring=TEXT,
    monitors=needed(TEXTS),
    pool=TEXT,
    readOnly=FLAG,
    secretRef=LOCAL_OBJECT_REFERENCE,
    user=TEXT,
)

SCALE_IO_VOLUME_SOURCE: Final = object_type(
    "ScaleIOVolumeSource",
    fsType=TEXT,
    gateway=needed(TEXT),
    protectionDomain=TEXT,
    readOnly=FLAG,
    secretRef=needed(LOCAL_OBJECT_REFERENCE),
    sslEnabled=FLAG,
    storageMode=TEXT,
    storagePool=TEXT,
    system=needed(TEXT),
    volumeName=TEXT,
)

STORAGE_OS_VOLUME_SOURCE: Final = object_type(
    "StorageOSVolumeSource",
    fsType=TEXT,
    readOnly=FLAG,
    secretRef=LOCAL_OBJECT_REFERENCE,
    volumeName=TEXT,
    volumeNamespace=TEXT,
)

VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: Final = object_type(
    "VsphereVirtualDiskVolumeSource",
    fsType=TEXT,
    storagePolicyID=TEXT,
    storagePolicyName=TEXT,
    volumePath=needed(TEXT),
)
