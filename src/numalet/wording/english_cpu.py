"""Sentences of the CPU Manager's static policy: refusals, sets not offered, state files."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "cpu/not-whole-cores": (
        "Container {container} asks for {requested} CPUs; with full-pcpus-only the number must be"
        " a multiple of {cpus_per_core}, the threads of a core."
    ),
    "cpu/too-few-whole-cores": (
        "Container {container} asks for {requested} CPUs; with full-pcpus-only they must be on"
        " cores that hold no reserved CPU, and of these {available} CPUs are free (a core has"
        " {cpus_per_core})."
    ),
    "cpu/too-few-cpus": "{requested} more CPUs are needed, but only {available} are free.",
    "cpu/accounting-error": (
        "The NUMA nodes that were to share the request could not give all of it: {remaining} CPUs"
        " are missing. The kubelet v1.32 confuses the nodes that it has chosen with others."
    ),
    "cpu/would-hang": (
        "The kubelet v1.32 would look for ever for {remaining} more CPUs, in groups of"
        " {group_size}, on NUMA nodes {mask}, which have no whole group left."
    ),
    "cpu/other-size": (
        "Container {container} asks for {requested} CPUs, but holds {held} from before."
    ),
    "cpu/no-nodes-fit": (
        "{requested} CPUs are asked for; {available} are free in all, or the pod holds CPUs which"
        " do not go together with them."
    ),
    "cpu/too-few-on-nodes": (
        "NUMA nodes {mask} have {available} CPUs free; {requested} are asked for."
    ),
    "cpu/reuse-elsewhere": (
        "The pod holds CPUs on NUMA nodes {nodes}, and {mask} does not contain all of these."
    ),
    "cpu/no-cpus-on-nodes": (
        "NUMA nodes {mask} are no set of nodes with CPUs; without CPUs are {nodes}."
    ),
    "cpu-manager/can-not-reserve": (
        "{count} CPUs are to be reserved for the system, but the reserved set is [{cpus}]; make"
        " the number smaller, or name the CPUs in reservedSystemCPUs."
    ),
    "cpu-manager/unknown-reserved-cpu": (
        "CPU {cpu} is to be reserved for the system; this machine has the CPUs {cpus}."
    ),
    "cpu-manager/reserving-would-hang": (
        "The kubelet v1.32 would not come to an end with choosing {count} CPUs to reserve: with"
        " distribute-cpus-across-numa it goes round NUMA nodes {nodes}, which have no whole group"
        " of {group_size} CPUs left. Name the CPUs in reservedSystemCPUs."
    ),
    "cpu-state/empty-default": (
        "The CPU manager's state file has an empty default CPU set, although pods {pods} hold"
        " CPUs; at least one CPU must be left. The file must be deleted."
    ),
    "cpu-state/reserved-not-in-default": (
        "The CPU manager's state file has the default CPU set {default!r}; all reserved CPUs"
        " ({reserved}) must be part of it. Were they changed? Then the file must be deleted."
    ),
    "cpu-state/reserved-in-default": (
        "The CPU manager's state file has the default CPU set {default!r}; with"
        " strict-cpu-reservation the reserved CPUs {reserved} must not be part of it. Was the"
        " option switched on? Then the file must be deleted."
    ),
    "cpu-state/overlap": (
        "The CPU manager's state file gives the CPUs {cpus} to container {container} of pod"
        " {pod}, and some of them are in the default CPU set {default!r} as well."
    ),
    "cpu-state/other-cpus": (
        "The CPU manager's state file is about the CPUs {found}; on this machine and with this"
        " configuration they must be {available}."
    ),
}
