"""The metadata of objects, and what objects are selected by."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    FLAG,
    LONG,
    MOMENT,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    PlainKind,
    honoured,
    kept,
    needed,
    object_type,
    one_of,
)

MANAGED_FIELDS_ENTRY: Final = object_type(
    "ManagedFieldsEntry",
    apiVersion=TEXT,
    fieldsType=TEXT,
    fieldsV1=PlainKind.OBJECT,
    manager=TEXT,
    operation=one_of("Apply", "Update"),
    subresource=TEXT,
    time=MOMENT,
)

OWNER_REFERENCE: Final = object_type(
    "OwnerReference",
    apiVersion=needed(TEXT),
    blockOwnerDeletion=FLAG,
    controller=FLAG,
    kind=needed(TEXT),
    name=needed(TEXT),
    uid=needed(TEXT),
)

OBJECT_META: Final = object_type(
    "ObjectMeta",
    "What an object is called, and what is noted about it.",
    annotations=honoured(
        TEXT_MAP, "256 KiB of names and texts together; they may change while the pod lives."
    ),
    creationTimestamp=kept(MOMENT, "Written by the agent, whatever is given."),
    deletionGracePeriodSeconds=kept(LONG, "Written by the agent, whatever is given."),
    deletionTimestamp=kept(MOMENT, "Written by the agent, whatever is given."),
    finalizers=kept(TEXTS, "Nothing waits for them."),
    generateName=honoured(
        TEXT, "The beginning of a name that the agent makes, where there is no name."
    ),
    generation=kept(LONG),
    labels=honoured(
        TEXT_MAP,
        "By the rules of Kubernetes for their names and values; they may change while"
        " the pod lives.",
    ),
    managedFields=kept(ListOf(MANAGED_FIELDS_ENTRY), "Not kept, whatever is given."),
    name=honoured(DNS_SUBDOMAIN, "One pod of a namespace has it at a time."),
    namespace=honoured(
        DNS_LABEL,
        "Any name, default if there is none; namespaces are there as long as they have pods.",
    ),
    ownerReferences=kept(ListOf(OWNER_REFERENCE), "Nothing is deleted with its owner."),
    resourceVersion=honoured(
        TEXT, "Another one after each change of the pod. In a change it says which pod is meant."
    ),
    selfLink=kept(TEXT),
    uid=honoured(
        TEXT,
        "Kept if it is given, else made. It becomes part of file names: letters, digits,"
        " - and single ., 253 at most.",
    ),
)

LABEL_SELECTOR_REQUIREMENT: Final = object_type(
    "LabelSelectorRequirement",
    key=needed(TEXT),
    operator=needed(one_of("DoesNotExist", "Exists", "In", "NotIn")),
    values=TEXTS,
)

LABEL_SELECTOR: Final = object_type(
    "LabelSelector",
    matchExpressions=ListOf(LABEL_SELECTOR_REQUIREMENT),
    matchLabels=TEXT_MAP,
)
