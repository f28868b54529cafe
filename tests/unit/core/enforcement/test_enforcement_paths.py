"""Names become parts of paths that lead nowhere else, and come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.enforcement import cgroup_paths
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
    assert path == cgroup_paths.of_container(pod, "c")
    assert path.rpartition("/")[0] == cgroup_paths.of_pod(pod)


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
    assert part == cgroup_paths.segment(name)


@given(st.text(max_size=16))
def test_a_short_name_comes_back(name: str) -> None:
    assert name == cgroup_paths.name_of(cgroup_paths.segment(name))


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_names_have_different_parts_of_legal_length(one: str, other: str) -> None:
    assert (one == other) == (cgroup_paths.segment(one) == cgroup_paths.segment(other))
    assert len(cgroup_paths.segment(one)) <= cgroup_paths.LONGEST_SEGMENT


@pytest.mark.parametrize("text", ["%zz", "a.b", "%2e", "%FF", "", cgroup_paths.segment("x" * 300)])
def test_other_texts_are_no_names(text: str) -> None:
    assert cgroup_paths.name_of(text) is None


def test_the_cgroups_above_one_begin_with_the_root() -> None:
    assert cgroup_paths.parents("burstable/podu/c") == ("", "burstable", "burstable/podu")
    assert cgroup_paths.parents("podu") == ("",)
    assert cgroup_paths.parents("") == ()
