"""Sentences about decisions: why a pod is rejected, why a set of nodes is not offered."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "hints/not-listed": "The provider does not offer the NUMA nodes {mask}.",
    "hints/no-distance": (
        "prefer-closest-numa-nodes compares the NUMA nodes {mask} with others by distance, and the"
        " kubelet takes the distance to node {node} from place {node} of a row that has not so many"
        " places."
    ),
    "hints/too-many-comparisons": (
        "prefer-closest-numa-nodes finds no distance to NUMA node {node}, whose number is higher"
        " than the rows of distances are long; there are too many sets of nodes to know whether the"
        " kubelet would compare one with that node."
    ),
    "admission/not-aligned": (
        "The topology policy {policy} does not accept the best common placement of {subject}:"
        " {affinity}."
    ),
    "admission/allocation-refused": "The {provider} manager refused {container}: {cause}",
    "admission/out-of-resource": (
        "the node has too little {resource} for the sum of all requests: {requested} requested,"
        " {used} used, {capacity} there"
    ),
    "options/node-label": "{value} is no label of a node, such as disk=ssd",
    "decision/evicted": "{evicted}: evicted, so that the critical pod {pod} has room",
    "decision/resource-not-offered": (
        "{resource}: no node offers it; the kubelet passes over it, so {pods} would run without"
        " (--device; native mode refuses)"
    ),
    "decision/node-labels-unknown": (
        "{pods}: {predicates} could not be asked; the node's labels are not known (--node-labels)"
    ),
    "decision/node-name-unknown": (
        "{pods}: {predicates} could not be asked; the node's name is not known (--node-name)"
    ),
    "decision/constraints-unknown": (
        "{pods}: {predicates} could not be asked; the pod's selector, affinity and ports are not"
        " known"
    ),
    "decision/ports-of-others-unknown": (
        "{pods}: {predicates} could not be asked to its end; other pods are known without their"
        " ports"
    ),
    "decision/pods-without-manifest": (
        "{pods}: {predicates} could not be asked to their end; what pods of the state files request"
        " is not known without their manifests"
    ),
    "decision/not-measured": "{pods}: {predicates} could not be asked; numalet does not measure it",
    "decision/predicates-switched-off": (
        "the managers alone decided on {pods}; the general predicates (OutOfcpu, NodeAffinity, ...)"
        " are switched off (generalPredicates)"
    ),
    "admission/preempted": "the pod was evicted so that a critical pod has room",
    "admission/predicate-failed": "the pod may not run on this node: {predicate}",
    "admission/nothing-to-preempt": (
        "the pod is critical, and evicting all others would not give it what it lacks: {lacking}"
    ),
    "admission/kubelet-would-crash": (
        "Refused, because the kubelet v1.32 itself would crash or hang in its {provider} manager"
        " over {subject}: {cause}"
    ),
    "memory/not-an-integer": (
        "Container {container} asks for {quantity} of {resource}, which the kubelet can not hold"
        " as a whole number of bytes; write it as a plain integer with or without a unit."
    ),
    "memory/no-node-fits": (
        "No set of NUMA nodes has enough free memory for container {container}."
    ),
    "memory/nothing-offered": "No set of NUMA nodes has enough free memory.",
    "memory/default-not-preferred": (
        "Container {container} needs a preferred placement, but the best that is free is {best},"
        " which is more NUMA nodes than it would need on an empty machine."
    ),
    "memory/can-not-extend": (
        "NUMA nodes {affinity} have too little free memory for container {container}, and no"
        " larger set that contains them may be used."
    ),
    "memory/extended-not-preferred": (
        "NUMA nodes {affinity} have too little free memory for container {container}; the best"
        " larger set is {best}, which is not preferred."
    ),
    "memory/cuts-group": (
        "Container {container} would use NUMA nodes {affinity}, but node {node} is in use as"
        " {group}; nodes that hold memory of a pod are used again only as the same set."
    ),
    "memory/unknown-type": (
        "{resource} is asked for, but NUMA node {node} does not offer pages of that size at all."
    ),
    "memory/no-such-pages": "{resource} is asked for, and no NUMA node has pages of that size.",
    "memory/gives-no-memory": (
        "NUMA nodes {nodes} give no memory to pods, by their class (memoryNodeClasses)."
    ),
    "memory/too-little-allocatable": (
        "NUMA nodes {mask} have {allocatable_bytes} of {resource} allocatable in all;"
        " {asked_bytes} is asked for."
    ),
    "memory/node-in-group": "NUMA node {node} is used as part of the group {group}.",
    "memory/node-in-use": (
        "NUMA nodes {mask} can not be used together: node {node} is in use as {group}."
    ),
    "memory/too-little-free": (
        "NUMA nodes {mask} have {free_bytes} of {resource} free; {asked_bytes} is asked for."
    ),
}
