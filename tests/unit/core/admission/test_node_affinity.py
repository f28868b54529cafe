"""The required node affinity: which terms match a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from numalet.core.admission import node_affinity
from numalet.core.model.node_constraints import NodeConstraints, NodeIdentity, NodeRequirement, Term

LABELS = {"kubernetes.io/os": "linux", "disk": "ssd", "cores": "8", "empty": "", "word": "eight"}
NODE = "n1"


def _matches(terms: Iterable[Term], labels: Mapping[str, str], name: str) -> bool | None:
    node = NodeIdentity(name=name, labels=labels, has_all_labels=True)
    return node_affinity.matches(NodeConstraints(affinity=tuple(terms)), node)


def label(key: str, operator: str, *values: str) -> Term:
    return Term((NodeRequirement(key, operator, values),))


def name(operator: str, *values: str, key: str = "metadata.name") -> Term:
    return Term((), (NodeRequirement(key, operator, values),))


@pytest.mark.parametrize(
    "term",
    [
        label("disk", "In", "hdd", "ssd"),
        label("empty", "In", ""),
        label("disk", "NotIn", "hdd"),
        label("gpu", "NotIn", "none"),
        label("kubernetes.io/os", "Exists"),
        label("gpu", "DoesNotExist"),
        label("cores", "Gt", "7"),
        label("cores", "Lt", "9"),
        name("In", "n1"),
        name("NotIn", "n2"),
        name("In", "", key="metadata.namespace"),
        Term(
            (NodeRequirement("disk", "Exists"),), (NodeRequirement("metadata.name", "In", ("n1",)),)
        ),
    ],
)
def test_terms_that_match(term: Term) -> None:
    assert _matches([term], LABELS, NODE)
    assert _matches([label("gpu", "Exists"), term], LABELS, NODE)


@pytest.mark.parametrize(
    "term",
    [
        Term(),
        label("disk", "In", "hdd"),
        label("gpu", "In", "none"),
        label("disk", "NotIn", "ssd", "hdd"),
        label("gpu", "Exists"),
        label("disk", "DoesNotExist"),
        label("cores", "Gt", "8"),
        label("cores", "Lt", "8"),
        label("gpu", "Gt", "1"),
        label("word", "Gt", "1"),
        name("In", "n2"),
        name("NotIn", "n1"),
        name("In", "n1", key="metadata.namespace"),
        Term(
            (NodeRequirement("disk", "Exists"),), (NodeRequirement("metadata.name", "In", ("n2",)),)
        ),
        Term((NodeRequirement("disk", "Exists"), NodeRequirement("gpu", "Exists"))),
    ],
)
def test_terms_that_do_not_match(term: Term) -> None:
    assert not _matches([term], LABELS, NODE)


@pytest.mark.parametrize(
    "term",
    [
        label("disk", "In"),
        label("gpu", "NotIn"),
        label("disk", "Exists", "ssd"),
        label("gpu", "DoesNotExist", "x"),
        label("cores", "Gt"),
        label("cores", "Lt", "9", "10"),
        label("cores", "Gt", "1.5"),
        label("cores", "Lt", "9223372036854775808"),
        label("disk", "in", "ssd"),
        label("disk", "Near", "ssd"),
        label("disk", "In", "ssd", "not a value"),
        label("cores", "Gt", "-1"),
        label("not a name", "DoesNotExist"),
        name("Exists"),
        name("In", "n1", "n2"),
        name("NotIn"),
    ],
)
def test_a_term_that_is_not_well_formed_matches_nothing(term: Term) -> None:
    assert not _matches([term], LABELS, NODE)
    # The others count nevertheless.
    assert _matches([term, label("disk", "Exists")], LABELS, NODE)


def test_no_term_at_all_matches_nothing() -> None:
    assert not _matches([], LABELS, NODE)


def test_of_a_node_without_a_name_no_field_is_asked() -> None:
    assert _matches([name("In", "n2")], LABELS, "")
    assert not _matches([name("Exists")], LABELS, "")


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([label("gpu", "Exists")], None),
        ([label("gpu", "Exists"), label("disk", "In", "ssd")], True),
        ([label("gpu", "Exists"), label("disk", "In", "hdd")], None),
        ([label("disk", "In", "hdd")], False),
        # One expression that does not hold is enough, whatever is not known.
        (
            [Term((NodeRequirement("gpu", "Exists"), NodeRequirement("disk", "In", ("hdd",))))],
            False,
        ),
        ([name("In", "n1")], None),
        ([], False),
    ],
)
def test_what_depends_on_labels_that_nobody_said_is_not_known(
    terms: list[Term], expected: bool | None
) -> None:
    node = NodeIdentity(labels={"disk": "ssd"})
    assert expected is node_affinity.matches(NodeConstraints(affinity=tuple(terms)), node)
    selected = NodeConstraints(selector={"gpu": "yes"}, affinity=tuple(terms))
    assert (False if expected is False else None) is node_affinity.matches(selected, node)
