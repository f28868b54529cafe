"""What numalet adds to the fields of the OpenAPI documents belongs to fields that there are."""

from __future__ import annotations

import pytest

from numalet.io.documents.claims import device_claims
from numalet.io.documents.pods.pod_table import table, uses, values
from numalet.io.documents.pods.pod_table.kinds import ListOf, MapOf, PlainKind, TextKind, Whole

TYPES = {
    **table.TYPES,
    **{name: kind for types in device_claims.VERSIONS.values() for name, kind in types.items()},
}
"""By name; of the two types called ResourceClaim the one that stands by itself."""
FIELDS = {
    f"{name}.{each}": field
    for types in (table.TYPES, *device_claims.VERSIONS.values())
    for name, kind in types.items()
    for each, field in kind.fields.items()
}


def test_values_uses_and_words_are_those_of_known_fields_and_types() -> None:
    assert values.VALUES.keys() | values.NEEDED.keys() | values.OPTIONAL <= FIELDS.keys()
    assert uses.USES.keys() <= FIELDS.keys()
    assert uses.WORDS.keys() <= TYPES.keys()


def test_values_narrow_the_type_of_the_document_and_do_not_change_it() -> None:
    for path, narrow in values.VALUES.items():
        name, _, each = path.partition(".")
        written = next(
            fields[name][each]
            for groups in table.RELEASES.values()
            for fields in groups.values()
            if each in fields.get(name, {})
        )
        wide = ("string",) if isinstance(narrow, TextKind) else ("int32", "int64")
        assert written.rstrip("!").removeprefix("[]") in wide, path


@pytest.mark.parametrize(
    ("path", "kind", "is_needed", "since"),
    [
        ("Container.env", ListOf(table.TYPES["EnvVar"]), False, ""),
        ("Container.name", values.DNS_LABEL, True, ""),
        ("ContainerPort.containerPort", Whole(1, 65535), True, ""),
        ("EphemeralContainer.name", values.DNS_LABEL, True, ""),
        ("PodCertificateProjection.userAnnotations", MapOf(TextKind()), False, "1.35"),
        ("PodSpec.hostnameOverride", TextKind(), False, "1.34"),
        ("PodSpec.overhead", MapOf(PlainKind.QUANTITY), False, ""),
        ("PodSpec.workloadRef", table.TYPES["WorkloadReference"], False, "1.35"),
        ("StatefulSetSpec.serviceName", TextKind(), False, ""),
    ],
)
def test_a_field_is_of_its_first_release_and_as_the_last_one_defines_it(
    path: str, kind: object, is_needed: bool, since: str
) -> None:
    field = FIELDS[path]
    assert (field.kind, field.is_needed, field.since) == (kind, is_needed, since)


def test_a_field_that_a_release_drops_stays_and_is_no_longer_required() -> None:
    assert not FIELDS["NodeAllocatableResourceClaimStatus.resources"].is_needed
