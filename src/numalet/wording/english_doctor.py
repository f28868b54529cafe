"""Sentences about state files: breaches and their rules, drift, what a rebase loses.

``SENTENCES`` are templates over the fields of a finding. ``RULES`` say, for every breach, what
must hold; they need no fields. Sizes are exact bytes, because the kubelet compares bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MEMORY: Final[Mapping[str, str]] = {
    "state/memory-policy": "the policy is {policy!r}; the Memory Manager knows {known}",
    "state/none-holds-memory": (
        "the policy is None, but there are {nodes} NUMA nodes and {pods} pods with memory"
    ),
    "state/no-node-map": "{pods} pods hold memory, but there is no node map",
    "state/windows-policy": (
        "the policy is {policy}, which only a kubelet on Windows has; on Linux it is Static"
    ),
    "state/node-id": "{node} is no id of a NUMA node; 0 to {most} are allowed",
    "state/native-node-ids": (
        "a kubelet does not start with this file: its NUMA node ids end at {highest}, and there are"
        " {nodes}"
    ),
    "state/native-many-nodes": (
        "the file is about {count} NUMA nodes; a kubelet with a topology policy accepts more than"
        " {most} only with the option max-allowable-numa-nodes"
    ),
    "state/native-reserved-pages": (
        "a kubelet does not start with this file: {size_bytes} bytes of {type} are kept back on"
        " NUMA node {node}, and a kubelet can not keep back huge pages"
    ),
    "state/native-node-classes": (
        "a kubelet does not start with this file on this machine: NUMA nodes {nodes} are left out,"
        " as memoryNodeClasses of native mode does it, and a kubelet gives memory of all nodes"
    ),
    "state/native-page-size": (
        "a kubelet does not start with this file on this machine: NUMA node {node} does not list"
        " pages of {type}, and the file says that it has none of them"
    ),
    "state/no-memory-table": "NUMA node {node} has no table of the type 'memory'",
    "state/type-name": "NUMA node {node} has the memory type {type!r}",
    "state/part-of-a-page": (
        "NUMA node {node} has {size} bytes of {type}, which is no whole number of pages"
    ),
    "state/allocatable": (
        "{type} of NUMA node {node}: allocatable is {found}, but must be {expected}"
    ),
    "state/wrapped": (
        "{type} of NUMA node {node}: {found} bytes are allocatable of {total}; more is reserved"
        " than the node has, and the kubelet's numbers have wrapped around. v1.32 starts with it"
    ),
    "state/table-sum": (
        "{type} of NUMA node {node}: free and reserved make up {found}, but {expected} are"
        " allocatable"
    ),
    "state/assignments": (
        "NUMA node {node} has {found} assignments, but {expected} blocks are on it"
    ),
    "state/not-in-its-group": "NUMA node {node} is not in its own group {group}",
    "state/group-of-absent-nodes": (
        "the group {group} of NUMA node {node} has nodes that are not in the node map"
    ),
    "state/group-names-twice": "the group {group} of NUMA node {node} names a node twice",
    "state/idle-group": (
        "NUMA node {node} has the group {group}, although nothing is assigned to it"
    ),
    "state/types-differ": (
        "NUMA nodes {nodes} have no {type}, though others have; a Guaranteed pod that asks for it"
        " makes v1.32 crash"
    ),
    "state/other-nodes": "the node map has the NUMA nodes {found}; the machine has {expected}",
    "state/other-total": (
        "{type} of NUMA node {node}: the total is {found}; on this machine it is {expected}"
    ),
}

_BLOCKS: Final[Mapping[str, str]] = {
    "state/pod-without-containers": "pod {pod} has an entry without containers",
    "state/container-without-blocks": (
        "container {container} of pod {pod} has an entry without memory"
    ),
    "state/type-twice": "container {container} of pod {pod} has two blocks of {type}",
    "state/block-nodes": (
        "{type} of container {container} of pod {pod} is on the nodes {nodes}, which must be"
        " ascending, each once, and at least one"
    ),
    "state/block-part-of-a-page": (
        "container {container} of pod {pod} has {size} bytes of {type}, which is no whole number"
        " of pages"
    ),
    "state/block-on-absent-node": (
        "{type} of container {container} of pod {pod} is on NUMA nodes {nodes}; the node map has"
        " {known}"
    ),
    "state/block-of-absent-type": (
        "container {container} of pod {pod} has {type} on NUMA node {node}, which has no such"
        " memory"
    ),
    "state/sums": (
        "containers hold {found} bytes of {type}, but {expected} are reserved on the NUMA nodes"
    ),
    "state/groups-overlap": (
        "NUMA node {node} is in the groups {groups} at once; v1.32 brings this about itself."
        " Would it start again with this file? {restart}"
    ),
    "state/would-crash": (
        "NUMA node {node} is in a group with NUMA node {other}, which has no {type}; v1.32 crashes"
        " over this when it starts"
    ),
    "state/would-not-restart": (
        "put on an empty machine again, the blocks give another {what} on NUMA node {node}: the"
        " file says {found}, it should be {expected}; v1.32 would not start"
    ),
}

_CPUS: Final[Mapping[str, str]] = {
    "state/cpu-policy": "the policy is {policy!r}; the CPU Manager knows {known}",
    "state/none-holds-cpus": (
        "the policy is none, but the pool is {default!r} and {pods} pods hold CPUs"
    ),
    "state/unsealed": (
        "the checksum is {checksum}, which v1.32 accepts; its content has {expected}"
    ),
    "state/first-format": (
        "the file is of the first format, and its checksum {checksum} is right by the rule of that"
        " format; v1.32 still reads it"
    ),
    "state/container-ids": (
        "{count} entries are known by container id, {container_id!r} first; v1.32 starts only if"
        " the container runtime knows these"
    ),
    "state/empty-default": (
        "the pool is empty, and {pods} pods hold CPUs; the next start of v1.32 fails. It comes"
        " about itself when strict-cpu-reservation is on and all other CPUs are given away"
    ),
    "state/cpu-pod-without-containers": "pod {pod} has an entry without containers",
    "state/no-cpus": "container {container} of pod {pod} has an entry without CPUs",
    "state/cpus-in-pool": (
        "container {container} of pod {pod} holds the CPUs {cpus}, and {shared} are in the pool too"
    ),
    "state/cpus-of-two-pods": (
        "container {container} of pod {pod} holds the CPUs {cpus}, and {shared} are held by"
        " {other} too; v1.32 does not notice"
    ),
    "state/absent-cpus": "the CPUs {cpus} are in the file; the machine has {known}",
    "state/cpus-in-no-set": (
        "the CPUs {cpus} of {known} are in no set: offline when the file was written, or reserved"
        " with strict-cpu-reservation"
    ),
}

_DEVICES: Final[Mapping[str, str]] = {
    "state/device-entry-nameless": (
        "an entry lacks a name: pod {pod!r}, container {container!r}, resource {resource!r}"
    ),
    "state/device-entry-empty": (
        "container {container} of pod {pod} has an entry for {resource} without devices"
    ),
    "state/device-entry-twice": (
        "container {container} of pod {pod} has {count} entries for {resource}; v1.32 takes the"
        " last"
    ),
    "state/device-group": (
        "container {container} of pod {pod}: {resource} on NUMA node {node} are {devices}, which"
        " must be at least one, each once"
    ),
    "state/device-listed-twice": "healthy devices of {resource} are listed twice: {devices}",
    "state/device-response": (
        "what the plugin of {resource} answered for container {container} of pod {pod} can not be"
        " decoded; v1.32 passes the entry over"
    ),
    "state/device-unregistered": (
        "container {container} of pod {pod} holds {resource}, which is not registered: its plugin"
        " was gone"
    ),
    "state/device-not-healthy": (
        "container {container} of pod {pod} holds {devices} of {resource}, which were not among"
        " the healthy ones"
    ),
    "state/device-of-two-pods": "{device} of {resource} is held by several pods: {pods}",
    "state/device-on-absent-node": (
        "container {container} of pod {pod} holds {resource} on NUMA nodes {nodes}; the machine"
        " has {known}"
    ),
}

_DRIFT: Final[Mapping[str, str]] = {
    "drift/unreadable": "the file is damaged: it can not be decoded ({error})",
    "drift/corrupted": (
        "the file is damaged or was edited: its checksum is {checksum}, its content has {expected}"
    ),
    "drift/early-layout": (
        "the file is of the layout before the first release; its checksum {checksum} is right by"
        " the rule of that layout, and v1.32 calls it corrupted"
    ),
    "drift/policy": "the file is of policy {found!r}; the configuration says {configured!r}",
    "drift/node-lost": "NUMA node {node} is gone; {containers} containers hold memory there",
    "drift/node-new": "NUMA node {node} is new",
    "drift/total": (
        "NUMA node {node} has another total, {difference}: memory was added, removed, or is"
        " counted in another way ({found} bytes, now {expected})"
    ),
    "drift/randomised": (
        "NUMA node {node} has another total, {difference}, and other nodes the reverse, as after a"
        " reboot with address randomisation ({found} bytes, now {expected})"
    ),
    "drift/small-total": (
        "NUMA node {node} has another total, {difference}: a small change, as after a reboot or an"
        " update of kernel or firmware ({found} bytes, now {expected})"
    ),
    "drift/type-gone": "NUMA node {node} has no {type} any more",
    "drift/type-new": "NUMA node {node} has {type} now",
    "drift/hugepages": "NUMA node {node} had {found} pages of {type}, and has {expected} now",
    "drift/reserved": (
        "the configuration reserves {expected} bytes of {type} on NUMA node {node}; the file was"
        " written with {found}"
    ),
    "drift/empty-pool": "the pool is empty, and {pods} pods hold CPUs",
    "drift/cpus-gone": "the CPUs {cpus} are gone; {containers} containers hold some of them",
    "drift/cpus-new": (
        "the CPUs {cpus} are not in the file: they are new, came online, or were reserved with"
        " strict-cpu-reservation"
    ),
    "drift/reserved-cpus-held": (
        "the CPUs {cpus} are reserved now; {containers} containers hold some of them"
    ),
    "drift/strict-reservation": (
        "the reserved CPUs {cpus} are in the pool; with strict-cpu-reservation they must not be"
    ),
}

_REBASE: Final[Mapping[str, str]] = {
    "rebase/policy-none": "policy {policy} keeps no assignments",
    "rebase/no-blocks": "its entry says no memory, or no NUMA node",
    "rebase/malformed": "no kubelet gives a container such memory: {blocks} on {groups}",
    "rebase/node-gone": "NUMA nodes {nodes} are gone; there are {known}",
    "rebase/group-overlaps": (
        "its nodes {group} overlap with the group {other} of NUMA node {node}, which is kept"
    ),
    "rebase/types-differ": (
        "its nodes {group} have different memory types, over which v1.32 crashes when it starts"
    ),
    "rebase/too-little-memory": (
        "{size_bytes} bytes of {type} on {group} do not fit: {free_bytes} are free beside what is"
        " kept"
    ),
    "rebase/no-cpus": "its entry says no CPU",
    "rebase/cpus-gone": "the CPUs {cpus} are gone, or reserved now",
    "rebase/cpus-taken": "the CPUs {cpus} are held by pods {pods} too, which are kept",
    "rebase/pool-would-be-empty": "with the CPUs {cpus} given away the pool would be empty",
    "rebase/container-id": "it is known by container id only, which only the runtime can resolve",
    "rebase/held": (
        "a kubelet is at work in {path!r} ({holder}); stop it first, and keep it stopped until the"
        " files are written"
    ),
    "rebase/changed-meanwhile": (
        "{path!r} has changed since it was read, so another process writes it; nothing was written"
    ),
    "rebase/no-state-files": (
        "there are no state files in {path!r}; name a kubelet's root directory, or a copy of files"
        " from it"
    ),
}

_INPUTS: Final[Mapping[str, str]] = {
    "state/file-missing": (
        "{file} is missing, and {beside} has {pods} pods: a kubelet that starts treats it as empty"
        " and may allocate again what these pods hold"
    ),
    "files/no-state-file": "{path!r} is none of the kubelet's state files, which are {known}",
    "files/pod-resources-number": (
        "{path!r} looks like a dump of the pod resources API, but a CPU, a size or a node in it is"
        " no number"
    ),
}

SENTENCES: Final[Mapping[str, str]] = {
    **_MEMORY,
    **_BLOCKS,
    **_CPUS,
    **_DEVICES,
    **_DRIFT,
    **_REBASE,
    **_INPUTS,
}
