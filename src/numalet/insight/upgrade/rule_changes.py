"""Rules and gates that differ between two releases, and those that affect the given inputs.

The later release decides on the inputs with each change and without it. Only a change with another
outcome affects them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numalet.core.config.releases.release import ALWAYS, Release, ReleaseRules
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding, NoteFinding
from numalet.core.model.value import replace, without_keys
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from numalet.insight.upgrade import pods
from numalet.wording import kubelet, kubelet_start


class UpgradeGateDefault(NoteFinding):
    sentence = (
        "feature gate {gate}, which is not set, is {standing_before} in v{before} and "
        "{standing_after} in v{after}"
    )
    gate: str
    standing_before: str
    standing_after: str
    before: str
    after: str


class UpgradeRule(NoteFinding):
    sentence = "v{after} has a rule that v{before} lacks: {rule}"
    rule: str
    name: str
    before: str
    after: str


class UpgradeRuleEnds(NoteFinding):
    sentence = "from v{before} to v{after} a rule ends: {rule}"
    rule: str
    name: str
    before: str
    after: str


def rules_changed(before: LintSubject, after: LintSubject) -> Iterator[Finding]:
    """Yield kubelet rules that only one of the releases follows, with these gates."""
    earlier, later = before.release.name, after.release.name
    for rule in ReleaseRules.stated.values():
        held = getattr(before.release_rules, rule.name)
        holds = getattr(after.release_rules, rule.name)
        # Rules that change only texts are left out.
        if held != holds and not rule.is_of_words:
            kind = UpgradeRule if holds else UpgradeRuleEnds
            yield kind(name=rule.name, rule=rule.sentence, before=earlier, after=later)


def without_effect(after: LintSubject, changes: Iterable[Finding]) -> list[Finding]:
    """Return the changes of rules and defaults without which the inputs have the same outcome."""
    outcome = _outcome(after)
    return [
        change
        for change in changes
        if (release := _undone(after.release, change)) is not None
        and _outcome(replace(after, behaviour=replace(after.behaviour, release=release))) == outcome
    ]


def _undone(release: Release, change: Finding) -> Release | None:
    """Return the release without this change; None if it is about the inputs themselves."""
    match change:
        case UpgradeRule(name=name):
            return replace(release, rules=without_keys(release.rules, (name,)))
        case UpgradeRuleEnds(name=name):
            return replace(release, rules={**release.rules, name: ALWAYS})
        case UpgradeGateDefault(gate=name) if name in release.gates:
            gate = release.gates[name]
            flipped = replace(gate, is_on=not gate.is_on, is_locked=False)
            return replace(release, gates={**release.gates, name: flipped})
        case UpgradeGateDefault():
            # The later release lost the gate, and follows its rules without it.
            return release
        case _:
            return None


def _outcome(subject: LintSubject) -> object:
    """Return everything that a kubelet does with the inputs, in comparable form."""
    found = [(each.code, str(each)) for each in rules.of_configuration(subject)]
    seen = pods.seen(subject)
    if isinstance(seen, StartRefused):
        return kubelet_start.text(seen), found
    decided = [
        (kubelet.reason(each.decision.rejection), each.decision.placements) for each in seen.pods
    ]
    return decided, seen.node.state_files(), found
