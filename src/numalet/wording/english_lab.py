"""Sentences about the lab: guests that can not be started, and how they ended."""

from __future__ import annotations

from collections.abc import Mapping

PREPARING = "fetching {package} once (70 MB)"
BOOTING = "booting {topology} ... {seconds:.0f} s"
NOTHING = "(nothing)"

SENTENCES: Mapping[str, str] = {
    "lab/unknown-topology": (
        "there is no topology {value!r}; did you mean {near}? ('numalet lab list' shows all)"
    ),
    "lab/not-linux": (
        "the lab shows the guest this machine's own root, so it needs Linux; this is {value}"
    ),
    "lab/not-x86": (
        "the lab shows the guest this machine's own programs, so it needs x86-64; this is {value}"
    ),
    "lab/missing-packages": (
        "not installed here: {packages}; on Debian and Ubuntu: apt-get install {packages}"
    ),
    "lab/too-large": (
        "{nodes} NUMA nodes with {cpus} CPUs are more than QEMU supports: {most_nodes} nodes,"
        " {most_cpus} CPUs"
    ),
    "lab/too-much-memory": (
        "the guest would have {asked_mib} MiB of memory, this machine has {host_mib} MiB"
    ),
    "lab/no-folder": "there is no folder {path!r}; create it first",
    "lab/no-command": "no command was given; write it after '--'",
    "lab/no-terminal": (
        "a shell needs a terminal on both sides; use 'numalet lab run ... -- COMMAND' without one"
    ),
    "lab/memory": "{value!r} is no memory for a guest; write a size of {least}Mi or more",
    "lab/hugepages": (
        "{value!r} reserves no huge pages; write SIZE=NODE:COUNT,... with a size of 2Mi or 1Gi,"
        " such as '2Mi=0:64,1:32;1Gi=1:1'"
    ),
    "lab/hugepages-twice": "{value!r} says twice how many pages of one size a node has",
    "lab/hugepages-node": (
        "node {node} of the topology {topology} is not there or has no memory, so it can hold no"
        " huge pages"
    ),
    "lab/node-memory": "{value!r} is no memory of a node; write NODE=SIZE, such as 1=256Mi",
    "lab/no-such-node": "there is no node {node}; the topology {topology} has nodes 0 to {last}",
    "lab/little-memory": "node {node} would have {mib} MiB; give it 0 or at least {least_mib} MiB",
    "lab/no-processor": "the guest would have no node with both CPUs and memory to start from",
    "lab/no-apt": (
        "{program} is not there to fetch the package {package!r}; the lab boots Debian's kernel,"
        " which comes by apt"
    ),
    "lab/no-package": (
        "the package {package!r} can not be had: {error}; 'apt-get update' may help, where its"
        " lists are missing or old"
    ),
    "lab/kernel-unusable": "the kernel of the package {package} can not be used: {error}",
    "lab/cache-unwritable": (
        "the kernel can not be kept in {path!r}: {error}; name another folder with"
        " NUMALET_LAB_CACHE"
    ),
    "lab/note-kept-kernel": "the newest kernel can not be had ({why}), so {used} is used",
    "lab/note-renumbered": "the guest numbers {what} anew, from 0 without gaps: {value}",
    "lab/note-flat": "packages and cores are uneven, so in the guest every CPU is a package",
    "lab/note-offline": "offline CPUs are left out: {value}",
    "lab/note-empty-nodes": "nodes without memory and CPUs are left out: {value}",
    "lab/note-no-distances": "the distances can not be given to the guest: {value}",
    "lab/note-scaled": "the guest has {guest} of memory, one part in {factor} of the machine's",
    "lab/timed-out": "the guest was ended after {seconds} s; its console ended with:\n{console}",
    "lab/guest-died": "the guest ended before its command did; end of its console:\n{console}",
}
