"""Sentences of explanations: changes that would have admitted a pod, and reasons in few words.

``SENTENCES`` are sentences like those of every other file here. ``BRIEF`` says in a few words why
a set of NUMA nodes is not offered, for a column beside the set; it may use figures that are
computed from those of the reason: ``short_bytes`` and ``short``, how much too little there is,
and ``holders``, who holds memory on the group.
"""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "explain/no-topology": "topology policy none, which aligns nothing",
    "explain/other-topology": "topology policy {policy}, scope {scope}",
    "explain/smaller-request": (
        "{container} asks for {amount} of {resource} instead of {asked} (one unit more is refused)"
    ),
    "explain/without-request": (
        "{container} does not name {resource} at all, instead of {asked} (0 of it is refused, too)"
    ),
    "explain/adjusted-request": (
        "{container} asks for {amount} of {resource}, in whole units, instead of {asked}"
    ),
    "explain/without-container": "the pod does without the container {container}",
    "explain/without-pods": "these pods are deleted first: {pods}",
    "explain/earlier": "the pod asks before {other}",
    "explain/reordered": "the whole queue asks in another order: {order}",
    "explain/other-machine": "the pod goes to the machine {machine}, with nothing else on it",
    "explain/no-pod": (
        "{path!r} has no pod that could be explained (ignored: {ignored}); give a manifest of a"
        " pod, or of a workload that has pods"
    ),
    "explain/unknown-pod": "--pod {value!r}: there is no such pod; the pods are {known}",
    "explain/several-pods": (
        "--pod {value!r} names several pods; write one of {known}, or a pod's uid"
    ),
    "explain/asked-anew": (
        "a kubelet rejected {pod} ({reason}); it is asked about as if it came now"
    ),
    "explain/budget": (
        "--budget {value!r} is no time to search for; write seconds such as 5s or 0.5s, or 0 for"
        " no search"
    ),
    "explain/standard-input-twice": (
        "'-' is named {count} times, but the standard input can be read once only"
    ),
    "explain/unknown-choice": "{option} {value!r} is unknown; it must be one of {known}",
}

BRIEF: Mapping[str, str] = {
    "memory/too-little-allocatable": (
        "{short_bytes} of {resource} short, even empty ({allocatable_bytes} allocatable)"
    ),
    "memory/too-little-free": "{short_bytes} of {resource} short ({free_bytes} free)",
    "memory/node-in-group": "node {node} belongs to group {group} of {holders}",
    "memory/node-in-use": "would cut through {group}, in use by {holders}",
    "memory/gives-no-memory": "nodes {nodes} give no memory to pods",
    "cpu/too-few-on-nodes": "{short} CPUs short ({available} free)",
    "cpu/reuse-elsewhere": "the pod already has CPUs on {nodes}",
    "cpu/no-cpus-on-nodes": "nodes without CPUs: {nodes}",
    "device/too-few-on-nodes": "{short} of {resource} short ({usable} to give)",
    "device/leaves-out-reused": "without {device}, which the pod uses again",
    "hints/not-listed": "not offered",
}
