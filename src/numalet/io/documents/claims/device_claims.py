"""Reads ResourceClaims, ResourceClaimTemplates, DeviceClasses and ResourceSlices.

A file may mix them with other kinds, as ``kubectl get`` prints them. Fields are checked against the
table of their version; an unknown field is a warning, since drivers may use newer releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any, Final, TypeVar

from numalet.core.model import input_error
from numalet.core.model.device_claims import (
    ClaimDocuments,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
)
from numalet.core.model.findings import BadInput, Finding, Findings, Severity
from numalet.core.model.value import Value
from numalet.io.documents.claims import claim_values
from numalet.io.documents.claims.claim_values import ClaimReading
from numalet.io.documents.pods import pod_document
from numalet.io.documents.pods.pod_table import checking
from numalet.io.documents.pods.pod_table.checking import Strictness
from numalet.io.documents.pods.pod_table.table import TYPES, types_of
from numalet.io.documents.text import kube_objects, typed, yaml_source
from numalet.io.documents.text.kube_objects import CLAIM_KINDS, KubeObject
from numalet.io.documents.text.typed import Place
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.pods import PodsNameMissing

T = TypeVar("T", ResourceClaim, DeviceClass, ResourceSlice)

_GROUP: Final = "resource.k8s.io/"
_FLAT: Final = frozenset({"v1beta1", "v1alpha3"})
"""Versions with the older layout: requests without ``exactly``, devices inside ``basic``."""
VERSIONS: Final = {
    version: types_of(version, TYPES) for version in ("v1", "v1beta2", "v1beta1", "v1alpha3")
}
_REQUEST_FIELDS: Final = frozenset(VERSIONS["v1"]["ExactDeviceRequest"].fields)
_DEVICE_FIELDS: Final = frozenset(VERSIONS["v1beta1"]["BasicDevice"].fields)
_WRITTEN: Final = Strictness(unknown=Severity.WARNING)


class LoadedClaims(Value):
    documents: ClaimDocuments
    notes: tuple[Finding, ...] = ()


def load_claims(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> LoadedClaims:
    """Read the claims, classes and slices of one file or several.

    Raises:
        BadInput: with the findings of all files.
    """
    findings = Findings()
    inputs: list[tuple[str, Sequence[YamlDocument]]] = []
    for given in [paths] if isinstance(paths, str | PathLike) else paths:
        path = fspath(given)
        try:
            text = yaml_source.read_text_or_input(path)
            inputs.append((path, yaml_source.load_documents(text, path)))
        except BadInput as bad:
            findings.extend(bad.findings)
    loaded = findings.collect(partial(of_inputs, inputs))
    if loaded is None or findings.has_errors:
        raise BadInput(findings.all)
    return loaded


def read_claims(text: str, document: str) -> LoadedClaims:
    """Read the claims, classes and slices of a text.

    Raises:
        BadInput: with all findings.
    """
    return of_inputs([(document, yaml_source.load_documents(text, document))])


def of_inputs(inputs: Sequence[tuple[str, Sequence[YamlDocument]]]) -> LoadedClaims:
    """The claims in pairs of name and documents; other kinds are skipped. Raises ``BadInput``."""
    findings = Findings()
    # The pod reader reports the other objects.
    of_others = Findings()
    objects = [
        each
        for name, documents in inputs
        for each in kube_objects.of_documents(documents, name, of_others)
        if each.kind in CLAIM_KINDS
    ]
    values = [_read(each, findings) for each in objects]
    if findings.has_errors:
        raise BadInput(findings.all)
    loaded = ClaimDocuments(
        claims=_distinct([v for v in values if isinstance(v, ResourceClaim)], findings),
        classes=_distinct([v for v in values if isinstance(v, DeviceClass)], findings),
        slices=_distinct([v for v in values if isinstance(v, ResourceSlice)], findings),
    )
    return LoadedClaims(loaded, findings.all)


def _distinct(objects: Sequence[T], findings: Findings) -> tuple[T, ...]:
    by_name: dict[str, T] = {}
    for each in objects:
        first = by_name.setdefault(str(each), each)
        if first is not each:
            findings.add(
                input_error.Ignored(
                    f"{each} is defined twice; numalet uses the first one, so remove the other or "
                    "rename it",
                    where=each.at(""),
                )
            )
    return tuple(by_name.values())


def _read(
    given: KubeObject, findings: Findings
) -> ResourceClaim | DeviceClass | ResourceSlice | None:
    version = given.api_version.removeprefix(_GROUP)
    types = VERSIONS.get(version) if given.api_version.startswith(_GROUP) else None
    if types is None:
        known = ", ".join(_GROUP + each for each in VERSIONS)
        shown = typed.described(given.api_version or None)
        where = given.place.member("apiVersion").location
        findings.add(
            input_error.NotSupported(
                f"unknown apiVersion {shown} of a {given.kind}",
                expected=f"one of: {known}",
                where=where,
            )
        )
        return None
    is_from_server = pod_document.is_from_server(given.value)
    strictness = checking.OF_SERVERS if is_from_server else _WRITTEN
    of_object = Findings()
    is_flat = version in _FLAT
    # Misplaced fields first: the table would report them as unknown, which is less clear.
    of_object.extend(_of_other_form(given, version, is_flat=is_flat))
    if not of_object.has_errors:
        checking.check(given.value, types[given.kind], given.place, strictness, of_object)
    value = None
    if not of_object.has_errors:
        name = _name(given, of_object)
        reading = ClaimReading(name, version, is_from_server, is_flat, given.place, of_object)
        value = _value(given, reading)
    findings.extend(of_object.distinct)
    return None if of_object.has_errors else value


def _value(given: KubeObject, reading: ClaimReading) -> ResourceClaim | DeviceClass | ResourceSlice:
    spec = claim_values.part(given.value, "spec")
    match given.kind:
        case "DeviceClass":
            return claim_values.device_class(spec, reading)
        case "ResourceSlice":
            return claim_values.resource_slice(spec, reading)
        case "ResourceClaimTemplate":
            spec = claim_values.part(spec, "spec")
            return claim_values.claim(given.value, spec, reading, is_template=True)
        case _:
            return claim_values.claim(given.value, spec, reading, is_template=False)


def _name(given: KubeObject, findings: Findings) -> str:
    metadata = claim_values.part(given.value, "metadata")
    name = metadata.get("name") or metadata.get("generateName") or ""
    if not name:
        where = given.place.member("metadata").location
        findings.add(PodsNameMissing(what=given.kind, where=where))
    return str(name)


def _of_other_form(given: KubeObject, version: str, *, is_flat: bool) -> Iterator[Finding]:
    others = [each for each in VERSIONS if (each in _FLAT) is not is_flat]
    for place, value, names, where_they_are in _misplaced(given, is_flat=is_flat):
        for name in names & value.keys():
            yield input_error.Invalid(
                f"resource.k8s.io/{version} has no field {name} here, unlike "
                f"{' and '.join(others)}",
                expected=f"the field in {where_they_are}",
                where=place.member(name).location,
            )


_Misplaced = tuple[Place, Mapping[Any, Any], frozenset[str], str]


def _misplaced(given: KubeObject, *, is_flat: bool) -> Iterator[_Misplaced]:
    """Yield parts of the object, with the names that belong elsewhere, and their place."""
    spec, at = claim_values.part(given.value, "spec"), given.place.member("spec")
    if given.kind == "ResourceClaimTemplate":
        spec, at = claim_values.part(spec, "spec"), at.member("spec")
    if given.kind == "ResourceSlice":
        names = _DEVICE_FIELDS if is_flat else frozenset({"basic"})
        belongs = "basic" if is_flat else "the device itself"
        for index, value in enumerate(claim_values.items(spec, "devices")):
            yield at.member("devices").item(index), value, names, belongs
    else:
        names = frozenset({"exactly"}) if is_flat else _REQUEST_FIELDS
        belongs = "the request itself" if is_flat else "exactly"
        devices, at = claim_values.part(spec, "devices"), at.member("devices")
        for index, value in enumerate(claim_values.items(devices, "requests")):
            yield at.member("requests").item(index), value, names, belongs
