"""Names of the pods in state files, from the answer of the kubelet's pod resources API.

The files identify pods by uid, and the API by name. Kubelet: ``PodResourcesLister.List``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.model.listed_pod import Holdings, ListedPod
from numalet.insight.state.holder_map import HolderRow
from numalet.insight.state.reading import States


def names(
    states: States, holders: Iterable[HolderRow], listed: Iterable[ListedPod]
) -> dict[str, str]:
    pods: dict[str, dict[str, Holdings]] = {}
    for row in holders:
        held = pods.setdefault(row.pod_uid, {})
        held[row.container] = _holdings(states, row)
    everyone = tuple(listed)
    fitting = {uid: [pod for pod in everyone if _fits(pod, held)] for uid, held in pods.items()}
    times = [pod.name for pods_of_uid in fitting.values() for pod in pods_of_uid]
    # A match counts only if it is unique in both directions.
    return {
        uid: pods_of_uid[0].name
        for uid, pods_of_uid in fitting.items()
        if len(pods_of_uid) == 1 and times.count(pods_of_uid[0].name) == 1
    }


def _fits(pod: ListedPod, held: Mapping[str, Holdings]) -> bool:
    holding = {name: each for name, each in pod.containers.items() if not each.is_nothing}
    # Ended init containers are in the files only, so the comparison starts from the API's answer.
    return bool(holding) and all(held.get(name) == each for name, each in holding.items())


def _holdings(states: States, row: HolderRow) -> Holdings:
    cpus = None if states.cpu is None else states.cpu.ledger.cpus_of(row.pod_uid, row.container)
    records = {}
    if states.device is not None:
        records = dict(states.device.written.records.get(row.pod_uid, {}).get(row.container, {}))
    return Holdings(
        cpus or frozenset(),
        frozenset((part.type, part.size, part.numa_nodes) for part in row.memory),
        frozenset((name, record.device_ids) for name, record in records.items()),
    )
