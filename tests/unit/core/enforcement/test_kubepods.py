"""Names of a kubelet's cgroups."""

from __future__ import annotations

import pytest

from numalet.core.enforcement import cgroup_paths

ID = "0123456789abcdef" * 4
UID = "6b1c4e0e-2f31-4c3b-9a54-7c7d6a8c2f10"


@pytest.mark.parametrize(
    ("name", "uid"),
    [
        (f"pod{UID}", UID),
        (f"kubepods-pod{UID.replace('-', '_')}.slice", UID),
        (f"kubepods-burstable-pod{UID.replace('-', '_')}.slice", UID),
        (f"kubelet-kubepods-besteffort-pod{UID.replace('-', '_')}.slice", UID),
        ("pod0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ("kubepods-burstable.slice", None),
        ("burstable", None),
        ("kubepods.slice", None),
        ("init.scope", None),
    ],
)
def test_a_pod_s_cgroup_has_its_uid(name: str, uid: str | None) -> None:
    assert uid == cgroup_paths.pod_uid(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (ID, ID),
        (f"cri-containerd-{ID}.scope", ID),
        (f"crio-{ID}", ID),
        (f"crio-{ID}.scope", ID),
        (f"docker-{ID}.scope", ID),
        (f"crio-conmon-{ID}.scope", None),
        (ID[:-1], None),
        ("container", None),
    ],
)
def test_a_container_s_cgroup_has_its_id(name: str, found: str | None) -> None:
    assert found == cgroup_paths.container_id(name)
