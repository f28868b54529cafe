"""Which release is followed: named, or that of the kubelets at hand."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.config.releases.table import named
from numalet.core.model.findings import Findings
from numalet.io.documents.kubelet import kubelet_version
from numalet.io.documents.kubelet.kubelet_version import ChosenRelease, KubeletAtHand, ShownBy
from numalet.io.documents.pods import pod_manifest


def at_hand(version: str, shown: ShownBy = ShownBy.NODE_OBJECT) -> KubeletAtHand:
    """A kubelet of this version."""
    return KubeletAtHand(version, shown, f"{shown.name} {version}")


def chosen(*kubelets: KubeletAtHand, release: str = "") -> tuple[ChosenRelease, list[str]]:
    """What is chosen, and the codes of the findings."""
    findings = Findings()
    answer = kubelet_version.choose(named(release), "--release", kubelets, findings)
    return answer, [each.code for each in findings.all]


def codes(answer: ChosenRelease) -> list[str]:
    """The codes of what is to be said."""
    return [each.code for each in answer.notes]


def test_without_anything_nothing_is_chosen() -> None:
    assert chosen() == (ChosenRelease(None), [])
    assert chosen(at_hand("")) == (ChosenRelease(None), [])


def test_what_is_no_version_does_not_count_and_is_said() -> None:
    answer, problems = chosen(at_hand(""), at_hand("garbage"))
    other, _ = chosen(at_hand("garbage"), at_hand("v1.34.1"))

    assert (answer.release, codes(answer), problems) == (None, ["input/ignored"], [])
    assert (other.release, codes(other)) == (
        named("1.34"),
        ["input/assumed", "input/ignored"],
    )


def test_the_release_of_a_kubelet_at_hand_is_followed_and_said() -> None:
    answer, problems = chosen(at_hand("v1.34.9"), at_hand("v1.34.1+k3s1"), at_hand(""))

    assert (answer.release, codes(answer), problems) == (named("1.34"), ["input/assumed"], [])


def test_a_named_release_wins_and_every_other_version_is_warned_of_once() -> None:
    answer, problems = chosen(
        at_hand("v1.34.9"),
        at_hand("v1.34.9"),
        at_hand("v1.38.0"),
        at_hand("v1.36.1"),
        release="1.36",
    )

    assert (answer.release, problems) == (named("1.36"), [])
    assert codes(answer) == ["input/conflict"] * 2


def test_an_unknown_release_is_refused_unless_one_is_named() -> None:
    answer, problems = chosen(at_hand("v1.38.0"))

    assert (answer, problems) == (ChosenRelease(None), ["input/not-supported"])


def test_kubelets_of_several_releases_are_refused_unless_one_is_named() -> None:
    answer, problems = chosen(at_hand("v1.33.1"), at_hand("v1.38.0"), at_hand("v1.34.1"))

    assert (answer, problems) == (ChosenRelease(None), ["input/conflict"])


def test_a_flag_counts_before_a_node_object_and_that_before_a_process() -> None:
    process, node = at_hand("v1.33.1", ShownBy.PROCESS), at_hand("v1.34.1")
    flag = at_hand("v1.35.1", ShownBy.FLAG)

    for kubelets, release in (((process, node, flag), "1.35"), ((process, node), "1.34")):
        answer, problems = chosen(*kubelets)

        assert (answer.release, problems) == (named(release), [])
        assert codes(answer)[0] == "input/assumed"
        assert set(codes(answer)[1:]) == {"input/conflict"}


def _node(name: object, version: object) -> dict[str, Any]:
    info = {"nodeInfo": {"kubeletVersion": version}}
    return {"kind": "Node", "metadata": {"name": name}, "status": info}


@pytest.mark.parametrize("kind", ["List", "NodeList"])
def test_node_objects_show_their_kubelets(kind: str) -> None:
    import json

    items = [_node("a", "v1.33.1"), _node("b", ""), _node("c", 1.34), _node(7, "v1.34.1")]
    loaded = pod_manifest.read_pods(
        json.dumps({"kind": kind, "items": [*items, {"kind": "Node"}]}), "nodes.json"
    )

    assert [(each.node, each.version, each.source) for each in loaded.kubelets] == [
        ("a", "v1.33.1", "node a"),
        ("b", "", "node b"),
    ]
    assert loaded.kubelets[0].where.path == "$.items[0].status.nodeInfo.kubeletVersion"
