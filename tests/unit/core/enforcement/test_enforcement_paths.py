"""Names become parts of paths that lead nowhere else, and come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.enforcement import paths
from numalet.core.model.pod import Pod, QosClass


@pytest.mark.parametrize(
    ("qos", "path"),
    [
        (QosClass.GUARANTEED, "podab-1/c"),
        (QosClass.BURSTABLE, "burstable/podab-1/c"),
        (QosClass.BEST_EFFORT, "besteffort/podab-1/c"),
    ],
)
def test_the_layout_is_the_kubelets(qos: QosClass, path: str) -> None:
    pod = Pod("ab-1", "p", qos_class=qos)
    assert path == paths.of_container(pod, "c")
    assert path.rpartition("/")[0] == paths.of_pod(pod)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("..", "%2E%2E"),
        ("a/b", "a%2Fb"),
        ("cgroup.procs", "cgroup%2Eprocs"),
        ("", "%"),
        ("%", "%25"),
    ],
)
def test_names_never_lead_elsewhere(name: str, part: str) -> None:
    assert part == paths.segment(name)


@given(st.text(max_size=16))
def test_a_short_name_comes_back(name: str) -> None:
    assert name == paths.name_of(paths.segment(name))


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_names_have_different_parts_of_legal_length(one: str, other: str) -> None:
    assert (one == other) == (paths.segment(one) == paths.segment(other))
    assert len(paths.segment(one)) <= paths.LONGEST_SEGMENT


@pytest.mark.parametrize("text", ["%zz", "a.b", "%2e", "%FF", "", paths.segment("x" * 300)])
def test_other_texts_are_no_names(text: str) -> None:
    assert paths.name_of(text) is None


def test_the_cgroups_above_one_begin_with_the_root() -> None:
    assert paths.parents("burstable/podu/c") == ("", "burstable", "burstable/podu")
    assert paths.parents("podu") == ("",)
    assert paths.parents("") == ()
