"""Find the pod of a cluster that a user names, or say which pods are meant instead."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import input_error
from numalet.wording import numbers

_EXPECTED: Final = "NAMESPACE/POD, or a uid"
_MOST_NAMED: Final = 5


def find(cluster: Cluster, text: str) -> ClusterPod:
    """Return the pod with this name, namespace/name or uid.

    Raises:
        BadInput: There is no such pod, there are several, or it is the name of a workload.
    """
    known = cluster.pods.get(text)
    if known is not None:
        return known
    namespace, _, name = text.rpartition("/")
    found = [
        each
        for each in cluster.pods.values()
        if each.pod.name == name and namespace in ("", each.pod.namespace)
    ]
    namespaces = {each.pod.namespace for each in found}
    if len(namespaces) > 1:
        names = ", ".join(sorted(namespaces))
        raise input_error.Invalid(
            f"pods called {name!r} are in several namespaces: {names}", expected=_EXPECTED
        ).bad_input()
    if found:
        # Joined dumps may have a StatefulSet's pod twice, under two uids.
        return max(found, key=lambda each: (each.created_at_seconds or 0.0, each.pod.uid))
    owned = list(_owned(cluster, namespace, name))
    if owned:
        raise input_error.Invalid(_workload(text, owned), expected=_EXPECTED).bad_input()
    raise input_error.NotFound(_unknown(cluster, text, namespace, name)).bad_input()


def _workload_kind(pod: ClusterPod, name: str) -> str:
    """Return the kind of the pod's owner if it has this name, else an empty text."""
    owner = pod.controller
    if owner is None:
        return ""
    if owner.name == name:
        return owner.kind
    # A Deployment is known only by the names of its ReplicaSets, which add a hash to its name.
    is_deployment = owner.kind == "ReplicaSet" and owner.name.rpartition("-")[0] == name
    return "Deployment" if is_deployment else ""


def _owned(cluster: Cluster, namespace: str, name: str) -> Iterator[tuple[str, ClusterPod]]:
    for each in cluster.pods.values():
        kind = _workload_kind(each, name)
        # As in job/train, which kubectl understands.
        if kind and namespace in ("", each.pod.namespace, kind.lower()):
            yield kind, each


def _workload(text: str, owned: Sequence[tuple[str, ClusterPod]]) -> str:
    # Rejected pods are most likely meant, then waiting ones.
    pods = sorted(
        (each for _, each in owned),
        key=lambda each: (not each.was_rejected, not each.is_waiting, str(each.pod)),
    )
    rejected = sum(each.was_rejected for each in pods)
    refused = f", {rejected} of them rejected" if rejected else ""
    listed = numbers.some((str(each.pod) for each in pods), _MOST_NAMED)
    count = numbers.counted(len(pods), "pod")
    return f"{text!r} is a {owned[0][0]} with {count}{refused}, not a pod; name one: {listed}"


def _unknown(cluster: Cluster, text: str, namespace: str, name: str) -> str:
    if not cluster.pods:
        return f"no pod is called {text!r}; the cluster has no pods"
    there = {str(each.pod) for each in cluster.pods.values() if each.pod.namespace == namespace}
    pods = there or {str(each.pod) for each in cluster.pods.values()}
    wanted = f"{namespace}/{name}" if there else name
    by_text = {each if there else each.rpartition("/")[2]: each for each in sorted(pods)}
    near = difflib.get_close_matches(wanted, by_text, n=3)
    meant = f"; did you mean {' or '.join(by_text[each] for each in near)}?" if near else ""
    lost = "" if there or not namespace else f"; no pod is in the namespace {namespace!r}"
    listed = "; 'numalet fleet rejected' lists the rejected pods" if not near else ""
    return f"no pod is called {text!r}{lost}{meant}{listed}"
