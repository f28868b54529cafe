"""Build a fleet from its file: open machines, start kubelets, place pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from numalet.core.cluster import classes, rebuilding
from numalet.core.cluster.building import ClassRule
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Controller, Origin
from numalet.core.config import unknown
from numalet.core.config.rules import StartRefused
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Severity
from numalet.core.model.machine_shape import resembles_shape
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.value import Value, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.devices import devices_on
from numalet.io.documents.cluster import fleet_file
from numalet.io.documents.cluster.fleet_file import FleetFile, FleetPool
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.documents.machine import device_file, profile_library
from numalet.io.documents.pods import pod_document, pod_shapes, pod_templates
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.text import kube_objects, yaml_source
from numalet.io.documents.text.kube_objects import KubeObject
from numalet.io.machines import LoadedMachine, open_machine

_HOSTNAME: Final = "kubernetes.io/hostname"
_ARCHITECTURE: Final = "kubernetes.io/arch"
_SYSTEM: Final = "kubernetes.io/os"


class FleetClass(Value):
    """A pool with an empty node and its class; ``notes`` are warnings of the kubelet.

    A pool with a blank field has neither.
    """

    pool: FleetPool
    empty: Node | None = None
    spec: classes.ClassSpec | None = None
    notes: tuple[Finding, ...] = ()


class Fleet(Value):
    pools: tuple[FleetClass, ...]
    pods: tuple[ClusterPod, ...] = ()

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The warnings about its configurations, without duplicates."""
        findings = Findings()
        for each in self.pools:
            findings.extend(each.notes)
        return findings.distinct

    def rules(self) -> tuple[ClassRule, ...]:
        """Return the rules that assign machine and configuration of a pool to nodes of a dump."""
        return tuple(
            ClassRule(
                spec=each.spec,
                pool=each.pool.name,
                blank=" and no ".join(each.pool.blank),
                release=each.pool.release,
                names=each.pool.names,
                labels=each.pool.match_labels,
            )
            for each in self.pools
        )

    def cluster(self, pool_label: str) -> Cluster:
        """Return the nodes of all pools with the pods that name them; the other pods wait.

        Raises:
            BadInput: A pool has a blank field, or a pod names a node that does not exist.
        """
        blank = [
            input_error.Required(
                f"pool {each.pool.name!r} has no {' and no '.join(each.pool.blank)}; only a class "
                "file (--class) may leave it blank",
                where=each.pool.place.location,
            )
            for each in self.pools
            if each.pool.blank
        ]
        if blank:
            raise BadInput(blank)
        bound: dict[str, list[ClusterPod]] = {}
        for each in self.pods:
            if each.pod.node_name:
                bound.setdefault(each.pod.node_name, []).append(each)
        made = {
            each.name: each for pool in self.pools for each in _nodes_of(pool, pool_label, bound)
        }
        strange = [
            input_error.NotFound(
                f"{each.pod} is bound to node {each.pod.node_name}, which is in no pool"
            )
            for each in self.pods
            if each.pod.node_name and each.pod.node_name not in made
        ]
        if strange:
            raise BadInput(strange)
        pods = {each.pod.uid: each for each in self.pods}
        return Cluster(nodes=made, pods=pods, notes=self.notes)


def load(path: str) -> Fleet:
    """Read a fleet file.

    Raises:
        BadInput: With everything that is wrong in it and in the files that it names.
    """
    described = fleet_file.load(path)
    findings = Findings()
    pools = []
    wrong: list[tuple[FleetPool, Finding]] = []
    for pool in described.pools:
        try:
            pools.append(_opened(pool, described))
        except BadInput as bad:
            wrong += ((pool, each) for each in bad.findings)
    findings.extend(_of_pools(wrong, described.document))
    pods = list(_pods(described, findings))
    findings.raise_errors()
    return Fleet(tuple(pools), tuple(pods))


def _of_pools(wrong: Iterable[tuple[FleetPool, Finding]], document: str) -> Iterator[Finding]:
    """Merge equal errors of several pools into one that names the pools."""
    having: dict[str, list[tuple[FleetPool, Finding]]] = {}
    for pool, finding in wrong:
        having.setdefault(repr((finding.code, finding.where, finding.fields)), []).append(
            (pool, finding)
        )
    for pairs in having.values():
        (first, finding), *others = pairs
        # An error in the fleet file itself has its own line; only errors of other files repeat.
        if finding.where.document == document:
            yield finding
            continue
        more = f" and {len(others)} more" if others else ""
        yield input_error.Invalid(
            f"pool {first.name!r}{more}: {finding.located}",
            where=first.place.location,
            severity=finding.severity,
        )


def _opened(pool: FleetPool, described: FleetFile) -> FleetClass:
    if pool.machine is None or pool.blank:
        return FleetClass(pool)
    machine = open_machine(
        _beside(pool.machine, described.folder),
        memory_per_node=pool.memory_per_node,
        hugepages_per_node=pool.hugepages_per_node,
    )
    devices = _devices(pool, machine, described)
    config = _configuration(pool, described)
    # Notes of each pool would bury the answer of a fleet.
    warnings = tuple(each for each in config.warnings if each.severity is not Severity.NOTE)
    behaviour = config.behaviour
    if pool.release is not None:
        behaviour = replace(behaviour, release=pool.release)
    node = nodes.start(config.config, machine.info, devices=devices, behaviour=behaviour)
    if isinstance(node, StartRefused):
        where = pool.place.location
        raise BadInput(
            [
                input_error.Invalid(
                    f"the kubelet of pool {pool.name!r} would not start: {each}", where=where
                )
                for each in node.findings
            ]
            + [*warnings]
        )
    spec = classes.spec_of(node, unknown.assumed(config.config))
    empty = classes.start(spec)
    assert isinstance(empty, Node), empty
    return FleetClass(pool, empty, spec, warnings)


def _configuration(pool: FleetPool, described: FleetFile) -> kubelet_config.LoadedConfig:
    release = None if pool.release is None else pool.release.name
    if isinstance(pool.configuration, Mapping):
        place = pool.place.member("configuration")
        followed = {} if pool.release is None else {"release": pool.release}
        return kubelet_config.decode_placed(pool.configuration, place, **followed)
    path = None
    if pool.configuration is not None:
        path = _beside(pool.configuration, described.folder)
    return kubelet_config.load(ConfigSources(config_file=path, release=release))


def _devices(
    pool: FleetPool, machine: LoadedMachine, described: FleetFile
) -> device_file.DeviceLists:
    if pool.devices is None or isinstance(pool.devices, str):
        path = None if pool.devices is None else _beside(pool.devices, described.folder)
        return devices_on(machine, path, ())
    if not pool.devices:
        # An empty list is a machine without devices, also where its profile has some.
        return {}
    if all(isinstance(each, str) for each in pool.devices):
        return devices_on(machine, None, pool.devices)
    place = pool.place.member("devices")
    return device_file.decode(pool.devices, place.location, place.lines, machine.info.node_ids)


def _beside(text: str, folder: Path) -> str:
    """Resolve a path relative to the folder of the fleet file; other texts stay unchanged."""
    if text.startswith(profile_library.PREFIX) or resembles_shape(text):
        return text
    return str(folder / text)


def _pods(described: FleetFile, findings: Findings) -> Iterator[ClusterPod]:
    """Yield the pods of the fleet file in their order; those of a workload wait for a node."""
    uids: dict[str, str] = {}
    for place, each in enumerate(_objects(described, findings)):
        for made in _pods_of(each, place, findings):
            pod = made.pod
            if pod.uid in uids:
                findings.add(
                    input_error.Duplicate(
                        f"{pod} and {uids[pod.uid]} have the same uid {pod.uid!r}",
                        expected="a unique uid for each pod",
                    )
                )
            uids[pod.uid] = str(pod)
            yield made


def _objects(described: FleetFile, findings: Findings) -> Iterator[KubeObject]:
    for number, (given, place) in enumerate(described.pods):
        if isinstance(given, Mapping):
            yield KubeObject(str(given.get("kind") or "Pod"), given, place)
            continue
        path = str(described.folder / given)
        try:
            documents = yaml_source.load_documents(yaml_source.read_text(path), path)
        except BadInput as bad:
            findings.extend(bad.findings)
            continue
        objects = kube_objects.of_documents(documents, path, findings, number)
        owners = {owner for each in objects for owner in each.owners()}
        without_pods = kube_objects.WITHOUT_PODS
        # A workload and its listed pods would be counted twice, so owners of listed objects are
        # left out.
        yield from (e for e in objects if e.kind not in without_pods and e.key not in owners)


def _pods_of(each: KubeObject, position: int, findings: Findings) -> Iterator[ClusterPod]:
    tolerations = pod_shapes.tolerations(each)
    if pod_templates.is_workload(each.kind):
        controller = Controller(each.kind, each.key[2])
        for pod in pod_templates.expand(each.kind, each.value, each.place, findings):
            # A template's node name is not that of a running pod.
            waiting = replace(pod, node_name="")
            yield ClusterPod(pod=waiting, controller=controller, tolerations=tolerations)
        return
    identity = PodIdentity(position=position)
    read = pod_document.decode_pod(each.value, each.place, identity, findings)
    if read is not None:
        yield ClusterPod(pod=read, tolerations=tolerations)


def _nodes_of(
    given: FleetClass, pool_label: str, bound: Mapping[str, Iterable[ClusterPod]]
) -> Iterator[ClusterNode]:
    pool = given.pool
    assert given.spec is not None
    assert given.empty is not None
    class_name = classes.class_name(given.spec)
    digits = len(str(max(pool.count - 1, 0)))
    for number in range(pool.count):
        name = f"{pool.name}-{number:0{digits}}"
        labels = {_HOSTNAME: name, _SYSTEM: "linux", **pool.labels}
        identity = NodeIdentity(
            name=name,
            labels=labels,
            has_all_labels=True,
            unknown_labels=frozenset({_ARCHITECTURE}) - labels.keys(),
        )
        notes: tuple[Finding, ...] = ()
        member = classes.member(given.empty, identity)
        if name in bound:
            rebuilt = rebuilding.rebuilt(member, bound[name])
            member, notes = rebuilt.node, rebuilt.notes
        yield ClusterNode(
            name=name,
            node=member,
            origin=Origin.DESCRIBED,
            class_name=class_name,
            pool=labels.get(pool_label, pool.name),
            labels=labels,
            taints=pool.taints,
            notes=notes,
        )
