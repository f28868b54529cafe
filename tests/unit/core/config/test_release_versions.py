"""Versions as they are written, and the release that each is of."""

from __future__ import annotations

import pytest

from numalet.core.config.releases import versions
from numalet.core.config.releases.table import BASE, NEWEST, RELEASES, named


@pytest.mark.parametrize(
    "text",
    [
        *("1.34", "v1.34", "V1.34", "v1.34.9", "1.34.9+k3s1", "v1.34.1-gke.1234000", " v1.34.9\n"),
        *("v1.34.9-eks-1-34-20", "v1.34.0-rc.1.12+0a1b2c-dirty", "1.34+", "Kubernetes v1.34.9"),
    ],
)
def test_every_way_to_write_a_version_means_its_release(text: str) -> None:
    minor = versions.minor_version(text)

    assert minor is not None
    assert (minor.name, minor.release) == ("1.34", named("1.34"))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "1",
            "v",
            "1.",
            ".34",
            "1.034",
            "01.34",
            "1.34.",
            "1.34.x",
            "1.34 beta",
            "a1.34",
        ),
        *(
            "1.3\u0664",
            "1.34\n1.35",
            "-1.34",
            "1,34",
            "latest",
            "kubelet v1.34",
            "1.34+" + "a" * 200,
        ),
        *("1.34.9.1", "\x001.34", "1.34e2", "999999.34"),
    ],
)
def test_anything_else_is_no_version(text: str) -> None:
    assert versions.minor_version(text) is None


def test_every_release_is_its_own_nearest_one() -> None:
    for release in RELEASES:
        minor = versions.minor_version(release.name)

        assert minor is not None
        assert minor.nearest is release


@pytest.mark.parametrize(
    ("text", "nearest", "why"),
    [
        ("1.31", BASE, "older"),
        ("1.4", BASE, "older"),
        ("0.99", BASE, "older"),
        ("1.38", NEWEST, "newer"),
        ("1.100", NEWEST, "newer"),
        ("2.0", NEWEST, "newer"),
    ],
)
def test_an_unknown_release_has_a_nearest_one_and_a_reason(
    text: str, nearest: object, why: str
) -> None:
    minor = versions.minor_version(text)

    assert minor is not None
    assert (minor.release, minor.nearest) == (None, nearest)
    assert why in minor.why_unknown
