"""Compare two releases and report every change as a finding, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numalet.core.config import command_flags, feature_gates
from numalet.core.config.releases.release import Maturity, Release
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding, NoteFinding, worst_first
from numalet.core.model.value import Value, replace
from numalet.insight.lint import on_claim_documents, rules
from numalet.insight.lint.on_restarts import LintPodRejectedAfterRestart
from numalet.insight.lint.rules import Checked
from numalet.insight.lint.subject import LintSubject
from numalet.insight.upgrade import files, gates, pods, rule_changes
from numalet.wording import kubelet_start


class UpgradeDoesNotStart(Finding):
    sentence = "a kubelet v{after} does not start where v{before} starts: {error}"
    fix = "fix the findings below before the kubelet is replaced"
    before: str
    after: str
    error: str


class UpgradeNeitherStarts(Finding):
    sentence = "a kubelet v{after} does not start either: {error}"
    fix = "'numalet check' with --release {after} lists the fixes"
    after: str
    error: str


class UpgradeStarts(NoteFinding):
    sentence = "a kubelet v{after} starts where v{before} does not: {error}"
    before: str
    after: str
    error: str


class UpgradeWithoutGates(NoteFinding):
    sentence = (
        "pods and state files are compared as if these gates were not set, which v{release} "
        "refuses: {gates}"
    )
    release: str
    gates: str


class UpgradeWithoutFlags(NoteFinding):
    sentence = (
        "pods and state files are compared as if these flags were not given, which v{release} "
        "refuses: {flags}"
    )
    release: str
    flags: str


class UpgradeGateSet(NoteFinding):
    sentence = (
        "feature gate {gate}, which is set, is {standing_before} in v{before} and "
        "{standing_after} in v{after}"
    )
    why = "A locked gate is removed some releases later, and then prevents the start."
    fix = "remove the gate from featureGates once every node runs v{after}, where it is locked"
    gate: str
    standing_before: str
    standing_after: str
    before: str
    after: str


class UpgradeOption(NoteFinding):
    sentence = (
        "option {option}, which is used, is {maturity_before} in v{before} and "
        "{maturity_after} in v{after}"
    )
    option: str
    maturity_before: str
    maturity_after: str
    before: str
    after: str


class ReleasesCompared(Value):
    """The changes from one release to another, the worst first.

    ``others`` are changes of rules and gates that do not affect the inputs. ``refused_before`` and
    ``refused_after`` are the refusals to start, if any.
    """

    before: Release
    after: Release
    refused_before: StartRefused | None
    refused_after: StartRefused | None
    changes: tuple[Finding, ...]
    others: tuple[Finding, ...] = ()


def compare(before: LintSubject, after: LintSubject) -> ReleasesCompared:
    first, second = rules.check(before), rules.check(after)
    settable = _settable(before), _settable(after)
    # If neither release starts with the files, one finding covers their content.
    known = () if first.refused is not None and after.state_files else first.start
    changes = [
        *_starts(before, after, first, second),
        *_without(known, second.start),
        *_own_findings(*settable, first, second),
        *_left_out(before, settable[0]),
        *_left_out(after, settable[1]),
        *_decisions(*settable),
        *_gates(before, after),
        *_options(before, after),
        *rule_changes.rules_changed(before, after),
    ]
    others = rule_changes.without_effect(settable[1], changes)
    affecting = [each for each in changes if each not in others]
    refused = first.refused, second.refused
    return ReleasesCompared(
        before.release, after.release, *refused, worst_first(affecting), worst_first(others)
    )


def _settable(subject: LintSubject) -> LintSubject:
    """Return the subject without the gates and flags that its release refuses."""
    # The user has to remove them before the upgrade anyway, and then the pods matter.
    given, release = subject.config.feature_gates, subject.release
    kept = {
        name: value
        for name, value in given.items()
        if feature_gates.problem(name, value, release) is None
    }
    flags = command_flags.accepted(subject.config.flags, release)
    return replace(subject, config=replace(subject.config, feature_gates=kept, flags=flags))


def _left_out(given: LintSubject, settable: LintSubject) -> Iterator[Finding]:
    refused = given.config.feature_gates.keys() - settable.config.feature_gates.keys()
    if refused:
        yield UpgradeWithoutGates(release=given.release.name, gates=", ".join(sorted(refused)))
    refused = {flag.name for flag in given.config.flags} - {
        flag.name for flag in settable.config.flags
    }
    if refused:
        flags = ", ".join(f"--{name}" for name in sorted(refused))
        yield UpgradeWithoutFlags(release=given.release.name, flags=flags)


def _decisions(before: LintSubject, after: LintSubject) -> Iterator[Finding]:
    """Yield changes to pods and state files, as far as the kubelets start."""
    first, second = pods.seen(before), pods.seen(after)
    if isinstance(second, StartRefused):
        return
    if after.state_files:
        yield from pods.lost(after, second)
    if isinstance(first, StartRefused):
        return
    yield from pods.changes(before, after, first, second)
    yield from files.changes(before, after, first, second)


def _starts(
    before: LintSubject, after: LintSubject, first: Checked, second: Checked
) -> Iterator[Finding]:
    earlier, later = before.release.name, after.release.name
    undecided = [each.refused for each in (first, second) if each.refused is not None]
    if any(each.is_undecided for each in undecided):
        yield from next(each.findings for each in undecided if each.is_undecided)
        return
    if second.refused is not None:
        error = kubelet_start.text(second.refused)
        if first.refused is None:
            yield UpgradeDoesNotStart(error=error, before=earlier, after=later)
        else:
            yield UpgradeNeitherStarts(error=error, after=later)
    if first.refused is not None and second.refused is None:
        error = kubelet_start.text(first.refused)
        yield UpgradeStarts(error=error, before=earlier, after=later)


def _own_findings(
    before: LintSubject, after: LintSubject, first: Checked, second: Checked
) -> tuple[Finding, ...]:
    """Return the findings on the second release alone."""
    # A node that does not start has fewer findings, so both nodes must start for a comparison.
    if first.refused is not None or second.refused is not None:
        first, second = rules.check(before), rules.check(after)
        if (first.refused is None) is not (second.refused is None):
            return ()
    found = _without(first.own, second.own)
    if not after.state_files:
        return found
    # ``pods.lost`` reports the same as an error for running pods.
    return tuple(each for each in found if not isinstance(each, LintPodRejectedAfterRestart))


def _without(known: Iterable[Finding], found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return new findings; the same finding in other words is not a change."""
    identities = {_identity(finding) for finding in known}
    return tuple(finding for finding in found if _identity(finding) not in identities)


def _identity(finding: Finding) -> tuple[str, str]:
    return finding.code, repr(finding.where)


def _gates(before: LintSubject, after: LintSubject) -> Iterator[Finding]:
    """Yield configured gates that change, and unset gates that have an effect."""
    earlier, later = before.release.name, after.release.name
    given = before.config.feature_gates
    for gate in sorted({*given, *gates.deciding(), *on_claim_documents.gates_of(before)}):
        was, is_now = before.release.gates.get(gate), after.release.gates.get(gate)
        if gate in given:
            if was is not None and is_now is not None and was != is_now:
                yield UpgradeGateSet(
                    gate=gate,
                    standing_before=gates.standing(was),
                    standing_after=gates.standing(is_now),
                    where=before.config.where(f"featureGates.{gate}"),
                    before=earlier,
                    after=later,
                )
        elif (was is not None and was.is_on) != (is_now is not None and is_now.is_on):
            yield rule_changes.UpgradeGateDefault(
                gate=gate,
                standing_before=gates.standing(was),
                standing_after=gates.standing(is_now),
                before=earlier,
                after=later,
            )


def _options(before: LintSubject, after: LintSubject) -> Iterator[Finding]:
    earlier, later = before.release.name, after.release.name
    config = before.config
    for place, given, was, is_now in (
        (
            "cpuManagerPolicyOptions",
            config.cpu_manager_policy_options,
            before.release.cpu_options,
            after.release.cpu_options,
        ),
        (
            "topologyManagerPolicyOptions",
            config.topology_manager_policy_options,
            before.release.topology_options,
            after.release.topology_options,
        ),
    ):
        for option in sorted(given or ()):
            if was.get(option) is not is_now.get(option):
                yield UpgradeOption(
                    option=option,
                    maturity_before=_maturity(was.get(option)),
                    maturity_after=_maturity(is_now.get(option)),
                    where=config.where(f"{place}.{option}"),
                    before=earlier,
                    after=later,
                )


def _maturity(maturity: Maturity | None) -> str:
    return "not known" if maturity is None else maturity.value.lower()
