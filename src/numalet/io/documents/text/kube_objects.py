"""The Kubernetes objects in documents: single ones, and items of lists.

A file may mix kinds, as ``kubectl get pods,resourceclaims -o yaml`` prints them. Each reader picks
its kinds; a known kind without a reader is skipped, and an unknown kind is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from numalet.core.model import input_error, limits
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.value import Value
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.documents import (
    DocumentFieldMissing,
    DocumentTooManyObjects,
)

_WITHOUT_PODS_TEXT: Final = """
    APIService CSIDriver CertificateSigningRequest ClusterRole ClusterRoleBinding ConfigMap
    ControllerRevision CustomResourceDefinition DeviceTaintRule EndpointSlice Endpoints Event
    HorizontalPodAutoscaler Ingress IngressClass Lease LimitRange MutatingWebhookConfiguration
    Namespace NetworkPolicy Node PersistentVolume PersistentVolumeClaim PodDisruptionBudget
    PodSchedulingContext PodTemplate PriorityClass ResourceQuota Role RoleBinding RuntimeClass
    Secret Service ServiceAccount StorageClass ValidatingAdmissionPolicy
    ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment
"""
CLAIM_KINDS: Final = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
"""Kinds of dynamic resource allocation."""

_CONFIGURING: Final = frozenset(
    [
        "ClusterConfiguration",
        "EC2NodeClass",
        "InitConfiguration",
        "InstanceGroup",
        "JoinConfiguration",
        "KubeadmConfig",
        "KubeadmConfigTemplate",
        "KubeadmControlPlane",
        "KubeletConfig",
        "KubeletConfiguration",
        "MachineConfig",
        "NodeConfig",
        "PerformanceProfile",
        "Shoot",
    ]
)
"""Kinds that contain a kubelet's configuration."""

WITHOUT_PODS: Final = frozenset((*_WITHOUT_PODS_TEXT.split(), *CLAIM_KINDS))
_WITH_PODS: Final = (
    *("CronJob", "DaemonSet", "Deployment", "Job", "List", "Pod", "ReplicaSet"),
    *("ReplicationController", "StatefulSet"),
)
_KINDS: Final = frozenset({"", *WITHOUT_PODS, *_WITH_PODS})
_LIST: Final = ("apiVersion", "items", "kind", "metadata")


class KubeObject(Value):
    """One object, with its input and whether it was an item of a list.

    ``api_version`` is its own, or that of the typed list around it.
    """

    kind: str
    value: Mapping[Any, Any]
    place: Place
    api_version: str = ""
    input: int = 0
    listed: bool = False

    def member(self, *names: str) -> object:
        value: object = self.value
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    @property
    def key(self) -> tuple[str, str, str]:
        metadata = ("namespace", "default"), ("name", "")
        namespace, name = (str(self.member("metadata", m) or other) for m, other in metadata)
        return self.kind, namespace, name

    def owners(self) -> Iterator[tuple[str, str, str]]:
        references = self.member("metadata", "ownerReferences")
        for reference in references if isinstance(references, list) else ():
            # Other owners only affect garbage collection.
            if isinstance(reference, Mapping) and reference.get("controller") is True:
                yield str(reference.get("kind")), self.key[1], str(reference.get("name"))


class _Outer(Value):
    kind: str = ""
    api_version: str = ""
    listed: bool = False


def of_documents(
    documents: Sequence[YamlDocument], document: str, findings: Findings, number: int = 0
) -> list[KubeObject]:
    """The objects of input ``number``, in the order of the text."""
    filled = [loaded for loaded in documents if loaded.value is not None]
    if not filled:
        findings.add(
            input_error.Required(
                "the document is empty",
                expected="a Pod or another object with pods",
                where=Place(document).location,
            )
        )
    objects: list[KubeObject] = []
    for loaded in filled:
        findings.extend(loaded.duplicates)
        place = Place(document, "$", loaded.line_of)
        objects += _unfolded(loaded.value, place, _Outer(), number, findings)
        stop_after_many(findings, place)
    return objects


def stop_after_many(findings: Findings, place: Place) -> None:
    """Raise ``BadInput`` once there are too many errors to be useful."""
    if findings.error_count >= limits.ERRORS_OF_A_TEXT:
        where = Location(place.document, place.path)
        stopped = input_error.TooLarge(
            f"numalet stops reading here, after {findings.error_count} errors", where=where
        )
        raise BadInput([*findings.all, stopped])


def _unfolded(
    value: object, place: Place, outer: _Outer, number: int, findings: Findings
) -> Iterator[KubeObject]:
    if not isinstance(value, Mapping):
        typed.wrong_type(value, "an object with a kind", place, findings)
        return
    kind = str(value.get("kind") or outer.kind)
    api_version = str(value.get("apiVersion") or outer.api_version)
    item_kind = kind.removesuffix("List")
    # An unknown kind that only ends in List is an object unless it has items.
    is_list = item_kind != kind and (item_kind in _KINDS or "items" in value)
    if not is_list:
        given = KubeObject(kind, value, place, api_version, number, outer.listed)
        yield from _known(given, findings)
        return
    typed.check_members(value, _LIST, place, findings)
    if "items" not in value:
        findings.add(DocumentFieldMissing(name="items", what="list", where=place.location))
    items = value.get("items")
    if items is not None and not isinstance(items, list):
        typed.wrong_type(items, "a list", place.member("items"), findings)
        return
    # A plain List has items of any kind, and its version is not theirs.
    inner = _Outer(item_kind, api_version if item_kind else "", listed=True)
    if len(items or ()) > limits.OBJECTS_OF_A_TEXT:
        where = Location(place.document, f"{place.path}.items[{limits.OBJECTS_OF_A_TEXT}]")
        raise BadInput([DocumentTooManyObjects(limit=limits.OBJECTS_OF_A_TEXT, where=where)])
    for index, item in enumerate(items or ()):
        at = place.member("items").item(index)
        stop_after_many(findings, at)
        if isinstance(item, Mapping) and str(item.get("kind")).endswith("List"):
            findings.add(
                input_error.NotSupported(
                    f"a {item.get('kind')} is inside a list",
                    expected="single objects in a list",
                    where=at.location,
                )
            )
        else:
            yield from _unfolded(item, at, inner, number, findings)


def _known(given: KubeObject, findings: Findings) -> Iterator[KubeObject]:
    if given.kind in WITHOUT_PODS or given.kind in _WITH_PODS:
        yield given
        return
    if given.kind in _CONFIGURING:
        findings.add(
            input_error.Invalid(
                f"a {given.kind} configures kubelets and has no pods; pass the file with -c",
                where=given.place.member("kind").location,
            )
        )
        return
    findings.add(
        input_error.NotSupported(
            f"unknown kind {typed.described(given.value.get('kind'))}",
            expected=f"a kind such as {typed.nearest(given.kind, (*_WITH_PODS, *CLAIM_KINDS))}",
            where=given.place.member("kind").location,
        )
    )
