"""The types of pods, workloads and claims: their fields, with values and uses."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from typing import Final

import msgspec

from numalet.core.model.value import Mutable, field
from numalet.io.documents.pods.pod_table import kinds
from numalet.io.documents.pods.pod_table.uses import USES, WORDS
from numalet.io.documents.pods.pod_table.values import NEEDED, OPTIONAL, VALUES
from numalet.io.findings.documents import DocumentFieldMissing

_KINDS: Final[Mapping[str, kinds.Kind]] = {
    "boolean": kinds.PlainKind.FLAG,
    "int-or-string": kinds.PlainKind.INT_OR_TEXT,
    "int32": kinds.Whole(*kinds.INT32),
    "int64": kinds.Whole(*kinds.INT64),
    "object": kinds.PlainKind.OBJECT,
    "quantity": kinds.PlainKind.QUANTITY,
    "string": kinds.TextKind(),
    "time": kinds.PlainKind.MOMENT,
}
_NO_USE: Final = kinds.Use()
_WORKLOADS: Final = (
    *("CronJob", "DaemonSet", "Deployment", "Job"),
    *("ReplicaSet", "ReplicationController", "StatefulSet"),
)
_LIKE: Final = {"EphemeralContainer": "Container"}
"""Types whose fields have the values and uses of another type."""

RELEASES: Final = msgspec.json.decode(
    pkgutil.get_data(__package__, "fields.json") or b"",
    type=dict[str, dict[str, dict[str, dict[str, str]]]],
)


class _Group(Mutable):
    """The types of one group during construction; ``written``: texts and releases by field."""

    written: Mapping[str, Mapping[str, tuple[str, str]]]
    others: Mapping[str, kinds.ObjectType]
    made: dict[str, kinds.ObjectType] = field(default_factory=dict)

    def type(self, name: str) -> kinds.ObjectType:
        if name not in self.written:
            return self.others[name]
        if name not in self.made:
            fields = sorted(self.written[name].items())
            self.made[name] = kinds.ObjectType(
                name=name,
                words=WORDS.get(name, ""),
                fields={each: self._field(name, each, *written) for each, written in fields},
                is_of_servers=name == "PodStatus" or name in _WORKLOADS,
            )
        return self.made[name]

    def _field(self, name: str, each: str, text: str, since: str) -> kinds.Field:
        path = f"{_LIKE.get(name, name)}.{each}"
        use = USES.get(path, _NO_USE)
        return kinds.Field(
            kind=self._kind(text.rstrip("!"), path),
            # "!" marks a required field in fields.json.
            is_needed=(text.endswith("!") and path not in OPTIONAL) or path in NEEDED,
            missing=NEEDED.get(path, DocumentFieldMissing),
            since=since,
            use=use.use,
            words=use.words,
            rule=use.rule,
            instead=use.instead,
        )

    def _kind(self, text: str, path: str) -> kinds.Kind:
        if text.startswith("{}"):
            return kinds.MapOf(self._kind(text[2:], path))
        if text.startswith("[]"):
            return kinds.ListOf(self._kind(text[2:], path))
        return VALUES.get(path) or _KINDS.get(text) or self.type(text)


def types_of(group: str, others: Mapping[str, kinds.ObjectType]) -> Mapping[str, kinds.ObjectType]:
    """All types of a group by name, with the fields of all releases.

    Groups are ``pods`` (with workloads) and the versions of the claims. ``others`` are types of
    another group that this one refers to.
    """
    _, *later = RELEASES
    written: dict[str, dict[str, tuple[str, str]]] = {}
    for since, groups in zip(("", *later), RELEASES.values(), strict=True):
        for name, fields in groups.get(group, {}).items():
            known = written.setdefault(name, {})
            for each, text in fields.items():
                known[each] = text, known[each][1] if each in known else since
    types = _Group(written, others)
    return {name: types.type(name) for name in written}


TYPES: Final = types_of("pods", {})
POD: Final = TYPES["Pod"]
WORKLOADS: Final = {name: TYPES[name] for name in _WORKLOADS}
