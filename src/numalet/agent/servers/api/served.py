"""The state that all handlers share: door, encoded objects, lookups."""

from __future__ import annotations

from typing import Any, Final

from numalet.agent.kubelet import document
from numalet.agent.servers.api import projections
from numalet.agent.servers.api.collection import key_of
from numalet.agent.servers.api.forms import Kept, Shown, shown
from numalet.agent.servers.api.status import not_found, of_refusal
from numalet.agent.servers.door import AgentView, Door, Foreseen, RequestRefused
from numalet.core.model.value import Mutable, field
from numalet.core.workload.records import NodeEvent, PodRecord
from numalet.shared.kubernetes import pod_placement
from numalet.wording import kubernetes_api as words

OWN_GROUP: Final = "numalet.dev/v1alpha1"
_VERSION: Final = "resourceVersion"


class Served(Mutable):
    door: Door
    _pods: Kept[str] = field(default_factory=Kept)

    def records(self, namespace: str | None) -> list[PodRecord]:
        """Records of a namespace or of all, in order of acceptance."""
        # A pod that still ends may share its name with a newer one; clients see the newer.
        records = self.door.view().records
        return [
            each
            for each in records.values()
            if namespace in (None, each.workload.pod.namespace)
            and records.named(each.workload.pod.namespace, each.workload.pod.name) is each
        ]

    def record(self, namespace: str, name: str) -> PodRecord:
        """Raises ``Failure`` 404."""
        record = self.door.view().records.named(namespace, name)
        if record is None:
            raise not_found("pods", name)
        return record

    def pod(self, record: PodRecord) -> Shown:
        view = self.door.view()
        node_name = view.node_name
        # Bounds the cache; deleted pods are never requested again.
        if len(self._pods) > 2 * len(view.records) + 16:
            self._pods.forget_all_but(view.records)
        return self._pods.of(
            record.uid, record.resource_version, lambda: projections.pod(record, node_name)
        )

    def as_is(self, record: PodRecord) -> Shown:
        """Build the Pod object of a record that is not stored."""
        return shown(projections.pod(record, self.door.view().node_name))

    def foreseen(self, answer: Foreseen | RequestRefused, name: str) -> Shown:
        """Build the predicted Pod object. Raises ``Failure`` if the request would be refused."""
        if isinstance(answer, RequestRefused):
            raise of_refusal(answer, "pods", name)
        pod = projections.pod(answer.record, self.door.view().node_name)
        # The object does not exist, so it has no version.
        metadata = {key: each for key, each in pod["metadata"].items() if key != _VERSION}
        status = pod["status"]
        if answer.record.run.deletion is None:
            placement = pod_placement.pod_placement(answer.record, answer.node.snapshot, {})
            status = {"message": words.foreseen(placement), **status}
        return shown({**pod, "metadata": metadata, "status": status})

    def placement(self, record: PodRecord) -> Shown:
        """Build the PodPlacement object, including table columns."""
        view = self.door.view()
        pod = self.pod(record).value
        metadata, columns = pod["metadata"], projections.columns(pod)
        kept = ("name", "namespace", "uid", "labels", "resourceVersion", "creationTimestamp")
        value: dict[str, Any] = {
            "kind": "PodPlacement",
            "apiVersion": OWN_GROUP,
            "metadata": {name: metadata[name] for name in kept if name in metadata},
            "ready": columns.ready,
            "status": columns.status,
            "restarts": columns.restarts,
            **pod_placement.pod_placement(record, view.node.snapshot, view.audits),
        }
        return shown(value)

    def placement_of(self, namespace: str, name: str) -> Shown:
        """The PodPlacement of this name; of a kubelet's pod also by uid.

        Raises ``Failure`` 404.
        """
        own = {each.workload.pod.name for each in self.records(namespace)}
        for each in () if name in own else self.observed(namespace):
            metadata = each.value["metadata"]
            if name in (metadata["name"], metadata["uid"]):
                return each
        return self.placement(self.record(namespace, name))

    def observed(self, namespace: str | None) -> list[Shown]:
        """PodPlacement objects of a kubelet's pods, if a kubelet owns the node."""
        return [
            shown(each)
            for each in observed_by(self.door.view())
            if namespace in (None, each["metadata"]["namespace"])
        ]

    def events(self, namespace: str | None) -> list[tuple[str, Shown]]:
        """Event objects by key."""
        events = self.door.view().events
        items = [self.event(each) for each in events if namespace in (None, namespace_of(each))]
        return [(key_of(item.value), item) for item in items]

    def event(self, event: NodeEvent) -> Shown:
        return shown(projections.event(event, self.door.view()))


def observed_by(view: AgentView) -> list[dict[str, Any]]:
    """PodPlacement objects of a kubelet's pods."""
    placements = () if view.kubelet is None else document.placements(view.kubelet)
    return [{"kind": "PodPlacement", "apiVersion": OWN_GROUP, **each} for each in placements]


def namespace_of(event: NodeEvent) -> str:
    """The namespace of an event; events of the node are in ``default``."""
    return event.namespace or "default"
