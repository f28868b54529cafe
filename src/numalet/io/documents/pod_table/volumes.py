"""Volumes of pods."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.cloud_volumes import (
    AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE,
    AZURE_DISK_VOLUME_SOURCE,
    AZURE_FILE_VOLUME_SOURCE,
    CEPH_FS_VOLUME_SOURCE,
    CINDER_VOLUME_SOURCE,
    FC_VOLUME_SOURCE,
    FLEX_VOLUME_SOURCE,
    FLOCKER_VOLUME_SOURCE,
    GCE_PERSISTENT_DISK_VOLUME_SOURCE,
    GLUSTERFS_VOLUME_SOURCE,
    ISCSI_VOLUME_SOURCE,
    NFS_VOLUME_SOURCE,
    PHOTON_PERSISTENT_DISK_VOLUME_SOURCE,
    PORTWORX_VOLUME_SOURCE,
    QUOBYTE_VOLUME_SOURCE,
    RBD_VOLUME_SOURCE,
    SCALE_IO_VOLUME_SOURCE,
    STORAGE_OS_VOLUME_SOURCE,
    VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE,
)
from numalet.io.documents.pod_table.containers import PULL_POLICY
from numalet.io.documents.pod_table.kinds import (
    AMOUNTS,
    DNS_LABEL,
    FLAG,
    PERMISSIONS,
    QUANTITY,
    TEXT,
    TEXT_MAP,
    ListOf,
    needed,
    object_type,
    one_of,
    since,
)
from numalet.io.documents.pod_table.metadata import LABEL_SELECTOR, OBJECT_META
from numalet.io.documents.pod_table.projections import (
    CONFIG_MAP_VOLUME_SOURCE,
    DOWNWARD_API_VOLUME_SOURCE,
    PROJECTED_VOLUME_SOURCE,
    SECRET_VOLUME_SOURCE,
)
from numalet.io.documents.pod_table.references import (
    LOCAL_OBJECT_REFERENCE,
    TYPED_LOCAL_OBJECT_REFERENCE,
    TYPED_OBJECT_REFERENCE,
)

CSI_VOLUME_SOURCE: Final = object_type(
    "CSIVolumeSource",
    driver=needed(TEXT),
    fsType=TEXT,
    nodePublishSecretRef=LOCAL_OBJECT_REFERENCE,
    readOnly=FLAG,
    volumeAttributes=TEXT_MAP,
)

EMPTY_DIR_VOLUME_SOURCE: Final = object_type(
    "EmptyDirVolumeSource",
    medium=TEXT,
    mode=since("1.37", PERMISSIONS),
    sizeLimit=QUANTITY,
)

VOLUME_RESOURCE_REQUIREMENTS: Final = object_type(
    "VolumeResourceRequirements",
    limits=AMOUNTS,
    requests=AMOUNTS,
)

PERSISTENT_VOLUME_CLAIM_SPEC: Final = object_type(
    "PersistentVolumeClaimSpec",
    accessModes=ListOf(
        one_of("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
    ),
    dataSource=TYPED_LOCAL_OBJECT_REFERENCE,
    dataSourceRef=TYPED_OBJECT_REFERENCE,
    resources=VOLUME_RESOURCE_REQUIREMENTS,
    selector=LABEL_SELECTOR,
    storageClassName=TEXT,
    volumeAttributesClassName=TEXT,
    volumeMode=one_of("Block", "Filesystem"),
    volumeName=TEXT,
)

PERSISTENT_VOLUME_CLAIM_TEMPLATE: Final = object_type(
    "PersistentVolumeClaimTemplate",
    metadata=OBJECT_META,
    spec=needed(PERSISTENT_VOLUME_CLAIM_SPEC),
)

EPHEMERAL_VOLUME_SOURCE: Final = object_type(
    "EphemeralVolumeSource",
    volumeClaimTemplate=PERSISTENT_VOLUME_CLAIM_TEMPLATE,
)

GIT_REPO_VOLUME_SOURCE: Final = object_type(
    "GitRepoVolumeSource",
    directory=TEXT,
    repository=needed(TEXT),
    revision=TEXT,
)

HOST_PATH_VOLUME_SOURCE: Final = object_type(
    "HostPathVolumeSource",
    path=needed(TEXT),
    type=one_of(
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ),
)

IMAGE_VOLUME_SOURCE: Final = object_type(
    "ImageVolumeSource",
    pullPolicy=PULL_POLICY,
    reference=TEXT,
)

PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Final = object_type(
    "PersistentVolumeClaimVolumeSource",
    claimName=needed(TEXT),
    readOnly=FLAG,
)

VOLUME: Final = object_type(
    "Volume",
    awsElasticBlockStore=AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE,
    azureDisk=AZURE_DISK_VOLUME_SOURCE,
    azureFile=AZURE_FILE_VOLUME_SOURCE,
    cephfs=CEPH_FS_VOLUME_SOURCE,
    cinder=CINDER_VOLUME_SOURCE,
    configMap=CONFIG_MAP_VOLUME_SOURCE,
    csi=CSI_VOLUME_SOURCE,
    downwardAPI=DOWNWARD_API_VOLUME_SOURCE,
    emptyDir=EMPTY_DIR_VOLUME_SOURCE,
    ephemeral=EPHEMERAL_VOLUME_SOURCE,
    fc=FC_VOLUME_SOURCE,
    flexVolume=FLEX_VOLUME_SOURCE,
    flocker=FLOCKER_VOLUME_SOURCE,
    gcePersistentDisk=GCE_PERSISTENT_DISK_VOLUME_SOURCE,
    gitRepo=GIT_REPO_VOLUME_SOURCE,
    glusterfs=GLUSTERFS_VOLUME_SOURCE,
    hostPath=HOST_PATH_VOLUME_SOURCE,
    image=IMAGE_VOLUME_SOURCE,
    iscsi=ISCSI_VOLUME_SOURCE,
    name=needed(DNS_LABEL),
    nfs=NFS_VOLUME_SOURCE,
    persistentVolumeClaim=PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE,
    photonPersistentDisk=PHOTON_PERSISTENT_DISK_VOLUME_SOURCE,
    portworxVolume=PORTWORX_VOLUME_SOURCE,
    projected=PROJECTED_VOLUME_SOURCE,
    quobyte=QUOBYTE_VOLUME_SOURCE,
    rbd=RBD_VOLUME_SOURCE,
    scaleIO=SCALE_IO_VOLUME_SOURCE,
    secret=SECRET_VOLUME_SOURCE,
    storageos=STORAGE_OS_VOLUME_SOURCE,
    vsphereVolume=VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE,
)
