"""What the annotations of a pod ask of the plugin, and what its namespace may ask.

The administrator permits values of annotations by namespace, in a file:

    apiVersion: numalet.dev/v1alpha1
    kind: WorkloadPermissions
    namespaces:
    - name: analytics
      permits:
        placement: [one-numa-node]
        cpus: [exclusive]
    - name: "*"
      permits: {no-room: [reject]}

An unknown or forbidden value is a finding, and the annotation is ignored. An unknown name in the
domain ``numalet.dev`` is a finding with the nearest known one, because it is probably a typo.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.model import input_error, resources
from numalet.core.model.findings import Finding, Findings, Location, Severity
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import ZERO
from numalet.core.model.value import Value, field
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place

API_VERSION: Final = "numalet.dev/v1alpha1"
KIND: Final = "WorkloadPermissions"
DOMAIN: Final = "numalet.dev/"
EVERY_NAMESPACE: Final = "*"

PLACEMENT: Final = "placement"
CPUS: Final = "cpus"
POLICY: Final = "topology-policy"
SCOPE: Final = "topology-scope"
MEMORY_NODES: Final = "memory-nodes"
NO_ROOM: Final = "no-room"


class Placement(Enum):
    IGNORE = "ignore"
    """The plugin leaves the pod alone."""
    ONE_NUMA_NODE = "one-numa-node"
    """All containers of the pod are on one NUMA node."""


class NoRoom(Enum):
    """What happens with a container that the node has no room for."""

    REJECT = "reject"
    UNPINNED = "unpinned"


class Cpus(Enum):
    EXCLUSIVE = "exclusive"
    """Whole CPUs in the requests of a Burstable pod are exclusive, as in a Guaranteed pod."""


ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    PLACEMENT: tuple(each.value for each in Placement),
    CPUS: tuple(each.value for each in Cpus),
    POLICY: tuple(each.value for each in TopologyPolicy),
    SCOPE: tuple(each.value for each in Scope),
    MEMORY_NODES: (NodeClass.CPU.value, NodeClass.MEMORY.value),
    NO_ROOM: tuple(each.value for each in NoRoom),
}
"""The values of each annotation. ``memory-nodes`` may have several, with commas."""

_OF_OTHERS: Final = frozenset(
    {
        "allocation",
        *("recreate", "recreated-from", "recreate-attempt"),
        *("runs-for", "init-runs-for", "ends-after", "exit-code"),
    }
)
"""Annotations in the same domain of the plugin itself, of the breaker, and of hollow nodes."""

Permits = Mapping[str, frozenset[str]]


class Permissions(Value):
    """The permitted values, by namespace and annotation."""

    by_namespace: Mapping[str, Permits] = field(default_factory=dict)

    def of(self, namespace: str, annotation: str) -> frozenset[str]:
        of_both = (self.by_namespace.get(each, {}) for each in (EVERY_NAMESPACE, namespace))
        return frozenset().union(*(each.get(annotation, frozenset()) for each in of_both))

    @property
    def memory_classes(self) -> frozenset[NodeClass]:
        """The classes of NUMA nodes that some namespace may ask for."""
        values = (each.get(MEMORY_NODES, frozenset()) for each in self.by_namespace.values())
        return frozenset(map(NodeClass, frozenset().union(*values)))


NOTHING_PERMITTED: Final = Permissions()


class PodChoice(Value):
    """The annotations that count. None: as the node's configuration says."""

    placement: Placement | None = None
    cpus: Cpus | None = None
    policy: TopologyPolicy | None = None
    scope: Scope | None = None
    memory_nodes: frozenset[NodeClass] | None = None
    no_room: NoRoom | None = None
    findings: tuple[Finding, ...] = ()


NO_CHOICE: Final = PodChoice()


def choice_of(
    annotations: Mapping[str, str], namespace: str, name: str, permissions: Permissions
) -> PodChoice:
    values: dict[str, list[str]] = {}
    findings: list[Finding] = []
    where = Location(f"pod {namespace}/{name}", "$.metadata.annotations")
    for annotation in ALLOWED:
        text = annotations.get(DOMAIN + annotation)
        if text is None:
            continue
        parts = text.split(",") if annotation == MEMORY_NODES else [text]
        asked = [each.strip() for each in parts]
        problem = _problem(annotation, text, asked, permissions.of(namespace, annotation))
        if problem is None:
            values[annotation] = asked
        else:
            findings.append(problem.at(where).of_severity(Severity.WARNING))
    names = (each.removeprefix(DOMAIN) for each in annotations if each.startswith(DOMAIN))
    unknown = sorted({*names} - ALLOWED.keys() - _OF_OTHERS)
    findings.extend(_unknown(each, where) for each in unknown)
    if not (values or findings):
        return NO_CHOICE
    if values.get(PLACEMENT) == [Placement.ONE_NUMA_NODE.value]:
        for annotation in {POLICY, SCOPE} & values.keys():
            findings.append(_superfluous(annotation, where))
            del values[annotation]
    one = {annotation: asked[0] for annotation, asked in values.items()}
    classes = values.get(MEMORY_NODES)
    return PodChoice(
        placement=Placement(one[PLACEMENT]) if PLACEMENT in one else None,
        cpus=Cpus(one[CPUS]) if CPUS in one else None,
        policy=TopologyPolicy(one[POLICY]) if POLICY in one else None,
        scope=Scope(one[SCOPE]) if SCOPE in one else None,
        memory_nodes=None if classes is None else frozenset(map(NodeClass, classes)),
        no_room=NoRoom(one[NO_ROOM]) if NO_ROOM in one else None,
        findings=tuple(findings),
    )


def _problem(
    annotation: str, text: str, asked: list[str], permitted: frozenset[str]
) -> Finding | None:
    allowed = ALLOWED[annotation]
    named = f"annotation {DOMAIN}{annotation}: {typed.described(text)}"
    several = "one or more" if annotation == MEMORY_NODES else "one"
    if not set(asked) <= set(allowed):
        return input_error.NotSupported(
            f"{named} is unknown, so it is ignored", expected=f"{several} of: {', '.join(allowed)}"
        )
    if not set(asked) <= permitted:
        ordered = ", ".join(each for each in allowed if each in permitted)
        return input_error.Forbidden(
            f"{named} is not permitted in this namespace, so it is ignored",
            expected=f"{several} of: {ordered}" if ordered else "no such annotation",
        )
    return None


def _unknown(annotation: str, where: Location) -> Finding:
    near = difflib.get_close_matches(annotation, ALLOWED, n=1) or ALLOWED
    return input_error.NotSupported(
        f"there is no annotation {typed.described(DOMAIN + annotation)}, so it is ignored",
        expected=", ".join(DOMAIN + each for each in near),
        where=where,
        severity=Severity.WARNING,
    )


def no_whole_cpus(choice: PodChoice, pod: Pod) -> Finding | None:
    """Return a finding if a pod may have exclusive CPUs, and no container requests whole ones."""
    if choice.cpus is None:
        return None
    asked = (each.requests.get(resources.CPU, ZERO) for each in pod.containers())
    if any(each.sign > 0 and not each.milli_value % 1000 for each in asked):
        return None
    return input_error.Conflict(
        f"annotation {DOMAIN}{CPUS}: {choice.cpus.value} has no effect, because no container of "
        "the pod requests a whole number of CPUs",
        where=Location(f"pod {pod}", "$.metadata.annotations"),
        severity=Severity.WARNING,
    )


def _superfluous(annotation: str, where: Location) -> Finding:
    return input_error.Conflict(
        f"annotation {DOMAIN}{annotation} is ignored, because {DOMAIN}{PLACEMENT}: one-numa-node "
        "means the policy single-numa-node in pod scope",
        where=where,
        severity=Severity.WARNING,
    )


class _Namespace(msgspec.Struct, frozen=True):
    name: str
    permits: dict[str, list[str]]


class _File(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    namespaces: list[_Namespace]


def read(path: Path) -> Permissions:
    """Raises ``BadInput`` with all problems."""
    documents = yaml_source.load_documents(yaml_source.read_text(path), str(path))
    findings = Findings()
    if len(documents) != 1:
        raise input_error.Invalid(
            f"the file has {len(documents)} documents", expected="one", where=Location(str(path))
        ).bad_input()
    (document,) = documents
    findings.extend(document.duplicates)
    place = Place(str(path), "$", document.line_of)
    shape = typed.decode(document.value, _File, place, findings)
    findings.raise_errors()
    assert shape is not None, "else it was reported"
    typed.check_members(document.value, _File.__struct_encode_fields__, place, findings)
    for name, got, wanted in (
        ("apiVersion", shape.api_version, API_VERSION),
        ("kind", shape.kind, KIND),
    ):
        if got != wanted:
            typed.not_allowed(got, (wanted,), place.member(name), findings)
    by_namespace: dict[str, Permits] = {}
    for at, each in enumerate(shape.namespaces):
        below = place.member("namespaces").item(at)
        members = document.value["namespaces"][at]
        typed.check_members(members, _Namespace.__struct_encode_fields__, below, findings)
        if each.name in by_namespace:
            problem = f"namespace {typed.described(each.name)} is listed twice"
            where = below.member("name").location
            findings.add(input_error.Duplicate(problem, where=where))
        by_namespace[each.name] = _permits(each, below.member("permits"), findings)
    findings.raise_errors()
    return Permissions(by_namespace)


def _permits(of: _Namespace, place: Place, findings: Findings) -> Permits:
    typed.check_members(of.permits, ALLOWED, place, findings)
    permits = {}
    for annotation, values in of.permits.items():
        allowed = ALLOWED.get(annotation, tuple(values))
        for at, value in enumerate(values):
            if value not in allowed:
                typed.not_allowed(value, allowed, place.member(annotation).item(at), findings)
        permits[annotation] = frozenset(values)
    return permits
