"""All rules in order, and their findings together with those of the kubelet's start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from numalet.core.config import unknown
from numalet.core.config.rules import NodeRules, StartRefused
from numalet.core.findings.config import ConfigDependOnUnknown
from numalet.core.model.findings import Finding, Severity, worst_first
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.insight.lint import (
    on_claim_amounts,
    on_claim_devices,
    on_claim_documents,
    on_claims,
    on_effects,
    on_host,
    on_lost_cpus,
    on_nodes,
    on_options,
    on_pods,
    on_requests,
    on_reservation,
    on_restarts,
    starting,
)
from numalet.insight.lint.subject import LintSubject

_OF_CONFIGURATION: Final[tuple[Callable[[LintSubject], Iterator[Finding]], ...]] = (
    on_reservation.hugepages_reserved,
    on_reservation.default_eviction_forgotten,
    on_reservation.default_eviction_not_merged,
    on_reservation.no_memory_threshold,
    on_reservation.threshold_is_a_percentage,
    on_reservation.reservation_is_not_read,
    on_nodes.more_than_a_node_has,
    on_nodes.on_nodes_without_cpus,
    on_nodes.memory_without_cpus,
    on_nodes.absent_hugepages,
    on_nodes.uneven_split,
    on_nodes.widened_pods,
    on_options.node_limit_is_a_word,
    on_options.many_nodes,
    on_options.options_not_read,
    on_options.options_without_gate,
    on_options.fields_of_later_releases,
    on_options.alignment_without_hints,
    on_options.cpu_reservation_overridden,
    on_options.page_size_not_everywhere,
    on_options.numa_balancing,
    on_host.swap_is_on,
    on_host.cgroups_are_old,
    on_host.runtime_is_missing,
    on_host.soft_eviction_without_grace_period,
    on_claims.manager_beside_driver,
    on_claim_amounts.claim_not_repeated,
    on_claim_amounts.pod_too_small,
    on_claims.claim_shared,
    on_claims.claims_give_no_hints,
    on_claim_devices.slices_of_several_nodes,
    on_claim_devices.devices_without_cpus_near,
    on_claim_devices.never_allocated,
    on_claim_devices.served_twice,
    on_claim_documents.allocation_off,
    on_claim_documents.fields_without_gate,
    on_claim_documents.versions,
    on_claim_documents.unknown_to_pod,
    on_claim_documents.not_checked,
    on_claim_documents.static_pods,
    on_claim_documents.not_in_pod_resources,
)
"""Rules that also apply to a configuration with which the kubelet does not start."""

_OF_A_NODE: Final[tuple[Callable[[LintSubject, NodeRules], Iterator[Finding]], ...]] = (
    on_options.part_of_a_cpu,
    on_options.may_hang,
    on_options.split_cores,
    on_options.distances_beyond_rows,
    on_options.strict_reservation,
    on_requests.lost_guaranteed_class,
    on_requests.fractional_cpus,
    on_requests.names_almost_offered,
    on_requests.status_counts,
    on_claim_devices.cpus_of_drivers,
)
"""Rules about a configuration that was resolved against its machine."""


class Checked(Value):
    """The result of all rules. ``refused`` is the kubelet's refusal to start.

    ``start`` are all errors that prevent the start, the kubelet's first error first; ``own`` are
    the findings of the rules, the worst first. ``skipped_checks`` names skipped start checks.
    """

    refused: StartRefused | None
    start: tuple[Finding, ...] = ()
    own: tuple[Finding, ...] = ()
    skipped_checks: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.start, *self.own)


def check(subject: LintSubject, noticed: Iterable[Finding] = ()) -> Checked:
    """Run the kubelet's checks and numalet's rules on a subject.

    ``noticed`` are findings of the readers; they are sorted in among those of the rules.
    """
    started = starting.start(subject)
    found = (*noticed, *_whatever_is_unknown(subject, started.empty))
    own = worst_first(found)
    return Checked(started.refused, started.findings, own, on_host.skipped_checks(subject))


def _whatever_is_unknown(subject: LintSubject, node: Node | None) -> Iterator[Finding]:
    """Yield findings that hold for all values of unknown fields, and the codes of the others."""
    fields = subject.config.unknown
    if fields is None:
        yield from _own(subject, node)
        return
    if fields.files:
        # An unknown state file may contain anything, so no finding is certain.
        return
    first, second = (
        # Two variants with different values for each unknown field: what holds in both is certain.
        tuple(_own(each, starting.start(each).empty))
        for each in (replace(subject, config=config) for config in unknown.variants(subject.config))
    )
    certain = unknown.in_both(first, second)
    yield from certain
    codes = {each.code for each in (*first, *second) if each.severity is not Severity.NOTE}
    if depend := ", ".join(sorted(codes - {each.code for each in certain})):
        names = ", ".join(fields.fields)
        yield ConfigDependOnUnknown(fields_unknown=names, codes=depend, where=fields.where)


def of_configuration(subject: LintSubject) -> Iterator[Finding]:
    """Yield the findings that do not need a node."""
    for rule in _OF_CONFIGURATION:
        yield from rule(subject)


def _own(subject: LintSubject, node: Node | None) -> Iterator[Finding]:
    yield from of_configuration(subject)
    if node is not None:
        for of_node in _OF_A_NODE:
            yield from of_node(subject, node.rules)
        yield from on_pods.never_admitted(subject, node)
        yield from on_pods.one_after_the_other(subject, node)
        yield from on_restarts.after_a_restart(subject, node)
        yield from on_effects.effects(subject, node)
        yield from on_lost_cpus.init_containers(subject, node)
        yield from on_lost_cpus.uneven_cores(subject, node)
    yield from on_pods.skipped_checks(subject, node)
