"""A class of rules: which hold, that it is a value, and that a misspelt name is an error."""

from __future__ import annotations

import pickle

import pytest

from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
from numalet.core.config.releases.running import RunningRules


def test_rules_that_are_not_named_do_not_hold() -> None:
    rules = ReleaseRules(sidecars_are_forbidden=True, odd_requests_drop_one_cpu=False)

    assert rules.sidecars_are_forbidden is True
    assert rules.odd_requests_drop_one_cpu is False
    assert not any(getattr(V1_32_RULES, name) for name in ReleaseRules.stated)


def test_a_name_that_no_rule_has_is_an_error() -> None:
    with pytest.raises(TypeError, match="no rule is called sidecars_are_forbiden"):
        ReleaseRules(sidecars_are_forbiden=True)


def test_rules_are_values() -> None:
    rules = ReleaseRules(sidecars_are_forbidden=True)

    assert rules == ReleaseRules(sidecars_are_forbidden=True) != V1_32_RULES
    assert hash(rules) == hash(ReleaseRules(sidecars_are_forbidden=True))
    assert rules != RunningRules(sidecars_are_forbidden=True)
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert rules.and_also(sidecars_are_forbidden=False) == V1_32_RULES
    assert repr(rules) == "<ReleaseRules: sidecars_are_forbidden>"
    with pytest.raises(AttributeError, match="rules do not change"):
        rules.sidecars_are_forbidden = False


def test_every_rule_is_stated_once_with_its_name() -> None:
    stated = ReleaseRules.stated

    assert {name: rule.name for name, rule in stated.items()} == {name: name for name in stated}
    assert set(RunningRules.stated) < set(stated)
    assert vars(RunningRules)["sidecars_are_forbidden"] is stated["sidecars_are_forbidden"]
