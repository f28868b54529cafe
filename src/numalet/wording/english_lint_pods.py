"""Words for the rules of our own about pods; the others are in ``english_lint``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.wording.english_lint_types import LintWords

_EMPTY_NODE: Final = (
    "A pod that an empty node does not admit is rejected there every time, and whatever made it"
    " makes it again."
)

WORDS: Final[Mapping[str, LintWords]] = {
    "lint/pods-not-checked": LintWords(
        sentence=(
            "pods not looked at: {count}, because the kubelet would not start with this"
            " configuration"
        ),
        why="Pods are asked about on the node that the configuration makes.",
        mend="mend what keeps the kubelet from starting, then check again",
    ),
    "lint/pod-never-admitted": LintWords(
        sentence=(
            "pod {pod}, container {container} asks for {asked} of {resource}; this node, when it is"
            " empty, admits {most} and not one unit more, so {excess} are too much ({reason})"
        ),
        why=_EMPTY_NODE,
        mend="ask for {most} of {resource} at most, or choose another policy",
    ),
    "lint/pod-not-whole-units": LintWords(
        sentence=(
            "pod {pod}, container {container} asks for {asked} of {resource}, which is no whole"
            " number"
            " of units ({reason}); {most} would be admitted"
        ),
        why="With full-pcpus-only CPUs are given by whole cores, and huge pages by whole pages.",
        mend="ask for {most} of {resource}, or for a unit less",
    ),
    "lint/pod-never-admitted-together": LintWords(
        sentence=(
            "pod {pod} is never admitted ({reason}), though each of its requests is when it is"
            " alone:"
            " {why}"
        ),
        why=_EMPTY_NODE,
        mend="admitted would be {ways}",
    ),
    "lint/pod-never-admitted-at-all": LintWords(
        sentence=(
            "pod {pod} is never admitted ({reason}), and no smaller single request changes that:"
            " {why}"
        ),
        why=_EMPTY_NODE,
        mend="choose another policy or scope, or another machine",
    ),
    "lint/pod-larger-than-node": LintWords(
        sentence=(
            "pod {pod} asks for {asked} of {resource}; the node offers {most}, so {excess} are too"
            " much (OutOf{resource})"
        ),
        why=(
            "Requests with overhead must fit status.allocatable: the capacity without the"
            " reservation, and for memory without all huge pages."
        ),
        mend="ask for {most} of {resource} at most, or keep less back",
    ),
    "lint/container-without-limits": LintWords(
        sentence=(
            "container {container} keeps pod {pod} from the QoS class Guaranteed: its limits of"
            " {resources} are missing or not equal to its requests"
        ),
        why=(
            "A pod is Guaranteed if every container, init containers and sidecars included, has"
            " limits"
            " of cpu and memory that are equal to its requests. Only Guaranteed pods get"
            " exclusive CPUs"
            " and memory of chosen NUMA nodes, and they are evicted last."
        ),
        mend="give container {container} requests and limits of {resources} that are equal",
    ),
    "lint/fractional-cpus": LintWords(
        sentence=(
            "pod {pod}, container {container} asks for {asked} of cpu, which is no whole number: it"
            " gets no exclusive CPUs"
        ),
        why=(
            "The static policy gives exclusive CPUs to containers of Guaranteed pods that ask for"
            " whole"
            " ones. One that asks for 1500m runs in the shared pool with all others."
        ),
        mend="ask for {whole} of cpu, unless the container is meant to share CPUs",
    ),
    "lint/resource-almost-offered": LintWords(
        sentence=(
            "pod {pod}, container {container} asks for {resource}, which this node does not"
            " offer; it"
            " offers {offered}"
        ),
        why=(
            "Resources are known by their exact names. The scheduler finds no node for a name"
            " that none"
            " offers; a kubelet that gets the pod anyway starts it without the device, or rejects"
            " it"
            " for huge pages that are not there."
        ),
        mend="write {offered}",
    ),
    "lint/pod-crashes-kubelet": LintWords(
        sentence="pod {pod} makes the kubelet crash or hang: {why}",
        why=(
            "The kubelet v1.32 panics, or never comes to an end, while it admits such a pod, and"
            " again"
            " after every restart."
        ),
        mend="do not let the pod come to this node, or mend what is named",
    ),
    "lint/pods-empty-the-pool": LintWords(
        sentence=(
            "the given pods, admitted in this order, hold all CPUs that are not reserved; {pod}"
            " takes"
            " the last ones, and the kubelet v1.32 does not start again with that"
        ),
        why=(
            "With strict-cpu-reservation the reserved CPUs are not part of the shared pool, and a"
            " state"
            " file with an empty pool is refused."
        ),
        mend="ask for one CPU less in all, or reserve one CPU more",
    ),
}
