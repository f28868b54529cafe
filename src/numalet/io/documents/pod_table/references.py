"""What names other objects, their keys, and fields."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    FLAG,
    LONG,
    PERMISSIONS,
    QUANTITY,
    TEXT,
    needed,
    object_type,
    since,
)

LOCAL_OBJECT_REFERENCE: Final = object_type(
    "LocalObjectReference",
    name=TEXT,
)

TYPED_LOCAL_OBJECT_REFERENCE: Final = object_type(
    "TypedLocalObjectReference",
    apiGroup=TEXT,
    kind=needed(TEXT),
    name=needed(TEXT),
)

TYPED_OBJECT_REFERENCE: Final = object_type(
    "TypedObjectReference",
    apiGroup=TEXT,
    kind=needed(TEXT),
    name=needed(TEXT),
    namespace=TEXT,
)

KEY_TO_PATH: Final = object_type(
    "KeyToPath",
    key=needed(TEXT),
    mode=PERMISSIONS,
    path=needed(TEXT),
    user=since("1.37", LONG),
)

OBJECT_FIELD_SELECTOR: Final = object_type(
    "ObjectFieldSelector",
    apiVersion=TEXT,
    fieldPath=needed(TEXT),
)

RESOURCE_FIELD_SELECTOR: Final = object_type(
    "ResourceFieldSelector",
    containerName=TEXT,
    divisor=QUANTITY,
    resource=needed(TEXT),
)

CONFIG_MAP_KEY_SELECTOR: Final = object_type(
    "ConfigMapKeySelector",
    key=needed(TEXT),
    name=TEXT,
    optional=FLAG,
)

SECRET_KEY_SELECTOR: Final = object_type(
    "SecretKeySelector",
    key=needed(TEXT),
    name=TEXT,
    optional=FLAG,
)

FILE_KEY_SELECTOR: Final = object_type(
    "FileKeySelector",
    key=since("1.34", needed(TEXT)),
    optional=since("1.34", FLAG),
    path=since("1.34", needed(TEXT)),
    volumeName=since("1.34", needed(TEXT)),
)
