"""A class of rules: which hold, that it is a value, and that a misspelt name is an error."""

from __future__ import annotations

import pickle

import pytest

from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
from numalet.core.config.releases.running import RunningRules


def test_rules_that_are_not_named_do_not_hold() -> None:
    rules = ReleaseRules(pods_are_resized=True, odd_requests_drop_one_cpu=False)

    assert rules.pods_are_resized is True
    assert rules.odd_requests_drop_one_cpu is False
    assert not any(getattr(V1_32_RULES, name) for name in ReleaseRules.stated)


def test_a_name_that_no_rule_has_is_an_error() -> None:
    with pytest.raises(TypeError, match="no rule is called pods_are_rezised"):
        ReleaseRules(pods_are_rezised=True)


def test_rules_are_values() -> None:
    rules = ReleaseRules(pods_are_resized=True)

    assert rules == ReleaseRules(pods_are_resized=True) != V1_32_RULES
    assert hash(rules) == hash(ReleaseRules(pods_are_resized=True))
    assert rules != RunningRules(pods_are_resized=True)
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert rules.and_also(pods_are_resized=False) == V1_32_RULES
    assert repr(rules) == "<ReleaseRules: pods_are_resized>"
    with pytest.raises(AttributeError, match="rules do not change"):
        rules.pods_are_resized = False


def test_every_rule_is_stated_once_with_its_name() -> None:
    stated = ReleaseRules.stated

    assert {name: rule.name for name, rule in stated.items()} == {name: name for name in stated}
    assert set(RunningRules.stated) < set(stated)
    assert vars(RunningRules)["pods_are_resized"] is stated["pods_are_resized"]
